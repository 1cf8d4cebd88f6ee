"""One session for the tests of this folder, which make soak runs: they need Java and pyspark."""

from pathlib import Path

import pytest

from spark_sessions import need_java, session


def pytest_collection_modifyitems(items):
    for item in items:
        if Path(__file__).parent in item.path.parents and item.path.stem != "test_requirements":
            item.add_marker(pytest.mark.soak)


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    need_java()
    spark = session(folder=tmp_path_factory.mktemp("spark"))
    yield spark
    spark.stop()
