"""The verdict of `tinyagent doctor`; test_execute.py runs the command itself."""

from __future__ import annotations

import pytest

from tinyagent.cli.doctor import verdict
from tinyagent.execution import Guarantee, TrustLevel
from tinyagent.execution.doctor.examine import Examination, ProbeVerdict, Trial

LOCAL, ISOLATED, SANDBOXED = TrustLevel
HELD, BROKEN, UNTRIED, MISSING = ProbeVerdict


def examined(level: TrustLevel, **verdicts: ProbeVerdict) -> Examination:
    trials = tuple(
        Trial(Guarantee("", enforced=each is not MISSING, by="", id=key), each, "")
        for key, each in verdicts.items()
    )
    return Examination(level, None, trials, "" if trials else "it is not installed")


AT_LOCAL = examined(LOCAL, S1=MISSING, S9=HELD)


@pytest.mark.parametrize(
    ("others", "line"),
    [
        (
            [examined(ISOLATED, S1=HELD), examined(SANDBOXED, S1=HELD), examined(SANDBOXED)],
            "untrusted code can run here, at isolated and at sandboxed.",
        ),
        (
            [examined(ISOLATED, S1=HELD, S2=MISSING, S11=MISSING), examined(SANDBOXED)],
            "untrusted code can run here at isolated, without S2, S11; sandboxed is not available.",
        ),
        (
            [examined(ISOLATED), examined(SANDBOXED)],
            "only trusted code can run here: there is no isolation on this machine.",
        ),
        (
            [examined(ISOLATED, S1=BROKEN, S9=UNTRIED), examined(SANDBOXED, S1=HELD)],
            (
                "do not run untrusted code here. Promised, but not held or not tested:"
                " S1 at isolated, S9 at isolated."
            ),
        ),
    ],
    ids=["all", "isolated", "local", "broken"],
)
def test_the_verdict_is_one_line(others: list[Examination], line: str) -> None:
    assert verdict([AT_LOCAL, *others]) == f"Verdict: {line}"
