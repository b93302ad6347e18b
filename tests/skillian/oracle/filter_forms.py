"""Random filters, of every form and on every type."""

from collections.abc import Mapping, Sequence
from typing import Any

from hypothesis import strategies as st
from tests.skillian.oracle.questions import Side
from tests.skillian.oracle.themes import Theme
from tests.skillian.oracle.values import kind_of, meant


@st.composite
def filters(draw: st.DrawFn, side: Side, themes: Sequence[Theme]) -> Mapping[str, Any]:
    """A filter on none, one or all of the dimensions; its values are those of `side`."""
    found: dict[str, Any] = {}
    for (name, dimension), theme in zip(side.dimensions.items(), themes, strict=True):
        if draw(st.sampled_from((True, True, True, False))):
            continue
        column = side.table.column(dimension["column"])
        known = draw(st.lists(theme.members, min_size=1, max_size=3))
        values = st.sampled_from([meant(dimension, one, column) for one, _ in known])
        is_ordered = kind_of(dimension, column) != "boolean"
        found[name] = draw(filter_of(values, is_ordered=is_ordered))
    return found


def filter_of(values: st.SearchStrategy[Any], *, is_ordered: bool) -> st.SearchStrategy[Any]:
    """Every form of a filter."""
    plain = st.one_of(values.map(_as_json), values)
    lists = st.lists(st.one_of(st.none(), plain), min_size=1, max_size=3)
    equal = st.one_of(st.none(), plain, lists)
    forms: list[st.SearchStrategy[Any]] = [equal, st.fixed_dictionaries({"ne": equal})]
    if is_ordered:
        forms += [
            st.fixed_dictionaries({"gte": plain, "lt": plain}),
            st.fixed_dictionaries({"gt": plain}, optional={"ne": equal}),
            st.fixed_dictionaries({"lte": plain}),
            st.fixed_dictionaries({"between": st.tuples(values, values).map(sorted)}),
        ]
    return st.one_of(forms)


def _as_json(value: Any) -> Any:
    return value if isinstance(value, bool | int) else str(value)
