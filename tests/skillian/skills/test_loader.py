from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.skills.making import make_skill

from skillian.errors import ConfigurationError, InvalidInputError, UnknownNameError
from skillian.skills.loader import MAX_FILE_BYTES, load_skill, read_text, readable_files

FRONT = "---\nname: my-skill\ndescription: Does it.\n---\n\nDo it well.\n"

FILES = {
    "references/guide.md": "Read this.",
    "scripts/deep/run.sh": "true",
    "assets/a.txt": "a",
    "tests/test_it.py": "",
    "secret.txt": "not for models",
}

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


def test_a_skill_with_instructions_only(tmp_path: Path) -> None:
    skill = load_skill(write(tmp_path, FRONT), None)
    assert (skill.name, skill.description) == ("my-skill", "Does it.")
    assert (skill.instructions, skill.tools) == ("Do it well.", ())


async def test_tools_get_the_services(tmp_path: Path) -> None:
    skill = load_skill(write(tmp_path, FRONT, TOOLS), "the services")
    assert await skill.tools[0].aexecute(what=1) == {"services": "the services", "what": 1}


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("Do it.", "does not start with front matter"),
        ("---\nname: my-skill\n---\nDo it.", "has no 'description'"),
        ("---\n- a\n---\nDo it.", "not a mapping"),
        ("---\nname: [\n---\nDo it.", "not YAML"),
        ("---\nname: other\ndescription: x\n---\nDo it.", "its name is 'other'"),
    ],
)
def test_faults_of_a_skill_file_are_reported(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(ConfigurationError, match=reason):
        load_skill(write(tmp_path, text), None)


def test_a_missing_skill_file(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="cannot be read"):
        load_skill(tmp_path, None)


def test_tools_without_the_function(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="no function `tools"):
        load_skill(write(tmp_path, FRONT, "x = 1"), None)


def test_files_of_three_folders_can_be_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    assert readable_files(folder) == ("scripts/deep/run.sh", "references/guide.md", "assets/a.txt")
    assert read_text(folder, "references/guide.md") == "Read this."


@pytest.mark.parametrize(
    "name",
    [
        "../one/references/guide.md",
        "references/../secret.txt",
        "references/../../other/SKILL.md",
        "/etc/passwd",
        "secret.txt",
        "SKILL.md",
        "references",
        "references/guide.md\x00",
        "",
    ],
)
def test_no_other_path_is_read(tmp_path: Path, name: str) -> None:
    make_skill(tmp_path, "other")
    with pytest.raises(UnknownNameError) as raised:
        read_text(make_skill(tmp_path, "one", FILES), name)
    assert str(tmp_path) not in str(raised.value)


@pytest.mark.parametrize("place", ["references/link.md", "knowledge/link.md", "tools.py", "deep/a"])
def test_a_link_is_refused_wherever_it_points(tmp_path: Path, place: str) -> None:
    folder = make_skill(tmp_path, "one", {"references/guide.md": ""})
    link = folder / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path)
    with pytest.raises(ConfigurationError, match="is a link") as raised:
        load_skill(folder, None)
    assert raised.value.faults[0].file == str(link)


def test_a_folder_that_became_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    outside = make_skill(tmp_path, "other", {"references/guide.md": "Theirs."})
    (folder / "references").rename(tmp_path / "gone")
    (folder / "references").symlink_to(outside / "references")
    with pytest.raises(UnknownNameError):
        read_text(folder, "references/guide.md")


def test_a_link_within_the_skill_is_not_one_of_its_files(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    (folder / "references" / "link.md").symlink_to(folder / "secret.txt")
    assert "references/link.md" not in readable_files(folder)


def test_binary_and_large_files_are_refused(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    (folder / "assets" / "a.txt").write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="not a text file"):
        read_text(folder, "assets/a.txt")
    (folder / "assets" / "a.txt").write_bytes(b"a" * (MAX_FILE_BYTES + 1))
    with pytest.raises(InvalidInputError, match="more than"):
        read_text(folder, "assets/a.txt")
