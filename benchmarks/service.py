"""The service under load, from a second process: `python benchmarks/service.py`.

200 sessions of 20 turns with one comparison each, beside a bare FastAPI route that returns a stored
JSON of the same size; and words streamed to 200 clients at once.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter
from typing import Any, NamedTuple

import aiohttp
from service_server import WORDS

from skillian.demo.ledger import write_demo

PROGRAM = Path(__file__).with_name("service_server.py")
COMPANIES = ("1001", "1002", "1003")
STREAM_TARGET_US = 100.0
RSS_TARGET = 1.03
"""The largest allowed ratio of the memory of new sessions to that of earlier ones."""


class Running(NamedTuple):
    """A server process and where it listens."""

    url: str
    proc: Path

    def cpu(self) -> float:
        """CPU seconds of all its threads so far."""
        fields = (self.proc / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rss(self) -> float:
        """Memory in MB."""
        pages = int((self.proc / "statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE") / 1e6


class Load(NamedTuple):
    """The result of a load: requests a second, CPU for each request, memory after each round."""

    per_second: float
    cpu_ms: float
    memory: list[float]
    answer: dict[str, Any]


@contextmanager
def running(kind: str, sources: Path) -> Generator[Running]:
    """A server of this kind with its own session store."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(PROGRAM), kind, str(sources), f"sqlite:///{folder}/s.db"]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
            port = (process.stdout.readline() if process.stdout else "").strip()
            try:
                yield Running(f"http://127.0.0.1:{port}", Path(f"/proc/{process.pid}"))
            finally:
                process.terminate()


async def chat(server: Running, sessions: int, turns: int) -> Load:
    """All sessions at once, turn by turn; raises if an answer is incomplete."""
    memory: list[float] = []
    async with client(server, sessions) as http:
        ids = [await made(http) for _ in range(sessions)]
        start, cpu = perf_counter(), server.cpu()
        answer: dict[str, Any] = {}
        for turn in range(turns):
            company = COMPANIES[turn % len(COMPANIES)]
            answers = await asyncio.gather(*(asked(http, each, company) for each in ids))
            answer = answers[0]
            memory.append(server.rss())
        count = sessions * turns
        return Load(
            count / (perf_counter() - start), (server.cpu() - cpu) * 1000 / count, memory, answer
        )


async def bare(server: Running, clients: int, rounds: int, stored: dict[str, Any]) -> Load:
    """The same number of requests to a route that does nothing."""
    async with client(server, clients) as http:
        async with http.put("/stored", json=stored) as answer:
            answer.raise_for_status()
        start, cpu = perf_counter(), server.cpu()
        for _ in range(rounds):
            await asyncio.gather(*(posted(http, "/chat") for _ in range(clients)))
        count = clients * rounds
        return Load(
            count / (perf_counter() - start), (server.cpu() - cpu) * 1000 / count, [], stored
        )


async def streamed(server: Running, clients: int) -> float:
    """Microseconds of the server's CPU for each word to each client, with the whole turn."""
    async with client(server, clients) as http:
        await read(http)  # once, so that all is loaded
        cpu = server.cpu()
        texts = await asyncio.gather(*(read(http) for _ in range(clients)))
        spent = server.cpu() - cpu
    if any(text.count('"kind":"text"') < 2 or "turn_ended" not in text for text in texts):
        raise AssertionError("a stream was cut short")
    return spent * 1e6 / (clients * WORDS)


def client(server: Running, connections: int) -> aiohttp.ClientSession:
    """A client with this many connections."""
    limit = aiohttp.TCPConnector(limit=connections)
    return aiohttp.ClientSession(
        server.url, connector=limit, timeout=aiohttp.ClientTimeout(total=300)
    )


async def made(http: aiohttp.ClientSession) -> str:
    """The id of a new session."""
    async with http.post("/sessions") as answer:
        answer.raise_for_status()
        session: str = (await answer.json())["id"]
        return session


async def asked(
    http: aiohttp.ClientSession, session: str, company: str, question: str = "Compare"
) -> dict[str, Any]:
    """The answer to a question about a company, checked."""
    answer = await posted(http, f"/sessions/{session}/chat", f"{question} company {company}")
    [call] = answer["tool_calls"]
    if not answer["finished"] or call["args"]["filters"] != {"company": company}:
        raise AssertionError(f"not the answer to that question: {answer['response']}")
    if "error" in call["result"]:
        raise AssertionError(f"the comparison failed: {call['result']}")
    return answer


async def posted(http: aiohttp.ClientSession, path: str, message: str = "Hi") -> dict[str, Any]:
    """The answer to a message."""
    async with http.post(path, json={"message": message}) as answer:
        answer.raise_for_status()
        body: dict[str, Any] = await answer.json()
        return body


async def read(http: aiohttp.ClientSession) -> str:
    """A turn as it is streamed."""
    headers = {"Accept": "text/event-stream"}
    async with http.post("/chat", json={"message": "Talk"}, headers=headers) as answer:
        answer.raise_for_status()
        return await answer.text()


def main() -> int:
    """Measure, print, and say by the exit code whether the targets are kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=200)
    parser.add_argument("--turns", type=int, default=20)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        sources = write_demo(Path(folder))
        with running("chat", sources) as server:
            ours = asyncio.run(chat(server, given.sessions, given.turns))
            again = asyncio.run(chat(server, given.sessions, max(1, given.turns // 4)))
        with running("bare", sources) as server:
            floor = asyncio.run(bare(server, given.sessions, given.turns, ours.answer))
        with running("stream", sources) as server:
            word = statistics.median(
                asyncio.run(streamed(server, given.sessions)) for _ in range(3)
            )
    growth = max(again.memory) / max(ours.memory)
    memory = "; ".join(" ".join(f"{each:.0f}" for each in load.memory) for load in (ours, again))
    print(f"{given.sessions} sessions x {given.turns} turns, one comparison each: no error")
    print(f"chat:  {ours.per_second:7.0f} a second, {ours.cpu_ms:6.2f} ms CPU each")
    print(f"bare:  {floor.per_second:7.0f} a second, {floor.cpu_ms:6.2f} ms CPU each")
    print(f"ratio: {floor.per_second / ours.per_second:7.1f}, CPU {ours.cpu_ms / floor.cpu_ms:.1f}")
    print(f"RSS after each round, then with new sessions, MB: {memory}")
    print(f"RSS of new sessions: x {growth:.2f} (target <= {RSS_TARGET})")
    print(f"streamed: {word:.0f} us CPU a word (target <= {STREAM_TARGET_US:.0f})")
    return int(growth > RSS_TARGET or word > STREAM_TARGET_US)


if __name__ == "__main__":
    sys.exit(main())
