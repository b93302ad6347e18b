"""A pytest fixture that records a real model once and replays it ever after.

pytest finds it by itself where tinyagent is installed:

    def test_it_answers(recorded_model):
        agent = ReactAgent(recorded_model("openai:gpt-4.1-mini"))
        assert "red" in agent.run_sync("Name three primary colours").output

`pytest --record-models` asks the real model and writes `recordings/<test>.json` beside the test;
without it the file is replayed, with no network and no key.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import TYPE_CHECKING

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
    """Makes a `RecordedModel` of a model or its name; each call in a test has a file of its own."""
    from tinyagent.models.recorded import RecordedModel  # noqa: PLC0415 - only where it is used

    name = re.sub(r"[^\w.-]+", "_", request.node.name).strip("_")
    folder = request.path.parent / "recordings"
    recording = bool(request.config.getoption(_OPTION))
    made = 0

    def make(model: Model | str) -> RecordedModel:
        nonlocal made
        made += 1
        path = folder / (f"{name}.json" if made == 1 else f"{name}-{made}.json")
        if not recording:
            return RecordedModel(path, mode="replay")
        folder.mkdir(exist_ok=True)
        return RecordedModel(path, model, mode="record")

    return make
