"""Skills are found in the package, in configured folders and in installed packages."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tests.skillian.skills.making import TOOLS, make_skill

from skillian.errors import ConfigurationError, SkillianError
from skillian.skills.discovery import find_skills, load_registry
from skillian.skills.loader import BUNDLED

OURS = (BUNDLED / "data-analyst",)


def names(*paths: Path) -> list[str]:
    return [folder.name for folder in find_skills(paths)]


def test_the_bundled_skills_are_always_found() -> None:
    assert find_skills() == OURS


def test_a_path_is_a_skill_or_a_folder_of_skills(tmp_path: Path) -> None:
    make_skill(tmp_path / "many", "two")
    make_skill(tmp_path / "many", "one")
    (tmp_path / "many" / "no-skill").mkdir()
    single = make_skill(tmp_path, "three")
    assert names(tmp_path / "many", single) == ["data-analyst", "one", "two", "three"]
    assert names(single, single) == ["data-analyst", "three"]


def test_a_path_without_a_skill_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(ConfigurationError, match=r"nothing: there is no skill|no skill"):
        find_skills([tmp_path / "nothing"])


def test_a_skill_that_is_a_link_is_refused(tmp_path: Path) -> None:
    outside = make_skill(tmp_path / "outside", "one")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "one").symlink_to(outside)
    with pytest.raises(ConfigurationError, match="is a link"):
        find_skills([tmp_path / "in"])


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder of installed packages, one of which has the skill `brought`."""
    site = tmp_path / "site"
    make_skill(site / "bringing", "brought")
    (site / "bringing" / "__init__.py").write_text(
        "from pathlib import Path\nPATH = str(Path(__file__).parent / 'brought')\n"
        "def find():\n    return Path(PATH)\nWRONG = 7\n"
    )
    monkeypatch.syspath_prepend(str(site))
    monkeypatch.delitem(sys.modules, "bringing", raising=False)
    return site


def enter(site: Path, value: str) -> None:
    """Write the metadata of an entry point, as an installer does."""
    folder = site / "bringing-1.0.dist-info"
    folder.mkdir()
    (folder / "METADATA").write_text("Metadata-Version: 2.1\nName: bringing\nVersion: 1.0\n")
    (folder / "entry_points.txt").write_text(f"[skillian.skills]\nbrought = {value}\n")


@pytest.mark.parametrize("value", ["bringing:PATH", "bringing:find"])
def test_an_installed_package_can_have_a_skill(installed: Path, value: str) -> None:
    enter(installed, value)
    assert names() == ["data-analyst", "brought"]


@pytest.mark.parametrize("value", ["bringing:WRONG", "bringing:absent", "absent:find"])
def test_a_wrong_entry_point_is_named(installed: Path, value: str) -> None:
    enter(installed, value)
    with pytest.raises(SkillianError, match=f"entry point '{value}'"):
        find_skills()


def test_the_faults_of_all_skills_are_reported_together(tmp_path: Path) -> None:
    for name in ("one", "two"):
        folder = make_skill(tmp_path, name)
        (folder / "SKILL.md").write_text("---\nname: other\ndescription: x\n---\n")
    with pytest.raises(ConfigurationError) as raised:
        load_registry(None, [tmp_path])
    assert len(raised.value.faults) == 2


def test_duplicate_names_of_skills_and_tools_are_refused(tmp_path: Path) -> None:
    make_skill(tmp_path / "a", "one", {"tools.py": TOOLS})
    make_skill(tmp_path / "b", "one")
    make_skill(tmp_path / "c", "two", {"tools.py": TOOLS})
    with pytest.raises(SkillianError, match="two skills with the name 'one'"):
        load_registry(None, [tmp_path / "a", tmp_path / "b"])
    with pytest.raises(SkillianError, match="'one' and 'two' both have a tool 'TOOL'"):
        load_registry(None, [tmp_path / "a", tmp_path / "c"])


def test_the_tool_names_of_the_library_are_reserved(tmp_path: Path) -> None:
    make_skill(tmp_path, "one", {"tools.py": TOOLS.replace("TOOL", "search_knowledge")})
    with pytest.raises(SkillianError, match="and 'library' both have a tool 'search_knowledge'"):
        load_registry(None, [tmp_path])
