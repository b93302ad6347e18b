"""What code has printed, as a model reads it."""

from __future__ import annotations

import builtins
import re
from collections.abc import Iterator, Sequence

from skillian.chat.sealed.plain import Vouched
from skillian.chat.sealed.stand_ins import StandIns
from skillian.data.subjects import ROW_CLASSES, STATUSES

_WORD = re.compile(r"\w+")
_DIGITS = re.compile(r"\d+(?:[eE]\d+)?")
_BREAK = re.compile(r"""[\n'",;|()\[\]{}]|\s\s|:\s""")
_LONGEST = 12
"""The maximum number of words of a vouched phrase."""
PYTHON = (
    *STATUSES,
    *ROW_CLASSES,
    *(name for name in vars(builtins) if name.endswith(("Error", "Exception", "Warning"))),
    *("Traceback (most recent call last)", "line", "step figure png", "class differing status"),
    *("None True False NaN nan inf Infinity NaT", "Decimal Timestamp datetime date Timedelta"),
    *("dtype: object int64 float64 bool str category", "datetime64[ns]", "datetime64[us]"),
    *("Name: Length: Freq:", "rows x columns", "Empty DataFrame Columns: Index: RangeIndex"),
    *("array dict list set tuple start stop step", "DataFrame Series Index Groupby numpy np"),
    *("object has no attribute", "name is not defined", "division by zero", "is not callable"),
    *("unsupported operand type(s) for and", "list index out of range", "not in index"),
    *("could not convert string to float", "invalid literal for int() with base 10"),
    *("positional arguments but were given", "missing required positional argument"),
    *("No module named", "invalid syntax", "unexpected indent", "was never closed"),
    *("got an unexpected keyword argument", "must be real number, not", "not subscriptable"),
    *("a b rows_a rows_b", "groups_that_differ groups_in_comparison rows_that_differ"),
    *("rows_in_comparison source_a source_b cache_key groups matched match_rate by_status"),
    *("total_a total_b net_difference gross_difference measures key mismatches unit"),
)
"""The words of Python, pandas and the summary of a comparison, a phrase in each line."""


def printed(text: str, vouched: Vouched, stand_ins: StandIns) -> str:
    """A text that code has made, with stand-ins for all that is not known to be harmless.

    Numbers stay, and what is vouched for: names, words of the user and of the code itself. Whole
    cells have the names that they have in other results.

    Args:
        text: What was printed, a value as text, or an error.
        vouched: What may be read.
        stand_ins: Names what may not.
    """
    parts: list[str] = []
    done = 0
    for start, end, name in stand_ins.quoted_in(text):
        parts += (_filtered(text[done:start], vouched, stand_ins), name)
        done = end
    return "".join((*parts, _filtered(text[done:], vouched, stand_ins)))


def _filtered(text: str, vouched: Vouched, stand_ins: StandIns) -> str:
    return "".join(_line(line, vouched, stand_ins) for line in text.splitlines(keepends=True))


def _line(line: str, vouched: Vouched, stand_ins: StandIns) -> str:
    words = [*_WORD.finditer(line)]
    result, end = "", 0
    for first, last in _unknown(line, words, _plain(line, words, vouched)):
        start = words[first].start()
        result += line[end:start]
        end = words[last].end()
        result += stand_ins.name(line[start:end])
    return result + line[end:]


def _plain(line: str, words: Sequence[re.Match[str]], vouched: Vouched) -> list[bool]:
    """Whether each word is a number, or in a phrase that is vouched for."""
    plain = [_DIGITS.fullmatch(word[0]) is not None for word in words]
    at = 0
    while at < len(words):
        end = at
        for last in range(at, min(at + _LONGEST, len(words))):
            if line[words[at].start() : words[last].end()] not in vouched:
                break
            end = last + 1
        plain[at:end] = [True] * (end - at)
        at = max(end, at + 1)
    return plain


def _unknown(
    line: str, words: Sequence[re.Match[str]], plain: Sequence[bool]
) -> Iterator[tuple[int, int]]:
    """Yield the first and the last word of what is not plain, with the plain words within it."""
    first = last = -1
    for at, is_plain in enumerate(plain):
        if is_plain:
            continue
        if first >= 0 and not _is_within(line, words[last : at + 1]):
            yield first, last
            first = at
        first = at if first < 0 else first
        last = at
    if first >= 0:
        yield first, last


def _is_within(line: str, words: Sequence[re.Match[str]]) -> bool:
    """Whether words belong together: nothing but words between the first and the last of them."""
    between = line[words[0].end() : words[-1].start()]
    numbers = any(_DIGITS.fullmatch(word[0]) for word in words[1:-1])
    return not (numbers or _BREAK.search(between))
