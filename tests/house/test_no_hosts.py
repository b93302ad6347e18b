"""No file names a package index, a place to download from, or a folder of one machine."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
# Brackets keep this file from naming them itself.
HOSTS = [
    r"py[p]i\.org",
    r"debian\.[o]rg",
    r"python[h]osted",
    r"npm[j]s\.",
    r"registry\.[y]arn",
    r"anaconda\.[o]rg",
    r"hugging[f]ace\.co",
    r"index-[u]rl",
    r"find-[l]inks",
    r"PIP_[I]NDEX",
    r"releases/[d]ownload",
    r"github[u]sercontent",
    r"js[d]elivr",
    r"un[p]kg\.com",
    r"arti[f]actory",
]
FOLDERS = [re.escape(f"{folder}/") for folder in (ROOT, Path.home())]
WRONG_PACKAGE = re.compile(r"(pip install|uv add|uvx|pipx run)( -\S+)* tinyagent(?![-\w])")


def _files() -> list[Path]:
    listed = subprocess.run(
        ["git", "ls-files", "--cached", "--others", "--exclude-standard"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    paths = [ROOT / name for name in listed.stdout.splitlines()]
    return [path for path in paths if path.is_file()]


def _with(*words: str) -> dict[str, str]:
    """The files that hold one of the words, and which."""
    return {
        path.relative_to(ROOT).as_posix(): word
        for path in _files()
        for word in words
        if re.search(word, path.read_text(encoding="utf-8", errors="replace"))
    }


def test_the_search_finds_what_is_there() -> None:
    assert "pyproject.toml" in _with("requires-python")


@pytest.mark.parametrize("word", HOSTS)
def test_no_file_says_where_packages_come_from(word: str) -> None:
    assert _with(word) == {}


@pytest.mark.parametrize("word", FOLDERS)
def test_no_file_names_a_folder_of_one_machine(word: str) -> None:
    assert _with(word) == {}


def test_no_text_says_to_install_another_projects_package() -> None:
    paths = [path for path in _files() if WRONG_PACKAGE.search(path.read_text(errors="replace"))]
    assert paths == []


def test_constraints_are_names_and_versions_only() -> None:
    lines = (ROOT / "constraints.txt").read_text(encoding="utf-8").splitlines()
    pinned = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*==[0-9][A-Za-z0-9.+!]*")
    assert [line for line in lines if not line.startswith("#") and not pinned.fullmatch(line)] == []
    assert sum(bool(pinned.fullmatch(line)) for line in lines) > 50
