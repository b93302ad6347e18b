from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st
from tests.tinyagent.execution.sandbox.worker.kernel import simulator

from tinyagent.execution.sandbox.worker.kernel import bpf

YES, NO = bpf.verdict(1), bpf.verdict(0)
HERE = 0xC000_003E

words = st.integers(0, 2**32 - 1)
halves = st.one_of(words, st.integers(0, 40), st.integers(0, 31).map(lambda bit: 1 << bit))


def _whole(upper: int, lower: int) -> int:
    return upper << 32 | lower


whole = st.builds(_whole, st.one_of(st.just(0), halves), halves)
arguments = st.lists(whole, min_size=6, max_size=6)
places = st.integers(0, 5)


def ask(block: bytes, number: int = 0, of: list[int] | None = None) -> bool:
    return simulator.verdict(block, number, of or [0] * 6, HERE) == 1


@given(st.dictionaries(st.integers(0, 600), st.integers(1, 4), max_size=200), words)
def test_each_number_finds_its_own_block(table: dict[int, int], stranger: int) -> None:
    program = bpf.by_number({key: bpf.verdict(value) for key, value in table.items()}, NO)
    for number in {*table, *(key + 1 for key in table), 0, 2**32 - 1, stranger}:
        assert simulator.verdict(program, number, [0] * 6, HERE) == table.get(number, 0)


def test_blocks_too_long_for_one_jump_are_reached() -> None:
    long = bpf.one_of(0, range(1000), YES, NO)
    program = bpf.by_number({3: long, 5: long, 9: YES}, NO)
    assert len(long) // bpf.WORD > 255
    for number in range(12):
        assert ask(program, number, [999, 0, 0, 0, 0, 0]) == (number in {3, 5, 9})
        assert ask(program, number, [1000, 0, 0, 0, 0, 0]) == (number == 9)


@given(words)
def test_an_architecture_is_distinguished_from_all_others(architecture: int) -> None:
    program = bpf.by_architecture(HERE, YES, NO)
    assert simulator.verdict(program, 0, [0] * 6, HERE) == 1
    assert simulator.verdict(program, 0, [0] * 6, architecture) == (architecture == HERE)


@given(places, st.lists(halves, max_size=8), words, arguments)
def test_one_of_looks_at_the_lower_half_under_its_mask(
    place: int, values: list[int], mask: int, given_to_it: list[int]
) -> None:
    lower = given_to_it[place] & 0xFFFF_FFFF
    assert ask(bpf.one_of(place, values, YES, NO), of=given_to_it) == (lower in values)
    masked = bpf.one_of(place, values, YES, NO, mask=mask)
    assert ask(masked, of=given_to_it) == (lower & mask in values)


@given(places, halves, arguments)
def test_has_any_looks_at_the_lower_half(place: int, bits: int, given_to_it: list[int]) -> None:
    block = bpf.has_any(place, bits, YES, NO)
    assert ask(block, of=given_to_it) == bool(given_to_it[place] & bits)


@given(places, arguments)
def test_upper_is_zero_looks_at_the_upper_half(place: int, given_to_it: list[int]) -> None:
    block = bpf.upper_is_zero(place, YES, NO)
    assert ask(block, of=given_to_it) == (given_to_it[place] < 2**32)


@given(places, whole.map(lambda value: value % 2**63), st.integers(-2, 2), arguments)
def test_at_least_looks_at_both_halves(
    place: int, value: int, distance: int, given_to_it: list[int]
) -> None:
    block = bpf.at_least(place, value, YES, NO)
    assert ask(block, of=given_to_it) == (given_to_it[place] >= value)
    given_to_it[place] = near = min(max(0, value + distance), 2**64 - 1)
    assert ask(block, of=given_to_it) == (near >= value)
