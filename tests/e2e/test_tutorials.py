"""The tutorials of docs/tutorials, followed to their ends in an empty folder.

A block after `<!-- file: NAME -->` is written to that file. Of a console block, the lines after
`$ ` are typed into one shell, and what they print must be what the page shows, where `...` stands
for any text. A block after `<!-- exit: N -->` ends with that code, and one after `<!-- background
-->` keeps running: from then on a command is repeated until it prints what the page shows.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.ports import own_port
from tests.support.postgres import Database

PAGES = sorted((Path(__file__).parents[2] / "docs" / "tutorials").glob("*.md"))
BLOCK = re.compile(
    r"^(?:<!-- (?P<mark>file|exit|background)(?:: (?P<value>\S+))? -->\n+)?"
    r"```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
SECONDS = 120
BIN = os.environ.get("TUTORIALS_BIN", str(Path(sys.executable).parent))
"""Where the commands of the pages are: `make newcomer` gives an environment of its own."""


class Command(NamedTuple):
    """A command of a console block, and what the page shows below it."""

    line: str
    output: str


class Folder:
    """An empty folder, and the environment and background processes of its shell."""

    def __init__(self, path: Path, meant: dict[str, str]) -> None:
        self.path = path
        self._meant = meant
        self._environment = {
            "PATH": os.pathsep.join([BIN, os.defpath]),
            "HOME": str(path),
            "COLUMNS": "120",
        }
        self._background: list[subprocess.Popen[bytes]] = []

    def follow(self, block: re.Match[str]) -> None:
        """Do what a block says."""
        text = block["text"]
        for written, real in self._meant.items():
            text = text.replace(written, real)
        if block["mark"] == "file":
            (self.path / block["value"]).write_text(text, encoding="utf-8")
        elif block["kind"] == "console":
            for command in _commands(text):
                self._type(command, block)

    def _type(self, command: Command, block: re.Match[str]) -> None:
        name, _, value = command.line.removeprefix("export ").partition("=")
        if command.line.startswith("export "):
            self._environment[name] = value
        elif block["mark"] == "background":
            self._background.append(
                subprocess.Popen(
                    ["sh", "-c", f"exec {command.line}"],
                    cwd=self.path,
                    env=self._environment,
                    stderr=subprocess.DEVNULL,
                )
            )
        else:
            self._expect(command, int(block["value"] or 0) if block["mark"] == "exit" else 0)

    def _expect(self, command: Command, code: int) -> None:
        until = time.monotonic() + SECONDS
        while True:
            done = subprocess.run(
                ["bash", "-c", command.line],
                cwd=self.path,
                env=self._environment,
                capture_output=True,
                text=True,
                timeout=SECONDS,
                check=False,
            )
            printed = _plain(done.stdout + done.stderr)
            if done.returncode in (code, -(code - 128)) and _pattern(command.output).match(printed):
                return
            if not self._background or time.monotonic() > until:
                assert (command.line, done.returncode) == (command.line, code), printed
                assert printed == _plain(command.output), command.line
            time.sleep(0.5)

    def close(self) -> None:
        """End what still runs."""
        for process in self._background:
            process.send_signal(signal.SIGINT)
            process.wait(SECONDS)


def _commands(text: str) -> Iterator[Command]:
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        line, _, output = part.partition("\n")
        yield Command(line, output)


def _plain(text: str) -> str:
    """A text without spaces at the ends of lines, and without empty lines."""
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _pattern(output: str) -> re.Pattern[str]:
    parts = re.escape(_plain(output)).replace(r"\.\.\.", r"[\s\S]*?")
    return re.compile(rf"\n?{parts}\n?\Z".replace(r"[\s\S]*?\n", r"[\s\S]*?\n?"))


@pytest.fixture
def folder(tmp_path: Path, postgres_database: Database) -> Generator[Folder]:
    """An empty folder, where the addresses of the pages are those of real servers."""
    meant = {
        "postgresql://skillian@db.example/skillian": postgres_database.url,
        "8000": str(own_port()),
    }
    made = Folder(tmp_path, meant)
    yield made
    made.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_tutorial_works_to_its_end(page: Path, folder: Folder) -> None:
    blocks = list(BLOCK.finditer(page.read_text(encoding="utf-8")))
    assert blocks
    for block in blocks:
        folder.follow(block)
