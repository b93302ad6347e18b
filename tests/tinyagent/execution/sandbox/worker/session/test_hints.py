"""Errors name what may have been meant."""

from __future__ import annotations

import math

import pytest

from tinyagent.execution.sandbox.worker.session.hints import hint


def _error(code: str, **names: object) -> BaseException:
    with pytest.raises(Exception) as caught:  # noqa: PT011 - whatever the code raises
        eval(code, dict(names))  # noqa: S307 - the code stands here
    return caught.value


def test_a_name_that_is_nearly_there() -> None:
    assert hint(_error("totl"), ["total", "other"]) == "Did you mean total?\n"


def test_a_built_in_name() -> None:
    assert "sorted" in hint(_error("sort([2, 1])"), [])


def test_an_attribute_of_an_object_and_of_a_module() -> None:
    assert "append" in hint(_error("[].apend(1)"), [])
    assert "floor" in hint(_error("math.flor(1)", math=math), [])


def test_nothing_is_near() -> None:
    assert hint(_error("qqqqzzzz"), ["total"]) == ""


def test_other_errors_have_no_hint() -> None:
    assert hint(_error("1 / 0"), ["total"]) == ""
