"""One Spark for all tests of connectors, since it takes a while to start."""

from collections.abc import Iterator

import pytest
from tests.support.spark_connect import running_spark_connect


@pytest.fixture(scope="session")
def spark_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a Spark Connect server."""
    with running_spark_connect(tmp_path_factory.mktemp("spark")) as url:
        yield url
