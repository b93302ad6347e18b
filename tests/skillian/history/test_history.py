"""The history of saved comparisons, in SQLite and in PostgreSQL."""

import sqlite3
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sqlalchemy import create_engine, make_url, text
from tests.support.postgres import Server

from skillian.errors import InvalidInputError, UnavailableError
from skillian.history.findings import MAX_FINDINGS, Finding
from skillian.history.store import MAX_RUNS, History, open_history

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def finding(number: int, kind: str = "major_diff", subject: str = "amount") -> Finding:
    return Finding(kind, subject, {"id": number})


@pytest.fixture(params=["sqlite", "postgresql"])
def history(request: pytest.FixtureRequest, tmp_path: Path) -> Generator[History]:
    with url_of(request.param, request, tmp_path) as url, open_history(url) as opened:
        yield opened


@contextmanager
def url_of(kind: str, request: pytest.FixtureRequest, folder: Path) -> Generator[str]:
    if kind == "sqlite":
        yield f"sqlite:///{folder}/history.db"
    else:
        server: Server = request.getfixturevalue("postgres_server")
        with server.database() as database:
            yield database.url


def test_a_finding_appears_is_noted_and_is_fixed(history: History) -> None:
    first = history.record("daily", "findings", [finding(7)], 1, START)
    assert first.sentence == "1 new, 0 open, 0 known, 0 fixed."
    (new,) = first.new
    assert new.text == "amount differs for id=7"
    history.note("daily", new.id[:4], "ticket 12", date(2026, 3, 3))
    second = history.record("daily", "findings", [finding(7)], 1, START + timedelta(days=1))
    assert second.sentence == "0 new, 0 open, 1 known, 0 fixed."
    assert second.is_accepted
    third = history.record("daily", "equal", [], 0, START + timedelta(days=2))
    assert third.sentence == "0 new, 0 open, 0 known, 1 fixed."
    assert [(run.new, run.known, run.fixed) for run in history.runs("daily")] == [
        (0, 0, 1),
        (0, 1, 0),
        (1, 0, 0),
    ]
    (tracked,) = history.findings("daily")
    assert tracked.to_dict(date(2026, 3, 3)) == {
        "id": new.id,
        "text": "amount differs for id=7",
        "state": "fixed",
        "growth": None,
        "since": "2026-03-01T12:00:00+00:00",
        "fixed": "2026-03-03T12:00:00+00:00",
        "note": "ticket 12",
        "due": "2026-03-03",
        "sizes": {},
    }


def test_a_note_is_valid_up_to_its_due_date(history: History) -> None:
    (new,) = history.record("daily", "findings", [finding(7)], 1, START).new
    history.note("daily", new.id, "wait", START.date())
    assert history.record("daily", "findings", [finding(7)], 1, START).is_accepted
    later = history.record("daily", "findings", [finding(7)], 1, START + timedelta(days=1))
    assert not later.is_accepted
    assert later.new[0].note == "wait"


def test_a_finding_is_new_once_and_open_until_somebody_notes_it(history: History) -> None:
    sentences: list[str] = []
    for day in range(3):
        moment = START + timedelta(days=day)
        standing = history.record("daily", "findings", [finding(7)], 1, moment)
        assert not standing.is_accepted
        sentences.append(standing.sentence)
    again = "0 new, 1 open, 0 known, 0 fixed."
    assert sentences == ["1 new, 0 open, 0 known, 0 fixed.", again, again]
    (tracked,) = history.findings("daily")
    assert tracked.since.startswith("2026-03-01")
    assert tracked.state(START.date()) == "open"
    assert [run.open for run in history.runs("daily")] == [1, 1, 0]


def test_a_failed_run_between_two_others_makes_nothing_new(history: History) -> None:
    history.record("daily", "findings", [finding(7)], 1, START)
    history.record("daily", "failed", [], 0, START)
    assert len(history.record("daily", "findings", [finding(7)], 1, START).open) == 1


def sized(**sizes: str) -> Finding:
    amounts = {name: Decimal(size) for name, size in sizes.items()}
    return Finding("major_diff", ", ".join(sizes), {"id": 7}, sizes=amounts)


@pytest.mark.parametrize(
    ("noted", "now", "growth"),
    [
        ({"amount": "3"}, {"amount": "6"}, ""),
        ({"amount": "3"}, {"amount": "6.01"}, "amount grew from 3 to 6.01"),
        ({"amount": "3"}, {"amount": "0"}, ""),
        ({"amount": "0"}, {"amount": "1"}, "amount grew from 0 to 1"),
        ({"a": "3", "b": "1000"}, {"a": "4", "b": "7750"}, "b grew from 1,000 to 7,750"),
    ],
)
def test_a_noted_finding_that_grows_by_more_than_its_size_is_new_again(
    history: History, noted: dict[str, str], now: dict[str, str], growth: str
) -> None:
    (new,) = history.record("daily", "findings", [sized(**noted)], 1, START).new
    history.note("daily", new.id, "ticket 12", None)
    assert history.record("daily", "findings", [sized(**noted)], 1, START).is_accepted
    standing = history.record("daily", "findings", [sized(**now)], 1, START)
    assert standing.is_accepted is not bool(growth)
    (tracked,) = history.findings("daily")
    assert tracked.growth == growth
    again = history.note("daily", new.id, "ticket 13", None)
    assert (again.state(START.date()), again.growth) == ("known", "")


def test_slow_growth_is_measured_from_the_note(history: History) -> None:
    (new,) = history.record("daily", "findings", [sized(amount="3")], 1, START).new
    history.note("daily", new.id, "known", None)
    standings = [
        history.record("daily", "findings", [sized(amount=str(size))], 1, START)
        for size in range(4, 8)
    ]
    assert [each.is_accepted for each in standings] == [True, True, True, False]


def test_all_findings_are_accepted_at_once(history: History) -> None:
    history.record("daily", "findings", [finding(1), finding(2)], 2, START)
    history.note("daily", finding(1).id, "ticket 12", None)
    history.record("daily", "findings", [finding(n) for n in range(1, 4)], 3, START)
    accepted = history.accept("daily", "migration", date(2999, 3, 3))
    assert {each.id for each in accepted} == {finding(2).id, finding(3).id}
    standing = history.record("daily", "findings", [finding(n) for n in range(1, 4)], 3, START)
    assert standing.is_accepted
    assert {each.note for each in standing.known} == {"ticket 12", "migration"}
    assert history.accept("daily", "again", None) == ()


def test_what_is_fixed_is_not_accepted(history: History) -> None:
    history.record("daily", "findings", [finding(1)], 1, START)
    history.record("daily", "equal", [], 0, START)
    assert history.accept("daily", "known", None) == ()


def test_what_is_overdue_is_accepted_again(history: History) -> None:
    history.record("daily", "findings", [finding(1)], 1, START)
    history.note("daily", finding(1).id, "wait", START.date())
    assert [each.note for each in history.accept("daily", "still", None)] == ["still"]


def test_untracked_findings_are_open_or_new_by_their_number_and_never_known(
    history: History,
) -> None:
    found = [finding(1)]
    assert history.record("daily", "findings", found, 5, START).untracked_new == 4
    history.accept("daily", "known", None)
    assert history.untracked("daily") == 4
    same = history.record("daily", "findings", found, 5, START)
    assert same.sentence == "0 new, 4 open, 1 known, 0 fixed."
    assert not same.is_accepted
    more = history.record("daily", "findings", found, 7, START)
    assert more.sentence == "2 new, 4 open, 1 known, 0 fixed."


def test_a_history_that_lacks_a_column_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as old:
        old.execute("CREATE TABLE skillian_history_findings (comparison TEXT, finding TEXT)")
        old.commit()
    with (
        pytest.raises(UnavailableError, match="no such column"),
        open_history(f"sqlite:///{path}") as history,
    ):
        history.record("daily", "findings", [finding(7)], 1, START)


def test_a_finding_that_returns_is_new_and_its_note_is_gone(history: History) -> None:
    (new,) = history.record("daily", "findings", [finding(7)], 1, START).new
    history.note("daily", new.id, "known", None)
    history.record("daily", "equal", [], 0, START)
    again = history.record("daily", "findings", [finding(7)], 1, START + timedelta(days=1))
    assert [each.note for each in again.new] == [None]
    assert again.new[0].since.startswith("2026-03-02")


def test_a_note_can_be_removed(history: History) -> None:
    (new,) = history.record("daily", "findings", [finding(7)], 1, START).new
    history.note("daily", new.id, "known", date(2027, 1, 1))
    assert history.note("daily", new.id, None, None).due is None
    assert len(history.record("daily", "findings", [finding(7)], 1, START).open) == 1


def test_a_run_that_failed_changes_no_finding(history: History) -> None:
    history.record("daily", "findings", [finding(7)], 1, START)
    assert history.record("daily", "failed", [], 0, START).is_empty
    assert history.findings("daily")[0].fixed is None
    assert history.runs("daily")[0].verdict == "failed"


def test_a_run_with_untracked_findings_fixes_nothing(history: History) -> None:
    history.record("daily", "findings", [finding(1), finding(2)], 2, START)
    standing = history.record("daily", "findings", [finding(1)], 5, START)
    assert (len(standing.open), standing.fixed) == (1, ())
    assert standing.sentence == "3 new, 2 open, 0 known, 0 fixed."


def test_comparisons_have_separate_findings(history: History) -> None:
    history.record("daily", "findings", [finding(7)], 1, START)
    other = history.record("weekly", "findings", [finding(7)], 1, START)
    history.note("weekly", other.new[0].id, "known", None)
    assert len(history.record("daily", "findings", [finding(7)], 1, START).open) == 1
    assert [run.comparison for run in history.latest()] == ["daily", "weekly"]


def test_a_name_stands_for_the_same_sources(history: History) -> None:
    first = history.record("daily", "findings", [finding(7)], 1, START)
    history.note("daily", first.new[0].id, "known", None)
    for verdict in ("failed", "findings"):
        history.record("daily", verdict, [finding(7)], 1, START, sources=("a.csv", "b.csv"))
    for verdict in ("failed", "findings"):
        with pytest.raises(InvalidInputError, match=r"'orders' and 'plan'.*another `name`"):
            history.record("daily", verdict, [finding(7)], 1, START, sources=("orders", "plan"))
    same = history.record("daily", "findings", [finding(7)], 1, START, sources=("a.csv", "b.csv"))
    assert len(same.known) == 1
    history.record("weekly", "findings", [finding(7)], 1, START, sources=("orders", "plan"))


def test_a_class_is_part_of_a_finding() -> None:
    ids = {finding(7, kind).id for kind in ("major_diff", "minor_diff", "missing_in_b")}
    assert len(ids) == 3


def test_no_value_in_a_key_is_not_a_text() -> None:
    texts = [Finding("only_in_a", "", {"id": value}).text for value in (None, "None")]
    assert texts == ["only in a for id is NULL", "only in a for id=None"]


def test_the_order_of_a_key_does_not_matter() -> None:
    one, other = {"a": 1, "b": "x"}, {"b": "x", "a": 1}
    assert Finding("rows", "", one).id == Finding("rows", "", other).id


@pytest.mark.parametrize("name", ["", "nothing", "%", "_"])
def test_a_note_needs_one_finding(history: History, name: str) -> None:
    history.record("daily", "findings", [finding(7), finding(8)], 2, START)
    with pytest.raises(InvalidInputError, match="skillian history show"):
        history.note("daily", name, "x", None)


def test_a_note_has_a_bound(history: History) -> None:
    with pytest.raises(InvalidInputError, match="2,000"):
        history.note("daily", "7", "x" * 2001, None)


def test_texts_that_a_database_cannot_store_are_stored_readably(history: History) -> None:
    odd = Finding("only_in_a", "", {"name\x00": "a\ud800b", "long": "x" * 5000})
    (tracked,) = history.record("daily", "findings", [odd], 1, START).new
    assert len(tracked.text) <= 500
    assert history.record("daily", "findings", [odd], 1, START).open[0].since == tracked.since


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_runs_at_the_same_time_lose_nothing(
    kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    findings = [finding(number) for number in range(50)]
    with url_of(kind, request, tmp_path) as url:

        def run(_: int) -> None:
            with open_history(url) as history:
                history.record("daily", "findings", findings, 50, START)

        run(0)
        with ThreadPoolExecutor(8) as pool:
            list(pool.map(run, range(15)))
        with open_history(url) as history:
            assert len(history.runs("daily", 100)) == 16
            assert len(history.findings("daily")) == len(findings)


def test_old_runs_are_forgotten(tmp_path: Path) -> None:
    with open_history(f"sqlite:///{tmp_path}/history.db") as history:
        history.record("daily", "findings", [finding(1)], 1, START)
        for minute in range(1, MAX_RUNS + 6):
            history.record("daily", "equal", [], 0, START + timedelta(minutes=minute))
        assert len(history.runs("daily", 10_000)) == MAX_RUNS
        assert history.findings("daily") == ()


def test_its_file_is_private_and_made_when_it_is_opened(tmp_path: Path) -> None:
    path = tmp_path / "history.db"
    with open_history(f"sqlite:///{path}"):
        assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    "url",
    ["sqlite://", "sqlite:///:memory:", "sqlite:///x.db?mode=ro", "mysql://x/y", "nonsense", ""],
)
def test_other_urls_are_refused(url: str) -> None:
    with pytest.raises(UnavailableError, match="DATABASE_URL"), open_history(url):
        pass


def test_a_broken_file_is_an_error_without_a_traceback(tmp_path: Path) -> None:
    (tmp_path / "history.db").write_text("this is not a database, and it is long enough" * 50)
    with (
        pytest.raises(UnavailableError, match="not a database"),
        open_history(f"sqlite:///{tmp_path}/history.db"),
    ):
        pass


def test_a_file_that_another_process_holds_is_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("skillian.history.store._BUSY_SECONDS", 0.1)
    path = tmp_path / "history.db"
    with closing(sqlite3.connect(path)) as other:
        other.execute("BEGIN EXCLUSIVE")
        with pytest.raises(UnavailableError, match="locked"), open_history(f"sqlite:///{path}"):
            pass


@settings(max_examples=30, deadline=None)
@given(st.lists(st.tuples(st.sets(st.integers(0, 5)), st.sets(st.integers(0, 5))), max_size=8))
def test_states_are_those_of_a_plain_model(
    tmp_path_factory: pytest.TempPathFactory, days: list[tuple[set[int], set[int]]]
) -> None:
    """A run on each day has these findings; then these are noted."""
    open_now: set[int] = set()
    noted: set[int] = set()
    folder = tmp_path_factory.mktemp("model")
    with open_history(f"sqlite:///{folder}/history.db") as history:
        for day, (present, notes) in enumerate(days):
            noted &= open_now & present
            moment = START + timedelta(days=day)
            found = [finding(number) for number in sorted(present)]
            standing = history.record("daily", "findings", found, len(found), moment)
            ids = {finding(number).id: number for number in range(6)}
            assert {ids[each.id] for each in standing.new} == present - open_now
            assert {ids[each.id] for each in standing.open} == (present & open_now) - noted
            assert {ids[each.id] for each in standing.known} == noted
            assert {ids[each.id] for each in standing.fixed} == open_now - present
            open_now = present
            for number in notes & present:
                history.note("daily", finding(number).id, "known", None)
                noted.add(number)


def test_many_findings_are_tracked_in_one_run(history: History) -> None:
    findings = [finding(number) for number in range(MAX_FINDINGS)]
    standing = history.record("daily", "findings", findings, MAX_FINDINGS, START)
    assert len(standing.new) == MAX_FINDINGS
    assert len(history.record("daily", "equal", [], 0, START).fixed) == MAX_FINDINGS


def test_tables_are_created_once_when_two_open_them_first(postgres_server: Server) -> None:
    with postgres_server.database() as database:
        engine = create_engine(make_url(database.url).set(drivername="postgresql+psycopg"))
        with ThreadPoolExecutor(1) as pool, engine.begin() as first:
            History(first)
            waiting = pool.submit(_runs_of_nothing, database.url)
            with engine.connect() as watching:
                while not watching.scalar(text("SELECT count(*) FROM pg_locks WHERE NOT granted")):
                    watching.rollback()
                    assert not waiting.done()
            first.commit()
            assert waiting.result() == []
        engine.dispose()


def _runs_of_nothing(url: str) -> list[object]:
    with open_history(url) as history:
        return list(history.runs("daily"))
