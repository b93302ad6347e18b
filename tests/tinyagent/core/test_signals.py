from __future__ import annotations

import json
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.signals import Signal, SignalType

signals = st.builds(
    Signal,
    st.sampled_from(SignalType),
    st.text(),
    st.datetimes(timezones=st.just(UTC)),
    st.integers(min_value=1),
)


@given(signals)
def test_a_signal_survives_json(signal: Signal) -> None:
    assert Signal.from_dict(json.loads(json.dumps(signal.to_dict()))) == signal


def test_there_are_three_kinds_and_they_are_text() -> None:
    assert [f"{kind}" for kind in SignalType] == ["uncertain", "explore", "commit"]


def test_a_kind_that_there_is_not_is_refused() -> None:
    data = Signal(SignalType.COMMIT, "sure", datetime.now(UTC), 1).to_dict()
    with pytest.raises(ValueError, match="shout"):
        Signal.from_dict(data | {"type": "shout"})
