"""pyspark, loaded when it is first needed; the extra ``spark`` brings it."""

import importlib
from typing import Any

from nolana.errors import MissingExtraError

__all__ = ["check_frame", "pyspark"]


def pyspark(module: str = "") -> Any:
    """A module of pyspark; MissingExtraError if it is not installed."""
    try:
        return importlib.import_module(f"pyspark.{module}".rstrip("."))
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] != "pyspark":
            raise
        raise MissingExtraError('nolana.spark needs the package pyspark; pip install "nolana[spark]"') from None


def check_frame(df: Any) -> None:
    """TypeError if this is no DataFrame of a session with a SparkContext."""
    if isinstance(df, pyspark("sql.classic.dataframe").DataFrame):
        return
    if type(df).__module__.startswith("pyspark.sql.connect"):
        raise TypeError(
            "this DataFrame is of Spark Connect, which has neither broadcasts nor RDDs; use a classic session: "
            'SparkSession.builder.master("...").getOrCreate()'
        )
    raise TypeError(f"expected a DataFrame of Spark, got {type(df).__name__}; spark.createDataFrame(...) makes one")
