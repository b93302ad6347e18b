"""The steps from an empty database to today's tables, in SQL that both databases read.

A step that was released is never changed; a change is a new step at the end.
"""

from collections.abc import Sequence

from sqlalchemy import Connection, text

from skillian.storage.database import Database
from skillian.storage.errors import StoreUrlError

_APPLIED = """
CREATE TABLE IF NOT EXISTS skillian_migrations (number INTEGER PRIMARY KEY, applied TEXT NOT NULL)
"""
_ONE_AT_A_TIME = 7_532_116_904  # a number of our own among the server's advisory locks

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
)


async def migrate(database: Database, migrations: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Bring the tables up to date; processes that start at once apply each step once.

    Raises:
        StoreUrlError: a newer version of skillian has written there.
    """
    newest = await database.write(lambda connection: _newest(database, connection))
    if newest > len(migrations):
        raise StoreUrlError(
            f"the database was written by a newer skillian (its step {newest}, this one knows"
            f" {len(migrations)}); install that version, or set another database"
        )
    for number in range(newest + 1, len(migrations) + 1):
        await _apply(database, number, migrations[number - 1])


async def _apply(database: Database, number: int, statements: Sequence[str]) -> None:
    def step(connection: Connection) -> None:
        if _newest(database, connection) >= number:
            return  # another process was quicker
        for statement in statements:
            connection.execute(text(statement))
        now = database.now(connection)
        connection.execute(
            text("INSERT INTO skillian_migrations (number, applied) VALUES (:number, :applied)"),
            {"number": number, "applied": now.isoformat()},
        )

    await database.write(step)


def _newest(database: Database, connection: Connection) -> int:
    """The number of the last step applied; others wait from here until the transaction ends."""
    if database.is_postgres:
        lock = text("SELECT pg_advisory_xact_lock(:number)")
        connection.execute(lock, {"number": _ONE_AT_A_TIME})
    connection.execute(text(_APPLIED))
    newest = connection.scalar(text("SELECT max(number) FROM skillian_migrations"))
    return int(newest or 0)
