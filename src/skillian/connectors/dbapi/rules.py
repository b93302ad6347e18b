"""A vendor's SQL as a table: names of types, and templates for what sqlglot does not translate."""

from collections.abc import Mapping

from sqlglot import exp

from skillian.connectors import ENGINES
from skillian.connectors.dialects import Adapt, Casts, Change, adapter, replaced
from skillian.errors import QueryError

_Type = exp.DataType.Type
_TIMESTAMPS = (_Type.TIMESTAMP, _Type.TIMESTAMPNTZ, _Type.DATETIME)


def vendor_rules(
    dialect: str,
    *,
    text: str,
    timestamp: str,
    timestamptz: str,
    whole: str,
    functions: Mapping[type[exp.Expr], Change | None],
) -> Adapt:
    """The `adapt` of a vendor.

    Args:
        dialect: The sqlglot dialect of the templates.
        text: The template of a value as text; texts are compared by their bytes.
        timestamp: The template of the text of a timestamp: `2024-01-31 10:00:00.5`, without zeros
            at the end of the fraction.
        timestamptz: The same in UTC, with `+00` at its end.
        whole: The widest type of whole numbers.
        functions: The change of each kind of node that sqlglot translates to something else; None
            if there is no equivalent.
    """

    def refuse(node: exp.Expr) -> exp.Expr:
        if node.meta.get("lenient"):
            return replaced(node.this, adapt)
        title = next(engine.title for engine in ENGINES if engine.dialect == dialect)
        raise QueryError(
            f"{title} has no equivalent of {type(node).__name__}; compare without it, or export the"
            " table to a file"
        )

    changes = {kind: change or refuse for kind, change in functions.items()}
    casts: Casts = {
        _Type.INT128: f"CAST(v AS {whole})",
        _Type.TEXT: text,
        (_Type.TEXT, _Type.TIMESTAMPTZ): timestamptz,
        **{(_Type.TEXT, kind): timestamp for kind in _TIMESTAMPS},
    }
    adapt = adapter(dialect, changes, casts)
    return adapt
