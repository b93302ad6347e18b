"""The history in SQLite or PostgreSQL: runs of saved comparisons, and their findings."""

import shlex
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, date, datetime
from pathlib import Path
from typing import Any

from sqlalchemy import (
    URL,
    Column,
    Connection,
    Engine,
    Index,
    Integer,
    MetaData,
    Row,
    Table,
    Text,
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
from skillian.history.findings import Finding, Standing, Tracked
from skillian.private_files import create_private

MAX_RUNS = 1000
"""How many runs of a comparison are kept."""
MAX_NOTE = 2000
MAX_TEXT = 500
_BUSY_SECONDS = 10

_tables = MetaData()
_runs = Table(
    "skillian_history_runs",
    _tables,
    Column("id", Integer, primary_key=True),
    Column("comparison", Text, nullable=False),
    Column("at", Text, nullable=False),
    Column("verdict", Text, nullable=False),
    Column("findings", Integer, nullable=False),
    Column("new", Integer, nullable=False),
    Column("known", Integer, nullable=False),
    Column("fixed", Integer, nullable=False),
    Index("skillian_history_runs_by_comparison", "comparison", "id"),
)
_findings = Table(
    "skillian_history_findings",
    _tables,
    Column("comparison", Text, primary_key=True),
    Column("finding", Text, primary_key=True),
    Column("text", Text, nullable=False),
    Column("since", Text, nullable=False),
    Column("fixed", Text),
    Column("note", Text),
    Column("due", Text),
)


@dataclass(frozen=True, slots=True)
class PastRun:
    """One run of a saved comparison: when it began in UTC, its verdict, and counts of findings."""

    comparison: str
    at: str
    verdict: str
    findings: int
    new: int
    known: int
    fixed: int

    def to_dict(self) -> dict[str, object]:
        """The run for JSON."""
        return {
            "comparison": self.comparison,
            "at": self.at,
            "verdict": self.verdict,
            "findings": self.findings,
            "new": self.new,
            "known": self.known,
            "fixed": self.fixed,
        }


class History:
    """Runs of saved comparisons, within one transaction; missing tables are created.

    Args:
        connection: To the database; whoever began the transaction ends it.
    """

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        _tables.create_all(connection)

    def record(
        self,
        comparison: str,
        verdict: str,
        findings: Sequence[Finding],
        total: int,
        at: datetime | None = None,
    ) -> Standing:
        """Add a run, and return how its findings compare with the runs before.

        A run that failed changes no finding, and one with more findings than are tracked fixes
        none, since a missing one may be among the others.

        Args:
            comparison: The name of the saved comparison.
            verdict: `equal`, `findings` or `failed`.
            findings: Its tracked findings.
            total: The number of all its findings.
            at: When it began; None means now.
        """
        moment = (at or datetime.now(UTC)).astimezone(UTC)
        stamp = moment.isoformat(timespec="seconds")
        if self._connection.dialect.name == "postgresql":
            # Two runs at once would both insert the same finding.
            self._connection.execute(
                text("LOCK TABLE skillian_history_findings IN SHARE ROW EXCLUSIVE MODE")
            )
        standing = Standing((), (), ())
        if verdict != "failed":
            standing = _stand(self._connection, comparison, findings, total, stamp)
        new = len(standing.new) + standing.untracked
        counts = {"new": new, "known": len(standing.known), "fixed": len(standing.fixed)}
        row = {"comparison": comparison, "at": stamp, "verdict": verdict, "findings": total}
        self._connection.execute(insert(_runs).values(**row, **counts))
        _forget_old(self._connection, comparison)
        return standing

    def note(self, comparison: str, finding: str, note: str | None, due: date | None) -> Tracked:
        """Mark a finding as known until the day `due`, or as new again with a `note` of None.

        Args:
            comparison: The name of the saved comparison.
            finding: The id of the finding, or the beginning of it.
            note: What is known about it.
            due: The last day on which it counts as known; None means no end.

        Raises:
            InvalidInputError: There is not exactly one such finding, or the note is too long.
        """
        if note is not None and not 1 <= len(note.strip()) <= MAX_NOTE:
            raise InvalidInputError(f"a note has 1 to {MAX_NOTE:,} characters")
        rows = _matching(self._connection, comparison, finding)
        if len(rows) != 1:
            reason = "more than one finding begins with" if rows else "there is no open finding"
            raise InvalidInputError(
                f"{reason} {quoted(finding)} in {quoted(comparison)};"
                f" list them with: skillian history show {shlex.quote(comparison)}"
            )
        values = {
            "note": note and _storable(note),
            "due": due.isoformat() if note and due else None,
        }
        here = (_findings.c.comparison == comparison) & (_findings.c.finding == rows[0].finding)
        self._connection.execute(update(_findings).where(here).values(**values))
        return _tracked(self._connection.execute(select(_findings).where(here)).one())

    def latest(self) -> tuple[PastRun, ...]:
        """The last run of each comparison, the most recent first."""
        last = select(func.max(_runs.c.id)).group_by(_runs.c.comparison)
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
    """The history in this database; the block is one transaction.

    Args:
        url: `sqlite:///FILE` or `postgresql://…`.

    Raises:
        UnavailableError: The URL is neither, or the database fails.
    """
    engine = _engine(url)
    try:
        with engine.begin() as connection:
            yield History(connection)
    except (SQLAlchemyError, OSError) as error:
        reason = error.orig if isinstance(error, DBAPIError) else error
        raise UnavailableError(f"the history cannot be used: {reason}") from None
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
    if kind != "sqlite" or not parsed.database or parsed.database == ":memory:":
        raise UnavailableError(
            "the history's URL is not one of sqlite:///FILE and"
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
    before = {row.finding: row for row in connection.execute(query)}
    current = {finding.id: finding for finding in findings}
    added = [each for each in current if each not in before or before[each].fixed is not None]
    gone = [each for each, row in before.items() if row.fixed is None and each not in current]
    gone = gone if total <= len(findings) else []
    for chunk in _chunks(added):
        stale = _findings.c.comparison == comparison, _findings.c.finding.in_(chunk)
        connection.execute(delete(_findings).where(*stale))
        rows = [
            {
                "comparison": comparison,
                "finding": each,
                "text": _storable(current[each].text, MAX_TEXT),
                "since": stamp,
            }
            for each in chunk
        ]
        connection.execute(insert(_findings), rows)
    for chunk in _chunks(gone):
        over = _findings.c.comparison == comparison, _findings.c.finding.in_(chunk)
        connection.execute(update(_findings).where(*over).values(fixed=stamp))
    tracked = {row.finding: _tracked(row) for row in connection.execute(query)}
    today = datetime.fromisoformat(stamp).date()
    states = {each: tracked[each].state(today) for each in current}
    return Standing(
        new=tuple(tracked[each] for each in current if states[each] == "new"),
        known=tuple(tracked[each] for each in current if states[each] == "known"),
        fixed=tuple(tracked[each] for each in gone),
        untracked=max(0, total - len(current)),
    )


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
    return Tracked(row.finding, row.text, row.since, row.fixed, row.note, due)


def _past(rows: Any) -> tuple[PastRun, ...]:
    return tuple(
        PastRun(row.comparison, row.at, row.verdict, row.findings, row.new, row.known, row.fixed)
        for row in rows
    )
