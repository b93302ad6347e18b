"""The schemas of two sources of a comparison."""

from collections.abc import Collection, Iterator

from skillian.data.query.binding import BoundSource
from skillian.data.schema.diff import SchemaDiff, compare_schemas


def compare_source_schemas(
    a: BoundSource, b: BoundSource, undeclared: Collection[str]
) -> SchemaDiff | None:
    """Compare the schemas of the tables of two sources.

    The columns of a logical name belong together. A column on one side is a finding if both
    sources are among `undeclared`, the whole tables; a declared source says what to compare.
    """
    if a.table is None or b.table is None:
        return None
    mapping: dict[str, str] = {}
    for one, other in _common(a, b):
        if one not in mapping and other not in mapping.values():
            mapping[one] = other
    diff = compare_schemas(a.table, b.table, mapping, names=(a.name, b.name))
    return diff if {a.name, b.name} <= {*undeclared} else diff.without_findings()


def _common(a: BoundSource, b: BoundSource) -> Iterator[tuple[str, str]]:
    """Yield the columns that dimensions and measures of the same name have on both sides."""
    for names in ("dimensions", "measures"):
        others = getattr(b.definition, names)
        for name, definition in getattr(a.definition, names).items():
            if name in others:
                columns = a.column_of(definition.column), b.column_of(others[name].column)
                if columns[0] is not None and columns[1] is not None:
                    yield columns[0], columns[1]
