"""Options that are mistyped, misplaced or of the wrong type are refused by what would be right."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

import tinyagent_commands
from tinyagent import (
    AnthropicModel,
    Approval,
    ConfigurationError,
    ExecutionLimits,
    Memory,
    OpenAIModel,
    ReactAgent,
    Sandbox,
    ScriptedModel,
    TinyCodeAgent,
    Tracing,
    UsageLimits,
    get_executor,
    tool,
)
from tinyagent.cli import app
from tinyagent.execution import ProcessExecutor
from tinyagent.provenance import Provenance

TABLES: Mapping[str, Mapping[str, str]] = tomllib.loads(
    Path(__file__).with_name("mistyped.toml").read_text(encoding="utf-8")
)
COMMANDS = TABLES["command"]
MAKERS: Mapping[str, tuple[Callable[..., object], tuple[object, ...]]] = {
    "TinyCodeAgent": (TinyCodeAgent, (ScriptedModel([]),)),
    "ReactAgent": (ReactAgent, (ScriptedModel([]),)),
    "OpenAIModel": (OpenAIModel, ("some-model",)),
    "AnthropicModel": (AnthropicModel, ("some-model",)),
    **{
        each.__name__: (each, ())
        for each in (
            get_executor,
            ProcessExecutor,
            Sandbox,
            ExecutionLimits,
            Provenance,
            UsageLimits,
            Approval,
            Tracing,
            tool,
            Memory,
        )
    },
}
ROWS = [
    (owner, option, right)
    for owner, rows in TABLES.items()
    if owner != "command"
    for option, right in rows.items()
]


@pytest.mark.parametrize(("owner", "option", "right"), ROWS)
def test_an_unknown_option_is_refused_with_the_right_one(
    owner: str, option: str, right: str
) -> None:
    make, arguments = MAKERS[owner]
    with pytest.raises(ConfigurationError) as caught:
        make(*arguments, **{option: "x"})
    message = str(caught.value)
    shown = owner if isinstance(make, type) else f"{owner}()"
    assert f"{shown} has no option {option!r}" in message
    assert right in message


@pytest.mark.parametrize(("line", "right"), COMMANDS.items())
def test_an_unknown_option_of_a_command_exits_2_with_the_right_one(
    line: str, right: str, capsys: pytest.CaptureFixture[str]
) -> None:
    code = tinyagent_commands.call(app, line.split()[1:])
    message = capsys.readouterr().err
    assert code == 2
    assert right in message.partition("See:")[0]


@pytest.mark.parametrize(
    ("owner", "option", "value", "says"),
    [
        ("TinyCodeAgent", "max_steps", "3", "max_steps must be int, got str"),
        ("TinyCodeAgent", "max_steps", True, "max_steps must be int, got bool"),
        ("TinyCodeAgent", "max_tokens", 0, "max_tokens must be 1 or more, got 0"),
        ("TinyCodeAgent", "output_retries", -1, "output_retries must be 0 or more, got -1"),
        ("Sandbox", "level", "safe", "use local, isolated, sandboxed"),
        ("Sandbox", "level", 3, "level must be TrustLevel or str, got int"),
        ("Sandbox", "limits", {"timeout": 3}, "limits must be ExecutionLimits or None, got dict"),
        ("TinyCodeAgent", "sandbox", "local", "sandbox must be Sandbox or None, got str"),
        ("TinyCodeAgent", "middleware", UsageLimits(), "write a list: [...]"),
        ("TinyCodeAgent", "middleware", [UsageLimits], "write UsageLimits(...)"),
        ("Sandbox", "files", "a.csv", "files must be list, got str"),
        ("Sandbox", "without", ["S99"], "there is no promise 'S99'"),
        ("Sandbox", "secrets", {"a": "b"}, "secrets are for hosts of `network`"),
        ("TinyCodeAgent", "executor", "docker", "executor must be Callable or Executor or None"),
        ("TinyCodeAgent", "sealed", "yes", "sealed must be bool, got str"),
        ("ReactAgent", "temperature", "hot", "temperature must be float or None, got str"),
        ("ReactAgent", "tool_calling_mode", "fast", "use one of: auto, native"),
        ("ReactAgent", "tools", print, "tools must be list"),
        ("Sandbox", "workspace", 3, "workspace must be"),
        ("ExecutionLimits", "max_steps", 2.5, "max_steps must be int or None, got float"),
        ("UsageLimits", "requests", -1, "requests must be 0 or more, got -1"),
        ("UsageLimits", "cost", "1", "cost must be Decimal or float or None, got str"),
        ("Approval", "ask", True, "ask must be Ask, got bool"),
        ("Tracing", "max_chars", -1, "max_chars must be 0 or more, got -1"),
        ("Provenance", "sinks", ["a"], "sinks must be table, got list"),
        ("Provenance", "trusted", "a", "trusted must be list, got str"),
        ("tool", "timeout", "2", "timeout must be float or None, got str"),
        ("Memory", "entries", 3, "entries must be list, got int"),
        ("OpenAIModel", "retries", -1, "retries must be 0 or more, got -1"),
        ("OpenAIModel", "api_key", b"sk-1", "api_key must be str or None, got bytes"),
        ("AnthropicModel", "max_tokens", "5", "max_tokens must be int, got str"),
    ],
)
def test_a_value_of_the_wrong_type_is_refused_with_what_is_allowed(
    owner: str, option: str, value: object, says: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-test")
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-test")
    make, arguments = MAKERS[owner]
    with pytest.raises(ConfigurationError) as caught:
        make(*arguments, **{option: value})
    assert says in str(caught.value)
    assert "sk-1" not in str(caught.value)


def test_the_right_options_are_accepted() -> None:
    assert ExecutionLimits(timeout_seconds=1).timeout_seconds == 1
    assert UsageLimits(requests=1).requests == 1
    TinyCodeAgent(ScriptedModel([]), sandbox=Sandbox(level="local"), max_steps=3)
    TinyCodeAgent(ScriptedModel([]), executor=lambda: get_executor(Sandbox("local")))
    ReactAgent(ScriptedModel([]), temperature=0.5, tool_calling_mode="parsed")
