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


@keyed_schema.exclude(path=["/health", "/ready"]).parametrize()
@settings(examples, max_examples=3)
def test_without_the_key_nothing_is_answered(
    case: schemathesis.Case[Any], keyed_server: Serving
) -> None:
    answer = case.call(base_url=keyed_server.url, headers={"Authorization": "Bearer another"})
    assert answer.status_code == 401
