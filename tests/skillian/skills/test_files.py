"""A skill's files: those of its folder, and no way out of it."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.skillian.skills.making import make_skill

from skillian.errors import ConfigurationError, InvalidInputError, UnknownNameError
from skillian.skills.loader import MAX_FILE_BYTES, load_skill, read_text, readable_files

FILES = {
    "references/guide.md": "Read this.",
    "scripts/deep/run.sh": "true",
    "assets/a.txt": "a",
    "tests/test_it.py": "",
    "secret.txt": "not for models",
}


def test_three_folders_may_be_read(tmp_path: Path) -> None:
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
def test_a_link_is_refused_wherever_it_leads(tmp_path: Path, place: str) -> None:
    folder = make_skill(tmp_path, "one", {"references/guide.md": ""})
    link = folder / place
    link.parent.mkdir(exist_ok=True)
    link.symlink_to(tmp_path)
    with pytest.raises(ConfigurationError, match="is a link") as raised:
        load_skill(folder, None)
    assert raised.value.faults[0].file == str(link)


def test_a_folder_that_became_a_link_is_not_read_through(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    outside = make_skill(tmp_path, "other", {"references/guide.md": "Theirs."})
    (folder / "references").rename(tmp_path / "gone")
    (folder / "references").symlink_to(outside / "references")
    with pytest.raises(UnknownNameError):
        read_text(folder, "references/guide.md")


def test_a_link_to_another_file_of_the_skill_is_none_of_its_files(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    (folder / "references" / "link.md").symlink_to(folder / "secret.txt")
    assert "references/link.md" not in readable_files(folder)


def test_what_is_no_text_or_too_large_is_not_read(tmp_path: Path) -> None:
    folder = make_skill(tmp_path, "one", FILES)
    (folder / "assets" / "a.txt").write_bytes(b"\xff")
    with pytest.raises(InvalidInputError, match="no text"):
        read_text(folder, "assets/a.txt")
    (folder / "assets" / "a.txt").write_bytes(b"a" * (MAX_FILE_BYTES + 1))
    with pytest.raises(InvalidInputError, match="more than"):
        read_text(folder, "assets/a.txt")
