"""Meanings of Arrow fields that are lost if only the stored values are read."""

from __future__ import annotations

from collections.abc import Generator, Mapping
from typing import Any

from skillian.connectors.arrow import arrow

# DuckDB has them itself, or they name a type of a database, whose values say all.
_KNOWN = frozenset({"arrow.json", "arrow.uuid", "arrow.bool8", "arrow.opaque"})


def meanings_lost(stated: bytes) -> dict[str, str]:
    """The columns of a Parquet file whose stored values need their type to be understood, with it.

    Args:
        stated: The file's `ARROW:schema`: a schema in Arrow's IPC format.
    """
    try:
        schema = arrow.ipc.read_schema(arrow.py_buffer(stated))
    except (arrow.ArrowException, OSError):
        return {}
    lost: dict[str, str] = {}
    for field in schema:
        for part in parts_of(field):
            is_duration = arrow.types.is_duration(part.type)
            meaning = extension_of(part) or (str(part.type) if is_duration else "")
            if meaning:
                lost[field.name] = meaning
    return lost


def parts_of(field: Any) -> Generator[Any]:
    """A field and all that its type is made of."""
    yield field
    for each in fields_of(field):
        yield from parts_of(each)


def fields_of(field: Any) -> list[Any]:
    """The fields that the type of a field is made of."""
    kind = field.type
    if arrow.types.is_struct(kind) or arrow.types.is_union(kind):
        return [kind.field(position) for position in range(kind.num_fields)]
    names = ("key_field", "item_field") if arrow.types.is_map(kind) else ("value_field",)
    fields = [getattr(kind, name) for name in names if hasattr(kind, name)]
    if not fields and hasattr(kind, "value_type"):  # of categories, of runs
        return [arrow.field(field.name, kind.value_type)]
    return fields


def extension_of(field: Any) -> str:
    """An extension type with parameters, such as the unit of a period; empty for another."""
    if isinstance(field.type, arrow.BaseExtensionType):
        return "" if field.type.extension_name in _KNOWN else str(field.type)
    metadata: Mapping[bytes, bytes] = field.metadata or {}
    name = metadata.get(b"ARROW:extension:name", b"").decode()
    has_parameters = metadata.get(b"ARROW:extension:metadata") or name == "arrow.parquet.variant"
    return name if has_parameters and name not in _KNOWN else ""
