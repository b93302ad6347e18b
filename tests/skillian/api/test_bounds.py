from __future__ import annotations

import time
import tracemalloc
from contextlib import suppress

import pytest
from starlette.types import Scope
from tests.skillian.api.conftest import Serve

from skillian.api.limits import (
    MAX_DEPTH,
    MAX_HEAD,
    MAX_HEADERS,
    MAX_TARGET,
    MAX_VALUES,
    check_head,
    check_json,
)
from skillian.api.problems import ProblemError

MIB = 2**20


def scope(**given: object) -> Scope:
    return {"type": "http", "path": "/", "query_string": b"", "headers": [], **given}


def test_what_is_within_its_bounds_passes() -> None:
    check_head(scope(raw_path=b"/" * MAX_TARGET))
    check_head(scope(headers=[(b"x", b"y" * 10)] * MAX_HEADERS))
    check_head(scope(headers=[(b"x", b"y" * (MAX_HEAD - 1))]))
    check_json(b"[" + b"1," * (MAX_VALUES - 2) + b"1]")
    check_json(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    check_json(b'{"a": "' + b"[{," * MAX_VALUES + b'"}')
    check_json(b'{"a": "\\"' + b"[{," * MAX_VALUES + b'"}')


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"raw_path": b"/" * (MAX_TARGET + 1)}, "address_too_long"),
        ({"path": "/" * (MAX_TARGET + 1)}, "address_too_long"),
        ({"query_string": b"x" * MAX_TARGET}, "address_too_long"),
        ({"headers": [(b"x", b"y")] * (MAX_HEADERS + 1)}, "headers_too_large"),
        ({"headers": [(b"x", b"y" * MAX_HEAD)]}, "headers_too_large"),
        ({"headers": [(b"host", b"localhost"), (b"host", b"evil")]}, "duplicate_header"),
        ({"headers": [(b"origin", b"a"), (b"origin", b"b")]}, "duplicate_header"),
    ],
)
def test_a_head_out_of_its_bounds_is_refused(given: dict[str, object], code: str) -> None:
    with pytest.raises(ProblemError) as refused:
        check_head(scope(**given))
    assert refused.value.code == code


@pytest.mark.parametrize(
    ("body", "code"),
    [
        (b"[" + b"1," * MAX_VALUES + b"1]", "too_many_values"),
        (b"[]," * MAX_VALUES, "too_many_values"),
        (b'"' * (5 * MAX_VALUES), "too_many_values"),
        (b'{"' + b'":{},"' * MAX_VALUES, "too_many_values"),
        (b"[" * (MAX_DEPTH + 1), "too_deep"),
        (b'{"a":' * (MAX_DEPTH + 1), "too_deep"),
        (b'"\\\\"' + b"[" * (MAX_DEPTH + 1), "too_deep"),
        ('{"a": [[1]]}'.encode("utf-16"), "invalid_json"),
        ('{"a": [[1]]}'.encode("utf-32-le"), "invalid_json"),
    ],
)
def test_a_body_out_of_its_bounds_is_refused(body: bytes, code: str) -> None:
    with pytest.raises(ProblemError) as refused:
        check_json(body)
    assert refused.value.code == code


@pytest.mark.parametrize(
    "part", [b'"', b'\\"', b'"\\', b'"\\a', b"[", b"]", b"[]", b'"",', b"a", b'"a', b"\\"]
)
def test_looking_at_a_body_takes_time_in_its_proportion(part: bytes) -> None:
    def seconds(size: int) -> float:
        body, taken = b'"' + part * (size // len(part)), []
        for _ in range(3):
            start = time.process_time()
            with suppress(ProblemError):
                check_json(body)
            taken.append(time.process_time() - start)
        return min(taken)

    # Eight times the size: linear is 8, quadratic is 64.
    assert seconds(2 * MIB) < 24 * seconds(MIB // 4) + 0.05


async def test_a_request_out_of_its_bounds_is_refused(serve: Serve) -> None:
    body = b'{"filters": ' + b"[" * (MAX_DEPTH + 1)
    headers = {"Content-Type": "application/json"}
    async with serve() as client:
        async with client.post("/compare", data=body, headers=headers) as answer:
            assert (answer.status, (await answer.json())["code"]) == (422, "too_deep")
        async with client.get(f"/sessions?x={'x' * MAX_TARGET}") as answer:
            assert (answer.status, (await answer.json())["code"]) == (414, "address_too_long")
        async with client.get("/health", headers={f"x-{n}": "1" for n in range(101)}) as answer:
            assert (answer.status, (await answer.json())["code"]) == (431, "headers_too_large")


@pytest.mark.parametrize("part", [b'"a",', b'"', b"[],", b'{"a":1},', b'"\\"",', b"[[["])
def test_checking_takes_little_memory(part: bytes) -> None:
    body = part * (1_000_000 // len(part))
    tracemalloc.start()
    try:
        with pytest.raises(ProblemError):
            check_json(body)
        assert tracemalloc.get_traced_memory()[1] < len(body)
    finally:
        tracemalloc.stop()
