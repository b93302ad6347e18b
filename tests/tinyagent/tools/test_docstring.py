from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinyagent.tools.parameters import read_docstring

GOOGLE = """Add two numbers.

Exactly, for integers.

Args:
    a: the first.
    b: the second,
        which may be negative.

Returns:
    the sum.
"""
NUMPY = """Add two numbers.

Exactly, for integers.

Parameters
----------
a : int
    the first.
b
    the second,
    which may be negative.

Returns
-------
int
    the sum.
"""
REST = """Add two numbers.

Exactly, for integers.

:param a: the first.
:param b: the second,
    which may be negative.
:returns: the sum.
"""


def _documented(doc: str | None) -> object:
    def fn() -> None: ...

    fn.__doc__ = doc
    return fn


@pytest.mark.parametrize("doc", [GOOGLE, NUMPY, REST], ids=["google", "numpy", "rest"])
def test_each_style_yields_the_text_and_the_parameters(doc: str) -> None:
    text, parameters = read_docstring(_documented(doc))  # type: ignore[arg-type]
    assert text == "Add two numbers.\n\nExactly, for integers.\n\nReturns: the sum."
    assert parameters["a"] == "the first."
    assert parameters["b"].split() == ["the", "second,", "which", "may", "be", "negative."]
    assert set(parameters) == {"a", "b"}


def test_one_line_is_the_text() -> None:
    assert read_docstring(_documented("Add.")) == ("Add.", {})  # type: ignore[arg-type]


def test_a_missing_docstring_is_an_empty_text() -> None:
    assert read_docstring(_documented(None)) == ("", {})  # type: ignore[arg-type]


@given(st.text(alphabet="ab:\n \t-`.,A"))
def test_no_docstring_is_too_strange_to_read(doc: str) -> None:
    text, parameters = read_docstring(_documented(doc))  # type: ignore[arg-type]
    assert isinstance(text, str)
    assert isinstance(parameters, dict)
