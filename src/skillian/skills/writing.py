"""Writes a new skill, as a working example to change."""

from __future__ import annotations

from pathlib import Path

from skillian.errors import SkillianError
from skillian.skills.front_matter import FILE, name_faults

STARTER = Path(__file__).parent / "starter"
_FILES = (FILE, "tools.py", "knowledge/example.md", "tests/test_tools.py")
_NAME = "starter"


def write_skill(name: str, parent: Path) -> Path:
    """Write a skill into a new folder of the same name.

    It is a copy of the skill `starter` with another name.

    Returns:
        The folder.

    Raises:
        SkillianError: The name is not valid, or the folder exists or cannot be written.
    """
    faults = name_faults(name)
    if faults:
        raise SkillianError(f"a skill cannot be called {name!r}: {'; '.join(faults)}")
    identifier = name.replace("-", "_")
    if not identifier.isidentifier():
        raise SkillianError(f"a skill cannot be called {name!r}: its name must start with a letter")
    folder = parent / name
    try:
        folder.mkdir(parents=True)
        for file in _FILES:
            text = (STARTER / file).read_text(encoding="utf-8")
            text = text.replace(f"ask_{_NAME}", f"ask_{identifier}").replace(_NAME, name)
            path = folder / file
            path.parent.mkdir(exist_ok=True)
            path.write_text(text, encoding="utf-8")
    except FileExistsError:
        raise SkillianError(f"{folder} exists already") from None
    except OSError as error:
        raise SkillianError(f"{folder} cannot be written: {error.strerror}") from None
    return folder
