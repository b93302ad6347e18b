"""Alternating runs, each in a separate process."""

from __future__ import annotations

import json
import subprocess
from typing import NamedTuple

from comparison_cases import Contest, Way
from peer_table import HERE, python_of
from places import Place

SECONDS = 600.0


class Go(NamedTuple):
    """CPU seconds of client and server, the client's peak in MB, and what was found."""

    client: float
    server: float
    peak: float
    found: dict[str, object]

    @property
    def seconds(self) -> float:
        """CPU of both."""
        return self.client + self.server


def turns(contest: Contest, place: Place) -> dict[Way, list[Go]]:
    """All ways of a contest, by turns; what has no target takes part in the first round only.

    Raises:
        subprocess.SubprocessError: one of them failed.
    """
    goes: dict[Way, list[Go]] = {way: [] for way in (*contest.floors, *contest.others)}
    for number in range(contest.rounds):
        for way, gone in goes.items():
            if number == 0 or way in contest.floors or way.target is not None:
                gone.append(_go(way, place))
    return goes


def _go(way: Way, place: Place) -> Go:
    pins = HERE / "comparison_peers" / f"{way.peer}.txt"
    python = python_of(f"comparison_{way.peer}", pins.read_text() if pins.exists() else "")
    runner = [python, str(HERE / "comparison_runner.py"), way.peer, way.case]
    done = subprocess.run(
        [*runner, str(place.postmaster), str(place.folder), place.url],
        stdout=subprocess.PIPE,
        check=True,
        text=True,
        timeout=SECONDS,
    )
    return Go(**json.loads(done.stdout.splitlines()[-1]))
