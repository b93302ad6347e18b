"""The tables: the migrations that make them, and how statements see them.

A migration that was released is never changed; a change is a new migration at the end. Their SQL
runs on both databases.
"""

from collections.abc import Sequence

from sqlalchemy import Column, Connection, Integer, MetaData, Table, Text, text

from skillian.storage.database import Database
from skillian.storage.errors import StoreUrlError

metadata = MetaData()

sessions = Table(
    "skillian_sessions",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text),
    Column("title", Text),
    Column("created", Text),
    Column("updated", Text),
)

# At most one turn of a session is `running`, and that is its last; the others are `done` or
# `broken`. `last_message` and `last_event` are the session's highest numbers as of this turn.
turns = Table(
    "skillian_turns",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("state", Text),
    Column("holder", Text),
    Column("lease_until", Text),
    Column("last_message", Integer),
    Column("last_event", Integer),
)

# Rows are only added. A message whose `shown` is 1 is always shown; the
# others are shown when the turn is done.
messages = Table(
    "skillian_messages",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("turn", Integer),
    Column("shown", Integer),
    Column("body", Text),
)

events = Table(
    "skillian_events",
    metadata,
    Column("session_id", Text, primary_key=True),
    Column("number", Integer, primary_key=True),
    Column("turn", Integer),
    Column("type", Text),
    Column("body", Text),
)

comparisons = Table(
    "skillian_comparisons",
    metadata,
    Column("key", Text, primary_key=True),
    Column("body", Text),
    Column("expires", Text),
)

# A comparison in the background. A job whose lease has run out while it is `queued` or `running`
# is interrupted: its process has ended. `question` is what it compares, as JSON, `verdict` that of
# its result, and `saved` the saved comparison that it runs; each may be empty.
jobs = Table(
    "skillian_jobs",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text),
    Column("title", Text),
    Column("state", Text),
    Column("progress", Text),
    Column("result", Text),
    Column("error", Text),
    Column("created", Text),
    Column("updated", Text),
    Column("lease_until", Text),
    Column("question", Text),
    Column("verdict", Text),
    Column("saved", Text),
)

# `shared` is 1 if every key may open it.
saved = Table(
    "skillian_saved",
    metadata,
    Column("id", Text, primary_key=True),
    Column("owner", Text),
    Column("name", Text),
    Column("question", Text),
    Column("shared", Integer),
    Column("last_key", Text),
    Column("created", Text),
)

_APPLIED = """
CREATE TABLE IF NOT EXISTS skillian_migrations (number INTEGER PRIMARY KEY, applied TEXT NOT NULL)
"""
_ONE_AT_A_TIME = 7_532_116_904  # our number among the server's advisory locks

MIGRATIONS: Sequence[Sequence[str]] = (
    (
        """
        CREATE TABLE skillian_sessions (
            id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            title TEXT NOT NULL,
            created TEXT NOT NULL,
            updated TEXT NOT NULL
        )
        """,
        "CREATE INDEX skillian_sessions_listed ON skillian_sessions (owner, updated, id)",
        "CREATE INDEX skillian_sessions_updated ON skillian_sessions (updated)",
        """
        CREATE TABLE skillian_turns (
            session_id TEXT NOT NULL REFERENCES skillian_sessions (id) ON DELETE CASCADE,
            number INTEGER NOT NULL,
            state TEXT NOT NULL CHECK (state IN ('running', 'done', 'broken')),
            holder TEXT NOT NULL,
            lease_until TEXT NOT NULL,
            last_message INTEGER NOT NULL,
            last_event INTEGER NOT NULL,
            PRIMARY KEY (session_id, number)
        )
        """,
        """
        CREATE UNIQUE INDEX skillian_turns_running ON skillian_turns (session_id)
        WHERE state = 'running'
        """,
        """
        CREATE TABLE skillian_messages (
            session_id TEXT NOT NULL,
            position INTEGER NOT NULL,
            turn INTEGER NOT NULL,
            shown INTEGER NOT NULL CHECK (shown IN (0, 1)),
            body TEXT NOT NULL,
            PRIMARY KEY (session_id, position),
            FOREIGN KEY (session_id, turn)
                REFERENCES skillian_turns (session_id, number) ON DELETE CASCADE
        )
        """,
        "CREATE INDEX skillian_messages_turn ON skillian_messages (session_id, turn)",
        """
        CREATE TABLE skillian_events (
            session_id TEXT NOT NULL,
            number INTEGER NOT NULL,
            turn INTEGER NOT NULL,
            type TEXT NOT NULL,
            body TEXT NOT NULL,
            PRIMARY KEY (session_id, number),
            FOREIGN KEY (session_id, turn)
                REFERENCES skillian_turns (session_id, number) ON DELETE CASCADE
        )
        """,
        "CREATE INDEX skillian_events_turn ON skillian_events (session_id, turn)",
        """
        CREATE TABLE skillian_comparisons (
            key TEXT PRIMARY KEY,
            body TEXT NOT NULL,
            expires TEXT NOT NULL
        )
        """,
        "CREATE INDEX skillian_comparisons_expires ON skillian_comparisons (expires)",
    ),
    (
        """
        CREATE TABLE skillian_jobs (
            id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            title TEXT NOT NULL,
            state TEXT NOT NULL,
            progress TEXT NOT NULL,
            result TEXT NOT NULL,
            error TEXT NOT NULL,
            created TEXT NOT NULL,
            updated TEXT NOT NULL,
            lease_until TEXT NOT NULL
        )
        """,
        "CREATE INDEX skillian_jobs_listed ON skillian_jobs (owner, created, id)",
        "CREATE INDEX skillian_jobs_updated ON skillian_jobs (updated)",
    ),
    (
        """
        CREATE TABLE skillian_saved (
            id TEXT PRIMARY KEY,
            owner TEXT NOT NULL,
            name TEXT NOT NULL,
            question TEXT NOT NULL,
            shared INTEGER NOT NULL CHECK (shared IN (0, 1)),
            last_key TEXT NOT NULL,
            created TEXT NOT NULL
        )
        """,
        "CREATE INDEX skillian_saved_listed ON skillian_saved (owner, created, id)",
    ),
    (
        "ALTER TABLE skillian_jobs ADD COLUMN question TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE skillian_jobs ADD COLUMN verdict TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE skillian_jobs ADD COLUMN saved TEXT NOT NULL DEFAULT ''",
        "CREATE INDEX skillian_jobs_saved ON skillian_jobs (saved, created, id)",
    ),
)


async def migrate(database: Database, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the tables up to date; processes that start together apply each migration once.

    Raises:
        StoreUrlError: A newer version of skillian has written to the database.
    """
    newest = await database.write(lambda connection: _newest(database, connection))
    if newest > len(migrations):
        raise StoreUrlError(
            f"the database was written by a newer version of skillian (its migration {newest}; this"
            f" version has {len(migrations)}); install that version, or set another database"
        )
    for number in range(newest + 1, len(migrations) + 1):
        await _apply(database, number, migrations[number - 1])


async def _apply(database: Database, number: int, statements: Sequence[str]) -> None:
    def step(connection: Connection) -> None:
        if _newest(database, connection) >= number:
            return  # another process was first
        for statement in statements:
            connection.execute(text(statement))
        now = database.now(connection)
        connection.execute(
            text("INSERT INTO skillian_migrations (number, applied) VALUES (:number, :applied)"),
            {"number": number, "applied": now.isoformat()},
        )

    await database.write(step)


def _newest(database: Database, connection: Connection) -> int:
    """The last migration applied; other processes wait here until the transaction ends."""
    if database.is_postgres:
        lock = text("SELECT pg_advisory_xact_lock(:number)")
        connection.execute(lock, {"number": _ONE_AT_A_TIME})
    connection.execute(text(_APPLIED))
    newest = connection.scalar(text("SELECT max(number) FROM skillian_migrations"))
    return int(newest or 0)
