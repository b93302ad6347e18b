# ruff: noqa: PT012, S311 - a block with a deadline is what is tested; the numbers are not secret
from __future__ import annotations

import contextlib
import random
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator

import pytest

from tinyagent.core.errors import ExecutionTimeout
from tinyagent.execution.deadline import deadline

SECONDS = 0.02


def spin(seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        pass


@pytest.fixture
def eager_threads() -> Iterator[None]:
    """Threads change places as often as Python lets them, so that races happen."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    yield
    sys.setswitchinterval(before)


def test_a_block_in_time_is_left_alone() -> None:
    with deadline(30):
        spin(SECONDS)


def test_a_late_block_is_stopped_and_shows_its_limit() -> None:
    with pytest.raises(ExecutionTimeout, match=r"^not finished within 0\.02 s$"), deadline(SECONDS):
        spin()


def test_an_error_of_the_block_passes_through() -> None:
    with pytest.raises(ValueError, match=r"^mine$"), deadline(30):
        raise ValueError("mine")


def test_code_that_swallows_the_error_is_struck_again() -> None:
    swallowed = 0
    with pytest.raises(ExecutionTimeout), deadline(SECONDS):
        while True:
            try:
                spin()
            except ExecutionTimeout:
                swallowed += 1
                if swallowed == 3:
                    raise


def test_of_nested_blocks_each_has_its_own_limit() -> None:
    with pytest.raises(ExecutionTimeout, match=r"0\.1 s"), deadline(0.1):
        with pytest.raises(ExecutionTimeout, match=r"0\.02 s"), deadline(SECONDS):
            spin()
        spin()


def test_the_outer_limit_holds_inside_a_longer_block() -> None:
    with pytest.raises(ExecutionTimeout), deadline(SECONDS), deadline(30):
        spin()


def test_no_time_at_all_is_a_limit_too() -> None:
    with pytest.raises(ExecutionTimeout), deadline(1e-9):
        spin()


def test_only_the_late_thread_is_struck() -> None:
    ended: list[str] = []

    def late() -> None:
        with contextlib.suppress(ExecutionTimeout), deadline(SECONDS):
            spin()
        ended.append("late")

    thread = threading.Thread(target=late)
    with deadline(30):
        thread.start()
        thread.join()
    assert ended == ["late"]


def _leaks(seconds: float, *, fails: bool) -> bool:
    """Whether anything is raised after the block."""
    try:
        try:
            with deadline(seconds):
                spin(seconds * random.uniform(0.5, 1.5))
                if fails:
                    raise ValueError  # noqa: TRY301 - the block is what fails
        except (ExecutionTimeout, ValueError):
            pass
        spin(random.uniform(0, 0.03))
    except ExecutionTimeout:
        return True
    return False


@pytest.mark.usefixtures("eager_threads")
def test_nothing_is_raised_after_the_block() -> None:
    seen: Counter[bool] = Counter()

    def many() -> None:
        end = time.monotonic() + 2
        while time.monotonic() < end:
            seen[_leaks(random.uniform(1e-6, 0.002), fails=random.random() < 0.5)] += 1

    threads = [threading.Thread(target=many) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert seen[True] == 0
    assert seen[False] > 20


def test_there_is_one_watchdog_and_it_forgets_what_is_done() -> None:
    def watchdogs() -> int:
        return sum(thread.name == "tinyagent-watchdog" for thread in threading.enumerate())

    for _ in range(1000):
        with deadline(30):
            pass
    assert watchdogs() == 1


FORK = """
import os
from tinyagent.core.errors import ExecutionTimeout
from tinyagent.execution.deadline import deadline
with deadline(30):
    pass
child = os.fork()
try:
    with deadline(0.02):
        while True: pass
except ExecutionTimeout:
    if not child:
        os._exit(7)
print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
"""


def test_a_fork_has_its_own_watchdog() -> None:
    done = subprocess.run(
        [sys.executable, "-c", FORK], capture_output=True, text=True, check=True, timeout=120
    )
    assert done.stdout == "7\n"
