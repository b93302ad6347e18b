"""A reader who pastes the blocks of a page into one shell, in one folder that is empty at first.

What is beyond this machine is replaced by environment variables only: the model by a strict server
at OPENAI_BASE_URL, and PostgreSQL at `db.example` by a server of this machine, at PGHOSTADDR. The
text of a block stays as it is, except for `<this repository>` and the ports 8000 and 8001, which
may be in use.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import AsyncGenerator, Mapping
from contextlib import AsyncExitStack, asynccontextmanager, suppress
from pathlib import Path

from tests.support.pages import ROOT, Block, commands
from tests.support.ports import own_port

from tinyagent.core import ModelResponse, RawToolCall
from tinyagent.testing import MockServer, Output, StrictServer

SECONDS = 600
START_SECONDS = 120
"""How long what runs in the background may take until a block can be pasted."""
PROGRAM = "pasted.py"
_CALL = re.compile(r"(\w+)\((\w+)=\"(.*?)\"\)")
# Collects the codes of commands that fail, as a reader sees them; a code above 128 is a signal's.
_SHELL = """
trap 'codes="$codes $?"' ERR
while IFS= read -r pasted; do
  codes=; . "$pasted" < /dev/null > "$pasted.out" 2> "$pasted.err"; trap 'codes="$codes $?"' ERR
  echo "$codes:$PWD" >&3
done
"""
# How this machine reaches the package index.
_KEPT = ("PIP_", "UV_", "SSL_CERT_", "http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY")
_BAD = re.compile(r"^(?:error: |Traceback )", re.MULTILINE)
_BACKGROUND = re.compile(r"(?<!&)& *(?:#.*)?$", re.MULTILINE)
_REQUIREMENTS = {
    path.stem.removeprefix("tables_"): path
    for folder in ("peers", "comparison_peers")
    for path in (ROOT / "benchmarks" / folder).glob("*.txt")
}


class DoesNotRun(AssertionError):
    """A block does not do what its page says."""


class Reader:
    """Pastes blocks; made by `reading`.

    Args:
        folder: The empty folder, in which the shell begins.
        private: Another folder, for what a reader does not see.
        programs: Where `python` and the commands are.
        environment: Variables of the shell.
        meant: What stands for the words of a page that no reader keeps.
    """

    def __init__(
        self,
        folder: Path,
        private: Path,
        programs: Path,
        environment: Mapping[str, str],
        meant: Mapping[str, str],
    ) -> None:
        self.folder = folder
        self._private = private
        self._programs = programs
        self._environment = dict(environment)
        self._meant = meant
        self._pasted = 0
        self._printed: list[str] = []
        self._has_background = False
        self._shell: asyncio.subprocess.Process | None = None

    async def start(self) -> None:
        """Open the shell."""
        reading, writing = os.pipe()
        self._codes = asyncio.StreamReader()
        self._pipe, _ = await asyncio.get_running_loop().connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(self._codes), os.fdopen(reading, "rb")
        )
        self._shell = await asyncio.create_subprocess_exec(
            *("bash", "--norc", "--noprofile", "-c", _SHELL.replace("&3", f"&{writing}")),
            cwd=self.folder,
            env=self._environment,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.DEVNULL,
            stderr=asyncio.subprocess.DEVNULL,
            pass_fds=[writing],
            start_new_session=True,
        )
        os.close(writing)

    async def close(self) -> None:
        """End the shell and all that it has started."""
        if self._shell is not None:
            for number in (signal.SIGINT, signal.SIGKILL):
                with suppress(ProcessLookupError):
                    os.killpg(self._shell.pid, number)
            await self._shell.wait()
            self._pipe.close()

    async def follow(self, block: Block) -> None:
        """Do what a reader does with a block.

        Raises:
            DoesNotRun: The block does not do what the page says.
        """
        text = self._as_meant(block.text)
        if "file" in block.marks:
            path = self.folder / block.marks["file"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        elif block.is_program:
            await self._run(block, text)
        elif block.kind == "sh":
            await self._paste(block, text, None)
        elif block.kind == "console":
            for line, output in commands(text):
                await self._paste(block, line, output)
        elif "output" in block.marks:
            if not self._printed or any(not shows(text, each) for each in self._printed):
                raise DoesNotRun(f"{block}: the programs print {self._printed}")
            self._printed.clear()

    def _as_meant(self, text: str) -> str:
        for written, real in self._meant.items():
            text = re.sub(rf"(?<!\w){re.escape(written)}(?!\w)", real, text)
        return text

    async def _run(self, block: Block, text: str) -> None:
        (self.folder / PROGRAM).write_text(text, encoding="utf-8")
        python = "python"
        if "environment" in block.marks:
            python = str(await asyncio.to_thread(self._python_of, block.marks["environment"]))
        printed = await self._paste(block, f"{shlex.quote(python)} {PROGRAM}", None)
        self._printed.append(printed)
        (self.folder / PROGRAM).unlink()

    def _python_of(self, name: str) -> Path:
        """The Python of an environment with another tool, which is made if it is not there."""
        if name == "tinyagent":
            return self._programs / "python"
        version = subprocess.check_output(
            [self._programs / "python", "-c", "import sys; print('%d.%d' % sys.version_info[:2])"],
            text=True,
        )
        folder = ROOT / ".cache" / "peers" / f"page-{name}-{version.strip()}"
        python = folder / "bin" / "python"
        if not (folder / ".complete").exists():
            subprocess.run([self._programs / "python", "-m", "venv", "--clear", folder], check=True)
            subprocess.run(
                [python, "-m", "pip", "install", "--quiet", "-r", _REQUIREMENTS[name]], check=True
            )
            (folder / ".complete").touch()
        return python

    async def _paste(self, block: Block, text: str, output: str | None) -> str:
        """Paste commands; returns what they print to standard output.

        Where something runs in the background, they are pasted again until they work.
        """
        wanted = {block.marks["exit"]} if "exit" in block.marks else set[str]()
        until = time.monotonic() + START_SECONDS
        if "background" in block.marks:
            text = f"{{\n{text.rstrip()}\n}} &"
        while True:
            codes, printed, errors = await asyncio.wait_for(self._type(text), SECONDS)
            fits = output is None or shows(output, printed + errors)
            if codes == wanted and fits and not _BAD.search(errors):
                self._has_background |= _BACKGROUND.search(text) is not None
                return printed
            if not self._has_background or time.monotonic() > until:
                ended = f"{block}: codes {sorted(codes)}, not {sorted(wanted)}"
                raise DoesNotRun(f"{ended}\n{text}\nprinted:\n{printed}{errors}\nnot:\n{output}")
            await asyncio.sleep(0.3)

    async def _type(self, text: str) -> tuple[set[str], str, str]:
        """Give the shell one text; the codes of the commands that failed, and both outputs."""
        assert self._shell is not None
        assert self._shell.stdin is not None
        self._pasted += 1
        script = self._private / f"{self._pasted}.sh"
        script.write_text(f"{text.rstrip()}\n", encoding="utf-8")
        self._shell.stdin.write(f"{script}\n".encode())
        codes, _, folder = (await self._codes.readline()).decode().partition(":")
        printed, errors = (
            script.with_suffix(f".sh.{kind}").read_text(encoding="utf-8", errors="replace")
            for kind in ("out", "err")
        )
        if not folder:
            raise DoesNotRun(f"the shell has ended: {text}\n{printed}{errors}")
        self.folder = Path(folder.rstrip("\n"))
        return set(codes.split()), printed, errors


@asynccontextmanager
async def reading(
    folder: Path, private: Path, programs: Path, blocks: list[Block], postgres: Mapping[str, str]
) -> AsyncGenerator[Reader]:
    """A reader with the servers that the blocks need.

    Args:
        folder: The empty folder.
        private: Another folder, for what a reader does not see.
        programs: Where `python` and the commands of the environment are.
        blocks: The blocks of the page.
        postgres: The variables with which clients find PostgreSQL.
    """
    async with AsyncExitStack() as stack:
        replies = next((each.marks["model"] for each in blocks if "model" in each.marks), None)
        if replies is None:
            server: StrictServer | MockServer = StrictServer("openai", _answer)
        else:
            server = MockServer(_replies(replies))
        await stack.enter_async_context(server)
        port = str(own_port())
        kept = {name: value for name, value in os.environ.items() if name.startswith(_KEPT)}
        environment = {
            **kept,
            "PATH": os.pathsep.join([str(programs), os.defpath, postgres.get("PROGRAMS", "")]),
            "HOME": os.environ["HOME"] if "READER_BIN" in os.environ else str(private),
            "LANG": "C.UTF-8",
            "COLUMNS": "120",
            "SKILLIAN_PORT": port,
            "OPENAI_BASE_URL": server.base_url,
            "OPENAI_API_KEY": "none",
            **postgres,
        }
        meant = {"<this repository>": str(ROOT), "8000": port, "8001": str(own_port())}
        reader = Reader(folder, private, programs, environment, meant)
        stack.push_async_callback(reader.close)
        await reader.start()
        yield reader


def programs() -> Path:
    """Where `python` is: READER_BIN, which `make newcomer` sets, or next to this one."""
    return Path(os.environ.get("READER_BIN", str(Path(sys.executable).parent)))


def shows(shown: str, printed: str) -> bool:
    """Whether a page shows what was printed, apart from blanks at the ends of lines."""
    pattern = re.escape(_plain(shown)).replace(r"\.\.\.", r"[\s\S]*?")
    pattern = rf"\n?{pattern}\n?\Z".replace(r"[\s\S]*?\n", r"[\s\S]*?\n?")
    return re.match(pattern, _plain(printed)) is not None


def _plain(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.splitlines() if line.strip())


def _answer(_: object) -> Output:
    return Output("Red, yellow, blue.")


def _replies(replies: str) -> list[str | ModelResponse]:
    answers: list[str | ModelResponse] = []
    for part in replies.replace("\\n", "\n").split("; "):
        if call := _CALL.fullmatch(part):
            made = RawToolCall("call_1", call[1], json.dumps({call[2]: call[3]}))
            answers.append(ModelResponse(None, (made,)))
        else:
            answers.append(part)
    return answers
