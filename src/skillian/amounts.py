"""How sentences write numbers."""

from decimal import Decimal, InvalidOperation


def grouped(value: object) -> str:
    """A number with all of its digits and with commas between thousands.

    Args:
        value: A number, or its text; another text stays as it is.
    """
    try:
        return format(Decimal(str(value)), ",f")
    except InvalidOperation:
        return str(value)
