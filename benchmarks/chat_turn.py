"""What a chat turn costs the server: `python benchmarks/chat_turn.py`.

A real server answers over HTTP: ten sessions at once, 20 turns each. Each turn asks, with spaces as
in no question before it, for a comparison whose result is remembered: what is left is the turn
itself. Counted is the CPU of the server process, less what a bare route of the same server takes to
return the same JSON. The model is a script that answers in no time; the offline planner is measured
as well.
"""

from __future__ import annotations

import argparse
import asyncio
import statistics
import sys
import tempfile
from collections.abc import Iterator
from itertools import count
from pathlib import Path

from service import COMPANIES, Running, asked, bare, client, made, running

from skillian.demo.ledger import write_demo

TARGET_MS = 6.0
QUESTION = "Compare{}the amount of fi_reporting and bpc_reporting{}for"
MOST_SPACES = 25
TURNS_OF_A_SESSION = 20
ROUNDS = 3


async def chat(
    server: Running, sessions: int, number: Iterator[int]
) -> tuple[float, dict[str, object]]:
    """Return the milliseconds of CPU of a turn, and an answer."""
    async with client(server, sessions) as http:
        first = await made(http)
        for company in COMPANIES:  # so that each comparison is remembered and all is loaded
            await asked(http, first, company, question(0))
        ids = [await made(http) for _ in range(sessions)]
        cpu, answer = server.cpu(), {}
        for turn in range(TURNS_OF_A_SESSION):
            company = COMPANIES[turn % len(COMPANIES)]
            questions = [question(next(number)) for _ in ids]
            answers = await asyncio.gather(
                *(asked(http, i, company, q) for i, q in zip(ids, questions, strict=True))
            )
            answer = answers[0]
        return (server.cpu() - cpu) * 1000 / (sessions * TURNS_OF_A_SESSION), answer


def question(number: int) -> str:
    """Return a question that is read as a new one."""
    first, second = divmod(number, MOST_SPACES)
    return QUESTION.format(" " * (first + 1), " " * (second + 1))


def main() -> int:
    """Measure, print, and say by the exit code whether the target is kept."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sessions", type=int, default=10)
    sessions: int = parser.parse_args().sessions
    with tempfile.TemporaryDirectory() as folder:
        sources = write_demo(Path(folder))
        costs: dict[str, float] = {}
        answer: dict[str, object] = {}
        for kind in ("planner", "chat"):
            with running(kind, sources) as server:
                number = count(1)
                rounds = [asyncio.run(chat(server, sessions, number)) for _ in range(ROUNDS)]
            costs[kind] = statistics.median(cost for cost, _ in rounds)
            answer = rounds[-1][1]
        with running("bare", sources) as server:
            requests = TURNS_OF_A_SESSION * ROUNDS
            floor = asyncio.run(bare(server, sessions, requests, answer)).cpu_ms
    beyond = costs["chat"] - floor
    print(f"{sessions * TURNS_OF_A_SESSION} turns with a remembered comparison, CPU of the server")
    print(f"bare route:      {floor:5.2f} ms")
    print(f"chat turn:       {costs['chat']:5.2f} ms")
    print(f"beyond the bare: {beyond:5.2f} ms (target <= {TARGET_MS:.0f})")
    print(f"offline planner: {costs['planner'] - floor:5.2f} ms, with its own reading")
    return int(beyond > TARGET_MS)


if __name__ == "__main__":
    sys.exit(main())
