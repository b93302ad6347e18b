"""Runs the tests: `make test`, `make test-unit`, `make test-all`, `make test-times`.

The files are divided between processes (`shards.py`). Each runs the items that the mode selects
(`selection.py`) and writes their results (`plugin.py`). At most ten failures are tried
again, alone and twice: those that pass both times are listed as unstable, and the run passes,
unless they are among `EXACT`. A run fails as well if a file cannot be collected, a process
crashes, or an item that was selected does not run.
"""

from __future__ import annotations

import argparse
import os
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

from tests.support.suite.groups import EXACT, GROUPS, is_in
from tests.support.suite.plugin import RUN
from tests.support.suite.processes import Processes, Ran
from tests.support.suite.report import say, say_shard, say_skipped, say_totals, say_unknown
from tests.support.suite.selection import Mode, commits, select
from tests.support.suite.shards import divide, part_of
from tests.support.suite.times import FILE, measured, read_times, renewed, write_times

RETRIED = 10
"""The most failures that are tried again."""
SUITE_SECONDS = 360.0
"""The seconds that all processes of `make test` together should take."""
ROOM_SECONDS = 300.0
"""The same for the tests of some folders."""
MARKS = "not models and not peers"
"""What runs by its marks: see make test-models and make test-peers for the others."""
SHARDS = 8
"""How many shards there are for each of the processes at once."""
FULL = 40.0
"""The least seconds of a full shard: to start, import and collect takes some for each."""


def main() -> int:
    """Run what the command line asks for; 0 if the change may land."""
    options = _options()
    files = _files(options.paths)
    if not files:
        say(f"error: there are no tests in {', '.join(options.paths)}")
        return 2
    known = read_times(FILE)
    times = {path: functions for path, functions in known.items() if path in files}
    budget = SUITE_SECONDS if options.paths == ["tests"] else ROOM_SECONDS
    selection = select(options.mode, times, turn=commits(), budget=budget)
    # Nothing else is collected, which takes longer than many of the tests.
    files = frozenset(file for file in files if not selection.runs_nothing(file))
    largest = max(FULL, sum(map(selection.seconds, files)) / options.at_once / SHARDS)
    shards = divide(files, selection.seconds, GROUPS, largest)
    if options.part:
        shards = part_of(shards, *options.part)
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix="tests-") as folder:
        os.environ[RUN] = folder
        processes = Processes(Path(folder), selection, options.marks, options.seed)
        what = f"{len(files)} files in {len(shards)} processes"
        say(f"{what}, {options.at_once} at once; turn {selection.turn}, seed {options.seed}")
        all_ran: list[Ran] = []
        for ran in processes.run(shards, options.at_once):
            all_ran.append(ran)
            say_shard(len(all_ran), len(shards), ran)
        is_fine = _judge(all_ran, processes)
    say_skipped(all_ran)
    if options.mode is Mode.GATE:
        say_unknown(all_ran, known)
    say_totals(all_ran, time.monotonic() - started, Path("src"))
    if options.mode is Mode.TIMES:
        results = [each for ran in all_ran for each in ran.results]
        write_times(FILE, renewed(known, measured(results), exists=_files(["tests"])))
    return 0 if is_fine else 1


def _judge(all_ran: Sequence[Ran], processes: Processes) -> bool:
    """Whether nothing failed but items that pass when they are tried again."""
    failed = [item for ran in all_ran for item in ran.failed]
    exact = [item for item in failed if is_in(item.partition("::")[0], EXACT)]
    if any(ran.fault or ran.vanished for ran in all_ran) or len(failed) > RETRIED:
        say(f"failed: {len(failed)} items, and see above")
        return False
    if exact:
        say(f"failed, and must pass each time: {', '.join(exact)}")
        return False
    if failed:
        say(f"failed, and tried again alone, twice: {', '.join(failed)}")
    os.environ.pop(RUN)  # all servers in one process, this time
    for ran in (processes.again(failed) for _ in range(2 if failed else 0)):
        passed = {each["id"] for each in ran.results if each["outcome"] == "passed"}
        if ran.fault or set(failed) - passed:
            say(ran.output)
            say(f"failed again: {', '.join(sorted(set(failed) - passed)) or ran.fault}")
            return False
    for item in failed:
        say(f"unstable: {item}")
    return True


def _files(paths: Sequence[str]) -> frozenset[str]:
    """The test files in these files and folders."""
    found: set[Path] = set()
    for path in map(Path, paths):
        found.update([path] if path.is_file() else path.rglob("test_*.py"))
    return frozenset(map(str, found))


def _part(text: str) -> tuple[int, int]:
    part, parts = map(int, text.split("/"))
    if not 1 <= part <= parts:
        raise ValueError
    return part, parts


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.support.suite")
    parser.add_argument("mode", type=Mode, choices=tuple(Mode))
    parser.add_argument("paths", nargs="*", default=["tests"], help="files and folders of tests")
    parser.add_argument("--part", type=_part, help="2/6: the second of six equal parts")
    parser.add_argument("-m", dest="marks", default=MARKS, help="which tests by their marks")
    parser.add_argument("--at-once", type=int, default=3, help="how many processes")
    parser.add_argument("--seed", type=int, default=1, help="of the order, and of random examples")
    return parser.parse_intermixed_args()


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        say("Interrupted.")
        sys.exit(130)
