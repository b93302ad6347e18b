"""What a comparison would compare, before it is made."""

from __future__ import annotations

from pathlib import Path

from tests.support.asking import rows_asked

from skillian.data.query.relation import bare_tables
from skillian.data.services import DataServices
from skillian.data.tables.engine import TablePreview


def written(path: Path, text: str) -> str:
    path.write_text(text, encoding="utf-8")
    return str(path)


async def preview(folder: Path, a: str, b: str) -> TablePreview:
    names = [written(folder / "a.csv", a), written(folder / "b.csv", b)]
    registry, (one, other) = await bare_tables(names)
    async with DataServices(registry) as data:
        return await data.tables.preview(rows_asked(one, other))


async def test_the_key_and_the_columns_are_those_of_the_comparison(tmp_path: Path) -> None:
    seen = await preview(tmp_path, "id,v,w\n1,x,1.5\n2,y,2\n", "id,v,w\n1,x,q\n3,y,r\n")
    assert seen.key is not None
    assert (seen.key.columns, seen.key.origin, seen.no_key) == (("id",), "profile", "")
    assert [pair.a for pair in seen.pairs] == ["id", "v"]
    assert [each.column for each in seen.not_compared] == ["w"]


async def test_rows_without_a_key_have_none(tmp_path: Path) -> None:
    rows = "v\nx\nx\n"
    seen = await preview(tmp_path, rows, rows)
    assert seen.key is None
    assert "identifies a row" in seen.no_key
