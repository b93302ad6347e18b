"""From a skill folder (the open Agent Skills format) to a `Skill`."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import yaml

from skillian.errors import ConfigurationError, Fault
from skillian.skills.skill import Skill, SkillTool

BUNDLED = Path(__file__).parent.parent / "bundled"


def load_skill(folder: Path, services: object) -> Skill:
    """Read `SKILL.md` and, where there is one, `tools.py`.

    Args:
        folder: the skill's folder; its name is the skill's name.
        services: handed to the function `tools(services)` of `tools.py`, which gives the tools.

    Raises:
        ConfigurationError: `SKILL.md` is missing or cannot be read, or `tools.py` has no `tools`.
    """
    path = folder / "SKILL.md"
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise _fault(path, 1, f"cannot be read: {error}") from None
    front, instructions = _split(text, path)
    for key in ("name", "description"):
        if not isinstance(front.get(key), str):
            raise _fault(path, 1, f"its front matter has no {key!r}")
    if front["name"] != folder.name:
        raise _fault(path, 2, f"its name is {front['name']!r}, its folder {folder.name!r}")
    tools = _load_tools(folder / "tools.py", services)
    return Skill(front["name"], front["description"], instructions.strip(), tools)


def _split(text: str, path: Path) -> tuple[dict[str, Any], str]:
    """The front matter and what follows it."""
    opening, _, rest = text.partition("---\n")
    head, closing, body = rest.partition("\n---\n")
    if opening.strip() or not closing:
        raise _fault(path, 1, "it does not start with front matter between two lines `---`")
    try:
        front = yaml.safe_load(head)
    except yaml.YAMLError as error:
        raise _fault(path, 2, f"its front matter is no YAML: {error}") from None
    if not isinstance(front, dict):
        raise _fault(path, 2, "its front matter is no mapping")
    return cast("dict[str, Any]", front), body


def _load_tools(path: Path, services: object) -> tuple[SkillTool, ...]:
    if not path.exists():
        return ()
    make: Callable[[object], Iterable[SkillTool]] | None = getattr(_import(path), "tools", None)
    if make is None:
        raise _fault(path, 1, "it has no function `tools(services)`")
    return tuple(make(services))


def _import(path: Path) -> ModuleType:
    # A skill's folder may have hyphens in its name: it is no package, so its file is loaded.
    name = f"skillian_skill_{path.parent.name.replace('-', '_')}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise _fault(path, 1, "it cannot be imported")
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def _fault(path: Path, line: int, message: str) -> ConfigurationError:
    return ConfigurationError([Fault(str(path), line, message, "see the Agent Skills format")])
