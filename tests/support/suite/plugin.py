"""A plugin of pytest: selects items by their costs, and writes the result of each.

Without its options it does nothing. `--results` names a file for JSON lines: first the ids of all
selected items, then the result of each, and a last line when the process ends.
"""

from __future__ import annotations

import asyncio
import json
import os
import resource
import sys
import time
from collections import defaultdict
from collections.abc import Generator
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from tests.support.suite.groups import GROUPS
from tests.support.suite.selection import Mode, Selection
from tests.support.suite.times import FILE, read_times

STARTS = frozenset({"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.exec"})
SLEEP = 0.1
"""Seconds of sleep that a test may take and still not wait for anything."""
RUN = "TESTS_RUN"
"""The environment variable that names the folder of a run."""

# Cores are shared, so the time of one example says nothing. `make test` tries the same few examples
# each time; other runs try new ones.
_ALL = hypothesis.settings(deadline=None)
hypothesis.settings.register_profile("all", _ALL)
hypothesis.settings.register_profile("few", _ALL, max_examples=25, derandomize=True)
hypothesis.settings.load_profile("all")


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add the options that `make test` and its like use."""
    group = parser.getgroup("suite")
    group.addoption(
        "--select", choices=tuple(Mode), help="by recorded costs: see tests/support/suite"
    )
    group.addoption("--turn", type=int, default=0, help="which share of the costly tests")
    group.addoption("--only", type=Path, help="a JSON file with the ids of the items that run")
    group.addoption("--rest", type=Path, help="a JSON file with the costly functions that run")
    group.addoption("--results", type=Path, help="where the result of each item is written")


def pytest_configure(config: pytest.Config) -> None:
    """Try properties with few examples where a selection runs."""
    if config.getoption("select") in {Mode.GATE, Mode.UNIT, Mode.TIMES}:
        hypothesis.settings.load_profile("few")
    if results := config.getoption("results"):
        config.pluginmanager.register(Recorder(results), "suite-recorder")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Deselect what the mode leaves out."""
    if only := config.getoption("only"):
        ids = set(json.loads(only.read_text()))
        chosen = {item for item in items if item.nodeid in ids}
    elif mode := config.getoption("select"):
        rest = config.getoption("rest")
        functions = frozenset(json.loads(rest.read_text())) if rest else frozenset()
        selection = Selection(Mode(mode), read_times(FILE), config.getoption("turn"), functions)
        chosen = _chosen(selection, items)
    else:
        return
    config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
    items[:] = [item for item in items if item in chosen]


def _chosen(selection: Selection, items: list[pytest.Item]) -> set[pytest.Item]:
    functions: defaultdict[str, list[pytest.Item]] = defaultdict(list)
    for item in items:
        functions[item.nodeid.partition("[")[0]].append(item)
    chosen: set[pytest.Item] = set()
    for function, its_items in functions.items():
        path, _, name = function.partition("::")
        chosen.update(selection.chosen(path, name, its_items))
    return chosen


def claim(server: str) -> None:
    """Note that this process uses a costly server, which no other of this run may.

    Fails the test if another process of the run has: the files belong to one group.
    """
    if folder := os.environ.get(RUN):
        file = Path(folder) / f"{server}.claimed"
        try:
            with file.open("x") as claimed:
                claimed.write(str(os.getpid()))
        except FileExistsError:
            if file.read_text() != str(os.getpid()):
                pytest.fail(f"two processes start {server}: add the file to its group in GROUPS")


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Let one process of a run use a costly server."""
    for server in GROUPS:
        if item.get_closest_marker(server):
            claim(server)


class Recorder:
    """Writes what is selected, and the result of each item.

    Args:
        file: for JSON lines.
    """

    def __init__(self, file: Path) -> None:
        self._file = file.open("a", encoding="utf-8")
        self._phases: list[pytest.TestReport] = []
        self._programs = 0
        self._slept = 0.0
        self._fixtures: set[str] = set()
        sys.addaudithook(self._hear)
        self._count_sleep()

    def _hear(self, event: str, _: tuple[Any, ...]) -> None:
        self._programs += event in STARTS

    def _count_sleep(self) -> None:
        sleep, sleep_of_task = time.sleep, asyncio.sleep

        def counted(seconds: Any) -> None:
            self._slept += float(seconds)
            sleep(seconds)

        async def counted_in_task(delay: float, result: Any = None) -> Any:
            self._slept += max(delay, 0)
            return await sleep_of_task(delay, result)

        time.sleep, asyncio.sleep = counted, counted_in_task

    def pytest_collection_finish(self, session: pytest.Session) -> None:
        """Write what is selected."""
        self._write(selected=[item.nodeid for item in session.items])

    @pytest.hookimpl(wrapper=True)
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef[Any]) -> Generator[None, Any, Any]:
        """Note fixtures that start programs: those who use them later do not run alone."""
        programs = self._programs
        try:
            return (yield)
        finally:
            if self._programs > programs:
                self._fixtures.add(fixturedef.argname)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, Any, Any]:
        """Write the result of an item."""
        self._phases, programs, slept = [], self._programs, self._slept
        started = time.monotonic()
        try:
            return (yield)
        finally:
            names = set(getattr(item, "fixturenames", ()))
            outside = self._programs > programs or self._slept - slept > SLEEP
            self._write(
                id=item.nodeid,
                outcome=_outcome(self._phases),
                reason=next((_reason(each) for each in self._phases if each.skipped), ""),
                seconds=time.monotonic() - started,
                outside=outside or bool(names & self._fixtures),
                property=getattr(getattr(item, "obj", None), "is_hypothesis_test", False),
                megabytes=_megabytes(),
            )

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """Keep the report of a phase of the item that runs."""
        self._phases.append(report)

    def pytest_unconfigure(self) -> None:
        """Write that the process ends."""
        self._write(ended=True)
        self._file.close()

    def _write(self, **entry: Any) -> None:
        self._file.write(json.dumps(entry) + "\n")
        self._file.flush()  # or a crash would take what is known with it


def _outcome(phases: list[pytest.TestReport]) -> str:
    """Failed if a phase failed; else skipped if one was; else passed if all of them ran."""
    outcomes = [phase.outcome for phase in phases]
    for outcome in ("failed", "skipped"):
        if outcome in outcomes:
            return outcome
    return (
        "passed" if [phase.when for phase in phases] == ["setup", "call", "teardown"] else "failed"
    )


def _reason(phase: pytest.TestReport) -> str:
    """Why a phase was skipped: pytest gives the path, the line and the reason."""
    return str(phase.longrepr[2] if isinstance(phase.longrepr, tuple) else phase.longrepr)


def _megabytes() -> int:
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * resource.getpagesize() // 2**20
