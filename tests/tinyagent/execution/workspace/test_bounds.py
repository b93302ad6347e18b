"""What a session reports of its view has bounds, and what is in use is not closed."""

from __future__ import annotations

import os
from collections.abc import Generator
from functools import partial
from pathlib import Path

import pytest
from tests.support.cost import cost_of

from tinyagent.core import CallerError, ExecutionTimeout
from tinyagent.execution.sandbox.worker.codec.wire import WireError
from tinyagent.execution.workspace.report import MAX_NAMES, Report
from tinyagent.execution.workspace.workspace import OpenWorkspace, Workspace


@pytest.fixture
def opened(tmp_path: Path) -> Generator[OpenWorkspace]:
    """A workspace of an empty folder."""
    workspace = Workspace(tmp_path).open()
    yield workspace
    workspace.close()


def add(report: Report, name: str, kind: str = "file") -> None:
    """Report an empty file or a folder."""
    path = name.encode()
    body = {"name": len(path), "kind": kind, "executable": False, "known": False, "last": True}
    report.take(body, path)


def test_what_is_closed_in_the_middle_of_its_use_is_closed_after_it(
    opened: OpenWorkspace,
) -> None:
    """The number of a closed descriptor may be that of another folder already."""
    with opened._in_use():
        opened.close()
        os.fstat(opened.root)
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(opened.root)
    with pytest.raises(CallerError, match="closed"):
        opened.commit(None)


def test_the_comparison_is_linear_in_the_depth_of_folders(opened: OpenWorkspace) -> None:
    def settling(depth: int) -> float:
        report = opened.new_report(1 << 20)
        for number in range(200):
            add(report, "/".join("d" * depth) + f"/{number:03}")
        return cost_of(partial(opened.settle, report))

    assert settling(480) < 24 * settling(30)


def test_a_comparison_ends_when_its_time_is_over(opened: OpenWorkspace) -> None:
    report = opened.new_report(1 << 20)
    add(report, "late")
    with pytest.raises(ExecutionTimeout):
        opened.settle(report, until=0.0)
    assert [change.path for change in opened.settle(report)] == ["late"]


def test_a_report_holds_only_so_many_entries_and_so_long_names(opened: OpenWorkspace) -> None:
    report = Report(opened._spool, {}, 1 << 20, 100)
    for number in range(100):
        add(report, str(number), "folder")
    with pytest.raises(WireError, match="more than 100 files and folders"):
        add(report, "one more", "folder")
    report = opened.new_report(1 << 20)
    for number in range(MAX_NAMES // 4000):
        add(report, f"{number:04000}", "folder")
    with pytest.raises(WireError, match="their names have more than"):
        add(report, "x" * 4000, "folder")
