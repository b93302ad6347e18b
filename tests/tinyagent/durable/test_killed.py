"""A run whose process is killed by SIGKILL goes on, in another process, where it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from tests.support.durable import EVERYWHERE, Ledger, Program
from tests.support.durable_runs import empty_database

from tinyagent.durable.cursor import digest

BILLS = int(os.environ.get("KILLED_BILLS", "1"))  # each is 5 more deaths, of a second or three


@pytest.fixture(params=["sqlite", "postgresql"])
def program(request: pytest.FixtureRequest, tmp_path: Path) -> Program:
    """A program on its own database."""
    if request.param == "sqlite":
        database = empty_database(tmp_path)
    else:
        database = request.getfixturevalue("postgres_database").url
    return Program(database, str(tmp_path / "ledger.sqlite"))


def of_payment(kind: str, number: int, step: int = 2, tool: str = "pay") -> str:
    """The name of the point at a record of the call."""
    return f"record {step}.{digest(tool, {'number': number})}-1 {kind}"


@pytest.mark.timeout(600)
def test_a_run_that_is_killed_at_every_point_does_everything_once(program: Program) -> None:
    mortal = program.but(dies_at=EVERYWHERE, decides=True, bills=BILLS)
    ledger = Ledger(program.ledger)
    while (record := mortal.go()) is None:
        assert len(ledger.deaths()) < 100
    assert (record.state, record.output) == ("completed", "all paid")
    deaths, counts = set(ledger.deaths()), ledger.counts()
    for number in range(1, BILLS + 1):
        points = [of_payment(kind, number, step=number) for kind in ("begin", "tool")]
        assert {f"after {point}" for point in (f"pay {number}", *points)} <= deaths
        assert counts[f"pay {number}"] == 1
    for number in range(1, BILLS + 2):
        assert {f"after model {number}", f"after record {number}.1 model"} <= deaths
        # The answer that no record was made of was asked for again: nobody had it.
        assert counts[f"model {number}"] == 2


def test_a_block_killed_between_its_second_and_third_call_continues_with_the_third(
    program: Program,
) -> None:
    point = f"after {of_payment('tool', 11)}"
    assert program.but(agent="coder", dies_at=point).go() is None
    before = Ledger(program.ledger).done()
    assert before == ["model 1", "model 2", "pay 10", "pay 11"]
    record = program.but(agent="coder").go()
    assert record is not None
    assert Ledger(program.ledger).done() == [*before, "pay 12", "model 3"]
    assert record.output == '{"x":10,"seen":[10,11,12,13],"a":11}'


def test_a_call_in_doubt_inside_a_block_is_reported_and_not_repeated(program: Program) -> None:
    assert program.but(agent="coder", dies_at="after pay 11").go() is None
    record = program.but(agent="coder").go()
    assert record is not None
    assert record.state == "needs_decision"
    (question,) = record.questions
    assert (question.kind, question.tool, question.arguments) == ("in_doubt", "pay", {"number": 11})
    assert Ledger(program.ledger).counts()["pay 11"] == 1


def test_an_approval_inside_a_block_is_answered_an_hour_later_in_another_process(
    program: Program,
) -> None:
    ledger = Ledger(program.ledger)
    waiting = program.but(agent="payer").go()
    assert waiting is not None
    assert waiting.state == "waiting"
    (question,) = waiting.questions
    assert (question.tool, question.arguments) == ("transfer", {"number": 11})
    asked = ["model 1", "model 2", "pay 10"]
    assert ledger.done() == asked
    # Killed once more, in the middle of what was approved: it is in doubt then, not done twice.
    later = program.but(agent="payer", hours_later=1)
    assert later.but(approves=True, dies_at="after pay 11").go() is None
    record = later.but(decides=True).go()
    assert record is not None
    assert ledger.counts()["pay 11"] == 1


def test_an_approved_call_inside_a_block_is_done_once(program: Program) -> None:
    assert program.but(agent="payer").go() is not None
    record = program.but(agent="payer", approves=True, hours_later=1).go()
    assert record is not None
    assert record.output == "[10,11,12,13]"
    done = ["model 1", "model 2", "pay 10", "pay 11", "pay 12", "model 3"]
    assert Ledger(program.ledger).done() == done
