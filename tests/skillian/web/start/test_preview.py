"""What the page offers before two files are compared."""

from __future__ import annotations

from pathlib import Path

from nicegui import ui
from tests.skillian.web.views import by_test_id, only, sees, viewed
from tests.support.asking import rows_asked

from skillian.data.query.relation import bare_tables
from skillian.data.services import DataServices
from skillian.uploads.folders import Upload
from skillian.web.start.preview import Preview


def uploaded(name: str) -> Upload:
    return Upload(name, name, 1, "", 2, (), (), "", Path(name))


async def test_files_without_a_common_key_are_not_counted_unless_the_reader_asks_for_it(
    tmp_path: Path,
) -> None:
    for name, header in (("a.csv", "region,status"), ("b.csv", "area,status")):
        (tmp_path / name).write_text(f"{header}\nx,open\nx,open\n", encoding="utf-8")
    registry, (a, b) = await bare_tables([str(tmp_path / "a.csv"), str(tmp_path / "b.csv")])
    async with DataServices(registry) as data:
        seen = await data.tables.preview(rows_asked(a, b))
        rows = [await data.catalogue.sample(name, 2) for name in (a, b)]
    previews: list[Preview] = []

    async def view() -> None:
        previews.append(Preview((uploaded("a.csv"), uploaded("b.csv")), seen, rows))

    async with viewed(view) as user:
        await sees(user, "How rows are matched")
        assert previews[0].read() == {}
        assert not only(user, ui.checkbox).value
        [reason] = [by_test_id(user, "key-reason")]
        assert isinstance(reason, ui.label)
        assert "no column or combination of up to three identifies a row" in reason.text
        assert "--map region=area" in reason.text
        only(user, ui.checkbox).set_value(True)
        assert previews[0].read() == {"multiset": True}
