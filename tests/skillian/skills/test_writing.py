"""A new skill is valid and works."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import skills_ref

from skillian.errors import SkillianError
from skillian.skills.loader import load_skill
from skillian.skills.writing import STARTER, write_skill


@pytest.mark.parametrize("name", ["contacts", "close-calendar", "größe"])
async def test_a_new_skill_passes_the_checks_and_answers(tmp_path: Path, name: str) -> None:
    folder = write_skill(name, tmp_path)
    assert skills_ref.validate(folder) == []
    skill = load_skill(folder, None)
    assert (skill.name, skill.folder) == (name, folder)
    assert [tool.name for tool in skill.tools] == [f"ask_{name.replace('-', '_')}"]
    assert (await skill.tools[0].aexecute(topic="example"))["answer"] == "This is an example."
    assert [passage.file for passage in skill.knowledge] == ["knowledge/example.md"]
    left = [path for path in folder.rglob("*.*") if b"starter" in path.read_bytes()]
    assert left == []


def test_its_own_test_passes(tmp_path: Path) -> None:
    folder = write_skill("contacts", tmp_path)
    ran = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(folder)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert "2 passed" in ran.stdout, ran.stdout


def test_the_starter_is_a_skill_itself() -> None:
    assert load_skill(STARTER, None).name == "starter"


@pytest.mark.parametrize("name", ["", "Contacts", "a b", "../up", "-a", "a--b", "9a", "a" * 65])
def test_an_invalid_name_writes_nothing(tmp_path: Path, name: str) -> None:
    with pytest.raises(SkillianError, match="cannot be called"):
        write_skill(name, tmp_path / "in")
    assert not (tmp_path / "in").exists()


def test_an_existing_folder_is_not_replaced(tmp_path: Path) -> None:
    (tmp_path / "contacts").mkdir()
    with pytest.raises(SkillianError, match="exists already"):
        write_skill("contacts", tmp_path)
    assert list((tmp_path / "contacts").iterdir()) == []
