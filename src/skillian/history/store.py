"""The history in SQLite or PostgreSQL: runs of saved comparisons, and their findings."""

import json
import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from datetime import UTC, date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Row,
    create_engine,
    delete,
    event,
    func,
    insert,
    make_url,
    select,
    text,
    update,
)
from sqlalchemy.exc import ArgumentError, DBAPIError, NoSuchModuleError, SQLAlchemyError

from skillian.errors import InvalidInputError, UnavailableError, missing_extra, quoted
from skillian.history.findings import MAX_FINDINGS, Finding, Standing, State, Tracked
from skillian.history.tables import create_tables
from skillian.history.tables import findings as _findings
from skillian.history.tables import runs as _runs
from skillian.private_files import create_private

MAX_RUNS = 1000
"""How many runs of a comparison are kept."""
MAX_NOTE = 2000
MAX_TEXT = 500
_BUSY_SECONDS = 10


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run of a saved comparison: when it began in UTC, its verdict, and counts of findings."""

    comparison: str
    at: str
    verdict: str
    findings: int
    new: int
    open: int
    known: int
    fixed: int

    def to_dict(self) -> dict[str, object]:
        """The run for JSON."""
        return asdict(self)


class History:
    """Runs of saved comparisons, within one transaction; missing tables are created.

    Args:
        connection: To the database; whoever began the transaction ends it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        create_tables(connection)

    def record(
        self,
        comparison: str,
        verdict: str,
        findings: Sequence[Finding],
        total: int,
        at: datetime | None = None,
        *,
        sources: tuple[str, str] | None = None,
    ) -> Standing:
        """Add a run, and return how its findings compare with the runs before.

        A run that failed changes no finding, and one with more findings than are tracked fixes
        none, since a missing one may be among the others. `total` is the number of all its
        findings, and `at` when it began, if not now.

        Raises:
            InvalidInputError: The runs before compared other `sources`, if these are named.
        """
        self._check_sources(comparison, sources)
        moment = (at or datetime.now(UTC)).astimezone(UTC)
        stamp = moment.isoformat(timespec="seconds")
        if self._connection.dialect.name == "postgresql":
            # Two runs at once would both insert the same finding.
            self._connection.execute(
                text("LOCK TABLE skillian_history_findings IN SHARE ROW EXCLUSIVE MODE")
            )
        standing = Standing()
        if verdict != "failed":
            standing = _stand(self._connection, comparison, findings, total, stamp)
        row = {"comparison": comparison, "at": stamp, "verdict": verdict, "findings": total}
        named = None if sources is None else json.dumps(sources)
        known, fixed = len(standing.known), len(standing.fixed)
        counts = {"new": standing.new_count, "known": known, "fixed": fixed}
        self._connection.execute(insert(_runs).values(**row, **counts, sources=named))
        _forget_old(self._connection, comparison)
        return standing

    def _check_sources(self, comparison: str, sources: tuple[str, str] | None) -> None:
        """Refuse other sources than those of the runs before, whose findings are not of these."""
        own = (_runs.c.comparison == comparison) & _runs.c.sources.is_not(None)
        query = select(_runs.c.sources).where(own).order_by(_runs.c.id.desc()).limit(1)
        before = self._connection.execute(query).scalar()
        if sources is not None and before is not None and json.loads(before) != [*sources]:
            earlier, now = (
                " and ".join(map(quoted, each)) for each in (json.loads(before), sources)
            )
            raise InvalidInputError(
                f"the history of {quoted(comparison)} is of {earlier}, and this run compares {now};"
                " give one of these comparisons another `name`"
            )

    def note(self, comparison: str, finding: str, note: str | None, due: date | None) -> Tracked:
        """Mark a finding as known until the day `due`, or remove the note with a `note` of None.

        Args:
            comparison: The name of the saved comparison.
            finding: The id of the finding, or the beginning of it.
            note: What is known about it.
            due: The last day on which it counts as known; None means no end.

        Raises:
            InvalidInputError: There is not exactly one such finding, or the note is too long.
        """
        values = _noted(note, due)
        rows = _matching(self._connection, comparison, finding)
        if len(rows) != 1:
            reason = "more than one finding begins with" if rows else "there is no open finding"
            raise InvalidInputError(
                f"{reason} {quoted(finding)} in {quoted(comparison)};"
                f" list them with: skillian history show {shlex.quote(comparison)}"
            )
        here = (_findings.c.comparison == comparison) & (_findings.c.finding == rows[0].finding)
        self._connection.execute(update(_findings).where(here).values(**values))
        return _tracked(self._connection.execute(select(_findings).where(here)).one())

    def accept(self, comparison: str, note: str, due: date | None) -> tuple[Tracked, ...]:
        """Mark all findings of the last run that are not known as known, and return them.

        Args:
            comparison: The name of the saved comparison.
            note: What is known about them.
            due: The last day on which they count as known; None means no end.

        Raises:
            InvalidInputError: The note is too long.
        """
        values, today = _noted(note, due), datetime.now(UTC).date()
        states = {each.id: each.state(today) for each in self.findings(comparison)}
        chosen = [each for each, state in states.items() if state in {"new", "open"}]
        for chunk in _chunks(chosen):
            here = _findings.c.comparison == comparison, _findings.c.finding.in_(chunk)
            self._connection.execute(update(_findings).where(*here).values(**values))
        return tuple(each for each in self.findings(comparison) if each.id in {*chosen})

    def untracked(self, comparison: str) -> int:
        """How many findings of the last run that did not fail are not tracked one by one."""
        present = (_findings.c.comparison == comparison) & _findings.c.fixed.is_(None)
        tracked = self._connection.execute(select(func.count()).where(present)).scalar_one()
        return max(0, _last_total(self._connection, comparison) - min(tracked, MAX_FINDINGS))

    def latest(self, comparisons: Sequence[str] | None = None) -> tuple[PastRun, ...]:
        """The last run of each comparison, or of each of these; the most recent first."""
        last = select(func.max(_runs.c.id)).group_by(_runs.c.comparison)
        if comparisons is not None:
            last = last.where(_runs.c.comparison.in_(comparisons))
        query = select(_runs).where(_runs.c.id.in_(last)).order_by(_runs.c.id.desc())
        return _past(self._connection.execute(query))

    def runs(self, comparison: str, limit: int = 20) -> tuple[PastRun, ...]:
        """The last runs of a comparison, the most recent first."""
        query = select(_runs).where(_runs.c.comparison == comparison)
        return _past(self._connection.execute(query.order_by(_runs.c.id.desc()).limit(limit)))

    def findings(self, comparison: str) -> tuple[Tracked, ...]:
        """The findings of a comparison: open ones first, then those that were fixed."""
        query = select(_findings).where(_findings.c.comparison == comparison)
        query = query.order_by(_findings.c.fixed.is_not(None), _findings.c.since, _findings.c.text)
        return tuple(_tracked(row) for row in self._connection.execute(query))

    def forget(self, comparison: str) -> None:
        """Delete all runs and findings of a comparison."""
        self._connection.execute(delete(_runs).where(_runs.c.comparison == comparison))
        self.forget_findings(comparison)

    def forget_findings(self, comparison: str) -> None:
        """Delete the findings of a comparison, which name keys of its rows."""
        self._connection.execute(delete(_findings).where(_findings.c.comparison == comparison))


@contextmanager
def open_history(url: str) -> Generator[History]:
    """The history in the database of `sqlite:///FILE` or `postgresql://…`, within one transaction.

    Raises:
        UnavailableError: The URL is neither, or the database fails.
    """
    engine = _engine(url)
    try:
        with engine.begin() as connection:
            yield History(connection)
    except (SQLAlchemyError, OSError) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        words = " ".join(str(reason).split())
        raise UnavailableError(
            f"the history cannot be used: {words}; it is in the database of DATABASE_URL"
        ) from None
    finally:
        engine.dispose()


def _engine(url: str) -> Engine:
    try:
        parsed = make_url(url)
        kind = parsed.get_backend_name()
    except (ArgumentError, ValueError, NoSuchModuleError):
        parsed, kind = URL.create("none"), ""
    if kind in {"postgresql", "postgres"}:
        try:
            engine = create_engine(
                parsed.set(drivername="postgresql+psycopg"),
                hide_parameters=True,
                connect_args={"connect_timeout": _BUSY_SECONDS, "prepare_threshold": None},
            )
        except ModuleNotFoundError:
            raise UnavailableError(missing_extra("a history in PostgreSQL", "postgres")) from None
        event.listen(engine, "begin", _limit_statements)
        return engine
    is_file = kind == "sqlite" and parsed.database != ":memory:" and not parsed.query
    if not is_file or not parsed.database:
        raise UnavailableError(
            "the history's URL is not one of sqlite:///FILE, without options, and"
            " postgresql://USER:PASSWORD@HOST/DATABASE; set DATABASE_URL to one of these"
        )
    try:
        create_private(Path(parsed.database))
    except OSError as error:
        raise UnavailableError(
            f"the history's file {parsed.database!r} cannot be opened for writing: {error.strerror}"
        ) from None
    engine = create_engine(parsed, connect_args={"timeout": _BUSY_SECONDS}, hide_parameters=True)
    event.listen(engine, "connect", _no_implicit_begin)
    event.listen(engine, "begin", _begin_writing)
    return engine


def _no_implicit_begin(connection: Any, _record: object) -> None:
    connection.isolation_level = None


def _limit_statements(connection: Connection) -> None:
    connection.exec_driver_sql(f"SET LOCAL statement_timeout = {_BUSY_SECONDS * 1000}")


def _begin_writing(connection: Connection) -> None:
    # A transaction that begins by reading is refused if another has written in the meantime.
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _stand(
    connection: Connection, comparison: str, findings: Sequence[Finding], total: int, stamp: str
) -> Standing:
    query = select(_findings).where(_findings.c.comparison == comparison)
    before = {row.finding: row for row in connection.execute(query) if row.fixed is None}
    current = {finding.id: finding for finding in findings}
    gone = [each for each in before if each not in current] if total <= len(findings) else []
    for chunk in _chunks([*current]):
        stale = _findings.c.comparison == comparison, _findings.c.finding.in_(chunk)
        connection.execute(delete(_findings).where(*stale))
        rows = [
            {
                "comparison": comparison,
                "finding": each,
                **_row(current[each], before.get(each), stamp),
            }
            for each in chunk
        ]
        connection.execute(insert(_findings), rows)
    for chunk in _chunks(gone):
        over = _findings.c.comparison == comparison, _findings.c.finding.in_(chunk)
        connection.execute(update(_findings).where(*over).values(fixed=stamp))
    tracked = {row.finding: _tracked(row) for row in connection.execute(query)}
    today = datetime.fromisoformat(stamp).date()
    groups: dict[State, list[Tracked]] = {"new": [], "open": [], "known": []}
    for each in current:
        groups[tracked[each].state(today)].append(tracked[each])
    untracked = max(0, total - len(current))
    was_untracked = max(0, _last_total(connection, comparison) - len(current))
    return Standing(
        new=tuple(groups["new"]),
        open=tuple(groups["open"]),
        known=tuple(groups["known"]),
        fixed=tuple(tracked[each] for each in gone),
        untracked_new=max(0, untracked - was_untracked),
        untracked_open=min(untracked, was_untracked),
    )


def _row(finding: Finding, before: Row[Any] | None, stamp: str) -> dict[str, Any]:
    """What is stored of a finding; its note and its beginning are those of the run before."""
    sizes = {name: str(size) for name, size in finding.sizes.items()}
    row = {"text": _storable(finding.text, MAX_TEXT), "sizes": json.dumps(sizes)}
    if before is None:
        return {**row, "since": stamp, "note": None, "due": None, "noted": None, "runs": 1}
    kept = {"since": before.since, "note": before.note, "due": before.due, "noted": before.noted}
    return {**row, **kept, "runs": before.runs + 1}


def _last_total(connection: Connection, comparison: str) -> int:
    """How many findings the last run had that did not fail."""
    own = (_runs.c.comparison == comparison) & (_runs.c.verdict != "failed")
    query = select(_runs.c.findings).where(own).order_by(_runs.c.id.desc()).limit(1)
    return connection.execute(query).scalar() or 0


def _noted(note: str | None, due: date | None) -> dict[str, Any]:
    """The columns of a note; without one all are NULL."""
    if note is None:
        return {"note": None, "due": None, "noted": None}
    if not 1 <= len(note.strip()) <= MAX_NOTE:
        raise InvalidInputError(f"a note has 1 to {MAX_NOTE:,} characters")
    day = None if due is None else due.isoformat()
    return {"note": _storable(note), "due": day, "noted": _findings.c.sizes}


def _sizes(text: str | None) -> dict[str, Decimal]:
    return {name: Decimal(size) for name, size in json.loads(text or "{}").items()}


def _storable(text: str, most: int = MAX_NOTE) -> str:
    """At most `most` characters, without those that PostgreSQL cannot store."""
    cut = text if len(text) <= most else f"{text[: most - 1]}…"
    return cut.replace("\0", "\ufffd").encode(errors="replace").decode()


def _chunks(ids: Sequence[str], size: int = 500) -> Generator[Sequence[str]]:
    for start in range(0, len(ids), size):
        yield ids[start : start + size]


def _forget_old(connection: Connection, comparison: str) -> None:
    """Delete runs beyond `MAX_RUNS`, and findings that were fixed before the oldest run kept."""
    ids = select(_runs.c.id, _runs.c.at).where(_runs.c.comparison == comparison)
    oldest = connection.execute(
        ids.order_by(_runs.c.id.desc()).offset(MAX_RUNS - 1).limit(1)
    ).first()
    if oldest is not None:
        own = _runs.c.comparison == comparison
        connection.execute(delete(_runs).where(own, _runs.c.id < oldest.id))
        fixed = _findings.c.comparison == comparison, _findings.c.fixed < oldest.at
        connection.execute(delete(_findings).where(*fixed))


def _matching(connection: Connection, comparison: str, start: str) -> Sequence[Row[Any]]:
    query = select(_findings).where(
        _findings.c.comparison == comparison,
        _findings.c.fixed.is_(None),
        _findings.c.finding.startswith(start, autoescape=True),
    )
    return connection.execute(query.limit(2)).all()


def _tracked(row: Row[Any]) -> Tracked:
    due = None if row.due is None else date.fromisoformat(row.due)
    sizes, noted = _sizes(row.sizes), _sizes(row.noted)
    return Tracked(
        row.finding, row.text, row.since, row.fixed, row.note, due, row.runs, sizes, noted
    )


def _past(rows: Any) -> tuple[PastRun, ...]:
    return tuple(
        PastRun(
            comparison=row.comparison,
            at=row.at,
            verdict=row.verdict,
            findings=row.findings,
            new=row.new,
            open=row.findings - row.new - row.known,
            known=row.known,
            fixed=row.fixed,
        )
        for row in rows
    )
