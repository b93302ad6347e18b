import pyarrow as pa
import pytest

from skillian.data import arrow
from skillian.errors import QueryError


def test_rows_are_dictionaries() -> None:
    assert arrow.rows(pa.table({"x": [1, None]})) == [{"x": 1}, {"x": None}]


@pytest.mark.parametrize("days", [3_663_424, -800_000, 2_147_483_647])
def test_a_date_that_python_has_not_tells_the_mend(days: int) -> None:
    table = pa.table({"d": pa.array([days], pa.int32()).cast(pa.date32())})
    with pytest.raises(QueryError, match="declare `type: text`") as refused:
        arrow.rows(table)
    assert refused.value.__cause__ is None
