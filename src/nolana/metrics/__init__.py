"""Running metrics: each stores a few numbers, independent of the length of the stream.

| name                | definition                                       | a row before the first known class is    |
|---------------------|--------------------------------------------------|------------------------------------------|
| `accuracy`          | the share of rows whose label was predicted      | an error                                 |
| `balanced_accuracy` | the mean over the classes of their accuracy      | an error of its class                    |
| `log_loss`          | minus the mean log probability of the true label | of probability 2.2e-16                   |
| `auc`               | the area under the ROC curve, two classes        | below every row of the other class       |
| `rmse`, `mae`       | root mean squared error, mean absolute error     | (numbers are always predicted)           |
| `r2`                | the share of the targets' variance explained     | (numbers are always predicted)           |

A custom metric is an object with the protocol `Metric`; for a mean over rows, a subclass of `Mean` with one method. All
sums run in the order of the rows, so the metric has the same bits however the blocks are cut.
"""

from nolana.metrics.auc import AUC
from nolana.metrics.balanced import BalancedAccuracy
from nolana.metrics.means import MAE, RMSE, Accuracy, LogLoss, Mean
from nolana.metrics.metric import Metric, resolve
from nolana.metrics.predictions import Predictions
from nolana.metrics.r2 import R2
from nolana.metrics.sums import running_sum

__all__ = [
    "AUC",
    "MAE",
    "R2",
    "RMSE",
    "Accuracy",
    "BalancedAccuracy",
    "LogLoss",
    "Mean",
    "Metric",
    "Predictions",
    "resolve",
    "running_sum",
]
