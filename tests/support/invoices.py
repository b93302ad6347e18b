"""The same invoices as two programs write them: a German export, and an English one."""

from __future__ import annotations

from collections.abc import Iterator

ROWS, DIFFERING, BLANKS = 400, 34, 20
_CUSTOMERS = ("Müller GmbH", "Ulm AG", "O'Neill", "Smith & Sons", "Ångström")


def german() -> str:
    """With semicolons, decimal commas and dates with dots."""
    lines = ["Rechnungsnr;Kunde;Betrag;Datum;Bezahlt"]
    for number, customer, cents, day, is_paid in _invoices():
        amount = f"{cents // 100:,}".replace(",", ".") + f",{cents % 100:02}"
        lines.append(
            f"R-{number};{customer};{amount};{day:02}.03.2024;{'ja' if is_paid else 'nein'}"
        )
    return "\n".join(lines) + "\n"


def english(*, changed: int = 0) -> str:
    """With commas, decimal points, ISO dates and other headers.

    `DIFFERING` rows differ: the customers of `BLANKS` end with a blank, the amounts of the others
    are a cent higher.

    Args:
        changed: How many more amounts differ.
    """
    lines = ["invoice_no,customer,amount,date,paid"]
    for number, customer, cents, day, is_paid in _invoices():
        index = number - 1000
        name = f"{customer} " if index < BLANKS else customer
        more = 1 if BLANKS <= index < DIFFERING + changed else 0
        amount = f"{(cents + more) // 100}.{(cents + more) % 100:02}"
        lines.append(f'R-{number},"{name}",{amount},2024-03-{day:02},{"ja" if is_paid else "nein"}')
    return "\n".join(lines) + "\n"


def _invoices() -> Iterator[tuple[int, str, int, int, bool]]:
    for index in range(ROWS):
        customer = _CUSTOMERS[index % len(_CUSTOMERS)]
        yield (
            1000 + index,
            customer,
            12_345 + 99_991 * index % 500_000,
            index % 28 + 1,
            index % 3 == 0,
        )
