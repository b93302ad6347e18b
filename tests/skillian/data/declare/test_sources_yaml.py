import pytest

from skillian.data.declare.infer import Inferred
from skillian.data.declare.sources_yaml import secret_variable, written


@pytest.mark.parametrize(
    ("url", "variable"),
    [
        ("duckdb:////srv/a?b:c@d.duckdb", None),
        ("files:///data", None),
        ("postgresql://reader@host/dwh", None),
        ("postgresql://reader:${PASSWORD}@host/dwh", None),
        ("postgresql://reader:secret@host/dwh", "DWH_URL"),
        ("postgresql://host/dwh?password=secret", "DWH_URL"),
        ("postgresql://a:secret@${HOST}/dwh", "DWH_URL"),
        ("postgresql://[broken:secret", "DWH_URL"),
    ],
)
def test_a_url_with_a_secret_is_never_written(url: str, variable: str | None) -> None:
    assert secret_variable("dwh", url) == variable
    text = written([(Inferred("dwh", (), {}, ()), url)])
    assert ("secret" in text) is False
    assert (url if variable is None else f"dwh: ${{{variable}}}") in text


def test_the_variable_has_a_name_that_a_shell_takes() -> None:
    assert secret_variable("2024 größe", "postgresql://a:b@c/x") == "DB_2024_GR__E_URL"
