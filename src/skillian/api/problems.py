"""Errors as problem JSON (RFC 9457), or as clients of `/v1` read them; without internal details."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from contextvars import ContextVar
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from pydantic import BaseModel, ConfigDict
from starlette.exceptions import HTTPException

from skillian.errors import ToolError, quoted
from skillian.storage import (
    MessageTooLong,
    SessionBusy,
    SessionNotFound,
    StorageError,
    TooManySessions,
    TooManyWaiting,
    TurnLost,
)
from skillian.uploads.limits import (
    DiskFull,
    UploadIncomplete,
    UploadNotFound,
    UploadQuota,
    UploadTooLarge,
)

MEDIA_TYPE = "application/problem+json"
CHAT_COMPLETIONS = "/v1"
"""The path below which errors have the form of OpenAI."""
CLIENT_GONE = 499
"""Logged if the client has disconnected before its answer; never sent."""

_NAME = re.compile(r"[\w.\[\]-]{1,60}", re.ASCII)
_DEEPEST = 10
_LONGEST_MESSAGE = 300
_UNPROCESSABLE, _INTERNAL = 422, 500
_KINDS = {401: "authentication_error", 403: "permission_error", 429: "rate_limit_error"}

request_id: ContextVar[str] = ContextVar("request_id", default="")


class FieldFault(BaseModel):
    """An error in one field of a request, and its place."""

    where: str
    message: str


class Problem(BaseModel):
    """An error as RFC 9457 defines it.

    `code` is for programs: a name of the kind. Some kinds add members, such as
    `available_sources`.
    """

    model_config = ConfigDict(extra="allow")

    type: str = "about:blank"
    title: str
    status: int
    detail: str
    code: str
    request_id: str
    errors: list[FieldFault] | None = None


class ProblemError(Exception):
    """An error with a status for the client; raise it from anywhere in a request."""

    def __init__(
        self,
        status: int,
        code: str,
        detail: str,
        headers: Mapping[str, str] | None = None,
        **extra: object,
    ) -> None:
        self.status = status
        self.code = code
        self.detail = detail
        self.headers = dict(headers or {})
        self.extra = extra
        super().__init__(detail)

    def to_dict(self) -> dict[str, Any]:
        """The members of the problem."""
        return {
            "type": "about:blank",
            "title": _title(self.status),
            "status": self.status,
            "detail": self.detail,
            "code": self.code,
            "request_id": request_id.get(),
            **self.extra,
        }

    def to_openai(self) -> dict[str, Any]:
        """The error in the form that clients of chat completions read."""
        faults: list[dict[str, str]] = self.extra.get("errors") or []  # type: ignore[assignment]
        message = "; ".join(f"{fault['where']}: {fault['message']}" for fault in faults)
        param = self.extra.get("param") or (faults[0]["where"] if faults else None)
        other = "invalid_request_error" if self.status < _INTERNAL else "server_error"
        kind = _KINDS.get(self.status, other)
        detail = {"message": message or self.detail, "type": kind, "param": param}
        return {"error": {**detail, "code": self.code}}

    def response(self, path: str) -> Response:
        """The response, in ASCII: the text of a request may hold what UTF-8 cannot.

        Args:
            path: Of the request, which decides on the form.
        """
        if path != CHAT_COMPLETIONS and not path.startswith(f"{CHAT_COMPLETIONS}/"):
            body = json.dumps(self.to_dict()).encode()
            return Response(body, self.status, headers=self.headers, media_type=MEDIA_TYPE)
        body = json.dumps(self.to_openai()).encode()
        status = 400 if self.status == _UNPROCESSABLE else self.status
        return Response(body, status, headers=self.headers, media_type="application/json")


class ClientGone(Exception):
    """The client has disconnected."""


class SlowClient(Exception):
    """The client does not read its answer."""


def install(app: FastAPI) -> None:
    """Answer every error of a request with a problem, in the form that its client reads."""

    async def handle(request: Request, error: Exception) -> Response:
        return problem_of(error).response(request.url.path)

    async def gone(_request: Request, _error: Exception) -> Response:
        return Response(status_code=CLIENT_GONE)

    kinds = (HTTPException, RequestValidationError, ToolError, StorageError, ProblemError)
    for kind in kinds:
        app.add_exception_handler(kind, handle)
    app.add_exception_handler(ClientGone, gone)


def problem_of(error: Exception) -> ProblemError:
    """The problem that a client sees for an error; an unexpected error shows no details."""
    match error:
        case ProblemError():
            return error
        case RequestValidationError():
            return _invalid(error)
        case HTTPException():
            return _http(error)
        case ToolError():
            return _tool(error)
        case StorageError():
            return _stored(error)
        case _:
            return ProblemError(500, "internal_error", "The reason is in the log of skillian.")


def _invalid(error: RequestValidationError) -> ProblemError:
    faults = error.errors()
    if any(fault["type"] == "json_invalid" and fault["loc"][0] == "body" for fault in faults):
        return ProblemError(400, "invalid_json", "The body is not JSON.")
    # The values sent are not repeated: one may be long, or a secret in the wrong place.
    fields = [
        {"where": _where(fault["loc"]), "message": str(fault["msg"])[:_LONGEST_MESSAGE]}
        for fault in faults[:20]
    ]
    return ProblemError(422, "validation_error", "The request is not valid.", errors=fields)


def _where(place: Sequence[str | int]) -> str:
    """The place of a fault; a part that is not a plain name came from the client, and is quoted."""
    parts = (str(part) for part in place[:_DEEPEST])
    return ".".join(part if _NAME.fullmatch(part) else quoted(part) for part in parts)


def _http(error: HTTPException) -> ProblemError:
    if isinstance(error.__cause__, ValueError):  # from the parser of the body
        is_long = "digits" in str(error.__cause__)
        fault = "a number in it has too many digits" if is_long else "it is not JSON in UTF-8"
        return ProblemError(400, "invalid_json", f"The body cannot be read: {fault}.")
    details = {
        400: "The request cannot be read.",
        404: "There is nothing at this address.",
        405: "This address does not support that method; see the header Allow.",
    }
    detail = details.get(error.status_code, _title(error.status_code))
    return ProblemError(error.status_code, _code(error.status_code), detail, error.headers)


_UPLOADS: Mapping[type[ToolError], tuple[int, str]] = {
    UploadNotFound: (404, "upload_not_found"),
    UploadTooLarge: (413, "upload_too_large"),
    UploadIncomplete: (400, "upload_incomplete"),
    UploadQuota: (409, "too_many_uploads"),
    DiskFull: (507, "disk_full"),
}


def _tool(error: ToolError) -> ProblemError:
    if type(error) in _UPLOADS:
        return ProblemError(*_UPLOADS[type(error)], str(error))
    extra = {
        name: value for name, value in error.to_dict().items() if name.startswith("available_")
    }
    return ProblemError(422, error.type, str(error), None, **extra)


_REFUSED: Mapping[type[StorageError], tuple[int, str]] = {
    TooManySessions: (409, "too_many_sessions"),
    TurnLost: (409, "turn_lost"),
    MessageTooLong: (413, "message_too_long"),
}


def _stored(error: StorageError) -> ProblemError:
    match error:
        case SessionNotFound():
            return ProblemError(404, "session_not_found", "There is no such session.")
        case SessionBusy(seconds=seconds):
            retry = {"Retry-After": str(max(1, round(seconds)))}
            return ProblemError(409, "session_busy", str(error), retry)
        case TooManyWaiting():
            return ProblemError(503, "overloaded", str(error), {"Retry-After": "10"})
        case TooManySessions() | TurnLost() | MessageTooLong():
            return ProblemError(*_REFUSED[type(error)], str(error))
        case _:
            detail = "The session store does not answer; try again later."
            return ProblemError(503, "store_unavailable", detail, {"Retry-After": "5"})


def _title(status: int) -> str:
    return HTTPStatus(status).phrase


def _code(status: int) -> str:
    return _title(status).lower().replace(" ", "_").replace("'", "")
