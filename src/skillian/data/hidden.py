"""What a language model may know of sources whose values are hidden: counts and shares.

Neither a value of a row nor an amount is in them, nor the members of a dimension.
"""

from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from skillian.data.explanation import Breakdown, Explanation, MeasureExplanation, share
from skillian.data.interpretation import interpret
from skillian.data.results import ComparisonResult
from skillian.data.sources import SourceRegistry
from skillian.errors import UnavailableError

_AMOUNTS = frozenset({"total_a", "total_b", "net_difference", "gross_difference"})


def hidden_among(registry: SourceRegistry, names: Iterable[str]) -> tuple[str, ...]:
    """Return those of the sources whose values are hidden; a name that is no source is none."""
    known = (name for name in names if name in registry.names)
    return tuple(name for name in known if registry.get(name).values == "hidden")


def refuse_hidden(registry: SourceRegistry, names: Iterable[str]) -> None:
    """Raise `UnavailableError` with the reason where the values of one of them are hidden."""
    hidden = hidden_among(registry, names)
    if hidden:
        raise UnavailableError(
            f"the values of {' and '.join(hidden)} are hidden from language models"
            " (`values: hidden`); compare_sources and explain_difference give counts and shares"
        )


def comparison_counts(result: ComparisonResult) -> dict[str, object]:
    """Return a comparison's counts and match rates, and sentences that hold no more than these."""
    summary = result.summary
    bare = tuple(
        replace(
            measure,
            total_a=None,
            total_b=None,
            net_difference=Decimal(0),
            gross_difference=Decimal(0),
        )
        for measure in summary.measures
    )
    sentences = interpret(
        result.source_a,
        result.source_b,
        replace(summary, measures=bare),
        (),
        result.proof.thresholds,
    )
    measures = {
        measure.name: {k: v for k, v in measure.to_dict().items() if k not in _AMOUNTS}
        for measure in summary.measures
    }
    return {
        "source_a": result.source_a,
        "source_b": result.source_b,
        "summary": {**summary.to_dict(), "measures": measures},
        "top_differences": [],
        "interpretation": list(sentences),
        "cache_key": result.cache_key,
    }


def explanation_shares(explanation: Explanation) -> dict[str, object]:
    """Return how many members of each dimension carry the gap, and their shares of it."""
    return {
        "cache_key": explanation.cache_key,
        "grain": list(explanation.grain),
        "unused_dimensions": list(explanation.unused),
        "interpretation": [
            _sentence(measure, measure.breakdowns[0])
            for measure in explanation.measures
            if measure.breakdowns
        ]
        + list(explanation.notes),
        "measures": {
            measure.measure: {"breakdowns": [_shares(measure, each) for each in measure.breakdowns]}
            for measure in explanation.measures
        },
    }


def _shares(measure: MeasureExplanation, found: Breakdown) -> dict[str, object]:
    return {
        "dimensions": list(found.dimensions),
        "members": found.members,
        "needed_for_80_percent": found.needed,
        "gross_shares": [share(each.gross, measure.gross) for each in found.contributions],
    }


def _sentence(measure: MeasureExplanation, found: Breakdown) -> str:
    dimensions = " and ".join(found.dimensions)
    if found.needed is None or found.is_trivial:
        return f"No few members carry the gap in {measure.measure}; it is spread."
    return (
        f"{found.needed} of {found.members} members of {dimensions} with a gap carry 80 % or more"
        f" of the gross gap in {measure.measure}."
    )
