"""The engine against the oracle, over random tables on every pair of databases.

ORACLE_EXAMPLES=3000 makes a long run, which also looks for the smallest question that fails.
"""

import os
from typing import Any
from unittest.mock import AsyncMock

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from tests.skillian.oracle.running import Pair
from tests.skillian.oracle.tables import FLOATS, Profile, questions

from skillian.data.comparison import groups, statement

LONG = int(os.environ.get("ORACLE_EXAMPLES", "0"))
EXAMPLES = LONG or settings().max_examples // 5
PHASES = (Phase.explicit, Phase.generate, *((Phase.shrink,) if LONG else ()))
FEW = settings(max_examples=EXAMPLES, phases=PHASES, suppress_health_check=[HealthCheck.too_slow])


@pytest.mark.timeout(600 + EXAMPLES * 5)
@FEW
@given(data=st.data())
def test_the_engine_equals_the_oracle(any_pair: Pair, data: st.DataObject) -> None:
    any_pair.checked(data.draw(questions(any_pair.profile)))


@FEW
@given(data=st.data())
def test_any_floats_equal_the_oracle(pair: Pair, data: st.DataObject) -> None:
    pair.checked(data.draw(questions(Profile(numbers=(FLOATS,)))))


# Without a look at some keys only the proof decides; or nothing joins rows.
WAYS: dict[str, tuple[Any, str, Any]] = {
    "proof": (statement, "_repeats", AsyncMock(return_value=False)),
    "apart": (groups, "JOINING", ()),
}


@pytest.mark.parametrize("way", WAYS)
@settings(FEW, max_examples=LONG or EXAMPLES // 2)
@given(data=st.data())
def test_the_engine_equals_the_oracle_however_it_joins_rows(
    place_of: Any, way: str, data: st.DataObject
) -> None:
    pair = Pair([place_of("duckdb"), place_of("duckdb other")], Profile())
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(*WAYS[way])
        pair.checked(data.draw(questions(pair.profile)))
