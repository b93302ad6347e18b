"""The parts of the service that the routes share."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from skillian.api.comparisons import Comparisons
from skillian.api.limits import Slots
from skillian.api.open_turns import OpenTurns
from skillian.api.runs import Runs
from skillian.chat.agent import Agent
from skillian.chat.stateless import Recall
from skillian.data.services import DataServices
from skillian.settings import Settings
from skillian.skills.registry import SkillRegistry
from skillian.storage import SessionStore


@dataclass
class Service:
    """One server's parts, open from its start to its end.

    Attributes:
        settings: The server's settings.
        data: The engines for the sources.
        skills: The skills.
        store: Sessions and their messages.
        agent: Answers; replaced when the values in the sources change.
        slots: How much may be in progress at once.
        turns: The turns that clients of this process wait for.
        comparisons: Comparisons without a model.
        runs: Comparisons in the background, and turns.
        recall: Tool results of conversations that their clients keep.
    """

    settings: Settings
    data: DataServices
    skills: SkillRegistry
    store: SessionStore
    agent: Agent
    slots: Slots
    turns: OpenTurns
    comparisons: Comparisons
    runs: Runs
    recall: Recall = field(default_factory=Recall)


async def the_service(request: Request) -> Service:
    """The service that this application serves."""
    service: Service = request.app.state.service
    return service


async def the_owner(request: Request) -> str:
    """The digest of the request's key; empty if there are no keys."""
    owner: str = request.state.owner
    return owner


TheService = Annotated[Service, Depends(the_service)]
TheOwner = Annotated[str, Depends(the_owner)]
