"""What schemathesis makes of the OpenAPI document, sent to a running server.

Set SKILLIAN_SCHEMA_EXAMPLES for more examples an endpoint, and the tests' --timeout with it.
"""

from __future__ import annotations

import os
import re
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import not_a_server_error
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)
from tests.support.serving import Serving, serving
from tests.support.waits import until

from skillian.app import create_app
from skillian.demo.ledger import write_demo
from skillian.settings import Settings, key_digest

EXAMPLES = int(os.environ.get("SKILLIAN_SCHEMA_EXAMPLES", "15"))
KEY = "key-of-the-schema-test-0123"
CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
]
INSIDE = re.compile(
    rf"Traceback|{Path.cwd()}|/tmp/|site-packages|\bSELECT\b.*\bFROM\b|{KEY}", re.DOTALL
)

open_schema = schemathesis.openapi.from_dict(create_app(Settings(api_keys=())).openapi())
keyed_schema = schemathesis.openapi.from_dict(
    create_app(Settings(api_keys=(key_digest(KEY),))).openapi()
)
examples = settings(
    max_examples=EXAMPLES,
    deadline=None,
    derandomize=EXAMPLES < 100,
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_demo(tmp_path_factory.mktemp("schema"))


def _served(folder: Path, **settings: str) -> Generator[Serving]:
    settings |= {"SKILLIAN_REQUESTS_PER_MINUTE": "0", "SKILLIAN_RESUME_SECONDS": "0"}
    with serving(folder, **settings) as server:
        yield server
        assert server.process.poll() is None
        assert "Traceback" not in server.log


@pytest.fixture(scope="module")
def open_server(folder: Path) -> Generator[Serving]:
    yield from _served(folder)


@pytest.fixture(scope="module")
def keyed_server(folder: Path) -> Generator[Serving]:
    store = f"sqlite:///{folder.parent / 'keyed.db'}"
    yield from _served(folder, SKILLIAN_API_KEYS=KEY, DATABASE_URL=store)


def _check(case: schemathesis.Case[Any], server: Serving, key: str | None) -> None:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    answer = case.call_and_validate(base_url=server.url, headers=headers, checks=CHECKS, timeout=50)
    if answer.status_code >= 400:
        assert not INSIDE.search(answer.text), answer.text


@pytest.fixture(scope="module")
def saved(keyed_server: Serving) -> dict[str, str]:
    """The path parameters of a saved comparison that has run, and of one of its findings."""
    headers = {"Authorization": f"Bearer {KEY}"}

    def asked(method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        address = f"{keyed_server.url}{path}"
        answer = requests.request(method, address, json=body, headers=headers, timeout=50)
        answer.raise_for_status()
        return answer.json()

    comparison = {"source_a": "fi_reporting", "source_b": "bpc_reporting", "measures": ["amount"]}
    one = asked("POST", "/saved", {"name": "close", "comparison": comparison})["id"]
    run = asked("POST", f"/saved/{one}/runs")["id"]
    until(lambda: asked("GET", f"/runs/{run}")["state"] == "completed")
    return {"saved_id": one, "finding_id": asked("GET", f"/saved/{one}")["findings"][0]["id"]}


@open_schema.parametrize()
@examples
def test_every_answer_is_declared(case: schemathesis.Case[Any], open_server: Serving) -> None:
    _check(case, open_server, None)


@keyed_schema.parametrize()
@examples
def test_every_answer_to_a_key_is_declared(
    case: schemathesis.Case[Any], keyed_server: Serving
) -> None:
    _check(case, keyed_server, KEY)


@keyed_schema.include(path_regex="^/saved/").exclude(method="DELETE").parametrize()
@settings(examples, max_examples=5)
def test_every_answer_about_a_saved_comparison_is_declared(
    case: schemathesis.Case[Any], keyed_server: Serving, saved: dict[str, str]
) -> None:
    case.path_parameters |= {name: saved[name] for name in case.path_parameters}
    _check(case, keyed_server, KEY)


@keyed_schema.exclude(path=["/health", "/ready"]).parametrize()
@settings(examples, max_examples=3)
def test_without_the_key_nothing_is_answered(
    case: schemathesis.Case[Any], keyed_server: Serving
) -> None:
    answer = case.call(base_url=keyed_server.url, headers={"Authorization": "Bearer another"})
    assert answer.status_code == 401
