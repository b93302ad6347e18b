"""Files of verified questions, checked with all of their faults at once."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Self, cast

from pydantic import BaseModel, Field, StringConstraints, ValidationError, model_validator

from skillian.data.declare.definitions import Definition, Name
from skillian.data.declare.document import KeyPath, YamlDocument
from skillian.data.declare.saved import FileWithSources, read_with_sources
from skillian.data.declare.sources import SourceRegistry
from skillian.errors import ConfigurationError, SourceNotFoundError, UnknownNameError
from skillian.skills.registry import SkillRegistry

MAX_QUESTIONS = 1000
MAX_NUMBERS = 50

_OF_SOURCES = frozenset({"query_source", "compare_sources"})
_SOURCES = ("source", "source_a", "source_b")
_NAMES = {
    "measures": "measure",
    "dimensions": "dimension",
    "align_on": "dimension",
    "filters": "dimension",
}

_Question = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=2000)]
_Number = Annotated[Decimal, Field(max_digits=60, decimal_places=30)]


class ExpectedCall(Definition):
    """The tool call that answers a question; without `arguments`, any call of the tool does."""

    tool: Name
    arguments: dict[Name, Any] | None = None


class VerifiedQuestion(Definition):
    """A question, with the numbers that its answer must have, the call behind it, or both."""

    question: _Question
    numbers: Annotated[tuple[_Number, ...], Field(max_length=MAX_NUMBERS)] = ()
    call: ExpectedCall | None = None

    @model_validator(mode="after")
    def _has_expectation(self) -> Self:
        if not self.numbers and self.call is None:
            raise ValueError("it has neither `numbers` nor `call`, so nothing can be verified")
        return self

    @property
    def key(self) -> str:
        """The question without its case, spaces and last mark, by which it is recognised."""
        return question_key(self.question)


class QuestionFile(FileWithSources):
    """The whole file."""

    questions: Annotated[
        tuple[VerifiedQuestion, ...], Field(min_length=1, max_length=MAX_QUESTIONS)
    ]


@dataclass(frozen=True, slots=True)
class QuestionSet:
    """The verified questions of a file.

    Attributes:
        name: The name of the file, without its suffix.
        sources: The path of its `sources.yaml`.
        registry: These sources.
        questions: At least one; each is different.
        document: The file, for messages with lines.
    """

    name: str
    sources: Path
    registry: SourceRegistry
    questions: tuple[VerifiedQuestion, ...]
    document: YamlDocument

    def check_calls(self, skills: SkillRegistry) -> None:
        """Check all names and calls; raises `ConfigurationError` with the faults of all questions.

        Args:
            skills: Has the tools.
        """
        for index, question in enumerate(self.questions):
            if question.call is not None:
                for path, message in _call_faults(question.call, skills):
                    line = self.document.line_of(("questions", index, "call", *path))
                    self.document.fault(line, message)
        if self.document.faults:
            raise ConfigurationError(self.document.faults)


def read_questions(path: Path) -> QuestionSet:
    """Read verified questions and their sources; `check_calls` reports what their names lack.

    Raises:
        ConfigurationError: The form of the file or its sources have faults; it has all of them.
    """
    document, content, registry = read_with_sources(path, QuestionFile)
    for key_path, message in (
        *_repeated(content, document),
        *_unknown_names(content, registry),
    ):
        document.fault(document.line_of(("questions", *key_path)), message)
    sources = path.parent / content.sources
    return QuestionSet(path.stem, sources, registry, content.questions, document)


def question_key(question: str) -> str:
    """A question without its case, spaces and last mark."""
    return " ".join(question.casefold().split()).rstrip("?.! ")


def _repeated(content: QuestionFile, document: YamlDocument) -> Iterator[tuple[KeyPath, str]]:
    seen: dict[str, int] = {}
    for index, question in enumerate(content.questions):
        first = seen.setdefault(question.key, index)
        if first != index:
            line = document.line_of(("questions", first, "question"))
            message = f"the question is repeated from line {line}; keep one of them"
            yield (index, "question"), message


def _unknown_names(
    content: QuestionFile, registry: SourceRegistry
) -> Iterator[tuple[KeyPath, str]]:
    """Yield the path and the fault of each name in a call that the sources do not declare."""
    for index, question in enumerate(content.questions):
        if question.call is None or question.call.tool not in _OF_SOURCES:
            continue
        arguments = question.call.arguments or {}
        for key in _SOURCES:
            name = arguments.get(key)
            if isinstance(name, str):
                for part, message in _unknown_in(name, key, arguments, registry):
                    yield (index, "call", "arguments", part), message


def _unknown_in(
    name: str, key: str, arguments: Mapping[str, Any], registry: SourceRegistry
) -> Iterator[tuple[str, str]]:
    """Yield the argument and the fault of each name that this source does not have."""
    if name not in registry.names:
        yield key, str(SourceNotFoundError(name, registry.names))
        return
    source = registry.get(name)
    for part, kind in _NAMES.items():
        known = source.measures if kind == "measure" else source.dimensions
        names = arguments.get(part)
        for logical in cast("Iterable[str]", names) if isinstance(names, list | dict) else ():
            if logical not in known:
                yield part, str(UnknownNameError(kind, str(logical), known, name))


def _call_faults(call: ExpectedCall, skills: SkillRegistry) -> Iterator[tuple[KeyPath, str]]:
    try:
        tool = skills.get_tool(call.tool)
    except UnknownNameError as error:
        yield ("tool",), str(error)
        return
    if call.arguments is None:
        return
    try:
        tool.input_model.model_validate(call.arguments)
    except ValidationError as error:
        for fault in error.errors(include_url=False, include_context=False):
            path = fault["loc"]
            place = ".".join(str(part) for part in path)
            known = f"; known: {', '.join(_names(tool.input_model))}"
            message = f"`{place}` of {call.tool}: {fault['msg']}"
            unknown = fault["type"] == "extra_forbidden"
            yield ("arguments", *path), message + (known if unknown else "")


def _names(model: type[BaseModel]) -> list[str]:
    return list(model.model_fields)
