from __future__ import annotations

import inspect

import pytest

from tinyagent.core import errors
from tinyagent.core.errors import ModelError, TinyAgentError


def _drawn_tree() -> dict[str, int]:
    """The names in the module's drawing, and how deep each stands."""
    lines = (errors.__doc__ or "").splitlines()
    drawn = [line for line in lines if line.startswith(("TinyAgentError", "├", "└", "│", "    "))]
    stripped = {line: line.lstrip("│├└─ ") for line in drawn}
    return {text.split()[0]: (len(line) - len(text)) // 4 for line, text in stripped.items()}


def test_the_drawing_of_the_tree_is_the_tree() -> None:
    classes = [
        item
        for item in vars(errors).values()
        if inspect.isclass(item) and issubclass(item, TinyAgentError)
    ]
    depth = {
        item.__name__: sum(issubclass(base, TinyAgentError) for base in item.__mro__[1:])
        for item in classes
    }
    assert _drawn_tree() == depth


@pytest.mark.parametrize(
    ("kind", "retryable"),
    [
        (errors.ModelAuthenticationError, False),
        (errors.ModelConnectionError, True),
        (errors.ModelRateLimited, True),
        (errors.ModelRefused, False),
        (errors.ModelReplyError, True),
        (errors.ModelServerError, True),
        (errors.ModelTimeout, True),
    ],
)
def test_only_failures_that_may_pass_are_tried_again(
    kind: type[ModelError], *, retryable: bool
) -> None:
    assert kind("no").retryable is retryable


def test_a_model_error_carries_the_wait_that_the_server_asked_for() -> None:
    assert errors.ModelRateLimited("slow down", retry_after=3.0).retry_after == 3.0
    assert errors.ModelRateLimited("slow down").retry_after is None


def test_an_error_carries_no_result_until_a_run_ends_with_it() -> None:
    assert errors.StepLimitReached("no").result is None
