"""Saved comparisons on both databases."""

from __future__ import annotations

from skillian.storage import SessionStore

QUESTION = {"name": "comparison", "a": "x", "b": "y", "filters": {"company": "ü"}}


async def test_they_are_kept_for_their_owner(store: SessionStore, other: SessionStore) -> None:
    record = await store.saved.add("me", "Monthly", QUESTION, 2)
    assert record is not None
    assert await other.saved.get("me", record.id) == record
    assert await other.saved.get("you", record.id) is None
    assert record.question == QUESTION
    assert not await other.saved.share("you", record.id, is_shared=True)
    assert await other.saved.share("me", record.id, is_shared=True)
    shared = await store.saved.get("you", record.id)
    assert shared is not None
    assert shared.is_shared
    await store.saved.has_run(shared, "key")
    [listed] = await store.saved.list("me")
    assert listed.last_key == "key"
    assert await store.saved.list("you") == []
    assert not await store.saved.delete("you", record.id)
    assert await store.saved.delete("me", record.id)
    assert await store.saved.get("me", record.id) is None


async def test_an_owner_has_a_limit(store: SessionStore) -> None:
    assert await store.saved.add("me", "1", QUESTION, 1) is not None
    assert await store.saved.add("me", "2", QUESTION, 1) is None
    assert await store.saved.add("you", "1", QUESTION, 1) is not None
