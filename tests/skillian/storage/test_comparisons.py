from __future__ import annotations

import asyncio
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from skillian.storage import MessageTooLong, SessionStore
from skillian.storage.comparisons import MAX_BYTES

HOUR = timedelta(hours=1)


async def test_a_comparison_is_known_to_all_processes_until_it_expires(
    store: SessionStore, other: SessionStore
) -> None:
    await store.comparisons.put("key", {"net": "1.10"}, HOUR)
    assert await other.comparisons.find("key") == {"net": "1.10"}
    await other.comparisons.put("key", {"net": "1.20"}, datetime.now(UTC) + HOUR)
    assert await store.comparisons.find("key") == {"net": "1.20"}
    await store.comparisons.put("key", {"net": "1.30"}, -HOUR)
    assert await other.comparisons.find("key") is None
    assert await other.comparisons.purge() == 1
    assert await other.comparisons.find("other") is None


async def test_many_may_put_the_same_at_once(store: SessionStore, other: SessionStore) -> None:
    results: list[dict[str, Any]] = [{"net": str(number)} for number in range(8)]
    await asyncio.gather(
        *(
            opened.comparisons.put("key", result, HOUR)
            for result, opened in zip(results, [store, other] * 4, strict=True)
        )
    )
    assert await store.comparisons.find("key") in results


async def test_a_result_over_the_limit_is_refused_with_the_limit(store: SessionStore) -> None:
    with pytest.raises(MessageTooLong, match=str(MAX_BYTES)):
        await store.comparisons.put("key", {"text": "x" * MAX_BYTES}, HOUR)
    assert await store.comparisons.find("key") is None
