"""One process of pytest for each shard, several at a time."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import IO, Any

from tests.support.suite.selection import Selection
from tests.support.suite.shards import Shard

_FAILED, _EMPTY = 1, 5  # exit codes of pytest
_KILLED = -9
_LONGEST_SECONDS = 3600.0  # a test that hangs is ended by its own timeout, long before

Result = Mapping[str, Any]
"""The result of an item, as the plugin writes it."""


@dataclass(frozen=True, slots=True)
class Ran:
    """The result of a shard.

    Args:
        shard: what was to run.
        results: of the items that ran.
        vanished: the ids of selected items without a result.
        fault: what happened to the process apart from items; "" if nothing did.
        output: what it printed.
        held: its largest memory after a test, in megabytes.
        seconds: how long it took.
    """

    shard: Shard
    results: tuple[Result, ...]
    vanished: tuple[str, ...]
    fault: str
    output: str
    held: int
    seconds: float

    @property
    def failed(self) -> list[str]:
        """The ids of the items that failed."""
        return [each["id"] for each in self.results if each["outcome"] == "failed"]


class Processes:
    """Runs shards, all with the same selection.

    Args:
        folder: for what each process writes.
        selection: what runs of each file.
        marks: an expression of pytest's `-m`.
        seed: of the order of tests, and of the examples of properties that are not fixed.
    """

    def __init__(self, folder: Path, selection: Selection, marks: str, seed: int) -> None:
        self._folder = folder
        self._common = ["-m", marks, "-p", "no:cacheprovider"]
        self._numbers = count(1)
        rest = folder / "rest.json"
        rest.write_text(json.dumps(sorted(selection.rest)))
        self._selected = [
            *(f"--select={selection.mode}", f"--turn={selection.turn}", f"--rest={rest}"),
            *("-p", "randomly", f"--randomly-seed={seed}", f"--hypothesis-seed={seed}"),
        ]

    def run(self, shards: Sequence[Shard], at_once: int) -> Iterator[Ran]:
        """The result of each shard, in the order in which they end."""
        pool = ThreadPoolExecutor(at_once)
        try:
            started = [pool.submit(self._one, shard, self._selected) for shard in shards]
            for done in as_completed(started):
                yield done.result()
        finally:  # after Ctrl-C, nothing more is started
            pool.shutdown(cancel_futures=True)

    def again(self, ids: Sequence[str]) -> Ran:
        """The results of these items when they run alone."""
        only = self._folder / "only.json"
        only.write_text(json.dumps(ids))
        files = tuple(dict.fromkeys(each.partition("::")[0] for each in ids))
        return self._one(Shard("again", files, 0.0), [f"--only={only}", "-p", "no:randomly"])

    def _one(self, shard: Shard, options: Sequence[str]) -> Ran:
        number = next(self._numbers)
        file, log = self._folder / f"{number}.jsonl", self._folder / f"{number}.log"
        command = [sys.executable, "-m", "pytest", *self._common, *options]
        command += [f"--results={file}", *shard.files]
        started = time.monotonic()
        with log.open("wb") as output:
            code = _exit_code(command, output)
        entries = [json.loads(line) for line in file.open()] if file.exists() else []
        results = [entry for entry in entries if "id" in entry]
        selected = Counter(id for entry in entries for id in entry.get("selected", ()))  # noqa: A001
        vanished = selected - Counter(result["id"] for result in results)
        return Ran(
            shard,
            tuple(results),
            tuple(vanished.elements()),
            _fault(code, entries),
            log.read_text(errors="replace"),
            max((result["megabytes"] for result in results), default=0),
            time.monotonic() - started,
        )


def _exit_code(command: Sequence[str], output: IO[bytes]) -> int:
    try:
        done = subprocess.run(
            command, stdout=output, stderr=output, check=False, timeout=_LONGEST_SECONDS
        )
    except subprocess.TimeoutExpired:
        return _KILLED
    return done.returncode


def _fault(code: int, entries: Sequence[Result]) -> str:
    if not entries or "ended" not in entries[-1]:
        return f"the process crashed with exit code {code}"
    selected = sum(len(entry.get("selected", ())) for entry in entries)
    if code in {0, _FAILED} or (code == _EMPTY and not selected):
        return ""
    return f"pytest ended with exit code {code}"
