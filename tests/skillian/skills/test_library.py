"""The library: instructions and files page by page, and the search for knowledge."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.skills.making import make_skill

from skillian.skills.discovery import load_registry
from skillian.skills.library import PAGE
from skillian.skills.registry import SkillRegistry


@pytest.fixture
def many(tmp_path: Path) -> SkillRegistry:
    """More skills than fit into a prompt."""
    for name in ("one", "two", "three"):
        folder = make_skill(tmp_path, name, {"references/guide.md": f"The guide of {name}."})
        with (folder / "SKILL.md").open("a") as file:
            file.write("Long. " * 1000)
    return load_registry(None, [tmp_path])


def test_the_prompt_holds_the_instructions_of_few_skills(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one")
    with (folder / "SKILL.md").open("a") as file:
        file.write("Long. " * 2000 + "The end.")
    registry = load_registry(None, [tmp_path])
    assert "Use one." in registry.system_prompt()
    assert "The end." in registry.system_prompt()
    assert "read_skill" not in [tool.name for tool in registry.get_all_tools()]


def test_the_prompt_holds_the_instructions_of_many_short_skills(tmp_path: Path) -> None:
    for at in range(9):
        make_skill(tmp_path, f"skill-{at}")
    assert "Use skill-8." in load_registry(None, [tmp_path]).system_prompt()


def test_the_prompt_holds_only_descriptions_of_many_skills(many: SkillRegistry) -> None:
    prompt = many.system_prompt()
    assert "# Skill: two\nAbout two." in prompt
    assert "Use two." not in prompt
    assert "`read_skill`" in prompt


async def test_instructions_and_files_are_read_step_by_step(many: SkillRegistry) -> None:
    read = many.get_tool("read_skill")
    first = await read.aexecute(name="two")
    assert first["text"].startswith("Use two.\nLong.")
    assert first["files"] == ["references/guide.md"]
    rest = await read.aexecute(name="two", offset=5000)
    assert rest["text"] == first["text"][5000:]
    guide = await read.aexecute(name="two", file="references/guide.md")
    assert guide == {"skill": "two", "file": "references/guide.md", "text": "The guide of two."}


async def test_the_pages_of_a_text_are_the_text(tmp_path: Path) -> None:
    text = "".join(f"{number} " for number in range(5000))
    make_skill(tmp_path, "one", {"references/long.txt": text})
    read = load_registry(None, [tmp_path]).get_tool("read_skill")
    pages: list[str] = []
    offset = 0
    while True:
        page = await read.aexecute(name="one", file="references/long.txt", offset=offset)
        pages.append(page["text"])
        if "next_offset" not in page:
            break
        offset = page["next_offset"]
    assert "".join(pages) == text
    assert [len(page) for page in pages[:2]] == [PAGE, PAGE]


@pytest.mark.parametrize(
    ("arguments", "kind"),
    [
        ({"name": "four"}, "not_found"),
        ({"name": "two", "file": "tools.py"}, "not_found"),
        ({"name": "two", "file": "../one/references/guide.md"}, "not_found"),
        ({"name": "two", "offset": -1}, "validation_error"),
    ],
)
async def test_other_names_and_files_are_refused(
    many: SkillRegistry, tmp_path: Path, arguments: dict[str, object], kind: str
) -> None:
    result = await many.get_tool("read_skill").aexecute(**arguments)
    assert (result["error"], result["type"]) == (True, kind)
    assert str(tmp_path) not in result["message"]


async def test_knowledge_of_all_skills_is_searched(tmp_path: Path) -> None:
    make_skill(tmp_path, "one", {"knowledge/deep/a.md": "# Zebras\nThey have stripes."})
    registry = load_registry(None, [tmp_path])
    result = await registry.get_tool("search_knowledge").aexecute(query="a zebra")
    assert result == {
        "passages": [
            {
                "skill": "one",
                "file": "knowledge/deep/a.md",
                "heading": "Zebras",
                "text": "They have stripes.",
            }
        ]
    }
    assert registry.search_knowledge("double load", 1)[0]["skill"] == "data-analyst"
    nothing = await registry.get_tool("search_knowledge").aexecute(query="quasar")
    assert nothing == {"passages": []}
