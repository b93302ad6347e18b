"""Without any one feature of the kernel, ISOLATED refuses by name, or keeps what it promises."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from tests.support.kernels import FILTERS, LANDLOCK, LISTENERS, is_root, on_kernels_without

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="needs the kernel's locks")

TRY = """
async def work():
    async with ProcessExecutor(Sandbox(**OPTIONS)) as executor:
        try:
            result = await executor.run("open('new', 'w').write('1')")
            answer["error"] = result.error
            answer["changes"] = [change.path for change in result.changes]
            answer["missing"] = [each.id for each in executor.guarantees if not each.enforced]
        except SandboxUnavailable as error:
            answer["refused"] = str(error)
"""
IN_CONTAINERS = ["S11", "S13", "S15", "S2", "S22", "S6"]
"""What is not promised without namespaces: all of them are there, or none is used."""


class Case(NamedTuple):
    """A feature, and the result of its absence: words of the refusal, or promises not made."""

    feature: str
    refusal: str = ""
    missing: tuple[str, ...] = ()


def _without_namespaces(feature: str) -> Case:
    return Case(feature, missing=tuple(IN_CONTAINERS))


CASES = (
    *map(
        _without_namespaces,
        (
            "CLONE_NEWUSER", "CLONE_NEWNS", "CLONE_NEWPID", "CLONE_NEWNET", "CLONE_NEWIPC",
            "CLONE_NEWUTS", "open_tree", "move_mount", "mount", "pivot_root", "umount2",
            "mount_setattr", "sethostname", "setresuid", "setresgid", "setns",
        ),
    ),
    *(Case(call, call) for call in ("fsopen", "fsconfig", "fsmount", "capset")),
    Case("PR_CAP_AMBIENT", "PR_CAP_AMBIENT"),
    Case("PR_SET_PDEATHSIG", "PR_SET_PDEATHSIG"),
    Case("PR_SET_DUMPABLE", "PR_SET_DUMPABLE"),
    Case("PR_SET_NO_NEW_PRIVS", "the system-call filter"),
    Case(FILTERS, "the system-call filter"),
    Case("filters of all threads", "the system-call filter"),
    Case("landlock_add_rule", "landlock_add_rule"),
    Case("landlock_restrict_self", "landlock_restrict_self"),
    Case("limits", "setrlimit"),
    Case(LANDLOCK),  # the separate root keeps the files; SANDBOXED demands both
    Case(LISTENERS, missing=("S15",)),
    Case("pidfd_open"),
    Case("close_range"),
    *([_without_namespaces("setgroups")] if is_root() else []),
)  # fmt: skip


@pytest.fixture(scope="module")
def outcomes() -> dict[str, dict[str, object]]:
    """What became of a step on each kernel."""
    kernels = [[case.feature] for case in CASES]
    answers = on_kernels_without(kernels, code=TRY.replace("OPTIONS", "{}"))
    return {case.feature: answer for case, answer in zip(CASES, answers, strict=True)}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.feature)
def test_what_is_missing_is_refused_or_said(
    case: Case, outcomes: dict[str, dict[str, object]]
) -> None:
    outcome = outcomes[case.feature]
    if case.refusal:
        assert case.refusal in str(outcome.get("refused"))
    else:
        assert (outcome["error"], sorted(outcome["missing"])) == (None, sorted(case.missing))  # type: ignore[call-overload]


def test_where_a_workspace_cannot_be_layered_it_is_copied(tmp_path: Path) -> None:
    code = TRY.replace("OPTIONS", repr({"workspace": str(tmp_path)}))
    outcomes = on_kernels_without([["overlays"], ["mapped mounts"]], code=code)
    assert [outcome["changes"] for outcome in outcomes] == [["new"], ["new"]]
    assert [outcome["missing"] for outcome in outcomes] == [[], []]
