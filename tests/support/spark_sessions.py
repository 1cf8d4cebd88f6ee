"""Spark sessions of the tests: small memory, loopback only, no web pages, one BLAS thread in every process."""

import os
import shutil
import sys
import warnings
from pathlib import Path

import pytest

QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"  # a Java that starts with little work and is never fast
THREADS = {f"{blas}_NUM_THREADS": "1" for blas in ("OPENBLAS", "OMP", "MKL")}


def need_java():
    """Skip a test where Java is missing; with NOLANA_REQUIRE=java, as in .ci/run, it fails."""
    home = os.environ.get("JAVA_HOME")
    if shutil.which("java") or (home and (Path(home) / "bin" / "java").exists()):
        return
    if "java" in os.environ.get("NOLANA_REQUIRE", "").split(","):
        pytest.fail("Java is missing, and NOLANA_REQUIRE=java does not accept that; install default-jre-headless")
    pytest.skip("Java is missing: apt-get install default-jre-headless")


def session(master="local[2]", folder=None, java=QUICK, **settings):
    """A session of its own; ``folder`` takes what Spark writes, ``java`` are options of its processes."""
    os.environ.update(THREADS, PYSPARK_PYTHON=sys.executable, SPARK_LOCAL_IP="127.0.0.1")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of pyspark about the version of pandas
        from pyspark.sql import SparkSession

        builder = SparkSession.builder.master(master).appName("nolana")
        options = {
            "spark.driver.memory": "1g",
            "spark.executor.memory": "768m",
            "spark.driver.bindAddress": "127.0.0.1",
            "spark.driver.host": "127.0.0.1",
            "spark.ui.enabled": "false",
            "spark.ui.showConsoleProgress": "false",
            "spark.sql.shuffle.partitions": "4",
            "spark.log.level": "OFF",
            "spark.driver.extraJavaOptions": java,
            "spark.executor.extraJavaOptions": java,
        }
        if folder is not None:
            options |= {"spark.local.dir": f"{folder}/local", "spark.sql.warehouse.dir": f"{folder}/warehouse"}
        options |= {f"spark.executorEnv.{name}": value for name, value in THREADS.items()}
        options |= {name.replace("_", "."): value for name, value in settings.items()}
        for name, value in options.items():
            builder = builder.config(name, value)
        return builder.getOrCreate()
