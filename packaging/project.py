"""What every package is made from: the facts of Cargo.toml, the table of platforms, and a folder of binaries.

Not here: what a package looks like inside (npm/, wheel/, mcpb/, archive/, registry/), and publishing.
"""

import argparse
import json
import re
import struct
import sys
import tomllib
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
# The scope and the name under which the project itself publishes; a team gives its own.
NPM_SCOPE = "@skills-mcp"
NPM_NAME = f"{NPM_SCOPE}/server"
PYPI_NAME = "skills-mcp-server"
LICENSES = ["LICENSE-MIT", "LICENSE-APACHE"]


@dataclass(frozen=True)
class Platform:
    """One row of the table of platforms."""

    target: str  # Rust's name, and the folder of the binary
    label: str  # npm's name, and that of bundles
    os: str  # as Node calls it
    cpu: str
    machine: int  # the number that the binary's own header has for its processor
    wheel: str  # Python's platform tag; `{glibc}` is read from the binary
    libc: str | None = None

    @property
    def program(self) -> str:
        return "skills-mcp.exe" if self.os == "win32" else "skills-mcp"


ELF_X64, ELF_ARM64 = 62, 183
MACH_X64, MACH_ARM64 = 0x0100_0007, 0x0100_000C
PE_X64 = 0x8664
PLATFORMS = [
    Platform("x86_64-unknown-linux-gnu", "linux-x64", "linux", "x64", ELF_X64, "manylinux_{glibc}_x86_64", "glibc"),
    Platform("aarch64-unknown-linux-gnu", "linux-arm64", "linux", "arm64", ELF_ARM64, "manylinux_{glibc}_aarch64", "glibc"),
    Platform("x86_64-unknown-linux-musl", "linux-x64-musl", "linux", "x64", ELF_X64, "musllinux_1_1_x86_64", "musl"),
    Platform("aarch64-unknown-linux-musl", "linux-arm64-musl", "linux", "arm64", ELF_ARM64, "musllinux_1_1_aarch64", "musl"),
    Platform("x86_64-apple-darwin", "darwin-x64", "darwin", "x64", MACH_X64, "macosx_10_12_x86_64"),
    Platform("aarch64-apple-darwin", "darwin-arm64", "darwin", "arm64", MACH_ARM64, "macosx_11_0_arm64"),
    Platform("x86_64-pc-windows-msvc", "win32-x64", "win32", "x64", PE_X64, "win_amd64"),
]


class Refused(Exception):
    """A mistake of the person who builds packages: what is wrong, and the way out."""


@dataclass(frozen=True)
class Binary:
    """A program that was built for a platform."""

    platform: Platform
    path: Path
    data: bytes

    def glibc(self) -> tuple[int, int] | None:
        """The newest version of glibc that the program asks for; none where it is linked statically."""
        versions = re.findall(rb"\0GLIBC_(\d+)\.(\d+)(?:\.\d+)?(?=\0)", self.data)
        return max(((int(major), int(minor)) for major, minor in versions), default=None)

    def wheel_tag(self) -> str:
        if self.platform.libc != "glibc":
            return self.platform.wheel
        major, minor = self.glibc() or (2, 17)
        return self.platform.wheel.format(glibc=f"{major}_{minor}")


@dataclass(frozen=True)
class Project:
    """The facts that packages repeat."""

    version: str
    description: str
    license: str
    repository: str

    @property
    def mcp_name(self) -> str | None:
        """The server's name in the MCP registry, which goes by the owner of a repository on GitHub; none for one elsewhere."""
        found = re.fullmatch(r"https://github\.com/([\w.-]+)/([\w.-]+)", self.repository)
        return found and f"io.github.{found[1]}/{found[2]}"

    def about(self, command: str, *arguments: str) -> str:
        """The page that a registry shows of a package that this command runs. The MCP registry looks in it for the server's name."""
        text = (ROOT / "packaging/about.md").read_text("utf-8")
        entry = json.dumps({"command": command, "args": arguments})
        values = {"RUN": " ".join([command, *arguments]), "ENTRY": entry, "REPOSITORY": self.repository}
        text = re.sub(r"\b(RUN|ENTRY|REPOSITORY)\b", lambda found: values[found[0]], text)
        return f"{text}\nmcp-name: {self.mcp_name}\n" if self.mcp_name else text


def project(repository: str | None) -> Project:
    """Reads the workspace's Cargo.toml."""
    workspace = tomllib.loads((ROOT / "Cargo.toml").read_text("utf-8"))["workspace"]["package"]
    package = tomllib.loads((ROOT / "crates/skills-mcp/Cargo.toml").read_text("utf-8"))["package"]
    address = repository or workspace["repository"]
    return Project(workspace["version"], package["description"], workspace["license"], address.removesuffix(".git").rstrip("/"))


def binaries(folder: Path, all_platforms: bool) -> list[Binary]:
    """Reads FOLDER/TARGET/skills-mcp for every platform, and checks that each is what its folder says."""
    found, missing = [], []
    for platform in PLATFORMS:
        path = folder / platform.target / platform.program
        if not path.is_file():
            missing.append(platform.target)
            continue
        binary = Binary(platform, path, path.read_bytes())
        machine = machine_of(binary.data)
        if machine != (platform.os, platform.machine):
            raise Refused(f"{path} is no program for {platform.target}; its header says {machine or 'nothing that is known'}")
        if platform.libc == "musl" and binary.glibc():
            raise Refused(f"{path} needs glibc; build it with --target {platform.target}")
        found.append(binary)
    if not found:
        wanted = PLATFORMS[0]
        raise Refused(f"there is no binary in {folder}; put one at {folder / wanted.target / wanted.program}, say")
    if all_platforms and missing:
        raise Refused(f"{folder} has no binary for {', '.join(missing)}; build them, or leave out --all-platforms")
    return found


def machine_of(data: bytes) -> tuple[str, int] | None:
    """The system and the processor that a program's header names."""
    if data[:5] == b"\x7fELF\x02":
        return "linux", struct.unpack_from("<H", data, 18)[0]
    if data[:4] == b"\xcf\xfa\xed\xfe":
        return "darwin", struct.unpack_from("<I", data, 4)[0]
    if data[:2] == b"MZ" and len(data) > 0x40:
        header = struct.unpack_from("<I", data, 0x3C)[0]
        if data[header : header + 4] == b"PE\0\0":
            return "win32", struct.unpack_from("<H", data, header + 4)[0]
    return None


def arguments(about: str) -> argparse.ArgumentParser:
    """The arguments that every build takes."""
    parser = argparse.ArgumentParser(description=about)
    parser.add_argument("--binaries", type=Path, required=True, metavar="DIR", help="has TARGET/skills-mcp for each platform that was built")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the packages go")
    parser.add_argument("--all-platforms", action="store_true", help="refuse to build while a platform's binary is missing")
    parser.add_argument("--repository", metavar="URL", help="the GitHub repository of these packages (default: that of Cargo.toml)")
    return parser


def build(main) -> None:
    """Runs a build; a mistake ends it with code 2 and one message."""
    try:
        main()
    except Refused as refused:
        print(f"error: {refused}", file=sys.stderr)
        sys.exit(2)
