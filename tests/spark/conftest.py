"""One session for the tests of this folder."""

import pytest

from spark_sessions import need_java, session


@pytest.fixture(scope="session")
def spark(tmp_path_factory):
    need_java()
    spark = session(folder=tmp_path_factory.mktemp("spark"))
    yield spark
    spark.stop()
