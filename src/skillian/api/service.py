"""What the routes of the service share, and how they ask for it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Annotated

from fastapi import Depends, Request

from skillian.api.comparisons import Comparisons
from skillian.api.durable_runs import Durable
from skillian.api.runs import Runs, Slots
from skillian.chat.agent import Agent
from skillian.chat.recall import Recall
from skillian.data.services import DataServices
from skillian.settings import Settings
from skillian.skills.registry import SkillRegistry
from skillian.storage import SessionStore


@dataclass
class Service:
    """One server's parts, open from its start to its end.

    Attributes:
        settings: As the server was started with.
        data: The engines over the sources.
        skills: The skills there are.
        store: Sessions and what was said in them.
        agent: Answers; replaced as the values in the sources change.
        slots: How much may be under way at once.
        runs: The turns under way.
        comparisons: Comparisons without a model.
        durable: Runs that survive their process, where the server has them.
        recall: Results of tools in conversations that their clients keep.
    """

    settings: Settings
    data: DataServices
    skills: SkillRegistry
    store: SessionStore
    agent: Agent
    slots: Slots
    runs: Runs
    comparisons: Comparisons
    durable: Durable | None = None
    recall: Recall = field(default_factory=Recall)


async def the_service(request: Request) -> Service:
    """The service that this application serves."""
    service: Service = request.app.state.service
    return service


async def the_owner(request: Request) -> str:
    """The digest of the request's key; an empty text where there are no keys."""
    owner: str = request.state.owner
    return owner


TheService = Annotated[Service, Depends(the_service)]
TheOwner = Annotated[str, Depends(the_owner)]
