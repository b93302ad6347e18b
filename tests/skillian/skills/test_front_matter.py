"""The rules of the Agent Skills format: all faults are reported with their lines."""

from __future__ import annotations

from pathlib import Path

import pytest
import skills_ref

from skillian.errors import ConfigurationError
from skillian.skills.front_matter import read_skill_file

WHOLE = """---
name: my-skill
description: >-
  Does it,
  well.
license: MIT
compatibility: needs a database
metadata: {author: somebody, version: 1.10}
allowed-tools: read write
---

Do it --- well.
"""


def write(folder: Path, text: str, name: str = "my-skill") -> Path:
    (folder / name).mkdir()
    path = folder / name / "SKILL.md"
    path.write_text(text, encoding="utf-8")
    return path


def front(**keys: str) -> str:
    given = {"name": "my-skill", "description": "Does it."} | keys
    lines = "".join(f"{name.replace('_', '-')}: {value}\n" for name, value in given.items())
    return f"---\n{lines}---\nDo it.\n"


def test_the_front_matter_is_read(tmp_path: Path) -> None:
    front, instructions = read_skill_file(write(tmp_path, WHOLE))
    assert (front.name, front.description) == ("my-skill", "Does it, well.")
    assert (front.license, front.compatibility) == ("MIT", "needs a database")
    assert instructions == "Do it --- well."


@pytest.mark.parametrize(
    "keys",
    [
        {},
        {"license": "MIT", "compatibility": "x" * 500},
        {"description": "x" * 1024},
        {"metadata": "\n  author: somebody"},
        {"allowed_tools": "\n- read\n- write"},
    ],
)
def test_what_the_reference_checker_accepts_is_accepted(
    tmp_path: Path, keys: dict[str, str]
) -> None:
    path = write(tmp_path, front(**keys))
    assert skills_ref.validate(path.parent) == []
    assert read_skill_file(path)[1] == "Do it."


@pytest.mark.parametrize(
    ("keys", "line", "reason"),
    [
        ({"name": "My-Skill"}, 2, "lower case"),
        ({"name": "my--skill"}, 2, "between letters or digits"),
        ({"name": "-my-skill"}, 2, "between letters or digits"),
        ({"name": "my_skill"}, 2, "characters other than"),
        ({"name": "x" * 65}, 2, "65 characters"),
        ({"name": "other"}, 2, "its folder 'my-skill'"),
        ({"name": ""}, 2, "empty"),
        ({"description": ""}, 3, "empty"),
        ({"description": "x" * 1025}, 3, "1025 characters"),
        ({"compatibility": "x" * 501}, 4, "501 characters"),
        ({"allowed_tools": "{a: b}"}, 4, "neither text nor a list"),
        ({"version": "1"}, 4, "the format has no 'version'"),
    ],
)
def test_what_the_reference_checker_refuses_is_refused_with_its_line(
    tmp_path: Path, keys: dict[str, str], line: int, reason: str
) -> None:
    path = write(tmp_path, front(**keys))
    assert skills_ref.validate(path.parent)
    with pytest.raises(ConfigurationError) as raised:
        read_skill_file(path)
    fault = raised.value.faults[0]
    assert (fault.file, fault.line) == (str(path), line)
    assert reason in str(fault)


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    path = write(tmp_path, "---\nname: My\nversion: 1\nlicense: ''\n---\n")
    with pytest.raises(ConfigurationError) as raised:
        read_skill_file(path)
    faults = [(fault.line, fault.message) for fault in raised.value.faults]
    assert [line for line, _ in faults] == [1, 2, 2, 3, 4]
    assert "has no 'description'" in faults[0][1]


@pytest.mark.parametrize(
    ("text", "line", "reason"),
    [
        ("", 1, "does not start with front matter"),
        ("Do it.", 1, "does not start with front matter"),
        ("---\nname: a\n", 1, "does not start with front matter"),
        ("---\n- a\n---\n", 2, "not a mapping"),
        ("---\n---\n", 2, "not a mapping"),
        ("---\nname: a\nlicense: [\n---\n", 4, "not YAML"),
        ("---\nname: a\nname: b\n---\n", 2, "a key twice"),
        ("---\nname: &a [*a]\n---\n", 2, "has an alias"),
    ],
)
def test_invalid_front_matter_is_reported_with_its_line(
    tmp_path: Path, text: str, line: int, reason: str
) -> None:
    with pytest.raises(ConfigurationError, match=reason) as raised:
        read_skill_file(write(tmp_path, text))
    assert raised.value.faults[0].line == line


def test_a_missing_or_binary_file_is_reported(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match="No such file"):
        read_skill_file(tmp_path / "SKILL.md")
    (tmp_path / "SKILL.md").write_bytes(b"---\n\xff\n---\n")
    with pytest.raises(ConfigurationError, match="not UTF-8"):
        read_skill_file(tmp_path / "SKILL.md")
