from tests.support.postgres import FOLDER, Database, rows_of

from skillian.connectors.base import ColumnType
from skillian.connectors.postgres.connector import PostgresConnector

SCHEMA = """
CREATE SCHEMA other;
CREATE DOMAIN cents AS numeric(17, 2) NOT NULL;
CREATE DOMAIN positive_cents AS cents CHECK (VALUE > 0);
CREATE TYPE side AS ENUM ('debit', 'it''s');
CREATE TABLE "a ""b"" table" (
    "select" numeric(17, 2), "Größe" bigint, domain positive_cents, side side, free numeric,
    wide numeric(40, 39), hundreds numeric(5, -2), code char(4),
    name varchar(10) COLLATE "C", note text, flag boolean, small smallint, ratio real, day date,
    moment timestamp, instant timestamptz, price money, document json, numbers int[], key uuid,
    dropped int, PRIMARY KEY (name, small)
);
ALTER TABLE "a ""b"" table" DROP COLUMN dropped;
CREATE VIEW other.v AS SELECT DATE '2024-01-31' AS d;
CREATE MATERIALIZED VIEW m AS SELECT 1 AS x;
CREATE TABLE parts (period int) PARTITION BY LIST (period);
CREATE TABLE parts_1 PARTITION OF parts FOR VALUES IN (1);
"""


async def test_the_catalogue_has_all_relations_with_their_types(
    postgres_connector: PostgresConnector, postgres_database: Database
) -> None:
    postgres_database.execute(SCHEMA)
    tables = await postgres_connector.catalog()
    assert [(table.schema, table.name) for table in tables] == [
        ("public", 'a "b" table'),
        ("public", "m"),
        ("public", "parts"),
        ("public", "parts_1"),
        ("other", "v"),
    ]
    assert tables[0].columns == {
        "select": ColumnType("decimal", "numeric(17,2)", 2),
        "Größe": ColumnType("integer", "bigint"),
        "domain": ColumnType("decimal", "positive_cents", 2),
        "side": ColumnType("text", "side"),
        "free": ColumnType("other", "numeric"),
        "wide": ColumnType("other", "numeric(40,39)"),
        "hundreds": ColumnType("decimal", "numeric(5,-2)", 0),
        "code": ColumnType("text", "character(4)"),
        "name": ColumnType("text", "character varying(10)"),
        "note": ColumnType("text", "text"),
        "flag": ColumnType("boolean", "boolean"),
        "small": ColumnType("integer", "smallint"),
        "ratio": ColumnType("float", "real"),
        "day": ColumnType("date", "date"),
        "moment": ColumnType("timestamp", "timestamp without time zone"),
        "instant": ColumnType("timestamptz", "timestamp with time zone"),
        "price": ColumnType("other", "money"),
        "document": ColumnType("other", "json"),
        "numbers": ColumnType("other", "integer[]"),
        "key": ColumnType("other", "uuid"),
    }
    declared = tables[0].declared
    assert (tables[0].engine, tables[0].primary_key) == ("postgres", ("name", "small"))
    assert [name for name, each in declared.items() if each.nullable is False] == [
        *("domain", "name", "small")
    ]
    assert (declared["domain"].type, declared["side"].type) == (
        *("numeric(17,2)", "enum('debit', 'it''s')"),
    )
    assert [declared[name].collation for name in ("name", "small")] == ["C", ""]
    assert declared["note"].collation
    assert (tables[4].primary_key, tables[4].declared["d"].nullable) == ((), None)
    described = await postgres_connector.describe('SELECT * FROM "a ""b"" table"')
    assert [kind.kind for kind in described.values()] == [
        kind.kind for kind in tables[0].columns.values()
    ]


async def test_the_catalogue_has_only_what_the_role_may_read(
    postgres_database: Database, postgres_reader: str
) -> None:
    postgres_database.execute(
        "CREATE TABLE seen (x int, hidden int); CREATE TABLE unseen (x int);"
        " CREATE SCHEMA closed; CREATE TABLE closed.t (x int);"
        " GRANT SELECT (x) ON seen TO reader; GRANT SELECT ON closed.t TO reader;"
        " CREATE SCHEMA mine; CREATE TABLE mine.first (x int); GRANT USAGE ON SCHEMA mine TO"
        " reader; GRANT SELECT ON mine.first TO reader; ALTER ROLE reader SET search_path = mine"
    )
    connector = PostgresConnector.from_url("books", postgres_reader, FOLDER)
    found = [(table.schema, table.name, [*table.columns]) for table in await connector.catalog()]
    assert found == [("mine", "first", ["x"]), ("public", "seen", ["x"])]
    assert await rows_of(connector, "SELECT * FROM first") == []
    await connector.aclose()
