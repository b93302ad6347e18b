"""pydantic-monty's pool of workers: microseconds of a start with its first step, a step, a loop."""

from __future__ import annotations

import json
import sys
import time

import pydantic_monty

STEP, LOOP = sys.argv[1:3]
LIMITS = {"max_feed_duration_secs": 60}


def median(go: object, times: int) -> float:
    """Median microseconds of one go."""
    taken = []
    for _ in range(times):
        started = time.perf_counter()
        go()
        taken.append(time.perf_counter() - started)
    return sorted(taken)[times // 2] * 1e6


with pydantic_monty.Monty() as pool:

    def start() -> None:
        """A session and its first step."""
        with pool.checkout(limits=LIMITS) as session:
            session.feed_run(STEP)

    start()
    with pool.checkout(limits=LIMITS) as session:
        session.feed_run(STEP)
        figures = {
            "start": median(start, 50),
            "step": median(lambda: session.feed_run(STEP), 100),
            "loop": median(lambda: session.feed_run(LOOP), 1),
        }
print(json.dumps(figures))
