"""The words of the planner: the phrases of `lexicon.toml`, and the numbers."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from importlib.resources import files
from typing import Any

from skillian.offline.language.vocabulary import plain


def data_of(name: str) -> Mapping[str, Any]:
    """The contents of a TOML file beside this module."""
    return tomllib.loads(files("skillian.offline.language").joinpath(name).read_text("utf-8"))


LEXICON: Mapping[str, tuple[str, ...]] = {
    kind.lower(): tuple(" ".join(phrase.split()) for phrase in phrases.split(","))
    for kind, phrases in data_of("lexicon.toml").items()
}
"""The phrases of each kind of token, as in `lexicon.toml`."""
KINDS: Mapping[str, str] = {
    plain(phrase) or phrase: kind for kind, phrases in LEXICON.items() for phrase in phrases
}
"""The kind of each phrase in its plain form, without articles."""
_WORDS = "one two three four five six seven eight nine ten"
NUMBERS = {word: number for number, word in enumerate(_WORDS.split(), 1)}
