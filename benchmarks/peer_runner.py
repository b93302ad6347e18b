"""Measures one framework in its own environment: `python peer_runner.py NAME BASE_URL`.

`peers/NAME.py` has `run_once(base_url, turns)`, sync or async, which gives the answer. Prints the
CPU milliseconds of it and of the floor, and the ratio of each pair, as JSON.
"""

from __future__ import annotations

import asyncio
import importlib.util
import inspect
import json
import sys
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

from floor import ANSWER, tool_loop, with_client
from openai import AsyncOpenAI
from pairs import Pair, measure

TURNS = 10
PAIRS = 12
REPEATS = 2


def load(name: str) -> Callable[[str, int], Any]:
    """The `run_once` of a peer, by its file: peers may bear the names of packages."""
    path = Path(__file__).parent / "peers" / f"{name}.py"
    spec = importlib.util.spec_from_file_location(f"peer_{name}", path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be loaded")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    run_once: Callable[[str, int], Any] = module.run_once
    return run_once


async def compare(run_once: Callable[[str, int], Any], base_url: str) -> Pair:
    """The peer and the floor, by turns."""

    async def peer() -> object:
        answer = run_once(base_url, TURNS)
        if inspect.isawaitable(answer):
            answer = await answer
        if answer != ANSWER:
            raise RuntimeError(f"the run ended with {answer!r}, not {ANSWER!r}")
        return answer

    async with AsyncOpenAI(base_url=base_url, api_key="x") as client:
        ask = with_client(client)
        return await measure(peer, lambda: tool_loop(ask, TURNS), pairs=PAIRS, repeats=REPEATS)


if __name__ == "__main__":
    print(json.dumps(asdict(asyncio.run(compare(load(sys.argv[1]), sys.argv[2])))))
