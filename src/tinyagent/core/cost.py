"""The cost of model requests, by a maintained table of list prices (`genai-prices`)."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from importlib.util import find_spec
from typing import Any

from tinyagent.core.errors import ConfigurationError, missing_extra

_NO_PRICES = missing_extra("the cost of a run", "prices")
# Names of providers that differ in the table.
_PRICED_AS = {"gemini": "google", "kimi": "moonshotai", "xai": "x-ai"}


@dataclass(frozen=True, slots=True)
class ModelUse:
    """The tokens of one model request, and its model. Cached ones are part of the input.

    `is_counted` is whether the server reported its tokens; `reported` is its cost in US dollars if
    the provider says it, as OpenRouter does.
    """

    provider: str
    model: str
    input_tokens: int
    output_tokens: int
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    is_counted: bool = True
    reported: Decimal | None = None


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of requests in US dollars: an estimate, not a bill.

    Attributes:
        known: The cost of the requests whose cost is known.
        unknown: Why that of the others is not, each reason once.
    """

    known: Decimal = Decimal(0)
    unknown: tuple[str, ...] = ()

    @property
    def usd(self) -> Decimal | None:
        """The whole cost; None if that of a request is not known."""
        return None if self.unknown else self.known

    def to_dict(self) -> dict[str, Any]:
        """The JSON form; amounts are text so that no digit is lost."""
        whole = None if self.usd is None else str(self.usd)
        return {"usd": whole, "known_usd": str(self.known), "unknown": list(self.unknown)}

    def __add__(self, other: Cost) -> Cost:
        return Cost(self.known + other.known, tuple(dict.fromkeys(self.unknown + other.unknown)))

    def __str__(self) -> str:
        amount = f"${self.known:.4f}"
        if not self.unknown:
            return amount
        missing = "; ".join(self.unknown)
        return f"at least {amount} ({missing})" if self.known else f"unknown ({missing})"


def cost_of(uses: Iterable[ModelUse]) -> Cost:
    """The total cost of the requests: as the provider reports it, otherwise by list prices."""
    return sum(map(_cost_of_one, uses), Cost())


def has_prices() -> bool:
    """Whether the table of prices is installed."""
    return find_spec("genai_prices") is not None


def check_prices() -> None:
    """Raise ConfigurationError if the table of prices is not installed."""
    if not has_prices():
        raise ConfigurationError(_NO_PRICES)


def read_dollars(text: str) -> Decimal:
    """An amount of US dollars; raises ValueError for what is not one."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise ValueError(f"{text[:40]!r} is not an amount of US dollars")
    return amount


def _cost_of_one(use: ModelUse) -> Cost:
    if use.reported is not None:
        return Cost(use.reported)
    model = f"{use.provider or 'unknown provider'}:{use.model}"
    if not use.is_counted:
        return Cost(unknown=(f"the server of {model} reported no tokens",))
    if not has_prices():
        return Cost(unknown=(_NO_PRICES,))
    from genai_prices import Usage, calc_price  # noqa: PLC0415 - an extra, 0.2 s of CPU

    tokens = Usage(
        input_tokens=use.input_tokens,
        output_tokens=use.output_tokens,
        cache_read_tokens=use.cached_tokens,
        cache_write_tokens=use.cache_write_tokens,
    )
    provider = _PRICED_AS.get(use.provider, use.provider)
    try:
        price = calc_price(tokens, use.model, provider_id=provider)
    except (LookupError, ValueError):  # no such model; counts that contradict each other
        return Cost(unknown=(f"no price is known for {model}",))
    return Cost(price.total_price)
