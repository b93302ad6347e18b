"""What was found in a question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from skillian.llm.lexicon import Cue


@dataclass(slots=True)
class Grounding:
    """What was found, in the order of the question.

    Attributes:
        sources, measures, breakdown, mentioned: names; `mentioned` are dimensions neither filtered
            nor broken down by.
        filters: as the tools take them.
        cleared: dimensions of which all values are wanted ("for all companies").
        thresholds, count: limits of a match; how many rows.
        cues: what is wanted.
        ordered_by: measures to order by.
        asked_which: mentioned dimensions whose members are asked for ("which companies").
        is_singular: whether one member only is asked for ("which company").
        ordinal: "first", "second": the place of the group that is meant.
        source_after: the source that is named behind a cue ("missing in bpc_reporting").
        said_sources: words in the place of two sources, known or not ("between X and Y").
        row_words: words for rows that may name a measure too.
        unread: words that say something which was not understood: a plan that leaves them out
            would answer another question.
    """

    sources: list[str] = field(default_factory=list[str])
    measures: list[str] = field(default_factory=list[str])
    breakdown: list[str] = field(default_factory=list[str])
    mentioned: list[str] = field(default_factory=list[str])
    filters: dict[str, Any] = field(default_factory=dict[str, Any])
    cleared: list[str] = field(default_factory=list[str])
    thresholds: dict[str, Any] = field(default_factory=dict[str, Any])
    count: int | None = None
    cues: dict[Cue, str] = field(default_factory=dict[Cue, str])
    ordered_by: list[str] = field(default_factory=list[str])
    asked_which: list[str] = field(default_factory=list[str])
    is_singular: bool = False
    ordinal: str = ""
    source_after: dict[Cue, str] = field(default_factory=dict[Cue, str])
    said_sources: list[str] = field(default_factory=list[str])
    row_words: list[str] = field(default_factory=list[str])
    unread: list[str] = field(default_factory=list[str])

    @property
    def names_data(self) -> bool:
        """Whether it names what a call can be changed by."""
        named = (self.measures, self.breakdown, self.filters, self.cleared, self.thresholds)
        return any(named) or (self.count is not None and "gaps" not in self.cues)
