from __future__ import annotations

from pathlib import Path

import pytest

from skillian.errors import ConfigurationError
from skillian.skills.loader import load_skill

FRONT = "---\nname: my-skill\ndescription: Does it.\n---\n\nDo it well.\n"

TOOLS = """
from __future__ import annotations
from typing import Any
from pydantic import BaseModel
from skillian.skills.skill import SkillTool

class Input(BaseModel):
    what: Any = None

def tools(services):
    async def run(asked):
        return {"services": services, "what": asked.what}
    return [SkillTool("do_it", "Do it.", Input, run)]
"""


def write(folder: Path, text: str, tools: str | None = None) -> Path:
    skill = folder / "my-skill"
    skill.mkdir()
    (skill / "SKILL.md").write_text(text)
    if tools is not None:
        (skill / "tools.py").write_text(tools)
    return skill


def test_a_skill_of_instructions_alone(tmp_path: Path) -> None:
    skill = load_skill(write(tmp_path, FRONT), None)
    assert (skill.name, skill.description) == ("my-skill", "Does it.")
    assert (skill.instructions, skill.tools) == ("Do it well.", ())


async def test_tools_are_given_the_services(tmp_path: Path) -> None:
    skill = load_skill(write(tmp_path, FRONT, TOOLS), "the services")
    assert await skill.tools[0].aexecute(what=1) == {"services": "the services", "what": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Do it.", "does not start with front matter"),
        ("---\nname: my-skill\n---\nDo it.", "has no 'description'"),
        ("---\n- a\n---\nDo it.", "no mapping"),
        ("---\nname: [\n---\nDo it.", "no YAML"),
        ("---\nname: other\ndescription: x\n---\nDo it.", "its name is 'other'"),
    ],
)
def test_a_faulty_skill_file_says_what_is_wrong(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        load_skill(write(tmp_path, text), None)


def test_a_missing_skill_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_skill(tmp_path, None)


def test_tools_without_the_function(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no function `tools"):
        load_skill(write(tmp_path, FRONT, "x = 1"), None)
