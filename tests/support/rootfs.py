"""A file system with nothing in it but the running interpreter: an image without a registry."""

from __future__ import annotations

import re
import subprocess
import sys
import sysconfig
import tarfile
from collections.abc import Iterator
from pathlib import Path

_FOLDERS = ("dev", "etc", "proc", "sys", "tmp", "usr", "usr/bin")
_LEFT_OUT = {"test", "idlelib", "tkinter", "ensurepip", "site-packages", "lib2to3", "turtledemo"}
_IN_THE_PATH = "usr/bin/python3"


def write_rootfs(path: Path) -> None:
    """Write it as a tar archive, for `podman import` or `docker import`."""
    interpreter = Path(sys.executable).resolve()
    library = Path(sysconfig.get_path("stdlib"))
    files = [interpreter, *_files_of(library)]
    extensions = [file for file in files if ".so" in file.suffixes]
    files = sorted({*files, *_shared_libraries([interpreter, *extensions])})
    folders = {str(folder)[1:] for file in files for folder in file.parents}
    with tarfile.open(path, "w") as archive:
        for name in sorted({*folders, *_FOLDERS} - {""}):
            _add_folder(archive, name)
        for file in files:
            archive.add(file.resolve(), str(file), filter=_readable_by_all)
        link = tarfile.TarInfo(_IN_THE_PATH)
        link.type, link.linkname = tarfile.SYMTYPE, str(interpreter)
        archive.addfile(link)


def _files_of(library: Path) -> Iterator[Path]:
    for path in library.rglob("*"):
        inside = path.relative_to(library).parts[0]
        left_out = inside in _LEFT_OUT or inside.startswith("config-") or ".opt-" in path.name
        if path.is_file() and not left_out and not path.name.startswith("_tkinter"):
            yield path


def _shared_libraries(programs: list[Path]) -> set[Path]:
    """What they are linked with, the loader among it."""
    command = ["ldd", *map(str, programs)]
    listed = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60).stdout
    return {Path(found) for found in re.findall(r"(?:=> |^\t)(/\S+) \(0x", listed, re.MULTILINE)}


def _add_folder(archive: tarfile.TarFile, name: str) -> None:
    folder = tarfile.TarInfo(name)
    folder.type, folder.mode = tarfile.DIRTYPE, 0o1777 if name == "tmp" else 0o755
    archive.addfile(folder)


def _readable_by_all(member: tarfile.TarInfo) -> tarfile.TarInfo:
    member.uid = member.gid = 0
    member.mode = 0o755 if member.mode & 0o100 else 0o644
    return member
