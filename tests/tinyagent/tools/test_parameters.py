from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from datetime import date
from enum import Enum
from typing import Annotated, Any, Literal, Optional

import pytest
from pydantic import BaseModel, Field
from typing_extensions import TypedDict

from tinyagent import RunContext, Tool, ToolDefinitionError
from tinyagent.core import ToolArgumentsError
from tinyagent.tools.parameters import tidy_schema


class Colour(Enum):
    RED = "red"


@dataclass
class Point:
    x: int
    y: int = 0


class Filter(BaseModel):
    field: str
    values: list[str] = Field(default=[], description="any of these")


class Titled(TypedDict):
    title: str
    default: int


def _parameters(fn: Callable[..., Any]) -> Tool:
    fn.__doc__ = "Do it.\n\nArgs:\n    a: what it is"
    return Tool.from_function(fn, name="fn")


def test_the_schema_is_an_object_that_takes_nothing_else() -> None:
    def fn(a: int, b: str = "x") -> None: ...

    assert _parameters(fn).json_schema == {
        "type": "object",
        "properties": {
            "a": {"type": "integer", "description": "what it is"},
            "b": {"type": "string", "default": "x"},
        },
        "required": ["a"],
        "additionalProperties": False,
    }


def test_arguments_take_the_types_of_the_parameters() -> None:
    def fn(a: Point, b: Filter, c: Colour, d: date, e: Literal["x"] = "x") -> None: ...

    read = _parameters(fn).validate(
        {"a": {"x": "3"}, "b": {"field": "f"}, "c": "red", "d": "2026-01-31"}
    )
    assert read == {
        "a": Point(3),
        "b": Filter(field="f"),
        "c": Colour.RED,
        "d": date(2026, 1, 31),
        "e": "x",
    }


def test_every_fault_has_its_line() -> None:
    def fn(a: int, b: list[int], c: str) -> None: ...

    with pytest.raises(ToolArgumentsError) as caught:
        _parameters(fn).validate({"a": "three", "b": [1, "x"], "d": 4})
    assert str(caught.value).splitlines() == [
        "a: Input should be a valid integer, unable to parse string as an integer, got 'three'",
        "b.1: Input should be a valid integer, unable to parse string as an integer, got 'x'",
        "c: required, but missing",
        "d: there is no such argument",
    ]


def test_a_long_input_is_cut_in_the_message() -> None:
    def fn(a: int) -> None: ...

    with pytest.raises(ToolArgumentsError, match=r"x… \(5002 characters\)") as caught:
        _parameters(fn).validate({"a": "x" * 5000})
    assert len(str(caught.value)) < 400


def test_a_message_never_names_a_field_that_the_caller_does_not_know() -> None:
    def fn(a: int) -> None: ...

    with pytest.raises(ToolArgumentsError, match="p0: there is no such argument"):
        _parameters(fn).validate({"a": 1, "p0": 1})


def test_names_that_pydantic_keeps_for_itself_are_names_like_any_other() -> None:
    def fn(schema: int, copy: int, _x: int, model_config: int, title: int) -> None: ...

    given = {"schema": 1, "copy": 2, "_x": 3, "model_config": 4, "title": 5}
    parameters = _parameters(fn)
    assert parameters.validate(given) == given
    assert list(parameters.json_schema["properties"]) == list(given)


def test_a_default_is_not_shared_between_calls() -> None:
    def fn(a: list[int] = []) -> None: ...  # noqa: B006 - what is tested

    parameters = _parameters(fn)
    parameters.validate({})["a"].append(1)
    assert parameters.validate({}) == {"a": []}


def test_the_context_is_not_shown_to_the_model() -> None:
    def fn(a: int, run: RunContext) -> None: ...

    parameters = _parameters(fn)
    assert parameters.context_name == "run"
    assert list(parameters.json_schema["properties"]) == ["a"]


class Shop:
    pass


@pytest.mark.parametrize(
    ("hint", "deps_type"),
    [
        (RunContext, None),
        (RunContext | None, None),
        (RunContext[Any], None),
        (RunContext[object], None),
        (RunContext[None], None),
        (RunContext[Shop | None], None),
        (Optional[RunContext[Shop]], Shop),  # noqa: UP045 - both spellings
        (RunContext[Shop] | None, Shop),
        (RunContext[Shop], Shop),
        (RunContext[dict[str, int]], dict[str, int]),
    ],
)
def test_a_context_says_which_deps_the_tool_needs(hint: Any, deps_type: Any) -> None:
    def fn(a: int, run: Any) -> None: ...

    fn.__annotations__["run"] = hint
    parameters = _parameters(fn)
    assert (parameters.context_name, parameters.deps_type) == ("run", deps_type)
    assert list(parameters.json_schema["properties"]) == ["a"]


def test_the_model_cannot_pass_a_context() -> None:
    def fn(a: int, run: RunContext) -> None: ...

    with pytest.raises(ToolArgumentsError, match="run: there is no such argument"):
        _parameters(fn).validate({"a": 1, "run": {}})


def test_constraints_are_shown_and_enforced() -> None:
    def fn(a: Annotated[int, Field(ge=1)]) -> None: ...

    parameters = _parameters(fn)
    assert parameters.json_schema["properties"]["a"]["minimum"] == 1
    with pytest.raises(ToolArgumentsError, match="a: Input should be greater than or equal to 1"):
        parameters.validate({"a": 0})


def _no_hint(a) -> None:  # type: ignore[no-untyped-def]  # noqa: ANN001
    ...


def _open(*a: int) -> None: ...


def _open_keywords(**a: int) -> None: ...


def _positional(a: int, /) -> None: ...


def _undescribable(a: object, b: Callable[[], None]) -> None: ...


def _foreign(a: threading.Lock) -> None: ...  # type: ignore[name-defined]  # noqa: F821


def _misspelt(a: date.Tomorrow) -> None: ...  # type: ignore[name-defined]


@pytest.mark.parametrize(
    ("fn", "message"),
    [
        (_no_hint, r"tool 'fn': parameter 'a' has no type hint; write `a: str`"),
        (_open, r"tool 'fn': parameter '\*a' cannot be passed by name"),
        (_open_keywords, r"tool 'fn': parameter '\*\*a' cannot be passed by name"),
        (_positional, r"tool 'fn': parameter 'a' cannot be passed by name"),
        (_undescribable, r"tool 'fn': a parameter's type cannot be described as JSON"),
        (_foreign, r"tool 'fn': a type hint cannot be resolved \(name 'threading'"),
        (_misspelt, r"tool 'fn': a type hint cannot be resolved \(.*'Tomorrow'"),
    ],
)
def test_a_function_that_cannot_be_a_tool_is_refused_with_the_reason(
    fn: Callable[..., Any], message: str
) -> None:
    with pytest.raises(ToolDefinitionError, match=message):
        _parameters(fn)


def test_made_up_titles_go_and_fields_called_title_stay() -> None:
    def fn(a: Titled, title: str) -> None: ...

    schema = _parameters(fn).json_schema
    assert set(schema["properties"]) == {"a", "title"}
    assert set(schema["$defs"]["Titled"]["properties"]) == {"title", "default"}
    assert "title" not in schema
    assert "title" not in schema["$defs"]["Titled"]
    assert schema["properties"]["title"] == {"type": "string"}


def test_a_default_value_is_left_as_it_is() -> None:
    schema = {"title": "T", "properties": {"a": {"title": "A", "default": {"title": "kept"}}}}
    assert tidy_schema(schema) == {"properties": {"a": {"default": {"title": "kept"}}}}
