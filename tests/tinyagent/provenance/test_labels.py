"""Labels form a lattice, survive JSON, and are never lost on the way through a memory."""

from __future__ import annotations

import string

from hypothesis import given
from hypothesis import strategies as st

from tinyagent.core.messages import Message
from tinyagent.core.provenance import MAX_SOURCES, UNKNOWN, USER, Label, join
from tinyagent.memory import Memory
from tinyagent.memory.pruning import keep_last_n_steps, prune_old_observations, token_budget

NAMES = st.text(string.ascii_lowercase, min_size=1, max_size=3) | st.just("unknown")
SETS = st.frozensets(NAMES, max_size=5) | st.frozensets(
    st.integers(0, 200).map(str), min_size=20, max_size=80
)
LABELS = st.builds(Label, SETS, st.none() | st.frozensets(NAMES, max_size=4))


@given(LABELS, LABELS, LABELS)
def test_the_join_is_associative_commutative_and_idempotent(a: Label, b: Label, c: Label) -> None:
    assert (a | b) | c == a | (b | c)
    assert a | b == b | a
    assert a | a == a


@given(LABELS, LABELS)
def test_a_join_loses_no_source_and_gains_no_reader(a: Label, b: Label) -> None:
    both = a | b
    assert "unknown" in both.sources or a.sources | b.sources == both.sources
    for part in (a, b):
        assert both.readers is not None or part.readers is None
        if both.readers is not None and part.readers is not None:
            assert both.readers <= part.readers


@given(LABELS)
def test_the_json_form_keeps_a_label(label: Label) -> None:
    read = Label.from_dict(label.to_dict())
    assert read == (label if label.sources else UNKNOWN)


@given(st.recursive(st.none() | st.text() | st.integers(), st.lists, max_leaves=5))
def test_whatever_is_not_a_label_is_read_as_unknown(data: object) -> None:
    assert Label.from_dict(data) == UNKNOWN
    assert Label.from_dict({"sources": data}) == UNKNOWN or isinstance(data, list)


def test_a_label_of_too_many_sources_is_unknown() -> None:
    many = join(Label(frozenset({str(at)})) for at in range(MAX_SOURCES + 1))
    assert many == UNKNOWN


def test_what_has_no_label_is_unknown() -> None:
    assert join([USER, None]) == UNKNOWN


MESSAGES = st.lists(
    st.tuples(st.sampled_from(["user", "assistant"]), st.text(max_size=30), LABELS), max_size=8
)


@given(MESSAGES, st.integers(0, 4))
def test_pruning_and_json_keep_the_label_of_each_message(
    entries: list[tuple[str, str, Label]], n: int
) -> None:
    entries = [(role, text, label) for role, text, label in entries if label.sources]
    memory = Memory(Message(role, text, label=label) for role, text, label in entries)  # type: ignore[arg-type]
    for strategy in (keep_last_n_steps(n), prune_old_observations(n, 3), token_budget(n * 10)):
        pruned = memory.copy()
        pruned.prune(strategy)
        again = Memory.from_list(pruned.to_list())
        for message in again.messages:
            labels = [
                label
                for role, text, label in entries
                if (role, text) == (message.role, message.text)
            ]
            assert not labels or message.label in labels
