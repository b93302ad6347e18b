"""The usage that servers of chat completions report."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from tinyagent.core.cost import read_dollars
from tinyagent.core.types import Usage
from tinyagent.core.untrusted import as_object
from tinyagent.models.wire.shared import as_count, uncounted


def read_usage(usage: Any) -> Usage:
    """The usage of one chat completion."""
    counts = as_object(usage) or {}
    read = as_object(counts.get("prompt_tokens_details")) or {}
    written = as_object(counts.get("completion_tokens_details")) or {}
    prompt = as_count(counts.get("prompt_tokens"))
    # xAI does not count reasoning as part of the completion, but its total is right.
    rest = as_count(counts.get("total_tokens")) - prompt
    return Usage(
        requests=1,
        input_tokens=prompt,
        output_tokens=max(as_count(counts.get("completion_tokens")), rest),
        cached_tokens=as_count(read.get("cached_tokens") or counts.get("prompt_cache_hit_tokens")),
        cache_write_tokens=as_count(read.get("cache_write_tokens")),
        reasoning_tokens=as_count(written.get("reasoning_tokens")),
        uncounted=uncounted(counts.get("prompt_tokens"), counts.get("completion_tokens")),
    )


def reported_cost(usage: Any) -> Decimal | None:
    """OpenRouter's own cost; with a key of the user's own, the upstream's cost comes on top."""
    counts = as_object(usage) or {}
    amounts = [counts.get("cost")]
    if counts.get("is_byok"):
        amounts.append((as_object(counts.get("cost_details")) or {}).get("upstream_inference_cost"))
    try:
        return sum((read_dollars(str(amount)) for amount in amounts), Decimal(0))
    except ValueError:
        return None
