"""Wheels made with plain zipfile, honest and otherwise, and a folder that serves as an index."""

from __future__ import annotations

import base64
import hashlib
import io
import tarfile
import zipfile
from collections.abc import Iterable, Mapping
from pathlib import Path

Content = str | bytes


def line_of(path: str, data: bytes) -> str:
    """A line of a record."""
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).decode().rstrip("=")
    return f"{path},sha256={digest},{len(data)}"


def make_wheel(  # noqa: PLR0913 - each is one way to be wrong
    index: Path,
    name: str,
    files: Mapping[str, Content],
    *,
    version: str = "1.0",
    requires: Iterable[str] = (),
    tag: str = "py3-none-any",
    unlisted: Iterable[str] = (),
    lines: Iterable[str] = (),
    links: Mapping[str, str] | None = None,
) -> Path:
    """Write a wheel into the index.

    Args:
        index: the folder.
        name: of the package, as the file has it.
        files: their content, by path.
        version: of the package.
        requires: its dependencies.
        tag: the platforms that the name of the file claims.
        unlisted: files that the record leaves out.
        lines: added to the record.
        links: symbolic links, by path.
    """
    info = f"{name}-{version}.dist-info"
    needs = "".join(f"Requires-Dist: {each}\n" for each in requires)
    head = f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needs}"
    wheel = f"Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: {tag}\n"
    data = {path: text.encode() if isinstance(text, str) else text for path, text in files.items()}
    data = {**data, f"{info}/METADATA": head.encode(), f"{info}/WHEEL": wheel.encode()}
    record = [line_of(path, content) for path, content in data.items() if path not in set(unlisted)]
    text = "\n".join([*record, *lines, f"{info}/RECORD,,"]) + "\n"
    path = index / f"{name}-{version}-{tag}.whl"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for place, content in {**data, f"{info}/RECORD": text.encode()}.items():
            archive.writestr(place, content)
        for place, target in (links or {}).items():
            entry = zipfile.ZipInfo(place)
            entry.external_attr = 0o120777 << 16
            archive.writestr(entry, target)
    return path


def make_sdist(index: Path, name: str, canary: Path) -> Path:
    """Write a source distribution whose build creates the canary."""
    path = index / f"{name}-1.0.tar.gz"
    setup = f"open({str(canary)!r}, 'w')\nfrom setuptools import setup\nsetup(name={name!r})\n"
    files = {
        "setup.py": setup,
        "PKG-INFO": f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n",
        "pyproject.toml": "[build-system]\nrequires = []\nbackend-path = ['.']\n",
    }
    with tarfile.open(path, "w:gz") as archive:
        for place, text in files.items():
            entry = tarfile.TarInfo(f"{name}-1.0/{place}")
            entry.size = len(text.encode())
            archive.addfile(entry, io.BytesIO(text.encode()))
    return path
