"""A kernel's view of a filter: checks it as the kernel does at its door, and runs it."""

from __future__ import annotations

import functools
import struct
from collections.abc import Sequence
from typing import NamedTuple

ALLOW = 0x7FFF_0000
KILL = 0x8000_0000
ERRNO = 0x0005_0000

_MOST = 4096
_LOAD, _AND, _JUMP, _RETURN = 0x20, 0x54, 0x05, 0x06
_TESTS = {0x15, 0x25, 0x35, 0x45}


class Instruction(NamedTuple):
    """One instruction of classic BPF: `struct sock_filter`."""

    code: int
    yes: int
    no: int
    value: int


@functools.lru_cache(8)
def check(program: bytes) -> list[Instruction]:
    """The instructions, if the kernel would take them: known ones only, no way past the end."""
    assert len(program) % 8 == 0
    instructions = [Instruction(*fields) for fields in struct.iter_unpack("=HBBI", program)]
    assert 0 < len(instructions) <= _MOST
    for place, (code, yes, no, value) in enumerate(instructions):
        following = [place + 1]
        if code in _TESTS:
            following = [place + 1 + yes, place + 1 + no]
        elif code == _JUMP:
            following = [place + 1 + value]
        elif code == _LOAD:
            assert value % 4 == 0
            assert value < 64
        elif code == _RETURN:
            following = []
        else:
            assert code == _AND
        assert all(target < len(instructions) for target in following)
    return instructions


def verdict(program: bytes, number: int, arguments: Sequence[int], architecture: int) -> int:
    """What the filter says to this call."""
    instructions = check(program)
    data = struct.pack("=IIQ6Q", number, architecture, 0, *arguments)
    place = accumulator = 0
    while True:
        code, yes, no, value = instructions[place]
        place += 1
        if code == _RETURN:
            return value
        if code == _LOAD:
            (accumulator,) = struct.unpack_from("=I", data, value)
        elif code == _AND:
            accumulator &= value
        elif code == _JUMP:
            place += value
        else:
            place += yes if _holds(code, accumulator, value) else no


def longest_way(program: bytes) -> int:
    """How many instructions one call can cost at most; jumps lead forward only."""
    instructions = check(program)
    ways = [0] * len(instructions)
    for place in reversed(range(len(instructions))):
        code, yes, no, value = instructions[place]
        if code in _TESTS:
            ways[place] = 1 + max(ways[place + 1 + yes], ways[place + 1 + no])
        elif code == _RETURN:
            ways[place] = 1
        else:
            ways[place] = 1 + ways[place + 1 + (value if code == _JUMP else 0)]
    return ways[0]


def _holds(code: int, accumulator: int, value: int) -> bool:
    return {
        0x15: accumulator == value,
        0x25: accumulator > value,
        0x35: accumulator >= value,
        0x45: bool(accumulator & value),
    }[code]
