"""Tables of PostgreSQL that others inherit from: their primary key does not reach those rows."""

from __future__ import annotations

from tests.skillian.data.tables.comparing import compared
from tests.support.postgres import Database

SCRIPT = """
CREATE TABLE a (id bigint PRIMARY KEY, v text);
CREATE TABLE b (id bigint PRIMARY KEY, v text);
CREATE TABLE more () INHERITS (a);
INSERT INTO a VALUES (1, 'x'), (2, 'y'), (3, 'z');
INSERT INTO b VALUES (1, 'x'), (2, 'y'), (3, 'z');
INSERT INTO more VALUES (2, 'y');
"""


def test_a_key_that_is_repeated_in_an_inheriting_table_is_reported(
    postgres_database: Database,
) -> None:
    postgres_database.execute(SCRIPT)
    url = postgres_database.url
    rows = compared(f"{url}#a", f"{url}#b", key=("id",)).rows
    assert (rows.rows_a, rows.rows_b, rows.matched, rows.differing) == (4, 3, 2, 0)
    assert (rows.duplicate_keys_a, rows.duplicate_rows_a) == (1, 2)
    assert (rows.only_in_a, rows.only_in_b, rows.duplicate_rows_b) == (0, 0, 1)
