"""Writes inferred sources as a `sources.yaml` that a user can edit."""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

import yaml

from skillian.connectors import PATHS, scheme
from skillian.data.declare.definitions import Definition
from skillian.data.declare.infer import Inferred, InferredSource
from skillian.data.declare.sources import VARIABLE, options_of

_ENDLESS = 1_000_000
_NO_SECRETS = ("database", "use_ssl")
"""Options of Spark Connect that anybody may read."""


def written(databases: Sequence[tuple[Inferred, str]]) -> str:
    """The text of a `sources.yaml` for databases and their URLs, without any secret of a URL."""
    return "\n".join(_lines(databases)).rstrip() + "\n"


def secret_variable(connection: str, url: str) -> str | None:
    """The name of an environment variable for a URL with a secret, otherwise None."""
    if scheme(url) in PATHS or not has_secret(url):
        return None
    name = re.sub(r"\W", "_", connection, flags=re.ASCII).upper()
    return f"{name if name[0].isalpha() else 'DB_' + name}_URL"


def has_secret(url: str) -> bool:
    """Whether a URL has a password, or a value of an option, that is not a variable."""
    try:
        values = [value for name, value in options_of(url) if name not in _NO_SECRETS]
        values.append(urlsplit(url).password or "")
    except ValueError:
        return True
    return any(VARIABLE.sub("", value) for value in values)


def _lines(databases: Sequence[tuple[Inferred, str]]) -> Iterator[str]:
    yield "# Inferred from the database: check the marked lines, and choose names that people use."
    yield "connections:"
    for inferred, url in databases:
        variable = secret_variable(inferred.connection, url)
        if variable is not None:
            yield f"  # the environment variable {variable} contains the URL with its password"
        reference = url if variable is None else f"${{{variable}}}"
        yield f"  {_flow(inferred.connection)}: {_flow(reference)}"
    yield ""
    yield "sources:"
    every = [source for inferred, _ in databases for source in inferred.sources]
    parts = [text for source in every for text in _parts(source).values()]
    anchors: dict[str, str] = {}
    for source in every:
        yield from _source(source, {text for text in parts if parts.count(text) > 1}, anchors)
    for inferred, _ in databases:
        for table, reason in inferred.omitted.items():
            yield f"  # omitted: {_comment(f'{table}: {reason}')}"
    if databases and (align_on := databases[-1][0].align_on):
        yield "comparison:"
        yield "  # check: the key of a comparison, as far as both sources have these dimensions"
        yield f"  default_align_on: {_flow(list(align_on))}"


def _source(
    source: InferredSource, shared: Collection[str], anchors: dict[str, str]
) -> Iterator[str]:
    definition = source.definition
    yield f"  {_flow(source.name)}:"
    yield f"    connection: {_flow(definition.connection)}"
    yield f"    table: {_flow(definition.table or '')}"
    for remark in source.remarks:
        yield f"    # {_comment(remark)}"
    for heading, text in _parts(source).items():
        if text in anchors:
            yield f"    {heading}: *{anchors[text]}"
            continue
        anchor = ""
        if text in shared:
            anchors[text] = re.sub(r"\W", "_", f"{heading}_{len(anchors) + 1}")
            anchor = f" &{anchors[text]}"
        yield f"    {heading}:{anchor}"
        yield text
    yield ""


def _parts(source: InferredSource) -> dict[str, str]:
    """The lines of dimensions and of measures."""
    definition = source.definition
    parts: dict[str, Mapping[str, Definition]] = {
        "dimensions": definition.dimensions,
        "measures": definition.measures,
    }
    return {
        heading: "\n".join(
            f"      {_flow(name)}: {_flow(each.model_dump(exclude_defaults=True))}"
            for name, each in definitions.items()
        )
        for heading, definitions in parts.items()
    }


def _flow(value: Any) -> str:
    dumped: str = yaml.safe_dump(
        value, default_flow_style=True, allow_unicode=True, sort_keys=False, width=_ENDLESS
    )
    return dumped.removesuffix("...\n").strip()


def _comment(text: str) -> str:
    return " ".join(text.split())
