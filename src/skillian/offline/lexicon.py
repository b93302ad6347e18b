"""The English of the offline planner: kinds of phrases, numbers, and phrases that say nothing."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from importlib.resources import files

from skillian.offline.vocabulary import plain

LEXICON: Mapping[str, tuple[str, ...]] = {
    kind: tuple(phrases)
    for kind, phrases in tomllib.loads(
        files("skillian.offline").joinpath("lexicon.toml").read_text("utf-8")
    ).items()
}
"""The phrases of each kind of token, as in `lexicon.toml`."""
KINDS: Mapping[str, str] = {
    plain(phrase) or phrase: kind for kind in reversed(tuple(LEXICON)) for phrase in LEXICON[kind]
}
"""The kind of each phrase in its plain form; the first list that has it counts."""
_PEOPLE = r"(?:boss|manager|chief|cfo|ceo|controller|auditors?|team|colleagues?|director|board)"
_OCCASION = r"(?:meeting|call|presentation|workshop|board meeting|review)"
NUMBERS = {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten"), 1
    )
} | {"twelve": 12, "twenty": 20, "fifty": 50, "hundred": 100}
PERIODIC = {
    "daily": "day",
    "weekly": "week",
    "monthly": "month",
    "quarterly": "quarter",
    **dict.fromkeys(("yearly", "annually", "annual"), "year"),
}
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4}
COURTESIES = [
    re.compile(
        rf"\b(?:my|our|the) {_PEOPLE} (?:wants?|needs?|asks?|asked|would like|wonders?|insists?)"
        r"(?: on)?(?: me| us)?(?: to)?(?: (?:know|see|check|find out))?(?: (?:if|whether|for))?\b"
    ),
    re.compile(rf"\b(?:before|for) (?:my|our|the|today's|tomorrow's|this) {_OCCASION}\b"),
    re.compile(r"\bwould you(?: mind)?\b|\bif you (?:can|could|would|please)\b|\bin case\b"),
]
"""Phrases that carry no condition, read before the words."""
