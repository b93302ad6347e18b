"""What the tests of reports compare: the demo's amounts, and values that look like markup."""

import asyncio
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.support.asking import two_sources

from skillian.data.comparison import Depth
from skillian.data.declare.saved import SavedComparison
from skillian.data.declare.sources import SourceRegistry
from skillian.data.engine import open_engine
from skillian.reports.outcome import Outcome, run_all

HOSTILE = (
    "<script>window.pwned = 1</script>",
    "\"><img src=x onerror='window.pwned = 2'>",
    "a|b`c``d\\|",
    "*@admin* #12 http://outside.example/x www.outside.example :smile: [x](http://y.example)",
    "two\nlines\x1b[31m\x0b]]>&amp;",
    "{{ 7 * 7 }} ${{ secrets }}",
    "\u202eright to left",
)
SOURCES = two_sources(
    '"k|<i>": {column: k}',
    'v: {column: v, aggregation: sum, unit: "<u>"}, n: {column: k, aggregation: count}',
    '"k|<i>"',
).replace("  a: {", '  "<b>a</b>": {', 1)


def comparison_of(**options: Any) -> SavedComparison:
    defaults = {"name": "close", "a": "fi_reporting", "b": "bpc_reporting", "measures": ["amount"]}
    return SavedComparison.model_validate({**defaults, **options})


def outcomes_of(sources: Path, *comparisons: SavedComparison) -> tuple[Outcome, ...]:
    """Run the comparisons with as much detail as a report can have."""

    async def work() -> tuple[Outcome, ...]:
        async with open_engine(SourceRegistry.load(sources), 10, keep_rows=True) as engine:
            return await run_all(engine, comparisons, Depth(1000, 20, why=True), lambda *_: None)

    # In a thread, because a browser test may run an event loop in this one.
    with ThreadPoolExecutor(1) as thread:
        return thread.submit(lambda: asyncio.run(work())).result()
