"""Logs as lines of JSON, one for each request, without the contents of requests."""

from __future__ import annotations

import json
import logging
import re
from datetime import UTC, datetime
from time import perf_counter
from typing import Any
from uuid import uuid4

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from skillian.api.problems import CLIENT_GONE, SlowClient, problem_of, request_id

logger = logging.getLogger("skillian.requests")

_ID = re.compile(r"[A-Za-z0-9._-]{1,64}")
_HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Cache-Control": "no-store",
}
_FIELDS = ("method", "route", "status", "duration_ms", "owner")


class JsonFormatter(logging.Formatter):
    """A record as one line of JSON, with the id of its request."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if request_id.get():
            line["request_id"] = request_id.get()
        fields = vars(record)
        line |= {name: fields[name] for name in _FIELDS if name in fields}
        if record.exc_info:
            line["exception"] = self.formatException(record.exc_info)
        return json.dumps(line, default=str)


def log_as_json(level: int = logging.INFO) -> None:
    """Write the logs of this process to standard error, as JSON.

    Args:
        level: The lowest level; each request is a line of level info.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(JsonFormatter())
    logging.basicConfig(level=level, handlers=[handler], force=True)
    logging.getLogger("uvicorn").setLevel(logging.WARNING)  # starts and stops are logged elsewhere


class Requests:
    """Gives each request an id, logs it, and answers unexpected errors.

    Args:
        app: The application behind it.
    """

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        sent_id = Headers(scope=scope).get("x-request-id", "")
        token = request_id.set(sent_id if _ID.fullmatch(sent_id) else uuid4().hex)
        start, status = perf_counter(), 0

        async def send_with_headers(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                headers = MutableHeaders(raw=message["headers"])
                for name, value in _HEADERS.items():
                    headers.setdefault(name, value)
                headers["X-Request-ID"] = request_id.get()
                message["headers"] = headers.raw
            await send(message)

        try:
            await self._app(scope, receive, send_with_headers)
        except SlowClient:
            logger.warning("the client did not read its answer in time")
        except Exception as error:
            logger.exception("a request failed")
            if status:
                raise  # the answer has begun: the connection ends
            answer = problem_of(error).response(scope["path"])
            await answer(scope, receive, send_with_headers)
        finally:
            _log(scope, status, start)
            request_id.reset(token)


def _log(scope: Scope, status: int, start: float) -> None:
    route = scope.get("route")
    fields = {
        "method": scope["method"],
        "route": getattr(route, "path", None),  # as declared, without the client's values
        "status": status or CLIENT_GONE,
        "duration_ms": round((perf_counter() - start) * 1000, 1),
        "owner": scope.get("state", {}).get("owner", "")[:8],
    }
    logger.info("request", extra=fields)
