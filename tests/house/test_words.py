"""Wording: idiom that a reader of technical English would stumble over."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src", "docs", "tests", "benchmarks", "examples")
SUFFIXES = {".md", ".py", ".toml", ".yaml", ".yml", ".js", ".css"}
# What to avoid, and what to write in its place.
WORDS = {
    r"mend(s|ed|ing)?": "fix, correct",
    r"told": "reported, shown, asked",
    r"anew": "again",
    r"put(s|ting)? away": "suspended",
    r"what c[ao]mes? of": "the result of",
    r"to be had": "available",
    r"how manieth": "index",
    r"stands? in(?! the way)": "replaces, is in",
    r"(round )?in circles": "again and again",
    r"at home": "in the database",
    r"(?<!there.)is no(?! longer)": "is not a",
}
# Prompts that recorded runs of models were made with.
PROMPTS = ("[Send the code again, mended.]", "send the block again, mended.")
_SPACE = r"[ _\n#]+"
_AVOIDED = {
    re.compile(rf"(?<![A-Za-z])(?:{word.replace(' ', _SPACE)})(?![A-Za-z])", re.IGNORECASE): better
    for word, better in WORDS.items()
}


def _texts() -> list[Path]:
    files = [ROOT / "README.md"]
    for folder in FOLDERS:
        files += (path for path in (ROOT / folder).rglob("*") if path.suffix in SUFFIXES)
    return [path for path in files if path != Path(__file__) and "recordings" not in path.parts]


def faults(text: str) -> list[tuple[int, str]]:
    """The lines with a word to avoid, and what to write there."""
    for prompt in PROMPTS:
        text = text.replace(prompt, "")
    return sorted(
        (text.count("\n", 0, match.start()) + 1, f"{match[0]!r}: write {better}")
        for pattern, better in _AVOIDED.items()
        for match in pattern.finditer(text)
    )


def test_texts_are_in_plain_english() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{line}: {fault}"
        for path in _texts()
        for line, fault in faults(path.read_text(encoding="utf-8"))
    ]
    assert not lines, "\n".join(["", *lines])


@pytest.mark.parametrize("text", ["a\nis mended", "a\ntest_it_is_told", "a\nwhat came\nof it"])
def test_a_word_to_avoid_is_reported_with_its_line(text: str) -> None:
    assert [line for line, _ in faults(text)] == [2]


@pytest.mark.parametrize("text", ["recommended", "untold", "amend", "fixed", *PROMPTS])
def test_other_words_are_not(text: str) -> None:
    assert faults(text) == []
