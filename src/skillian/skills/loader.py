"""Loads a skill folder (the open Agent Skills format): its instructions, tools and knowledge."""

from __future__ import annotations

import importlib.util
import os
import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from skillian.errors import ConfigurationError, Fault, InvalidInputError, UnknownNameError
from skillian.skills.front_matter import FILE, read_skill_file
from skillian.skills.knowledge import Passage, split_passages
from skillian.skills.skill import Skill, SkillTool

BUNDLED = Path(__file__).parent.parent / "bundled"
TOOLS = "tools.py"
KNOWLEDGE = "knowledge"
READABLE = ("scripts", "references", "assets")
"""The folders of a skill whose files a model may read."""
MAX_FILE_BYTES = 1_000_000


def load_skill(folder: Path, services: object) -> Skill:
    """Read `SKILL.md` and `knowledge`, and run `tools.py` if the skill has one.

    Args:
        folder: The folder of the skill, which has the same name.
        services: The argument of the function `tools(services)` in `tools.py`.

    Raises:
        ConfigurationError: The faults in its files.
    """
    front, instructions = read_skill_file(folder / FILE)
    check_folder(folder)
    return Skill(
        name=front.name,
        description=front.description,
        instructions=instructions,
        tools=_load_tools(folder / TOOLS, services),
        license=front.license,
        compatibility=front.compatibility,
        knowledge=tuple(_passages(folder, front.name)),
        folder=folder,
        files=readable_files(folder),
    )


def check_folder(folder: Path) -> None:
    """Check that a folder has no links, whose targets may be anywhere and may change.

    Raises:
        ConfigurationError: The links.
    """
    links = [path for path in _walk(folder) if path.is_symlink()]
    if links:
        raise ConfigurationError(
            Fault(str(path), 1, "it is a link", "copy the file into the folder of the skill")
            for path in links
        )


def readable_files(folder: Path) -> tuple[str, ...]:
    """The files that a model may read, relative to the folder of the skill, sorted."""
    return tuple(
        path.relative_to(folder).as_posix()
        for name in READABLE
        for path in sorted(_walk(folder / name))
        if path.is_file() and not path.is_symlink()
    )


def read_text(folder: Path, name: str) -> str:
    """Read one of the `readable_files`.

    Raises:
        UnknownNameError: The file is not one of them.
        InvalidInputError: The file is too large, or it is not text.
    """
    known = readable_files(folder)
    path = folder / name
    # The file may have become a link since it was listed.
    if name not in known or not path.resolve().is_relative_to(folder.resolve()):
        raise UnknownNameError("file", name, known, f"skill {folder.name!r}")
    if path.stat().st_size > MAX_FILE_BYTES:
        raise InvalidInputError(f"{name} has more than {MAX_FILE_BYTES:,} bytes")
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise InvalidInputError(f"{name} is not a text file") from None


def _walk(folder: Path) -> Iterator[Path]:
    """All files and folders below a folder, without following links."""
    for root, folders, files in os.walk(folder):
        folders[:] = [name for name in folders if name != "__pycache__"]
        yield from (Path(root) / name for name in (*folders, *files))


def _passages(folder: Path, name: str) -> Iterator[Passage]:
    """The passages of the Markdown files in `knowledge`."""
    files = (path for path in _walk(folder / KNOWLEDGE) if path.suffix == ".md" and path.is_file())
    for path in sorted(files):
        try:
            text = path.read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError):
            raise _fault(path, "it cannot be read as UTF-8 text") from None
        yield from split_passages(name, path.relative_to(folder).as_posix(), text)


def _load_tools(path: Path, services: object) -> tuple[SkillTool, ...]:
    if not path.exists():
        return ()
    make: Callable[[object], Iterable[object]] | None = getattr(_import(path), "tools", None)
    if make is None:
        raise _fault(path, "it has no function `tools(services)`")
    items = tuple(make(services))
    tools = tuple(item for item in items if isinstance(item, SkillTool))
    if len(tools) < len(items):
        raise _fault(path, "`tools(services)` returns something other than `SkillTool`s")
    return tools


def _import(path: Path) -> ModuleType:
    # A skill folder is not a package, because its name may have hyphens. Two folders of the same
    # name are two modules; the registry reports them later.
    digest = sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"skillian_skill_{path.parent.name.replace('-', '_')}_{digest}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _fault(path, "it cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    try:
        spec.loader.exec_module(module)
    except (ImportError, SyntaxError) as error:
        line = error.lineno if isinstance(error, SyntaxError) and error.lineno else 1
        raise _fault(path, f"it cannot be imported: {error}", line) from None
    return module


def _fault(path: Path, message: str, line: int = 1) -> ConfigurationError:
    return ConfigurationError([Fault(str(path), line, message, "see docs/skills.md")])
