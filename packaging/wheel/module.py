"""Starts the skills-mcp program of this package, for `uvx`, for `python -m skills_mcp_server`, and under the name `sk`."""

import os
import sys
import sysconfig


def _program():
    name = "skills-mcp.exe" if os.name == "nt" else "skills-mcp"
    # Beside the command that was started; else, for `python -m`, where this Python keeps commands.
    folders = [os.path.dirname(os.path.abspath(sys.argv[0])), sysconfig.get_path("scripts")]
    try:
        folders.append(sysconfig.get_path("scripts", sysconfig.get_preferred_scheme("user")))
    except AttributeError:  # before Python 3.10
        pass
    # `pip install --target` puts commands into a folder beside the packages.
    folders.append(os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "bin"))
    for folder in folders:
        program = os.path.join(folder, name)
        if os.path.isfile(program):
            return program
    sys.stderr.write("error: the program {} is in none of {}\nhint: install this package again\n".format(name, ", ".join(folders)))
    sys.exit(3)


def _start(name):
    program = _program()
    arguments = [name] + sys.argv[1:]
    if os.name == "nt":
        import subprocess

        sys.exit(subprocess.call(arguments, executable=program))
    os.execv(program, arguments)


def main():
    _start("skills-mcp")


def sk():
    _start("sk")
