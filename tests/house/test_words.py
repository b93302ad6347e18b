"""Wording: idiom that a reader of technical English would stumble over."""

from __future__ import annotations

import ast
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


_ENTRIES = ("Args:", "Raises:", "Attributes:")
_ENTRY = re.compile(r" {4}\*{0,2}\w[\w., *]*: (?=[a-z]+[ ,;:.])")


def dialect_faults(source: str) -> list[int]:
    """The lines of docstrings that begin with "Return", or with an entry in lower case."""
    lines: list[int] = []
    for node in ast.walk(ast.parse(source)):
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            continue
        text, section = (ast.get_docstring(node) or "").split("\n"), ""
        first = node.body[0].lineno
        lines += [first] if re.match(r"Returns? ", text[0]) else []
        for number, line in enumerate(text, first):
            section = line.strip() if not line.startswith(" ") and line else section
            if section in _ENTRIES and _ENTRY.match(line):
                lines.append(number)
    return lines


def test_docstrings_speak_one_dialect() -> None:
    lines = [
        f"{path.relative_to(ROOT)}:{line}"
        for path in (ROOT / "src").rglob("*.py")
        for line in dialect_faults(path.read_text(encoding="utf-8"))
    ]
    assert not lines, "\n".join(["", *lines])


@pytest.mark.parametrize(
    ("docstring", "found"),
    [
        ("The sum.\n\n    Args:\n        a: A number.\n    ", []),
        ("Return the sum.", [2]),
        ("The sum.\n\n    Args:\n        a: a number.\n    ", [5]),
        ("The sum.\n\n    Raises:\n        ValueError: it is: odd.\n    ", [5]),
        ("The sum.\n\n    Args:\n        name: `str` or more.\n        is: it\n    ", []),
    ],
)
def test_another_dialect_is_seen(docstring: str, found: list[int]) -> None:
    assert dialect_faults(f'def add():\n    """{docstring}"""\n') == found
