"""Keeping the host busy: frames as large and as costly to read as they may be, without end."""

from __future__ import annotations

from collections.abc import Iterator

from tests.tinyagent.execution.attacks.cases import Attack, Proof, attack, group, hangs
from tests.tinyagent.execution.attacks.corpus.frames import forges


def _answer(value: str) -> str:
    """The code for an answer whose JSON the expression gives."""
    start, end = b'{"value":', b',"metadata":{}}'
    return f"frame('FINAL', {start!r} + {value} + {end!r})"


# What makes one frame, written to the host again and again.
LARGEST = {
    "empty texts": "frame('OUTPUT', {'text': ''}) * 2000",
    "long texts": "frame('OUTPUT', {'text': 'x' * 1_000_000})",
    "texts of escapes": "frame('OUTPUT', {'text': '\\x01' * 150_000})",
    "signs of life": "frame('READY', {}) * 5000",
    "forks": "frame('FORKED', {'pid': 7}) * 3000",
    "failures": "frame('FAILED', {'error': 'x' * 900_000})",
    "the largest artifacts": (
        "frame('ARTIFACT', {'name': 'a', 'media_type': 'b/c'}, bytes(32 << 20))"
    ),
    "answers of the most lists": _answer("b'[' + b'[],' * 124_000 + b'0]'"),
    "answers of the most dicts": (_answer("b'[' + b'{\"a\":1},' * 124_000 + b'0]'")),
    "answers of too many lists": _answer("b'[' + b'[],' * 1_300_000 + b'0]'"),
    "answers of long numbers": (_answer("b'[' + b'1.23456789012345678,' * 200_000 + b'0]'")),
    "answers of one endless number": _answer("b'0.' + b'1' * 4_000_000"),
    "answers of many dates": (
        "frame('FINAL', {'value': [{'$': 'datetime', 'v': '2024-01-01T00:00:00'}] * 80_000,"
        " 'metadata': {}})"
    ),
    "answers of many decimals": (
        "frame('FINAL', {'value': [{'$': 'decimal', 'v': '1E+4299'}] * 80_000, 'metadata': {}})"
    ),
    "an answer of an absurd decimal": (
        "frame('FINAL', {'value': {'$': 'decimal', 'v': '1E+20000000'}, 'metadata': {}})"
    ),
    "answers of the most bytes": (
        "frame('FINAL', {'value': {'$': 'bytes', 'at': 1, 'n': (32 << 20) - 1}, 'metadata': {}},"
        " bytes(32 << 20))"
    ),
    "answers of the longest text": (
        "frame('FINAL', {'value': {'$': 'str', 'at': 0, 'n': 4 << 20}, 'metadata': {}},"
        " b'a' * ((4 << 20) - 4) + '\\U0001f600'.encode())"
    ),
    "answers of surrogates": (
        "frame('FINAL', {'value': {'$': 'str', 'at': 0, 'n': 3_000_000}, 'metadata': {}},"
        " b'\\xed\\xa0\\x80' * 1_000_000)"
    ),
    "calls of nobody with heavy arguments": (
        "frame('CALL', {'id': 0, 'name': 'nobody', 'args': [[]] * 100_000, 'kwargs': {}})"
    ),
    "calls with the most keywords": (
        "frame('CALL', {'id': 0, 'name': 'echo', 'args': [],"
        " 'kwargs': {f'k{n}': 0 for n in range(200_000)}})"
    ),
    "ends that are not the step's": (
        "frame('DONE', {**done, 'token': 'x', 'value': [[1]] * 80_000,"
        " 'remarks': ['r' * 1000] * 1000, 'error': 'x' * 900_000})"
    ),
}

# What the code can do without writing past its helpers.
BUSY = {
    "heavy arguments": "x = [[n] for n in range(60_000)]\nwhile True: echo(x)",
    "heavy bytes": "x = bytes(16 << 20)\nwhile True: echo(x)",
    "calls that are answered at once": "while True: echo(1)",
    "calls that are answered at once on the loop": "while True: echo_later(1)",
    "calls that fail": ("while True:\n    try: lookup('wrong')\n    except ValueError: pass"),
    "calls that echo much in an error": (
        "while True:\n    try: lookup('x' * 3_000_000)\n    except TypeError: pass\n"
    ),
    "lines": "while True: print('x' * 1000)",
}


def _floods() -> Iterator[Attack]:
    for name, code in LARGEST.items():
        yield forges(f"{name}, without end", f"data = {code}\nwhile True: send(data)")
    for name, code in BUSY.items():
        proof = Proof.FLOODS if name == "lines" else Proof.HANGS
        yield hangs(name, code, proof=proof)


_TAKE_OVER = """
import gc, os, time
for each in gc.get_objects():
    if type(each).__name__ == 'SessionProcess' and hasattr(type(each), '_obey'):
        def obey(self, frame, real=type(each)._obey):
            while os.path.exists('stop'): time.sleep(0.1)
            return real(self, frame)
        type(each)._obey = obey
"""

FLOODS = group(
    "floods",
    _floods(),
    attack(
        "every kept state is taken over and starts no step",
        _TAKE_OVER,
        *("x = 1", "x = 2", "x = 3", "open('stop', 'w').close()", "x = 4"),
        proof=Proof.NONE,
        resets=True,
    ),
)
