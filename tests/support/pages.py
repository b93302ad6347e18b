"""The code blocks of README.md and docs/, as a reader finds them.

The language of a block says what a reader does with it:

- `python` is a program: it is saved and run.
- `sh` are commands, which are pasted together.
- `console` are commands after `$ `, and what each prints, where `...` stands for any text.
- Any other is text to read, or a file.

Comments before a block say what else a test must know. None adds to what the reader sees:

- `<!-- file: NAME -->`: it is saved under this name, which the page says.
- `<!-- exit: 1 -->`: commands of the block end with this code.
- `<!-- background -->`: it keeps running; blocks after it are pasted again until they work.
- `<!-- output -->`: it shows what the programs since the last such block print.
- `<!-- model: REPLY; REPLY -->`: what the model at OPENAI_BASE_URL answers these programs.
- `<!-- environment: NAME -->`: a program for another tool, in an environment of its own.
- `<!-- fresh -->`: it installs something, so only `make newcomer` runs it.
- `<!-- elsewhere: REASON -->`: a program that cannot be run here; it is only parsed.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).parents[2]
PAGES = sorted([ROOT / "README.md", *(ROOT / "docs").rglob("*.md")])
SHELL = frozenset({"console", "sh"})
MARKS = frozenset(
    {"background", "elsewhere", "environment", "exit", "file", "fresh", "model", "output"}
)
_FENCE = re.compile(
    r"(?P<marks>(?:^<!-- [a-z]+(?:: [^\n]*)? -->\n+)*)"
    r"^(?P<fence>```+|~~~+)(?P<kind>\w*)\n(?P<text>.*?)^(?P=fence)$",
    re.MULTILINE | re.DOTALL,
)
_MARK = re.compile(r"^<!-- ([a-z]+)(?:: ([^\n]*))? -->$", re.MULTILINE)
_INSTALL = re.compile(r"`(pip install (?:\.|'\.\[)[^`\n]*)`")
_PLAIN = "pip install ."


class Block(NamedTuple):
    """A block of a page, the comments before it, and the line on which it begins."""

    page: Path
    line: int
    kind: str
    text: str
    marks: dict[str, str]

    def __str__(self) -> str:
        return f"{name_of(self.page)}:{self.line}"

    @property
    def is_program(self) -> bool:
        """Whether it is Python that is run as it is pasted."""
        return self.kind == "python" and not self.marks.keys() & {"elsewhere", "file"}

    @property
    def is_run(self) -> bool:
        """Whether it is run at all, here or in a fresh environment."""
        return self.is_program or self.kind in SHELL


def name_of(page: Path) -> str:
    """The path of a page below the root."""
    return page.relative_to(ROOT).as_posix()


def blocks_of(page: Path) -> list[Block]:
    """All blocks of a page in their order."""
    return list(_blocks(page, page.read_text(encoding="utf-8")))


def _blocks(page: Path, text: str) -> Iterator[Block]:
    for found in _FENCE.finditer(text):
        line = text.count("\n", 0, found.start("text")) + 1
        marks = {name: value or "" for name, value in _MARK.findall(found["marks"])}
        yield Block(page, line, found["kind"], found["text"], marks)


def installs(page: Path) -> tuple[str, ...]:
    """The commands that the page gives for the folder of the clone, which its blocks do not run."""
    text = page.read_text(encoding="utf-8")
    if any("fresh" in block.marks and "git clone" in block.text for block in blocks_of(page)):
        return ()
    return tuple(dict.fromkeys(_INSTALL.findall(text))) or (_PLAIN,)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Each command of a console block, and what it prints."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield line, output
