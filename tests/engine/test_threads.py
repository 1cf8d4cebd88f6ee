"""BLAS threads."""

import subprocess
import sys

CODE = """
import numpy as np
from threadpoolctl import threadpool_info
from nolana.engine.base.threads import one_blas_thread
with one_blas_thread():
    pass  # before SciPy is loaded
import scipy.linalg
with one_blas_thread():
    found = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
print(len(found), max(found))
"""


def test_one_thread_limits_the_blas_of_scipy_that_is_loaded_later():
    done = subprocess.run([sys.executable, "-c", CODE], capture_output=True, text=True, check=True, timeout=60)
    libraries, threads = map(int, done.stdout.split())
    assert libraries >= 1
    assert threads == 1
