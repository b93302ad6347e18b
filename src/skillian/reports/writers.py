"""The formats of a report that are texts, and who writes each."""

from collections.abc import Callable, Mapping, Sequence

from skillian.reports.as_html import write_html
from skillian.reports.as_json import write_json
from skillian.reports.as_junit import write_junit
from skillian.reports.as_markdown import write_markdown
from skillian.reports.outcome import Format, Outcome

WRITERS: Mapping[Format, Callable[[Sequence[Outcome]], str]] = {
    Format.JSON: write_json,
    Format.MARKDOWN: write_markdown,
    Format.HTML: write_html,
    Format.JUNIT: write_junit,
}
