"""PostgreSQL's types, and its tables."""

from skillian.connectors.base import MAX_DIGITS, ColumnType, Kind

# Every column of every relation. A domain counts as its base type, with the modifier (for numeric:
# precision and scale) of the innermost domain. Then what is declared: the base type with its
# modifier, or the values of an enumeration; NOT NULL, which a view does not say; the collation; and
# the position in the primary key. At the end, whether the role may read it.
CATALOG = """
WITH RECURSIVE base (domain, type, modifier, required) AS (
    SELECT oid, typbasetype, typtypmod, typnotnull
    FROM pg_catalog.pg_type WHERE typtype = 'd'
    UNION ALL
    SELECT base.domain, inner_type.typbasetype, inner_type.typtypmod,
        base.required OR inner_type.typnotnull
    FROM base JOIN pg_catalog.pg_type AS inner_type ON inner_type.oid = base.type
    WHERE inner_type.typtype = 'd'
)
SELECT
    namespace.nspname, relation.relname, attribute.attname,
    type.typname, type.typtype = 'e' OR type.typcategory = 'S',
    COALESCE(base.modifier, attribute.atttypmod),
    pg_catalog.format_type(attribute.atttypid, attribute.atttypmod),
    CASE WHEN type.typtype = 'e' THEN (
        SELECT 'enum(' || string_agg(
            pg_catalog.quote_literal(enumlabel), ', ' ORDER BY enumsortorder) || ')'
        FROM pg_catalog.pg_enum WHERE enumtypid = type.oid
    ) ELSE pg_catalog.format_type(type.oid, COALESCE(base.modifier, attribute.atttypmod)) END,
    CASE WHEN relation.relkind NOT IN ('v', 'm')
        THEN NOT (attribute.attnotnull OR COALESCE(base.required, false)) END,
    CASE WHEN collation_.collname = 'default' THEN (
        SELECT datcollate FROM pg_catalog.pg_database
        WHERE datname = pg_catalog.current_database()
    ) ELSE collation_.collname
        || CASE WHEN collation_.collisdeterministic THEN '' ELSE ' (nondeterministic)' END END,
    -- A primary key does not reach the tables that inherit, whose rows a query reads too.
    CASE WHEN relation.relkind = 'p' OR NOT relation.relhassubclass
        THEN pg_catalog.array_position(key.indkey::int2[], attribute.attnum) + 1 END,
    pg_catalog.has_schema_privilege(namespace.oid, 'USAGE')
        AND pg_catalog.has_column_privilege(relation.oid, attribute.attnum, 'SELECT')
FROM pg_catalog.pg_class AS relation
JOIN pg_catalog.pg_namespace AS namespace ON namespace.oid = relation.relnamespace
JOIN pg_catalog.pg_attribute AS attribute ON attribute.attrelid = relation.oid
LEFT JOIN base
    ON base.domain = attribute.atttypid
    AND base.type NOT IN (SELECT oid FROM pg_catalog.pg_type WHERE typtype = 'd')
JOIN pg_catalog.pg_type AS type ON type.oid = COALESCE(base.type, attribute.atttypid)
LEFT JOIN pg_catalog.pg_collation AS collation_ ON collation_.oid = attribute.attcollation
LEFT JOIN pg_catalog.pg_index AS key ON key.indrelid = relation.oid AND key.indisprimary
WHERE relation.relkind IN ('r', 'v', 'm', 'f', 'p')
    AND attribute.attnum > 0 AND NOT attribute.attisdropped
    AND namespace.nspname NOT IN ('pg_catalog', 'information_schema')
    AND namespace.nspname NOT LIKE 'pg\\_toast%' AND namespace.nspname NOT LIKE 'pg\\_temp%'
ORDER BY
    -- The search path skips a schema that the role may not use, but not a table.
    NOT pg_catalog.has_schema_privilege(namespace.oid, 'USAGE'),
    namespace.nspname IS DISTINCT FROM pg_catalog.current_schema(),
    COALESCE(
        pg_catalog.array_position(pg_catalog.current_schemas(false), namespace.nspname), 1000
    ),
    namespace.nspname COLLATE "C", relation.relname COLLATE "C", attribute.attnum
"""
# The same for the types of a statement's columns.
TYPES = """
SELECT
    type.typname, type.typtype = 'e' OR type.typcategory = 'S',
    given.modifier, pg_catalog.format_type(given.oid, given.modifier)
FROM unnest(%s::oid[], %s::int[]) WITH ORDINALITY AS given (oid, modifier, position)
JOIN pg_catalog.pg_type AS type ON type.oid = given.oid
ORDER BY given.position
"""

_KINDS: dict[str, Kind] = {
    "bool": "boolean",
    "int2": "integer",
    "int4": "integer",
    "int8": "integer",
    "float4": "float",
    "float8": "float",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "timestamptz",
}


def column_type(name: str, is_text: object, modifier: int, written: str) -> ColumnType:
    """The kind of a type by its name in `pg_type` and its modifier.

    `written` is PostgreSQL's text for it. A numeric without a scale is "other".
    """
    if name == "numeric" and modifier >= 0:
        # Eleven bits with a sign: a scale of -2 means whole hundreds.
        scale = ((modifier - 4 & 0x7FF) ^ 0x400) - 0x400
        if scale <= MAX_DIGITS:
            return ColumnType("decimal", written, max(scale, 0))
    return ColumnType(_KINDS.get(name, "text" if is_text else "other"), written)
