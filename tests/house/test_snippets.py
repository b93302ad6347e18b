"""Every Python block in README.md and docs/ runs as it is pasted: in an empty folder, and offline.

Files that the page has shown before are there. Blocks that need what commands of their page have
started, and those for another tool, run in tests/e2e/test_pages.py, with the commands.
"""

from __future__ import annotations

import ast
import re
import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest
import yaml
from tests.support.pages import MARKS, PAGES, Block, blocks_of, name_of

BLOCKS = {page: blocks_of(page) for page in PAGES}
PROGRAMS = [
    block
    for blocks in BLOCKS.values()
    for block in blocks
    if block.is_program and "environment" not in block.marks and ":8000" not in block.text
]
KINDS = frozenset(
    {"console", "csv", "diff", "json", "markdown", "python", "sh", "sql", "text", "yaml"}
)
# These load a library that takes seconds.
COSTLY = re.compile(r"AnthropicModel|duckdb|matplotlib|tinyagent\.durable|\bmcp\b")
FENCE = re.compile(r"^[ \t>]*(?:```|~~~)", re.MULTILINE)


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_language_of_each_block_says_what_it_is(page: Path) -> None:
    blocks, text = BLOCKS[page], page.read_text(encoding="utf-8")
    inside = sum(len(FENCE.findall(block.text)) for block in blocks)
    assert len(FENCE.findall(text)) - inside == 2 * len(blocks)
    assert {block.kind for block in blocks} <= KINDS
    assert {mark for block in blocks for mark in block.marks} <= MARKS


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_page_names_each_file_that_a_block_is_saved_as(page: Path) -> None:
    text = re.sub(r"<!--.*?-->", "", page.read_text(encoding="utf-8"))
    for block in BLOCKS[page]:
        if "file" in block.marks:
            assert block.marks["file"] in text.partition(block.text)[0], str(block)


def test_what_cannot_be_run_is_little_and_can_be_read() -> None:
    blocks = [each for blocks in BLOCKS.values() for each in blocks]
    elsewhere = [each for each in blocks if "elsewhere" in each.marks]
    assert [(name_of(each.page), each.marks["elsewhere"]) for each in elsewhere] == [
        ("docs/continuous.md", "Airflow")
    ]
    for each in blocks:
        if each.kind == "python":
            ast.parse(each.text)
        elif each.kind == "yaml":
            yaml.safe_load(each.text)


@pytest.fixture
def _offline(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    connect = socket.socket.connect

    def connect_to_this_machine(own: socket.socket, address: tuple[str, int]) -> None:
        if address[0] != "127.0.0.1":
            raise OSError(f"an example reaches for the network: {address}")
        connect(own, address)

    monkeypatch.setattr(socket.socket, "connect", connect_to_this_machine)
    monkeypatch.setenv("OPENAI_API_KEY", "none")  # "set the key of its provider"
    monkeypatch.chdir(tmp_path)


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize(
    "block", [each for each in PROGRAMS if not COSTLY.search(each.text)], ids=str
)
def test_the_block_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(block, monkeypatch)


@pytest.mark.usefixtures("_offline")
@pytest.mark.parametrize("block", [each for each in PROGRAMS if COSTLY.search(each.text)], ids=str)
def test_the_block_that_loads_much_runs(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    _run(block, monkeypatch)


def _run(block: Block, monkeypatch: pytest.MonkeyPatch) -> None:
    """Run a block in the current folder, with the files that its page has shown before."""
    for other in BLOCKS[block.page]:
        if other.line < block.line and "file" in other.marks:
            path = Path(other.marks["file"])
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(other.text, encoding="utf-8")
    module = ModuleType("snippet")
    monkeypatch.setitem(sys.modules, "snippet", module)
    program = "\n" * (block.line - 1) + block.text
    exec(compile(program, block.page, "exec", dont_inherit=True), vars(module))  # noqa: S102
