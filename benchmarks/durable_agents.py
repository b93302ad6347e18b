"""The campaign's agents, as its workers load them; the environment holds the addresses."""

from __future__ import annotations

import os
import random
import time

from durable_effects import Effects, amount_of

from tinyagent import ReactAgent, TinyCodeAgent, tool
from tinyagent.models.openai import OpenAIModel

PAUSE_SECONDS = float(os.environ.get("CAMPAIGN_PAUSE", "0.02"))
WORKER = os.environ.get("CAMPAIGN_WORKER", "nobody")
effects = Effects(os.environ.get("CAMPAIGN_EFFECTS", "sqlite://"))


def _pause() -> None:
    time.sleep(random.random() * PAUSE_SECONDS)  # noqa: S311 - the time of a kill is random anyway


@tool
def deposit(run: str, step: int) -> int:
    """Pay the amount of a step. Must not be done twice."""
    with effects.call("deposit", run, step, WORKER):
        _pause()
        amount = effects.pay(run, step)
        _pause()
    return amount


@tool(idempotent=True)
def look_up(run: str, step: int) -> int:
    """Tell the amount of a step. May be done again."""
    with effects.call("look_up", run, step, WORKER):
        _pause()
    return amount_of(run, step)


def _model() -> OpenAIModel:
    url = os.environ.get("CAMPAIGN_MODEL", "http://127.0.0.1:1/v1")
    return OpenAIModel("campaign", base_url=url, api_key=WORKER)


agents = {
    "react": ReactAgent(_model(), [deposit, look_up], max_steps=60),
    "code": TinyCodeAgent(_model(), [deposit, look_up], max_steps=60),
}
