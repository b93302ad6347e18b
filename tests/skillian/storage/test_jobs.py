from __future__ import annotations

from datetime import timedelta

import pytest

from skillian.storage import SessionStore, jobs
from skillian.storage.jobs import INTERRUPTED


async def test_a_job_is_seen_by_its_owner_in_any_process(
    store: SessionStore, other: SessionStore
) -> None:
    job = await store.jobs.add("me", "a and b", 10)
    assert job is not None
    assert (job.state, job.title, job.has_ended) == ("queued", "a and b", False)
    assert await other.jobs.get("me", job.id) == job
    assert await other.jobs.get("you", job.id) is None
    assert await other.jobs.list("you", 10) == []
    assert await store.jobs.update(job.id, state="running")
    assert await store.jobs.keep({job.id: "a: 5 groups", "unknown": ""}) == {job.id}
    [seen] = await other.jobs.list("me", 10)
    assert (seen.state, seen.progress) == ("running", "a: 5 groups")
    assert await store.jobs.update(job.id, state="completed", result="key")
    [ended] = await other.jobs.list("me", 10)
    assert (ended.state, ended.result, ended.has_ended) == ("completed", "key", True)


async def test_a_job_that_was_cancelled_elsewhere_is_not_kept(
    store: SessionStore, other: SessionStore
) -> None:
    job = await store.jobs.add("me", "", 10)
    assert job is not None
    assert await other.jobs.update(job.id, state="cancelled")
    assert await store.jobs.keep({job.id: ""}) == set()
    assert not await store.jobs.update(job.id, state="completed", result="key")
    assert not await other.jobs.update(job.id, state="cancelled")
    [ended] = await store.jobs.list("me", 10)
    assert (ended.state, ended.result) == ("cancelled", "")


async def test_a_job_whose_lease_has_run_out_is_interrupted(
    store: SessionStore, other: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LEASE_SECONDS", -1.0)
    job = await store.jobs.add("me", "", 10)
    assert job is not None
    [seen] = await other.jobs.list("me", 10)
    assert (seen.state, seen.error, seen.has_ended) == ("interrupted", INTERRUPTED, True)
    assert not await store.jobs.update(job.id, state="completed")
    assert await store.jobs.keep({job.id: ""}) == set()


async def test_an_owner_has_a_limit_of_queued_jobs(store: SessionStore) -> None:
    first = await store.jobs.add("me", "", 2)
    assert first is not None
    assert await store.jobs.add("me", "", 2) is not None
    assert await store.jobs.add("me", "", 2) is None
    assert await store.jobs.add("you", "", 2) is not None
    await store.jobs.update(first.id, state="running")
    assert await store.jobs.add("me", "", 2) is not None


async def test_old_jobs_are_deleted(store: SessionStore, monkeypatch: pytest.MonkeyPatch) -> None:
    await store.jobs.add("me", "running", 9)
    monkeypatch.setattr(jobs, "LEASE_SECONDS", -1.0)
    await store.jobs.add("me", "interrupted", 9)
    assert await store.jobs.purge(timedelta(hours=1)) == 0
    assert await store.jobs.purge(timedelta(seconds=-0.5)) == 1
    assert [job.title for job in await store.jobs.list("me", 9)] == ["running"]


async def test_only_the_newest_jobs_of_an_owner_are_kept(
    store: SessionStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jobs, "LEASE_SECONDS", -1.0)
    monkeypatch.setattr(jobs, "MAX_ENDED", 2)
    for owner in ("me", "me", "me", "you"):
        await store.jobs.add(owner, "", 9)
    assert await store.jobs.purge(None) == 1
    assert [len(await store.jobs.list(owner, 9)) for owner in ("me", "you")] == [2, 1]


async def test_jobs_are_known_to_the_owner_of_their_saved_comparison(store: SessionStore) -> None:
    saved = await store.saved.add("me", "Close", {}, 9)
    assert saved is not None
    mine = await store.jobs.add("me", "mine", 9, '{"a": "upload:1"}')
    shared = await store.jobs.add("you", "shared", 9, "", saved.id)
    assert mine is not None
    assert shared is not None
    seen = {job.title: job for job in await store.jobs.list("me", 9)}
    assert seen == {"mine": mine, "shared": shared}
    assert [job.title for job in await store.jobs.list("you", 9)] == ["shared"]
    assert await store.jobs.get("me", shared.id) is None
    assert await store.jobs.asking("upload:") == [mine]
    for job in (mine, shared):
        await store.jobs.forget([job.id])  # it has not ended
        assert await store.jobs.update(job.id, state="completed", verdict="equal")
    assert {job.verdict for job in await store.jobs.list("me", 9)} == {"equal"}
    await store.jobs.forget(saved_id=saved.id)
    assert [job.title for job in await store.jobs.list("me", 9)] == ["mine"]
    await store.jobs.forget([mine.id])
    assert await store.jobs.list("me", 9) == []
