"""Running metrics: each stores a few numbers, independent of the length of the stream.

| name                | definition                                       | a row before the first known class is    |
|---------------------|--------------------------------------------------|------------------------------------------|
| `accuracy`          | the share of rows whose label was predicted      | an error                                 |
| `balanced_accuracy` | the mean over the classes of their accuracy      | an error of its class                    |
| `precision`         | the share of the predictions of a class that     | no prediction                            |
|                     | were right; of two classes the one that sorts    |                                          |
|                     | last, of more the mean over the classes          |                                          |
| `recall`            | the share of the rows of a class that were       | an error of its class                    |
|                     | predicted; classes as for precision              |                                          |
| `f1`                | the harmonic mean of precision and recall        | an error of its class                    |
| `f1_micro`          | F1 of all classes or labels together             | an error of its class                    |
| `f1_macro`          | the mean over all classes or labels of their F1  | an error of its class                    |
| `kappa`             | accuracy between chance (0) and perfect (1):     | an error and no prediction               |
|                     | as many predictions of each class, at random     |                                          |
| `kappa_temporal`    | accuracy between the last label (0) and perfect  | an error                                 |
|                     | (1)                                              |                                          |
| `log_loss`          | minus the mean log probability of the true label | of probability 2.2e-16                   |
| `brier`             | half the squared error of the probabilities      | 1/2                                      |
| `auc`               | the area under the ROC curve; of more than two   | below every row of the other class; of   |
|                     | classes the mean, each against the rest          | more than two classes of probability 0   |
| `average_precision` | the area under precision against recall;         | of probability 0                         |
|                     | classes as for precision                         |                                          |
| `rmse`, `mae`       | root mean squared error, mean absolute error     | (numbers are always predicted)           |
| `r2`                | the share of the targets' variance explained     | (numbers are always predicted)           |
| `mase`              | `mae` over that of the last value                | (numbers are always predicted)           |

With several labels for each row `accuracy` is the share of rows of which all labels are right, `f1_micro` and
`f1_macro` are those of scikit-learn, and other metrics are refused.

For several targets `rmse`, `mae`, `r2` and `mase` are the mean of their values for each target, as in scikit-learn.

A custom metric is an object with the protocol `Metric`; for a mean over rows, a subclass of `Mean` with one method. All
sums run in the order of the rows, so the metric has the same bits however the blocks are cut.
"""

from nolana.metrics.auc import AUC
from nolana.metrics.by_class import F1, BalancedAccuracy, F1Macro, F1Micro, Kappa, Precision, Recall
from nolana.metrics.means import MAE, R2, RMSE, Accuracy, Brier, LogLoss, Mean
from nolana.metrics.metric import Metric, running_sum
from nolana.metrics.persistence import MASE, KappaTemporal
from nolana.metrics.predictions import Predictions
from nolana.metrics.ranking import AveragePrecision
from nolana.metrics.registry import IN_PER_CENT, MAIN_METRICS, NAMES, OF_NUMBERS, SMALLER_IS_BETTER, resolve, score_text

__all__ = [
    "AUC", "F1", "IN_PER_CENT", "MAE", "MAIN_METRICS", "MASE", "NAMES", "OF_NUMBERS", "R2", "RMSE",
    "SMALLER_IS_BETTER", "Accuracy", "AveragePrecision", "BalancedAccuracy", "Brier", "F1Macro", "F1Micro", "Kappa",
    "KappaTemporal", "LogLoss", "Mean", "Metric", "Precision", "Predictions", "Recall", "resolve", "running_sum",
    "score_text",
]  # fmt: skip
