"""The OpenAPI document: FastAPI's, with the problems that any route may answer with."""

from __future__ import annotations

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.openapi.utils import get_openapi

from skillian.api.auth import PUBLIC
from skillian.api.limits import UPLOADS
from skillian.api.problems import CHAT_COMPLETIONS, MEDIA_TYPE, Problem

_ANY = (400, 403, 408, 413, 414, 421, 422, 429, 431, 500, 503)
_SCHEMA = {"$ref": "#/components/schemas/Problem"}
_OF_CHAT = {"$ref": "#/components/schemas/ErrorReply"}
_EXAMPLE = {
    "type": "about:blank",
    "title": "Not Found",
    "status": 404,
    "detail": "There is no such session.",
    "code": "session_not_found",
    "request_id": "8d1f6c0e5b7a4c39",
}


def document(app: FastAPI, *, has_keys: bool) -> Callable[[], dict[str, Any]]:
    """A function that makes the document of this application once."""

    def make() -> dict[str, Any]:
        if app.openapi_schema is None:
            app.openapi_schema = _document(app, has_keys=has_keys)
        return app.openapi_schema

    return make


def _document(app: FastAPI, *, has_keys: bool) -> dict[str, Any]:
    spec = get_openapi(
        title=app.title, version=app.version, description=app.description, routes=app.routes
    )
    components = spec.setdefault("components", {})
    schemas = components.setdefault("schemas", {})
    problem = Problem.model_json_schema(ref_template="#/components/schemas/{model}")
    schemas |= {**problem.pop("$defs", {}), "Problem": {**problem, "examples": [_EXAMPLE]}}
    schemas.pop("HTTPValidationError", None)
    schemas.pop("ValidationError", None)
    if has_keys:
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
    for path, methods in spec["paths"].items():
        for operation in methods.values():
            needs_key = has_keys and path not in PUBLIC
            _declare(operation, path, needs_key=needs_key)
    return spec


def _declare(operation: dict[str, Any], path: str, *, needs_key: bool) -> None:
    answers: dict[str, Any] = operation.setdefault("responses", {})
    answers.pop("422", None)
    for answer in answers.values():
        # OpenAPI 3.1 cannot describe the events of a stream; it is not one string.
        answer.get("content", {}).get("text/event-stream", {}).pop("schema", None)
    statuses = [*_ANY]
    if needs_key:
        operation["security"] = [{"key": []}]
        statuses.append(401)
    if "{" in path or path == "/chat":
        statuses.append(404)
    is_file = "application/octet-stream" in operation.get("requestBody", {}).get("content", {})
    if is_file or path.endswith(("/chat", "/cancel", "/rows")) or path in {"/sessions", UPLOADS}:
        statuses.append(409)
    if is_file:
        statuses.append(507)
    if path == "/compare":  # a file that was deleted
        statuses.append(404)
    if "requestBody" in operation:
        statuses.append(415)
    of_chat = path.startswith(f"{CHAT_COMPLETIONS}/")
    if of_chat:
        statuses.remove(422)
    media_type, schema = ("application/json", _OF_CHAT) if of_chat else (MEDIA_TYPE, _SCHEMA)
    for status in sorted(statuses):
        answer = answers.setdefault(str(status), {"description": HTTPStatus(status).phrase})
        answer.setdefault("content", {}).setdefault(media_type, {"schema": schema})
