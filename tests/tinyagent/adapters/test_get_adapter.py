from __future__ import annotations

from typing import Any, cast

import pytest

from tinyagent import ConfigurationError, ScriptedModel, Tool
from tinyagent.adapters import (
    NativeToolAdapter,
    OpenAIStructuredAdapter,
    ParsedAdapter,
    get_adapter,
)
from tinyagent.adapters.choose import ToolCallingMode, step_down


def add(a: int) -> int:
    """Add."""
    return a


TOOLS = (Tool.from_function(add),)


@pytest.mark.parametrize("mode", ["auto", "native"])
def test_native_calling_is_where_to_start(mode: ToolCallingMode) -> None:
    assert isinstance(get_adapter("gpt-4.1", TOOLS, mode), NativeToolAdapter)


@pytest.mark.parametrize(
    ("mode", "kind"),
    [
        ("native", NativeToolAdapter),
        ("structured", OpenAIStructuredAdapter),
        ("parsed", ParsedAdapter),
    ],
)
def test_each_mode_has_its_adapter(mode: ToolCallingMode, kind: type[Any]) -> None:
    assert type(get_adapter("gpt-4.1", TOOLS, mode)) is kind


@pytest.mark.parametrize("name", ["SmolLM2-135M", "gemma2:2b", "TinyLlama-1.1B"])
def test_a_model_known_to_drop_tools_is_offered_them_by_schema(name: str) -> None:
    model = ScriptedModel([], name=name)
    assert type(get_adapter(model, TOOLS)) is OpenAIStructuredAdapter
    assert type(get_adapter(name, TOOLS)) is OpenAIStructuredAdapter
    assert type(get_adapter(name, ())) is NativeToolAdapter
    assert type(get_adapter(name, TOOLS, "native")) is NativeToolAdapter


def test_an_unknown_mode_is_answered_with_the_known_ones() -> None:
    with pytest.raises(ConfigurationError, match="'magic'; use one of: auto, native"):
        get_adapter("gpt-4.1", (), cast("ToolCallingMode", "magic"))


def test_it_goes_down_from_native_to_structured_to_parsed_and_no_further() -> None:
    structured = step_down(NativeToolAdapter())
    assert type(structured) is OpenAIStructuredAdapter
    parsed = step_down(structured)
    assert type(parsed) is ParsedAdapter
    assert step_down(parsed) is None
