"""uv, which resolves and fetches wheels; it runs no code of a package."""

from __future__ import annotations

import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from packaging.requirements import Requirement

from tinyagent.core.errors import ConfigurationError, missing_extra

_SECONDS = 900.0
_MAX_FILE_BYTES = 4 << 30
_MAX_REASON = 2000
_WHEELS_ONLY = ("--only-binary", ":all:", "--python", sys.executable, "--no-python-downloads")
_INDENT = re.compile(r"\n\s*")


def resolve(requirements: Iterable[Requirement]) -> str:
    """The versions and hashes that these requirements stand for, as a requirements file.

    Raises:
        ConfigurationError: There is no such set of wheels for this Python, or no uv.
    """
    with tempfile.TemporaryDirectory(prefix="tinyagent-") as folder:
        asked = Path(folder, "requirements.in")
        asked.write_text("".join(f"{each}\n" for each in requirements), "utf-8")
        lock = Path(folder, "lock.txt")
        options = ("--generate-hashes", "--no-header", "--no-annotate", "--output-file", str(lock))
        _run(["pip", "compile", *options, *_WHEELS_ONLY, str(asked)], folder)
        return lock.read_text("utf-8")


def install(lock: str, target: Path) -> None:
    """Fetch and unpack the wheels of a lock into an empty folder; each must have a listed hash.

    Raises:
        ConfigurationError: A wheel does not exist or is another file.
    """
    with tempfile.TemporaryDirectory(prefix="tinyagent-") as folder:
        listed = Path(folder, "lock.txt")
        listed.write_text(lock, "utf-8")
        options = ("--require-hashes", "--no-deps", "--link-mode", "copy", "--target", str(target))
        _run(["pip", "install", *options, *_WHEELS_ONLY, "--requirement", str(listed)], folder)


def _run(arguments: list[str], folder: str) -> None:
    """Run uv in an empty folder, so that no project's settings apply, and without its cache.

    uv checks a wheel's hash when it fetches the wheel, not when it finds it unpacked in its cache.
    """
    silent = ("--quiet", "--color", "never", "--no-progress")
    command = [_program(), *arguments, "--no-cache", *silent]
    try:
        with subprocess.Popen(  # noqa: S603 - uv, with requirements that were read strictly
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
            errors="replace",
        ) as process:
            with suppress(ProcessLookupError, PermissionError):
                bounds = (_MAX_FILE_BYTES, _MAX_FILE_BYTES)
                resource.prlimit(process.pid, resource.RLIMIT_FSIZE, bounds)
            try:
                _, errors = process.communicate(timeout=_SECONDS)
            except BaseException:
                process.kill()
                raise
    except subprocess.TimeoutExpired:
        raise ConfigurationError(f"packages: uv took more than {_SECONDS:.0f} s") from None
    if process.returncode:
        reason = _INDENT.sub(" ", errors.strip()).replace(folder + os.sep, "")[:_MAX_REASON]
        raise ConfigurationError(
            f"packages: {reason or f'uv ended with {process.returncode}'} (each package needs a"
            " wheel for this Python and machine: nothing is built here)"
        )


def _program() -> str:
    """The path of uv: that of the package `uv`, or else the system's.

    Raises:
        ConfigurationError: There is none.
    """
    try:
        from uv import find_uv_bin  # noqa: PLC0415 - an extra
    except ImportError:
        program = shutil.which("uv")
    else:
        with suppress(FileNotFoundError):
            return find_uv_bin()
        program = shutil.which("uv")
    if program is None:
        raise ConfigurationError(missing_extra("a new set of packages", "packages"))
    return program
