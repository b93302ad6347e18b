"""The words of the planner: the phrases of `lexicon.toml`, and the numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files

from skillian.offline.language.vocabulary import plain

_TEXT = files("skillian.offline.language").joinpath("lexicon.toml").read_text("utf-8")
ARTICLES = frozenset(["a", "an", "any", "my", "our", "please", "kindly", "that", "the", "this"])
"""Words that carry nothing, unless the catalogue has them as values."""
POINTING = frozenset(("this", "that"))
"""Articles that point to the last answer if they are before a dimension."""
LEXICON: Mapping[str, tuple[str, ...]] = {
    kind.lower(): tuple(" ".join(phrase.split()) for phrase in phrases.split(","))
    for kind, phrases in tomllib.loads(_TEXT).items()
}
"""The phrases of each kind of token, as in `lexicon.toml`."""
KINDS: Mapping[str, str] = {
    " ".join(word for word in plain(phrase).split() if word not in ARTICLES) or phrase: kind
    for kind in reversed(tuple(LEXICON))
    for phrase in LEXICON[kind]
}
"""The kind of each phrase in its plain form, without articles."""
KIND_NAMES = frozenset(LEXICON)
NUMBERS: Mapping[str, int] = {
    word: number
    for number, word in enumerate(
        ["one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"], 1
    )
} | {"twelve": 12, "twenty": 20, "fifty": 50, "hundred": 100}
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}
PERIODIC: Mapping[str, str] = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    **dict.fromkeys(("yearly", "annually", "annual"), "year"),
}
