from __future__ import annotations

import sys
from dataclasses import replace
from decimal import Decimal

import pytest

from tinyagent import ReactAgent, ScriptedModel, UsageLimitReached, UsageLimits, tool
from tinyagent.core.cost import Cost, ModelUse, cost_of, read_dollars
from tinyagent.core.errors import ConfigurationError
from tinyagent.core.types import ModelResponse, RawToolCall, Usage


@tool
def look() -> str:
    """Look around."""
    return "a wall"


def priced(*, call: bool, model: str = "gpt-4.1", provider: str = "openai") -> ModelResponse:
    calls = (RawToolCall("c1", "look", "{}"),) if call else ()
    usage = Usage(1, 500_000, 50_000, 100_000)
    content = None if call else "A wall."
    return ModelResponse(content, calls, usage, model=model, provider=provider)


def test_the_cost_of_a_request_is_by_list_price_with_cached_tokens_cheaper() -> None:
    full = cost_of([ModelUse("openai", "gpt-4.1", 1_000_000, 100_000)])
    cached = cost_of([ModelUse("openai", "gpt-4.1", 1_000_000, 100_000, 500_000)])
    assert full.usd == Decimal("2.80")
    assert cached.usd is not None
    assert Decimal(0) < cached.usd < full.usd


@pytest.mark.parametrize("provider", ["gemini", "xai", "kimi", "anthropic", "deepseek", "mistral"])
def test_providers_are_found_by_the_names_that_begin_their_models(provider: str) -> None:
    models = {
        "gemini": "gemini-2.5-flash",
        "xai": "grok-4",
        "kimi": "kimi-k2.5",
        "anthropic": "claude-sonnet-5",
        "deepseek": "deepseek-chat",
        "mistral": "mistral-large-latest",
    }
    usd = cost_of([ModelUse(provider, models[provider], 1000, 1000)]).usd
    assert usd is not None
    assert usd > 0


def test_a_model_without_a_known_price_is_unknown_and_never_free() -> None:
    cost = cost_of([ModelUse("ollama", "llama3.2:1b", 10, 10)])
    assert cost.usd is None
    assert str(cost) == "unknown (no price is known for ollama:llama3.2:1b)"
    mixed = cost + Cost(Decimal("0.5"))
    assert mixed.usd is None
    assert str(mixed) == "at least $0.5000 (no price is known for ollama:llama3.2:1b)"
    assert mixed + cost == mixed
    assert mixed.to_dict() == {
        "usd": None,
        "known_usd": "0.5",
        "unknown": ["no price is known for ollama:llama3.2:1b"],
    }


def test_a_request_whose_tokens_are_not_reported_is_unknown_and_never_free() -> None:
    silent = ModelResponse("hi", usage=Usage(1, uncounted=1), model="gpt-4.1", provider="openai")
    assert cost_of([silent.use]).unknown == ("the server of openai:gpt-4.1 reported no tokens",)
    reported = ModelResponse("hi", usage=Usage(1), model="gpt-4.1", provider="openai")
    assert cost_of([reported.use]).usd == 0


def test_what_the_provider_reports_is_the_cost() -> None:
    response = ModelResponse("hi", cost=Decimal("0.25"), model="own", provider="openrouter")
    assert cost_of([response.use]).usd == Decimal("0.25")
    assert ModelResponse.from_dict(response.to_dict()) == response


@pytest.mark.parametrize("text", ["NaN", "-1", "inf", "1,5", ""])
def test_what_is_not_an_amount_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="not an amount of US dollars"):
        read_dollars(text)


def test_counts_that_contradict_each_other_have_no_price() -> None:
    assert cost_of([ModelUse("openai", "gpt-4.1", 10, 10, cached_tokens=20)]).usd is None


async def test_a_run_has_the_cost_of_all_its_requests_and_of_agents_as_tools() -> None:
    inner = ReactAgent(ScriptedModel([priced(call=False)]), [])
    outer_call = ModelResponse(
        None,
        (RawToolCall("c1", "helper", '{"task": "look"}'),),
        Usage(1, 500_000, 0),
        model="gpt-4.1",
        provider="openai",
    )
    helper = inner.as_tool("helper", "Looks around.")
    result = await ReactAgent(ScriptedModel([outer_call, priced(call=False)]), [helper]).run("look")
    assert [use.input_tokens for use in result.uses] == [500_000] * 3
    assert result.cost.usd == cost_of(result.uses).usd
    assert result.cost.known > Decimal("1.00")


async def test_a_run_ends_when_its_cost_is_used_up() -> None:
    model = ScriptedModel([priced(call=True), priced(call=True), priced(call=False)])
    agent = ReactAgent(model, [look], middleware=[UsageLimits(cost=1.5)])
    with pytest.raises(UsageLimitReached, match=r"used its cost: \$\d\.\d{4} of \$1.5") as caught:
        await agent.run("look")
    assert caught.value.result is not None
    assert len(caught.value.result.uses) == 2


@pytest.mark.parametrize(
    ("first", "reason"),
    [
        (priced(call=True, model="mine", provider="vllm"), "no price is known for vllm:mine"),
        (replace(priced(call=True), usage=Usage(1, uncounted=1)), "reported no tokens"),
    ],
)
async def test_a_limit_on_cost_ends_a_run_whose_cost_is_not_known(
    first: ModelResponse, reason: str
) -> None:
    agent = ReactAgent(
        ScriptedModel([first, priced(call=False)]), [look], middleware=[UsageLimits(cost=1.5)]
    )
    with pytest.raises(UsageLimitReached, match=reason):
        await agent.run("look")


def test_without_the_table_of_prices_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "genai_prices", raising=False)
    assert cost_of([]).usd == 0
    (reason,) = cost_of([ModelUse("openai", "gpt-4.1", 1, 1)] * 2).unknown
    assert "extra 'prices'" in reason
    assert cost_of([ModelUse("openrouter", "m", 1, 1, reported=Decimal(1))]).usd == 1
    with pytest.raises(ConfigurationError, match="extra 'prices'"):
        UsageLimits(cost=1)
