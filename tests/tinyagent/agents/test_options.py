from __future__ import annotations

import typing
from dataclasses import replace

import pytest

from tinyagent import Approval, ConfigurationError, Middleware, Tool, ToolCall, UsageLimits
from tinyagent.agents.options import AgentOptions, AgentSettings, with_default_layers


def test_each_option_has_a_default() -> None:
    assert set(typing.get_type_hints(AgentOptions)) == set(typing.get_type_hints(AgentSettings))
    assert (AgentSettings().max_steps, AgentSettings().output_retries) == (10, 2)


@pytest.mark.parametrize("max_steps", [0, -1])
def test_a_run_has_at_least_one_step(max_steps: int) -> None:
    with pytest.raises(ConfigurationError, match=f"max_steps must be 1 or more, got {max_steps}"):
        AgentSettings(max_steps=max_steps)


def send(to: str) -> str:
    """Send a letter."""
    return to


SEND = Tool.from_function(send, requires_approval=True)


async def _yes(_: ToolCall) -> bool:
    return True


@pytest.mark.parametrize(
    ("middleware", "kinds"),
    [
        ([], [Approval, UsageLimits]),
        ([UsageLimits()], [Approval, UsageLimits]),
        ([Approval(_yes)], [Approval, UsageLimits]),
        ([Middleware(), Approval(_yes)], [Middleware, Approval, UsageLimits]),
        ([UsageLimits(), Approval(_yes)], [UsageLimits, Approval]),
    ],
)
def test_limits_are_inside_approval_unless_the_caller_orders_both(
    middleware: list[Middleware], kinds: list[type[Middleware]]
) -> None:
    layers = with_default_layers(middleware, {"send": SEND})
    assert [type(layer) for layer in layers] == kinds


def test_without_a_tool_that_requires_approval_there_is_none() -> None:
    layers = with_default_layers([Middleware()], {"look": replace(SEND, requires_approval=False)})
    assert [type(layer) for layer in layers] == [Middleware, UsageLimits]
