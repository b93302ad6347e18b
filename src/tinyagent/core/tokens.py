"""TokenEstimate: how many tokens a text has, learned from what the server counts."""

from __future__ import annotations

from dataclasses import dataclass

_FEWEST = 0.5
_MOST = 8.0
_TELLING = 1_000


@dataclass(frozen=True, slots=True)
class TokenEstimate:
    """Characters per token: 4 until the server's own numbers say better, always from 0.5 to 8."""

    characters_per_token: float = 4.0

    def update(self, characters: int, tokens: int) -> TokenEstimate:
        """The estimate after a request of so many characters was counted as so many tokens.

        Fewer than 1,000 characters teach nothing, since the server's own frame weighs too much;
        nor do 0 tokens, which a server gives that does not count.
        """
        if characters < _TELLING or tokens < 1:
            return self
        return TokenEstimate(min(max(characters / tokens, _FEWEST), _MOST))

    def tokens(self, characters: int) -> int:
        """About how many tokens so many characters have, rounded up."""
        return -int(-characters // self.characters_per_token)

    def characters(self, tokens: int) -> int:
        """About how many characters fit into so many tokens, rounded down."""
        return int(tokens * self.characters_per_token)
