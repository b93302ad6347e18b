from __future__ import annotations

import asyncio
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import copy_context
from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.signals import (
    MAX_CHARS,
    Signal,
    SignalType,
    collect_signals,
    commit,
    explore,
    reset_signal_collector,
    set_signal_collector,
    signal_functions,
    uncertain,
)

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


def _give_all(name: str) -> None:
    uncertain(f"{name} 1")
    explore(f"{name} 2")
    commit(f"{name} 3")


def _said(signals: list[Signal]) -> list[tuple[str, str]]:
    return [(signal.type.value, signal.message) for signal in signals]


def _expected(name: str) -> list[tuple[str, str]]:
    return [("uncertain", f"{name} 1"), ("explore", f"{name} 2"), ("commit", f"{name} 3")]


def test_each_function_gives_its_kind_with_time_and_step() -> None:
    signals: list[Signal] = []
    before = datetime.now(UTC)
    with collect_signals(signals.append, lambda: 7):
        _give_all("a")
    assert _said(signals) == _expected("a")
    assert {signal.step for signal in signals} == {7}
    assert all(before <= signal.timestamp <= datetime.now(UTC) for signal in signals)


def test_the_step_is_asked_for_each_signal() -> None:
    signals: list[Signal] = []
    steps = iter((1, 2))
    with collect_signals(signals.append, lambda: next(steps)):
        uncertain("a")
        uncertain("b")
    assert [signal.step for signal in signals] == [1, 2]


def test_without_a_collector_a_signal_is_only_logged(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.DEBUG, logger="tinyagent"):
        commit("nobody hears this")
    assert [(record.levelname, record.message) for record in caplog.records] == [
        ("DEBUG", "a signal without a collector: commit: nobody hears this")
    ]


def test_collectors_nest_and_end_with_their_block() -> None:
    outer: list[Signal] = []
    inner: list[Signal] = []
    with collect_signals(outer.append):
        uncertain("1")
        with suppress(LookupError), collect_signals(inner.append):
            uncertain("2")
            raise LookupError
        uncertain("3")
    uncertain("4")
    assert [signal.message for signal in outer] == ["1", "3"]
    assert [signal.message for signal in inner] == ["2"]


def test_a_collector_is_set_taken_away_and_set_back() -> None:
    signals: list[Signal] = []
    first = set_signal_collector(signals.append)
    second = set_signal_collector(None)
    uncertain("unheard")
    reset_signal_collector(second)
    uncertain("heard")
    reset_signal_collector(first)
    uncertain("unheard")
    assert [(signal.message, signal.step) for signal in signals] == [("heard", 0)]


def test_a_token_of_another_context_is_refused() -> None:
    token = copy_context().run(set_signal_collector, None)
    with pytest.raises(ValueError, match="different Context"):
        reset_signal_collector(token)


def test_what_the_handler_raises_reaches_the_giver() -> None:
    def refuse(signal: Signal) -> None:
        raise RuntimeError(signal.message)

    with collect_signals(refuse), pytest.raises(RuntimeError, match="no"):
        commit("no")


@pytest.mark.parametrize("msg", [None, 1.5, ["a", 1], {"a": "b"}])
def test_any_message_becomes_text(msg: object) -> None:
    signals: list[Signal] = []
    with collect_signals(signals.append):
        explore(msg)
    assert signals[0].message == str(msg)


def test_a_long_message_is_cut_in_the_middle() -> None:
    signals: list[Signal] = []
    with collect_signals(signals.append):
        explore("a" * MAX_CHARS)
        explore("begin" + "a" * 100_000 + "end")
    whole, cut = (signal.message for signal in signals)
    assert whole == "a" * MAX_CHARS
    assert len(cut) <= MAX_CHARS
    assert cut.startswith("begin")
    assert cut.endswith("end")
    assert "left out" in cut


async def test_tasks_side_by_side_do_not_mix() -> None:
    heard: dict[str, list[Signal]] = {f"run {n}": [] for n in range(100)}
    everyone = asyncio.Barrier(len(heard))

    async def run(name: str) -> None:
        with collect_signals(heard[name].append):
            await everyone.wait()
            uncertain(f"{name} 1")
            await everyone.wait()
            explore(f"{name} 2")
            await asyncio.to_thread(commit, f"{name} 3")

    await asyncio.gather(*map(run, heard))
    assert {name: _said(signals) for name, signals in heard.items()} == {
        name: _expected(name) for name in heard
    }


def test_threads_side_by_side_do_not_mix() -> None:
    heard: dict[str, list[Signal]] = {f"run {n}": [] for n in range(100)}

    def run(name: str) -> None:
        with collect_signals(heard[name].append):
            _give_all(name)

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(run, heard))
    assert {name: _said(signals) for name, signals in heard.items()} == {
        name: _expected(name) for name in heard
    }


def test_the_bound_functions_need_no_context() -> None:
    signals: list[Signal] = []
    functions = signal_functions(signals.append, lambda: 3)
    assert list(functions) == [kind.value for kind in SignalType]
    with ThreadPoolExecutor(1) as pool:
        for name, give in functions.items():
            pool.submit(give, f"about {name}").result()
    assert _said(signals) == [(name, f"about {name}") for name in functions]
    assert {signal.step for signal in signals} == {3}
