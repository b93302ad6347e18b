"""Requests and responses of `/v1`: the part of chat completions that skillian supports."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_MESSAGES = 1000
MAX_PARTS = 100


class RequestPart(BaseModel):
    """A part of a request; fields that are not declared have no effect."""

    model_config = ConfigDict(extra="ignore")


class TextItem(RequestPart):
    """A piece of a message."""

    type: Literal["text"]
    text: str


class RequestMessage(RequestPart):
    """A message of the conversation. skillian calls its own tools: no message holds calls."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[TextItem], Field(max_length=MAX_PARTS)]

    @property
    def text(self) -> str:
        """All of its text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(RequestPart):
    """How to stream."""

    include_usage: bool = False


class ResponseFormat(RequestPart):
    """The format of the answer: text."""

    type: Literal["text"]


class CompletionRequest(RequestPart):
    """A request for a chat completion. Sampling settings (`temperature`, …) have no effect."""

    model_config = ConfigDict(
        json_schema_extra={
            "example": {
                "model": "skillian",
                "messages": [{"role": "user", "content": "Which sources are there?"}],
            }
        }
    )

    model: str
    messages: list[RequestMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None
    tools: list[Any] | None = Field(None, max_length=0, description="skillian calls its own tools")
    functions: list[Any] | None = Field(None, max_length=0, description="As for `tools`.")


class CompletionMessage(BaseModel):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class CompletionChoice(BaseModel):
    """The one choice; `length` means that it ended without an answer."""

    index: int = 0
    message: CompletionMessage
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class CachedTokens(BaseModel):
    """Details of the prompt's tokens."""

    cached_tokens: int


class CompletionUsage(BaseModel):
    """The tokens of all model calls of the turn."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class Completion(BaseModel):
    """A chat completion.

    `skillian` holds the tool calls, the place of each number in their results, and the numbers
    that are in none.
    """

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[CompletionChoice]
    usage: CompletionUsage
    skillian: dict[str, Any]


class ModelCard(BaseModel):
    """A model."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "skillian"


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class ErrorDetail(BaseModel):
    """What is wrong, and with which part of the request."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorReply(BaseModel):
    """An error as chat completion clients read it."""

    error: ErrorDetail
