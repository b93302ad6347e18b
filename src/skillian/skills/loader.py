"""From a skill folder (the open Agent Skills format) to a `Skill`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from pathlib import Path
from types import ModuleType

from skillian.errors import ConfigurationError, Fault
from skillian.skills.front_matter import FILE, read_skill_file
from skillian.skills.knowledge import Passage, split_passages
from skillian.skills.loader import check_folder, knowledge_files, readable_files
from skillian.skills.skill import Skill, SkillTool

BUNDLED = Path(__file__).parent.parent / "bundled"
TOOLS = "tools.py"


def load_skill(folder: Path, services: object) -> Skill:
    """Read `SKILL.md` and `knowledge`, and run `tools.py` where there is one.

    Args:
        folder: the skill's folder; its name is the skill's name.
        services: handed to the function `tools(services)` of `tools.py`, which gives the tools.

    Raises:
        ConfigurationError: what is wrong with which of its files.
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


def _passages(folder: Path, name: str) -> Iterator[Passage]:
    for path in knowledge_files(folder):
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
    made = tuple(make(services))
    tools = tuple(each for each in made if isinstance(each, SkillTool))
    if len(tools) < len(made):
        raise _fault(path, "`tools(services)` gives something else than `SkillTool`s")
    return tools


def _import(path: Path) -> ModuleType:
    # A skill's folder may have hyphens in its name: it is no package, so its file is loaded. Two
    # folders of one name are two modules: which of them is wrong is said later, by the registry.
    place = sha256(str(path.resolve()).encode()).hexdigest()[:8]
    name = f"skillian_skill_{path.parent.name.replace('-', '_')}_{place}"
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
