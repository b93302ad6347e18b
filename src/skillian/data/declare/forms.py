"""A question as a protocol states it: its sides by other names, bounds, and descriptions."""

from __future__ import annotations

from collections.abc import Mapping
from types import UnionType
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    GetCoreSchemaHandler,
    ValidationError,
    create_model,
)
from pydantic.config import JsonDict
from pydantic_core import CoreSchema, core_schema

from skillian.data.declare.definitions import reason_of
from skillian.data.declare.saved import SavedComparison

_SIDES = ("a", "b")
Details = tuple[str | None, *tuple[Any, ...]]
"""The description of a field, if it has one, and its bounds and schema, as Pydantic has them."""


class QuestionForm:
    """How a protocol states a `SavedComparison`, as data.

    The sides are `source_a` and `source_b`; null is a field that is not stated. As a mark of a
    type, `Annotated[SavedComparison, form]`, it makes Pydantic read the question from this form.

    Args:
        name: The name of its model.
        doc: What its schema says of it.
        fields: The fields of the question that it has, in order.
        extra: More of its schema.

    Attributes:
        model: The form as a model, whose schema describes it.
    """

    def __init__(
        self, name: str, doc: str, fields: Mapping[str, Details], extra: JsonDict | None = None
    ) -> None:
        members: dict[str, Any] = {}
        for field, (description, *bounds) in fields.items():
            kind: Any = Annotated[_kind(field), *bounds, Field()]
            optional = kind | None, Field(None, description=description)
            members |= {f"source_{field}": kind} if field in _SIDES else {field: optional}
        config = ConfigDict(extra="forbid", json_schema_extra=extra)
        self.model: type[BaseModel] = create_model(name, __doc__=doc, __config__=config, **members)

    def __get_pydantic_core_schema__(
        self, _source: object, handler: GetCoreSchemaHandler
    ) -> CoreSchema:
        """Read the form, then the question."""
        form = handler.generate_schema(self.model)
        return core_schema.no_info_after_validator_function(self.question, form)

    @staticmethod
    def question(form: BaseModel) -> SavedComparison:
        """The question that a form states; raises `ValueError` with what is wrong with it."""
        fields: dict[str, Any] = {"name": "comparison"}
        for name in form.model_fields_set:
            field, value = name.removeprefix("source_"), getattr(form, name)
            default = SavedComparison.model_fields[field].get_default(call_default_factory=True)
            if value is not None and value != default:
                fields[field] = value
        try:
            return SavedComparison.model_validate(fields)
        except ValidationError as error:
            raise ValueError("; ".join(map(reason_of, error.errors()))) from None


def _kind(field: str) -> Any:
    """The type of a field of the question in JSON; of several, the first."""
    kind: Any = SavedComparison.model_fields[field].rebuild_annotation()
    if get_origin(kind) in {Union, UnionType}:
        kind = get_args(kind)[0]
    if get_origin(kind) is Annotated and get_origin(get_args(kind)[0]) is tuple:
        kind = get_args(kind)[0]
    return list.__class_getitem__(get_args(kind)[0]) if get_origin(kind) is tuple else kind
