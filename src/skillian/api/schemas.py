"""What requests hold and answers say; the OpenAPI document is made of these."""

from __future__ import annotations

import json
from datetime import datetime
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from skillian.data.declare.definitions import Name, Thresholds

MAX_MESSAGE = 20_000

RunState = Literal[
    "queued",
    "running",
    "waiting",
    "needs_decision",
    "completed",
    "step_limit_reached",
    "usage_limit_reached",
    "cancelled",
    "error",
    "lost",
]
"""As `tinyagent.durable.DurableState`, which needs an extra."""


class Body(BaseModel):
    """What a request holds: members that are not declared are refused."""

    model_config = ConfigDict(extra="forbid")


def _has_text(message: str) -> str:
    if not message.strip():
        raise ValueError("write something")
    return message


def _can_be_written(value: dict[str, Any]) -> dict[str, Any]:
    json.dumps(value, ensure_ascii=False).encode()  # raises ValueError for half a character
    return value


Message = Annotated[
    str,
    Field(
        min_length=1,
        max_length=MAX_MESSAGE,
        description="In words.",
        examples=["Compare amounts between fi_reporting and bpc_reporting for company 1001"],
    ),
    AfterValidator(_has_text),
]
SessionId = Annotated[str, Field(max_length=100, examples=["0f8e6c5a3b2d4f7e9a1c0b8d6e4f2a10"])]


class SessionChatRequest(Body):
    """A message to a session."""

    message: Message


class ChatRequest(SessionChatRequest):
    """A message, to a session or, without one, to a new session."""

    session_id: SessionId | None = None


class ToolCall(BaseModel):
    """A tool that was called; `result` is its JSON, or its text where it is none."""

    tool: str
    args: dict[str, Any]
    result: Any
    duration_ms: float


class Usage(BaseModel):
    """What the model calls of a turn cost."""

    requests: int
    input_tokens: int
    output_tokens: int
    cached_tokens: int


class Reference(BaseModel):
    """A number of the answer and where it stands in a tool's result."""

    model_config = ConfigDict(extra="allow")


class ChatResponse(BaseModel):
    """The answer to a message.

    `finished` is false where a limit ended the turn without an answer: then `response` is what was
    found so far and why it stopped. The numbers of `unverified` stand in no tool's result.
    """

    response: str
    tool_calls: list[ToolCall]
    session_id: str
    finished: bool
    usage: Usage
    model: str = Field(description="What answered; the offline planner says that it is one.")
    references: list[Reference]
    unverified: list[str]


class SessionTitle(Body):
    """A session's title."""

    title: str = Field(max_length=500, examples=["Gap of company 1001"])


class NewSession(Body):
    """A new session; without a title its first message becomes it."""

    title: str = Field("", max_length=500)


class Session(BaseModel):
    """A session; `updated` is when it was last used."""

    id: str
    title: str
    created: str
    updated: str


class SessionPage(BaseModel):
    """Some of the sessions, the one used last first; `total` is how many there are."""

    sessions: list[Session]
    total: int
    offset: int
    limit: int


class SessionDetail(Session):
    """A session with all that was said.

    A message has a `role` (`user`, `assistant`, `tool`) and `content`; calls of tools stand in
    `tool_calls`, their results follow with a `tool_call_id`. `broken` marks a turn that was cut
    off.
    """

    messages: list[dict[str, Any]]


class SkillInfo(BaseModel):
    """A skill and its tools."""

    name: str
    description: str
    tools: list[ToolInfo]


class ToolInfo(BaseModel):
    """A tool; `input` is the JSON schema of its arguments."""

    name: str
    description: str
    input: dict[str, Any]


class SkillList(BaseModel):
    """All skills."""

    skills: list[SkillInfo]


class SourceList(BaseModel):
    """All sources: description, dimensions with values, measures, row count, freshness."""

    sources: list[dict[str, Any]]


class Run(BaseModel):
    """A durable run: a turn, or a comparison that was not waited for."""

    id: str
    kind: Literal["turn", "comparison"]
    state: RunState
    title: str
    created: datetime
    updated: datetime
    error: str | None
    progress: Annotated[str | None, Field(description="Of a comparison under way.")] = None
    cache_key: Annotated[str | None, Field(description="Of a comparison that is completed.")] = None
    session_id: str | None = None
    turn: int | None = None


class RunPage(BaseModel):
    """Some of the runs, the newest first."""

    runs: list[Run]
    offset: int
    limit: int


class CompareRequest(Body):
    """What to compare; what is left out is as configured."""

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {
                    "source_a": "fi_reporting",
                    "source_b": "bpc_reporting",
                    "measures": ["amount"],
                    "align_on": ["company", "period"],
                    "filters": {"company": "1001"},
                }
            ]
        },
    )

    source_a: Name
    source_b: Name
    measures: Annotated[list[Name], Field(min_length=1, max_length=10)]
    align_on: Annotated[list[Name], Field(min_length=1, max_length=20)] | None = None
    filters: Annotated[
        dict[Name, Any],
        Field(
            default_factory=dict,
            max_length=20,
            description=(
                "Dimension to a value, a list of values, null, or one of"
                ' {"ne": v}, {"gte": v}, {"gt": v}, {"lte": v}, {"lt": v}, {"between": [a, b]}.'
            ),
        ),
        AfterValidator(_can_be_written),
    ]
    thresholds: Thresholds = Thresholds()


class Comparison(BaseModel):
    """A comparison; amounts are texts with all of their digits."""

    source_a: str
    source_b: str
    summary: dict[str, Any]
    top_differences: list[dict[str, Any]]
    interpretation: list[str]
    cache_key: str
    proof: dict[str, Any]


class ComparisonPage(BaseModel):
    """A page of a comparison's groups, the largest difference first."""

    model_config = ConfigDict(extra="allow")


class Answer(Body):
    """Whether a call that waits may be made; the model reads the reason of a no."""

    approved: bool
    reason: str = Field("", max_length=1000)


class SearchRequest(Body):
    """What to look for in the skills' knowledge."""

    query: str = Field(min_length=1, max_length=1000, examples=["why is a load doubled"])
    limit: int = Field(5, ge=1, le=20)


class Passage(BaseModel):
    """A passage and where it stands."""

    skill: str
    file: str
    heading: str
    text: str


class Passages(BaseModel):
    """Passages, those that fit best first."""

    passages: list[Passage]


class Health(BaseModel):
    """That the process answers."""

    status: str = "ok"


class Readiness(BaseModel):
    """What of this server works: each part is `ok` or `failed`."""

    status: str
    model: str
    checks: dict[str, str]
