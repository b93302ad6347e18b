from __future__ import annotations

import ast
import inspect
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel

from tinyagent import RunContext, Tool
from tinyagent.core import ToolArgumentsError
from tinyagent.tools.signature import python_signature, python_stub
from tinyagent.tools.tool import bind_arguments


class Place(BaseModel):
    """A place."""

    city: str
    zip: int | None = None


def find(
    city: str,
    count: int = 3,
    *,
    exact: bool = False,
    kind: Literal["bar", "café"] = "bar",
    near: list[float] | None = None,
) -> list[str]:
    """Find places.

    Args:
        city: where to look.
        near: latitude and longitude.
    """
    return [city] * count


def nothing() -> None:
    """Do nothing."""


def with_run(run: RunContext, place: Place, more: dict[str, int]) -> Place:
    """Keep a place."""
    return place


def bare(query: Any) -> Any:
    '''Say """quoted""" things.

    In two paragraphs.
    '''
    return query


def test_a_signature_looks_handwritten() -> None:
    assert python_signature(Tool.from_function(find)) == (
        "find(city: str, count: int = 3, exact: bool = False,"
        " kind: Literal['bar', 'café'] = 'bar', near: list[float] | None = None) -> list[str]"
    )
    assert python_signature(Tool.from_function(nothing)) == "nothing() -> None"


def test_the_runs_own_parameter_is_not_shown() -> None:
    tool = Tool.from_function(with_run)
    assert python_signature(tool) == "with_run(place: dict, more: dict) -> Place"


def test_the_fields_of_a_nested_model_are_described() -> None:
    stub = python_stub(Tool.from_function(with_run))
    assert "place: " in stub
    assert "city: str, zip: int | None = None" in stub


def test_a_tool_has_its_own_name() -> None:
    assert python_signature(Tool.from_function(find, name="search")).startswith("search(city: str")


def test_a_tool_of_a_server_has_no_return_type() -> None:
    def fn(**arguments):  # type: ignore[no-untyped-def]  # noqa: ANN003, ANN202
        return arguments

    schema = {"type": "object", "properties": {"q": {"type": ["string", "null"]}}}
    tool = Tool("ask", fn, "Ask.", schema, dict)
    assert python_signature(tool) == "ask(q: str | None = None)"


@pytest.mark.parametrize(
    ("schema", "text"),
    [
        ({}, "Any"),
        ({"type": "integer"}, "int"),
        ({"type": "array"}, "list"),
        ({"type": "array", "items": {"type": "array", "items": {}}}, "list[list[Any]]"),
        ({"anyOf": [{"type": "integer"}, {"type": "string"}, {"type": "integer"}]}, "int | str"),
        ({"oneOf": [{"type": "object"}, {"type": "null"}]}, "dict | None"),
        ({"enum": ["a", 1]}, "Literal['a', 1]"),
        ({"type": "nothing known"}, "Any"),
    ],
)  # fmt: skip
def test_types_of_a_schema(schema: dict[str, Any], text: str) -> None:
    parameters = {"type": "object", "properties": {"x": schema}, "required": ["x"]}
    tool = Tool("t", nothing, "Do.", parameters, dict)
    assert python_signature(tool) == f"t(x: {text}) -> None"


def test_a_stub_is_a_function_with_its_description() -> None:
    assert python_stub(Tool.from_function(find)) == (
        "def find(city: str, count: int = 3, exact: bool = False,"
        " kind: Literal['bar', 'café'] = 'bar', near: list[float] | None = None) -> list[str]:\n"
        '    """Find places.\n'
        "\n"
        "    Args:\n"
        "        city: where to look.\n"
        '        near: latitude and longitude."""'
    )


@pytest.mark.parametrize("fn", [find, nothing, with_run, bare])
def test_a_stub_is_python(fn: Any) -> None:
    (function,) = ast.parse(python_stub(Tool.from_function(fn))).body
    assert isinstance(function, ast.FunctionDef)
    assert function.name == fn.__name__
    doc = inspect.getdoc(fn)
    assert doc is not None
    assert (ast.get_docstring(function) or "").startswith(doc.split("\n")[0].replace('"', "'"))


def test_arguments_by_place_take_the_names_of_the_parameters() -> None:
    tool = Tool.from_function(find)
    assert bind_arguments(tool, ("Lisbon", 2), {"exact": True}) == {
        "city": "Lisbon",
        "count": 2,
        "exact": True,
    }


@pytest.mark.parametrize(
    ("args", "kwargs", "message"),
    [
        (("a",) * 6, {}, "6 arguments by position, at most 5 are taken"),
        (("a",), {"city": "b"}, "city is passed both by position and by name"),
        (("a", 1), {"count": 1, "city": "b"}, "city, count is passed both by position and by name"),
    ],
)
def test_a_call_that_cannot_be_bound_says_why(
    args: tuple[Any, ...], kwargs: dict[str, Any], message: str
) -> None:
    with pytest.raises(ToolArgumentsError, match=message):
        bind_arguments(Tool.from_function(find), args, kwargs)


@given(
    args=st.lists(st.integers(), max_size=3),
    kwargs=st.dictionaries(st.sampled_from(["a", "b", "c"]), st.integers()),
)
def test_binding_agrees_with_python(args: list[int], kwargs: dict[str, int]) -> None:
    def three(a: int, b: int, c: int = 0) -> int:
        """Take three."""
        return a + b + c

    tool = Tool.from_function(three)
    try:
        expected = inspect.signature(three).bind_partial(*args, **kwargs).arguments
    except TypeError:
        with pytest.raises(ToolArgumentsError):
            bind_arguments(tool, tuple(args), kwargs)
    else:
        assert bind_arguments(tool, args, kwargs) == expected
