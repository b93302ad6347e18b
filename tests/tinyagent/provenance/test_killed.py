"""What a run has read is still known to the process that goes on with it after a SIGKILL."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.support.durable import EVERYWHERE, Ledger, Program
from tests.support.durable_runs import empty_database


@pytest.mark.timeout(300)
def test_a_run_that_is_killed_at_every_point_stays_untrusted(tmp_path: Path) -> None:
    mortal = Program(
        empty_database(tmp_path),
        str(tmp_path / "ledger.sqlite"),
        agent="guarded",
        dies_at=EVERYWHERE,
        decides=True,
    )
    ledger = Ledger(mortal.ledger)
    while (record := mortal.go()) is None:
        assert len(ledger.deaths()) < 50
    assert (record.state, record.output) == ("completed", "nothing paid")
    assert "after letter" in ledger.deaths()
    assert "after model 2" in ledger.deaths()
    assert not any(what.startswith("pay") for what in ledger.done())
