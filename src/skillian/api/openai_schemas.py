"""What `/v1` takes and gives: chat completions, as far as skillian has a use for them."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

MAX_MESSAGES = 1000
MAX_PARTS = 100


class Asked(BaseModel):
    """A part of a request; what is not named here has no effect."""

    model_config = ConfigDict(extra="ignore")


class TextPart(Asked):
    """A piece of a message."""

    type: Literal["text"]
    text: str


class AskedMessage(Asked):
    """A message of the conversation. Tools are called inside: no message carries their calls."""

    role: Literal["system", "developer", "user", "assistant"]
    content: str | Annotated[list[TextPart], Field(max_length=MAX_PARTS)]

    @property
    def text(self) -> str:
        """All of its text."""
        if isinstance(self.content, str):
            return self.content
        return "\n".join(part.text for part in self.content)


class StreamOptions(Asked):
    """How to stream."""

    include_usage: bool = False


class ResponseFormat(Asked):
    """The form of the answer: text."""

    type: Literal["text"]


class CompletionRequest(Asked):
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
    messages: list[AskedMessage] = Field(min_length=1, max_length=MAX_MESSAGES)
    stream: bool | None = None
    stream_options: StreamOptions | None = None
    n: Literal[1] | None = None
    response_format: ResponseFormat | None = None
    tools: list[Any] | None = Field(None, max_length=0, description="None: tools are called inside")
    functions: list[Any] | None = Field(None, max_length=0, description="None, as `tools`.")


class Message(BaseModel):
    """The answer."""

    role: Literal["assistant"] = "assistant"
    content: str
    refusal: None = None


class Choice(BaseModel):
    """The one choice; `length` says that it ended without an answer."""

    index: int = 0
    message: Message
    finish_reason: Literal["stop", "length"]
    logprobs: None = None


class CachedTokens(BaseModel):
    """Of the tokens of the prompt."""

    cached_tokens: int


class CompletionUsage(BaseModel):
    """What all model calls of the turn cost together."""

    prompt_tokens: int
    completion_tokens: int
    total_tokens: int
    prompt_tokens_details: CachedTokens


class Completion(BaseModel):
    """A chat completion.

    `skillian` holds the tool calls, where each number stands in their results, and the numbers
    that stand in none.
    """

    id: str
    object: Literal["chat.completion"] = "chat.completion"
    created: int
    model: str
    choices: list[Choice]
    usage: CompletionUsage
    skillian: dict[str, Any]


class ModelCard(BaseModel):
    """A model that can be asked."""

    id: str
    object: Literal["model"] = "model"
    created: int
    owned_by: str = "skillian"


class ModelList(BaseModel):
    """All models."""

    object: Literal["list"] = "list"
    data: list[ModelCard]


class ErrorDetail(BaseModel):
    """What went wrong, and with which part of the request."""

    message: str
    type: str
    param: str | None = None
    code: str | None = None


class ErrorReply(BaseModel):
    """An error as clients of chat completions read it."""

    error: ErrorDetail
