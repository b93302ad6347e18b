"""How often `--why` names the planted cause of differences first, and names none without one.

67 pairs of tables have causes among random differences, NULLs, blanks and repeated keys; 21 have
random differences only. Prints the pairs that were missed, and the figures.
"""

from __future__ import annotations

import asyncio
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path
from time import perf_counter

import duckdb
from why_pairs import with_cause, without_cause
from why_planted import SCHEMA, Pair, arrow, tables

from skillian.data.tables.why.results import Why

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.skillian.data.tables.comparing import engine_over


async def explained(pair: Pair, folder: Path) -> Why:
    """Why the two tables of a pair differ."""
    a, b = tables(pair, 0)
    if not pair.wanted and pair.drop_b is not None:
        b = [row for row in b if not pair.drop_b(row)]
    file = folder / "pair.duckdb"
    with duckdb.connect(file) as database:
        for name, rows in (("a", a), ("b", b)):
            database.register("rows", arrow.Table.from_pylist(rows, schema=SCHEMA))
            database.execute(f'CREATE TABLE {name} AS FROM "rows"')
    addresses = f"duckdb:///{file}#a", f"duckdb:///{file}#b"
    async with engine_over(*addresses) as (engine, question):
        result = await engine.compare(question)
        return await engine.tables.explain(result.cache_key)


def is_found(pair: Pair, why_: Why) -> bool:
    """Whether the rules that are planted are named, and no other ones."""
    options = [rule.option for rule in why_.rules]
    return len(options) == len(pair.wanted) and all(
        any(option in wanted for option in options) for wanted in pair.wanted
    )


def main(only: Sequence[str] = ()) -> None:
    """Run all pairs, or only those of these names."""
    found = named = 0
    causes, others = with_cause(), without_cause()
    started = perf_counter()
    for number, pair in enumerate([*causes, *others]):
        if only and pair.name not in only:
            continue
        with tempfile.TemporaryDirectory() as folder:
            answer = asyncio.run(explained(pair, Path(folder)))
        options = [rule.option for rule in answer.rules]
        if number < len(causes):
            is_right = is_found(pair, answer)
            found += is_right
        else:
            is_right = not options and not answer.facts
            named += not is_right
        if not is_right or only:
            wanted = [min(each) for each in pair.wanted]
            print(f"{pair.name}: wanted {wanted}, named {list(answer.sentences)}")
    seconds = (perf_counter() - started) / (len(causes) + len(others))
    print(f"Named first: {found} of {len(causes)} (target 57 of 67)")
    print(f"Named without a cause: {named} of {len(others)} (target 0)")
    print(f"{seconds:.1f} s for each pair")


if __name__ == "__main__":
    main(sys.argv[1:])
