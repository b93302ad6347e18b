"""A pytest fixture that records a real model once and then replays it.

pytest finds the plugin if tinyagent is installed:

    def test_it_answers(recorded_model):
        agent = ReactAgent(recorded_model("openai:gpt-4.1-mini"))
        assert "red" in agent.run_sync("Name three primary colours").output

`pytest --record-models` asks the real model and writes `recordings/<test>.json` next to the test;
without the option the file is replayed, without a network or a key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, cast

import pytest

if TYPE_CHECKING:
    from tinyagent.models.base import Model
    from tinyagent.models.recorded import RecordedModel

_OPTION = "--record-models"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Add `--record-models`."""
    parser.getgroup("tinyagent").addoption(
        _OPTION, action="store_true", help="ask real models and record their answers"
    )


@pytest.fixture
def recorded_model(request: pytest.FixtureRequest) -> Callable[[Model | str], RecordedModel]:
    """Makes a `RecordedModel` from a model or its name; each call in a test has its own file."""
    from tinyagent.models.recorded import RecordedModel  # noqa: PLC0415 - only where it is used

    test = cast("Any", request).node  # its type is unknown to pytest 9.1
    name = re.sub(r"[^\w.-]+", "_", str(test.name)).strip("_")
    folder = request.path.parent / "recordings"
    recording = bool(request.config.getoption(_OPTION))
    count = 0

    def make(model: Model | str) -> RecordedModel:
        nonlocal count
        count += 1
        path = folder / (f"{name}.json" if count == 1 else f"{name}-{count}.json")
        if not recording:
            return RecordedModel(path, mode="replay")
        folder.mkdir(exist_ok=True)
        return RecordedModel(path, model, mode="record")

    return make
