"""The demo's ledger and its planning copy as two small files, for those who try the page."""

import csv
from collections.abc import Iterable
from io import StringIO

from skillian.demo.ledger import Posting, copied, postings

_HEADER = ("company", "period", "document", "account", "cost_centre", "amount")


def sample_files() -> tuple[tuple[str, bytes], tuple[str, bytes]]:
    """The names of the two files, and what they hold."""
    ledger = list(postings())
    return ("ledger.csv", _as_csv(ledger)), ("planning.csv", _as_csv(copied(ledger)))


def _as_csv(rows: Iterable[Posting]) -> bytes:
    file = StringIO()
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(_HEADER)
    for company, period, account, centre, document, amount in rows:
        writer.writerow((company, period, document, account, centre, amount))
    return file.getvalue().encode()
