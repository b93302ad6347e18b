"""Filters of system calls, put together from blocks of classic BPF.

A block never runs past its end: each way through it returns a verdict. So a decision is a test and
the two blocks that it chooses between, and a filter is one block.
"""

from __future__ import annotations

import struct
from collections.abc import Iterable
from enum import IntEnum

Block = bytes
"""Instructions, as the kernel reads them."""

WORD = 8
"""The bytes of one instruction."""

_ANY = 2**32 - 1
_FARTHEST = 255  # instructions that a test can leap
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # places in struct seccomp_data


class Test(IntEnum):
    """A test of the loaded word."""

    EQUALS = 0x15
    AT_LEAST = 0x35
    HAS_ANY = 0x45


_LOAD, _JUMP, _AND, _RETURN = 0x20, 0x05, 0x54, 0x06


def verdict(action: int) -> Block:
    """The end of all decisions: one of the kernel's `SECCOMP_RET_...`."""
    return _instruction(_RETURN, action)


def branch(test: Test, value: int, yes: Block, no: Block) -> Block:
    """Continue with `yes` if the test of the loaded word holds, otherwise with `no`."""
    distance = len(yes) // WORD
    if distance <= _FARTHEST:
        return _instruction(test, value, 0, distance) + yes + no
    leap = _instruction(_JUMP, distance)
    return _instruction(test, value, 1, 0) + leap + yes + no


def by_architecture(value: int, yes: Block, no: Block) -> Block:
    """Whether the call was made the way that this `AUDIT_ARCH_...` stands for."""
    return _instruction(_LOAD, _ARCHITECTURE) + branch(Test.EQUALS, value, yes, no)


def by_number(verdicts: dict[int, Block], otherwise: Block) -> Block:
    """The block for the number of the call, found in a balanced tree of ranges."""
    ranges = [(0, otherwise)]
    for number in sorted({each for known in verdicts for each in (known, known + 1)}):
        block = verdicts.get(number, otherwise)
        if block != ranges[-1][1]:
            ranges.append((number, block))
    return _instruction(_LOAD, _NUMBER) + _search(ranges)


def one_of(place: int, values: Iterable[int], yes: Block, no: Block, *, mask: int = _ANY) -> Block:
    """Whether the lower half of an argument, as far as `mask` goes, is one of the values."""
    tests = no
    for value in values:
        tests = branch(Test.EQUALS, value, yes, tests)
    masked = b"" if mask == _ANY else _instruction(_AND, mask)
    return _load(place) + masked + tests


def has_any(place: int, bits: int, yes: Block, no: Block) -> Block:
    """Whether any of the bits is set in the lower half of an argument."""
    return _load(place) + branch(Test.HAS_ANY, bits, yes, no)


def upper_is_zero(place: int, yes: Block, no: Block) -> Block:
    """Whether nothing is set in the upper half of an argument."""
    return _load(place, upper=True) + branch(Test.EQUALS, 0, yes, no)


def at_least(place: int, value: int, yes: Block, no: Block) -> Block:
    """Whether an argument, both halves of it, is the value or more."""
    lower = _load(place) + branch(Test.AT_LEAST, value & _ANY, yes, no)
    upper = branch(Test.EQUALS, value >> 32, lower, no)
    return _load(place, upper=True) + branch(Test.AT_LEAST, (value >> 32) + 1, yes, upper)


def _search(ranges: list[tuple[int, Block]]) -> Block:
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    above, below = _search(ranges[middle:]), _search(ranges[:middle])
    return branch(Test.AT_LEAST, ranges[middle][0], above, below)


def _load(place: int, *, upper: bool = False) -> bytes:
    # The lower half comes first in memory on all machines that `syscalls` knows.
    return _instruction(_LOAD, _ARGUMENTS + 8 * place + 4 * upper)


def _instruction(operation: int, value: int, yes: int = 0, no: int = 0) -> bytes:
    return struct.pack("=HBBI", operation, yes, no, value)
