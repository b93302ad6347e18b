from __future__ import annotations

import sys
from decimal import Decimal

import pytest

from tinyagent import ReactAgent, ScriptedModel, UsageLimitReached, UsageLimits, tool
from tinyagent.core.cost import Cost, ModelUse, cost_of
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
    assert mixed.to_dict() == {
        "usd": None,
        "known_usd": "0.5",
        "unknown": ["ollama:llama3.2:1b"],
    }


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


async def test_a_limit_on_cost_ends_a_run_whose_model_has_no_known_price() -> None:
    model = ScriptedModel([priced(call=True, model="mine", provider="vllm"), priced(call=False)])
    agent = ReactAgent(model, [look], middleware=[UsageLimits(cost=1.5)])
    with pytest.raises(UsageLimitReached, match="no price is known for vllm:mine"):
        await agent.run("look")


def test_without_the_table_of_prices_the_error_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sys, "path", [])
    monkeypatch.delitem(sys.modules, "genai_prices", raising=False)
    with pytest.raises(ConfigurationError, match="extra 'prices'"):
        cost_of([])
    with pytest.raises(ConfigurationError, match="pip install genai-prices"):
        UsageLimits(cost=1)
