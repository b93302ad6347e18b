from __future__ import annotations

from typing import Any

import pytest
from tests.skillian.api.conftest import KEYS

from skillian.app import create_app
from skillian.settings import Settings

METHODS = {"get", "post", "patch", "put", "delete"}


@pytest.fixture(params=["", ",".join(KEYS)], ids=["open", "keys"])
def document(request: pytest.FixtureRequest) -> dict[str, Any]:
    return create_app(Settings(api_keys=request.param)).openapi()


def operations(document: dict[str, Any]) -> dict[str, Any]:
    return {
        f"{method} {path}": operation
        for path, methods in document["paths"].items()
        for method, operation in methods.items()
        if method in METHODS
    }


def test_every_endpoint_of_the_specification_is_there(document: dict[str, Any]) -> None:
    assert set(operations(document)) >= {
        "post /chat",
        "post /sessions",
        "get /sessions",
        "get /sessions/{session_id}",
        "patch /sessions/{session_id}",
        "delete /sessions/{session_id}",
        "post /sessions/{session_id}/chat",
        "get /sessions/{session_id}/events",
        "get /sessions/{session_id}/export",
        "get /skills",
        "get /sources",
        "get /health",
        "get /ready",
        "post /compare",
        "get /comparisons/{key}",
        "get /comparisons/{key}/rows",
        "get /comparisons/{key}/report.html",
        "post /knowledge/search",
    }


def test_every_error_is_declared_as_a_problem(document: dict[str, Any]) -> None:
    for name, operation in operations(document).items():
        for status, answer in operation["responses"].items():
            if status >= "400" and (name, status) != ("get /ready", "503"):
                kind = "json" if "/v1/" in name else "problem+json"
                assert list(answer["content"]) == [f"application/{kind}"]
    assert "HTTPValidationError" not in str(document)
    assert document["components"]["schemas"]["Problem"]["required"]


def test_who_needs_a_key_is_declared(document: dict[str, Any]) -> None:
    needing = {name for name, each in operations(document).items() if "security" in each}
    if "securitySchemes" not in document["components"]:
        assert not needing
    else:
        assert set(operations(document)) - needing == {"get /health", "get /ready"}


def test_every_operation_is_described(document: dict[str, Any]) -> None:
    assert all(each["description"] for each in operations(document).values())
    requests = document["components"]["schemas"]
    assert requests["CompareRequest"]["examples"]
    assert requests["ChatRequest"]["properties"]["message"]["examples"]
