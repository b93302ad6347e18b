"""A session's variables as bytes, and back: written and read inside the sandbox only.

Modules and library functions are kept by name, functions and classes of the code by their source,
and everything else as data (`codec/objects.py`). What was written is read again before it is handed
over, and what does not come back as the same bytes is refused.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Callable, Collection
from typing import Any, NamedTuple

from ..codec.objects import ObjectWriter
from ..codec.rebuild import ObjectReader
from ..codec.refusal import CannotKeepError
from .definitions import is_definition, is_of_library, only_restored, restore, source_of

MAX_BYTES = 1 << 30
"""Of the text of a snapshot, unpacked."""
MAX_DATA = 32_000_000
"""Of a snapshot, compressed: a little less than what one frame can carry."""
_MAIN = "__main__"
_ROUNDS = 8


class Contents(NamedTuple):
    """The contents of a snapshot.

    Args:
        data: The compressed text.
        kept: The names that are in it.
        refused: For each other name its kind and the reason.
    """

    data: bytes
    kept: list[str]
    refused: dict[str, tuple[str, str]]


def dump(
    variables: dict[str, Any], helpers: Collection[str], allowed: Callable[[str], bool]
) -> Contents:
    """Write the variables of the code, without helpers and names with two underscores."""
    names = [name for name in variables if not name.startswith("__") and name not in helpers]
    refused: dict[str, tuple[str, str]] = {}
    for _ in range(_ROUNDS):
        own = {name: variables[name] for name in names if name not in refused}
        text, more = _write(own)
        refused.update(more)
        differing = _differing(text, allowed)
        if not differing:
            kept = [name for name in names if name not in refused]
            data = zlib.compress(text.encode(), 1)
            if len(data) > MAX_DATA:
                raise ValueError(
                    f"the snapshot takes {len(data):,} bytes, compressed; at most {MAX_DATA:,} are"
                    " written: delete large variables, or save them as files"
                )
            return Contents(data, kept, refused)
        refused.update(differing)
    raise CannotKeepError("session", "it does not come back as it is")


def load(data: bytes, allowed: Callable[[str], bool]) -> dict[str, Any]:
    """The variables of a snapshot.

    Raises:
        ValueError: It is not one, or needs modules that may not be imported.
    """
    unpack = zlib.decompressobj()
    try:
        text = unpack.decompress(data, MAX_BYTES)
    except zlib.error as error:
        raise ValueError(f"it is damaged: {error}") from None
    if unpack.unconsumed_tail or not unpack.eof:
        raise ValueError(f"it is damaged, or has more than {MAX_BYTES:,} bytes")
    variables, failed = _read(json.loads(text), allowed)
    for name, (_, reason) in failed.items():
        raise ValueError(f"{name} cannot be defined: {reason}")
    return variables


def _write(own: dict[str, Any]) -> tuple[str, dict[str, tuple[str, str]]]:
    refused: dict[str, tuple[str, str]] = {}
    sources: dict[str, str] = {}
    for name, value in own.items():
        if is_definition(value) and value.__name__ in {name, "<lambda>"}:
            try:
                sources[name] = source_of(name, value)
            except CannotKeepError as error:
                refused[name] = (error.kind, error.reason)
    writer = ObjectWriter({id(own[name]): name for name in sources})
    parts: dict[str, list[Any]] = {"libraries": [], "values": []}
    for name, value in own.items():
        if name in refused or name in sources:
            continue
        part = parts["libraries" if is_of_library(value) else "values"]
        try:
            part.append([name, writer.attempt(value)])
        except CannotKeepError as error:
            refused[name] = (error.kind, error.reason)
    body = {"libraries": parts["libraries"], "definitions": list(sources.items())}
    return json.dumps({**body, "values": parts["values"], "order": list(own)}), refused


def _read(
    body: dict[str, Any], allowed: Callable[[str], bool]
) -> tuple[dict[str, Any], dict[str, tuple[str, str]]]:
    """The variables, and which definitions cannot be run."""
    variables: dict[str, Any] = {"__name__": _MAIN}
    definitions: dict[str, Any] = {}
    failed: dict[str, tuple[str, str]] = {}
    reader = ObjectReader(definitions, allowed)
    for name, data in body["libraries"]:
        variables[name] = reader.value(data)
    for name, text in body["definitions"]:
        try:
            definitions[name] = restore(name, text, variables)
        except Exception as error:  # noqa: BLE001 - a definition is code of any kind
            failed[name] = ("definition", f"it needs what is not kept ({error})")
    if not failed:
        for name, data in body["values"]:
            variables[name] = reader.value(data)
    order = body["order"]
    return {name: variables[name] for name in order if name in variables}, failed


def _differing(text: str, allowed: Callable[[str], bool]) -> dict[str, tuple[str, str]]:
    """The names that would not come back as they are."""
    body = json.loads(text)
    with only_restored():
        variables, failed = _read(body, allowed)
        if failed:
            return failed
        again, refused = _write(variables)
    if refused:
        return refused
    other = json.loads(again)
    return {
        one[0]: ("value", "it does not come back as it is")
        for part in ("libraries", "definitions", "values")
        for one, two in zip(body[part], other[part], strict=True)
        if one != two
    }
