from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

from tests.skillian.api.conftest import KEYS, Opened, Serve
from tests.support.uploads import LEDGER, PLAN
from tests.support.waits import soon

BINARY = {"Content-Type": "application/octet-stream"}


def signed(key: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}"}


def stored(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.suffix in {".csv", ".parquet"}]


async def put(
    server: Opened, name: str, content: str, status: int = 201, key: str = ""
) -> dict[str, Any]:
    async with server.post(
        "/uploads",
        params={"name": name},
        data=content.encode(),
        headers={**BINARY, **(signed(key) if key else {})},
    ) as answer:
        assert answer.status == status, await answer.text()
        body: dict[str, Any] = await answer.json()
        return body


async def compared(server: Opened, a: str, b: str, **given: Any) -> tuple[int, dict[str, Any]]:
    headers = given.pop("headers", {})
    body = {"source_a": a, "source_b": b, **given}
    async with server.post("/compare", json=body, headers=headers) as answer:
        return answer.status, await answer.json()


async def test_two_files_are_compared_and_deleted(serve: Serve, tmp_path: Path) -> None:
    async with serve(uploads=tmp_path / "files") as server:
        a, b = [await put(server, "same.csv", text) for text in (LEDGER, PLAN)]
        status, result = await compared(server, f"upload:{a['id']}", f"upload:{b['id']}")
        assert status == 200, result
        assert (result["source_a"], result["source_b"]) == ("same.csv", "same.csv_2")
        assert result["key"]["columns"] == ["id"]
        counts = {name: result["rows"][name] for name in ("matched", "differing", "only_in_a")}
        assert counts == {"matched": 1, "differing": 1, "only_in_a": 1}
        path = f"/comparisons/{result['cache_key']}"
        async with server.get(f"{path}/report.html") as report:
            assert "same.csv" in await report.text()
        async with server.get(f"{path}/rows") as rows:
            page = await rows.json()
        assert [row["status"] for row in page["rows"]] == ["differing", "only_in_a", "only_in_b"]
        async with server.get("/uploads") as listed:
            assert [each["id"] for each in await listed.json()] == [a["id"], b["id"]]
        async with server.delete(f"/uploads/{a['id']}") as deleted:
            assert deleted.status == 204
        gone_with_it = path, f"{path}/report.html", f"{path}/rows", f"{path}/rows.csv"
        for gone in (*gone_with_it, f"/uploads/{a['id']}"):
            async with server.get(gone) as missing:
                assert missing.status == 404
        assert await server.service.store.comparisons.find(result["cache_key"]) is None
        assert not any((tmp_path / "files").rglob(f"{a['id']}*"))


async def test_a_file_is_compared_with_a_source_in_the_background(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(uploads=tmp_path / "files") as server:
        a = await put(server, "companies.csv", "company,period\n1001,2024001\n")
        status, run = await compared(
            server, f"upload:{a['id']}", "fi_reporting", multiset=True,
            headers={"Prefer": "respond-async"},
        )  # fmt: skip
        assert (status, run["title"]) == (202, "companies.csv and fi_reporting")
        status, refused = await compared(
            server, f"upload:{a['id']}", "fi_reporting", measures=["amount"]
        )
        assert (status, "whole rows" in refused["detail"]) == (422, True)


async def test_another_key_sees_neither_files_nor_results(serve: Serve, tmp_path: Path) -> None:
    async with serve(uploads=tmp_path / "files", api_keys=",".join(KEYS)) as server:
        mine, other = (signed(key) for key in KEYS)
        a, b = [await put(server, "x.csv", text, key=KEYS[0]) for text in (LEDGER, PLAN)]
        names = f"upload:{a['id']}", f"upload:{b['id']}"
        _, result = await compared(server, *names, headers=mine)
        status, refused = await compared(server, *names, headers=other)
        assert (status, refused["code"]) == (404, "upload_not_found")
        key = result["cache_key"]
        ends = ("", "/report.html", "/report.json", "/rows", "/rows.parquet", "/why")
        paths = [f"/uploads/{a['id']}"] + [f"/comparisons/{key}{end}" for end in ends]
        for path in paths:
            async with server.get(path, headers=other) as hidden:
                assert hidden.status == 404, path
        async with server.delete(f"/uploads/{a['id']}", headers=other) as kept:
            assert kept.status == 404
        async with server.get("/uploads", headers=other) as listed:
            assert await listed.json() == []
        async with server.get(f"/comparisons/{key}", headers=mine) as shown:
            assert shown.status == 200


async def test_a_saved_comparison_reads_a_file_that_was_replaced(
    serve: Serve, tmp_path: Path
) -> None:
    async with serve(uploads=tmp_path / "files", api_keys=",".join(KEYS)) as server:
        a, b = [await put(server, name, LEDGER, key=KEYS[0]) for name in ("a.csv", "b.csv")]
        own, other = signed(KEYS[0]), signed(KEYS[1])
        sides = f"upload:{a['id']}", f"upload:{b['id']}"
        _, old = await compared(server, *sides, headers=own)
        assert old["equal"]
        path, named = f"/uploads/{b['id']}", {"name": "june.csv"}
        for key, status in ((other, 404), (own, 200)):
            async with server.request(
                "PUT", path, params=named, data=PLAN, headers={**BINARY, **key}
            ) as done:
                assert done.status == status, await done.text()
        async with server.get(f"/comparisons/{old['cache_key']}", headers=own) as gone:
            assert gone.status == 404
        _, new = await compared(server, *sides, headers=own)
        assert (new["equal"], new["source_b"]) == (False, "june.csv")
        head = {**BINARY, **own}
        async with server.request(
            "PUT", path, params={"name": "x.exe"}, data=b"MZ", headers=head
        ) as bad:
            assert bad.status == 422
        async with server.get(path, headers=own) as kept:
            assert (await kept.json())["name"] == "june.csv"


async def test_a_file_is_refused(serve: Serve, tmp_path: Path) -> None:
    refusals = [
        ("../../x", LEDGER, 422, "slashes"),
        ("../../x.csv", LEDGER, 422, "slashes"),
        ("big.csv", "x" * 5000, 413, "split it"),
        ("a.exe", LEDGER, 422, ".exe"),
    ]
    async with serve(uploads=tmp_path / "files", max_upload_bytes=4096) as server:
        for name, content, status, reason in refusals:
            problem = await put(server, name, content, status)
            assert reason in problem["detail"]
        async with server.post("/uploads", params={"name": "a.csv"}, json={}) as form:
            assert form.status == 415
    assert stored(tmp_path) == []


async def test_a_file_without_a_length_is_read(serve: Serve, tmp_path: Path) -> None:
    async def chunks() -> AsyncIterator[bytes]:
        for line in LEDGER.splitlines(keepends=True):
            yield line.encode()

    async with serve(uploads=tmp_path / "files", max_upload_bytes=4096) as server:
        async with server.post(
            "/uploads", params={"name": "a.csv"}, data=chunks(), headers=BINARY
        ) as answer:
            assert (answer.status, (await answer.json())["rows"]) == (201, 3)

        async def endless() -> AsyncIterator[bytes]:
            for _ in range(100):
                yield b"x" * 1024 * 1024

        async with server.post(
            "/uploads", params={"name": "a.csv"}, data=endless(), headers=BINARY
        ) as answer:
            assert answer.status == 413


async def test_a_client_that_disconnects_leaves_nothing(serve: Serve, tmp_path: Path) -> None:
    head = "POST /uploads?name=a.csv HTTP/1.1\r\nHost: localhost\r\n{}\r\n\r\nid,"
    head = head.format("Content-Type: application/octet-stream\r\nContent-Length: 100")
    async with serve(uploads=tmp_path) as server:
        _, writer = await asyncio.open_connection("127.0.0.1", server.port)
        writer.write(head.encode())
        await soon(lambda: bool(stored(tmp_path)))
        writer.close()  # before all bytes that it has announced
        await soon(lambda: not stored(tmp_path))


async def test_a_server_deletes_what_one_that_was_killed_has_left(
    serve: Serve, tmp_path: Path
) -> None:
    folder = tmp_path / "files" / "local" / ("0" * 32)
    folder.mkdir(parents=True)
    for name in ("held", "upload.csv"):
        (folder / name).touch()
    async with serve(uploads=tmp_path / "files"):
        assert stored(tmp_path) == []


async def test_files_that_share_no_key_are_refused_with_the_pairs_that_may_be_one(
    serve: Serve, tmp_path: Path
) -> None:
    rows = [f"A{n},{n % 7},open" for n in range(40)]
    headers = "customer_id,region,status", "cust_id,area,status"
    async with serve(uploads=tmp_path / "files") as server:
        texts = ["\n".join([header, *rows]) for header in headers]
        a, b = [await put(server, "same.csv", text) for text in texts]
        names = f"upload:{a['id']}", f"upload:{b['id']}"
        status, refused = await compared(server, *names)
        assert status == 422, refused
        assert "--map customer_id=cust_id --key customer_id" in str(refused)
        paired = {"customer_id": "cust_id"}
        status, result = await compared(server, *names, map=paired, key=["customer_id"])
        assert (status, result["equal"]) == (200, False)
        assert result["coverage"]["compared"] == 2
        assert "match in 2 of 4 columns" in result["sentences"][0]
