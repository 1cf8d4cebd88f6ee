"""nolana on Apache Spark: learn a DataFrame in rounds, predict, and learn a stream of batches exactly once.

pyspark comes with the extra ``spark``: ``pip install "nolana[spark]"``; nolana must be installed on the executors too.
"""

from nolana.spark.fit import FitResult, Round, fit
from nolana.spark.predict import predict
from nolana.spark.streaming import StreamingLearner

__all__ = ["FitResult", "Round", "StreamingLearner", "fit", "predict"]
