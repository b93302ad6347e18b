"""The grammar of questions: its clauses are patterns over kinds of tokens.

A kind is a name of the catalogue (`source`, `measure`, `dimension`, `value`), a `period`, a number,
or a kind of English phrases, which `lexicon.toml` lists. `grammar.toml` has the clauses, and
`docs/asking.md` explains them.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files

from skillian.offline.lexicon import LEXICON

_KINDS = (
    *("source", "measure", "dimension", "value", "number_value", "period", "name", "number"),
    *("unknown", "unit", "periodic", "dont", *LEXICON),
)
LETTERS: Mapping[str, str] = {kind: chr(0x4E00 + at) for at, kind in enumerate(_KINDS)}
"""A letter for each kind: a question is the text of its tokens' letters."""
_MOST_SMALL = 5
"""The most small words in a row that a clause skips, so that no text takes long to read."""
_SMALL = re.compile(r"([a-z]|\([a-z_| ]+\))\*")


def _clauses() -> dict[str, re.Pattern[str]]:
    text = files("skillian.offline").joinpath("grammar.toml").read_text("utf-8")
    grammar: dict[str, dict[str, str]] = tomllib.loads(text)
    return {name: _pattern(rule, grammar["parts"]) for name, rule in grammar["clauses"].items()}


def _pattern(rule: str, parts: Mapping[str, str]) -> re.Pattern[str]:
    while "<" in rule:
        rule = re.sub(r"<(\w+)>", lambda part: parts[part[1]], rule)
    bounded = _SMALL.sub(rf"\1{{0,{_MOST_SMALL}}}", rule)
    letters = re.sub(r"[a-z_]+", lambda kind: LETTERS[kind[0]], bounded)
    return re.compile(re.sub(r"\s", "", letters))


CLAUSES: Mapping[str, re.Pattern[str]] = _clauses()
"""The clauses by name; the longest that matches at a token is read, of equals the first."""
