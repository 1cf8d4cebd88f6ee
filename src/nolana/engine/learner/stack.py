"""The stack: second-order regression on the experts' scores, with forgetting.

Inputs E (experts, columns) are the scores times `factors`, clipped to +-`limits`; one output has the columns -F, F.

    classes    z_c = theta.E_c,  p = softmax(z),  Ebar = sum_c p_c E_c
               H <- lambda H + (1 - lambda) rho I + w sum_c p_c (E_c - Ebar)(E_c - Ebar)'
               theta += H^-1 [w (E_y - Ebar) - (1 - lambda) rho (theta - theta0)]

    regression z = y - level, the level of the targets now (`target_level`), which learns from what is cut off below
               inputs e: scores clipped to the range of z, 1, and last, z - theta0.e of the row before
               s = theta.e,  f = level + s, within the range of z, and near the last 1,000 targets
               H <- lambda H + (1 - lambda) rho I + w e e'/nu
               theta += H^-1 [w r e/nu - (1 - lambda) rho (theta - theta')],  r = z - s cut at 3 sqrt(nu)
               theta': the same with a lambda' nearer to 1, rho' = 20, and theta0 in the place of theta'
               nu: running variance of the residuals y - f; a skewed side is cut later (`residual_variance`)
               experts learn z - phi last, phi the weight of `last` within 0 and 1

The range of z, in which the targets of the experts are, is free up to 8.1 and then grows by 5 % a row at most: targets
that are truly larger are reached soon, and one outlier is harmless. With `last` an autocorrelated target (a random
walk, an hour like the one before) is predicted no worse than by its last value: its weight is 0 if residuals are
independent. If they are not, experts learn what it does not explain (Cochrane and Orcutt, 1949, Application of least
squares regression to relationships containing auto-correlated error terms): the noise of their targets is independent
again, and a level that moves away does not spoil the weights of the features. Of targets of which little can be
explained a thousand rows say little about ten weights: those of ten thousand rows are where theta goes back to.

Classes are forgotten by what rows may say: 1 - lambda times 4 q (1 - q), q the probability of the best class, not below
`certain`. If one row in fifty is of the other class, a thousand rows hold twenty that decide, too few for the weights
of ten experts.

Two classes may have a least share of their own, that of equally frequent ones times 4 p (1 - p), p the rate of one:
what a row says to somebody who knows nothing else. And they may have their own prior rho''. H is that of rho: it
holds rho I whatever was forgotten, so a step solves with H + (rho'' - rho) I, and nothing changes when a third class
appears.

Experts are as sure of a row with a category that nobody has learned as of others: none of them has a reason to doubt.
While such rows are rare (their running share below .05) they have a calibration of their own (`cautious`): log-odds
count half at first, those above 6 not at all, and no step leads back there. If they are frequent, as with ids that
come and go, the common calibration knows them.

Agreement is the running mean of the sign of (f_t - f_(t-1)) (y_t - y_(t-1)), the relative step that of the sizes
|f_t - f_(t-1)| / |y_t - y_(t-1)|, at most 1: if targets have another unit, they say whether predictions are the same
function, and whether they have the new unit already (`nolana.learner.stack`).

Calibration: log-odds are linear in the inputs, probabilities need not be (random labels bound them: 10 % of them leave
nobody more than 95 % sure). The log-odds u of the best class become u + c(u), c linear between KNOTS, by a logistic
regression (Platt scaling) on whether the best class was right, with the same forgetting:

               h_k <- lambda h_k + (1 - lambda) 5 + w a_k q (1 - q),  q = sigmoid(u + c(u)),  a_k shares of the 2 knots
               c_k += [w a_k (right - q) - (1 - lambda) 5 c_k]/h_k

The best class stays the best; the odds between the others stay.

If the learner has lags, `last` is that of the last target that is known, and classes have two more inputs, whose
weights begin at 0: the last known label (+-1/2 in its column), and the same if it had not been predicted, otherwise 0.

A drift alarm watches the experts with the weights theta0 they began with (the stack itself may turn around after a
few rows), for regression the residuals y - f beyond 2 sqrt(nu): those of theta0 have another variance than nu, and are
autocorrelated if `last` has a weight. A level that is tracked at once may raise no alarm.

theta is shared by all classes, so a new class needs nothing. Scores are log-odds: softmax of -f, f for one output.
"""

import math
from dataclasses import replace

import numpy as np

from nolana.engine.base.bounds import Memory, NonNegative, Numbers, Positive, Share
from nolana.engine.base.state import Field, Size, count
from nolana.engine.experts.implicit import softmax
from nolana.engine.learner.combiner import Array, Combiner
from nolana.engine.learner.drift_alarm import DriftAlarm
from nolana.engine.learner.losses import Loss, sigmoid
from nolana.engine.learner.residual_variance import CLIP, Noise, SkewedVariance
from nolana.engine.learner.target_level import LARGEST, TargetLevel

RARE = 1e-4  # a class below this probability adds nothing to H
START_NOISE = 1.0  # of standardised targets: nothing is explained at first
USUAL_RANGE, GROWTH, MARGIN = 8.1, 1.05, 0.1  # of the range of targets: free, of a row beyond, beside a target
SLOW_PRIOR = 20.0  # rho'
AGREEMENT_ROWS, RELATIVE_ROWS = 32, 8  # nothing is left of rows before a change 64 rows ago
RECENT = 1000  # rows that the errors of the experts average
KNOTS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 3.0, 4.0, 6.0])  # log-odds of the best class
KNOT_PRIOR = 5.0  # about 20 undecided rows
RARE_UNKNOWN = 0.05  # share of the rows with a category that nobody has learned, up to which they count less
LEAST_SHARE = 0.02  # of the forgetting, if one of two classes is rare
LEAST_GAP = 0.01  # of the distance between the two best classes that calibration leaves
UNUSUAL = 2.0  # standard deviations of a residual, for the alarm
MOST_ALARMS = 100


class Stack(Combiner):
    """theta and H as `stack_weights` (k,), `information` (k, k); factors, limits and start (experts,) as above.

    follows: whether `last` is an input; certain: the least share of the forgetting; knows: whether the learner says
    what is known of earlier targets (`lags`); slow: lambda', and 0 without theta', whose place theta0 takes;
    binary_prior, binary_certain: prior and certain of two classes, 0: as for more of them; this certain is that of
    equally frequent ones; cautious: whether a category that nobody has learned has knots of its own.
    """

    judgement = (
        *("stack_weights", "information", "errors", "calibration", "calibration_information", "rate", "unknown_share"),
        *("residual_variance", "skew", "lowest", "highest", "slow_weights", "slow_information"),
    )

    def __init__(
        self,
        loss: Loss,
        factors: Numbers,
        limits: Numbers,
        start: Numbers,
        forgetting: Memory,
        prior: Positive,
        follows: bool = False,
        certain: Share = 1.0,
        knows: bool = False,
        slow: Share = 0.0,
        binary_prior: NonNegative = 0.0,
        binary_certain: Share = 0.0,
        cautious: bool = False,
    ) -> None:
        if not len(factors) == len(limits) == len(start):
            raise ValueError("factors, limits and start have one entry for each expert")
        self.loss, self.factors, self.limits = loss, np.asarray(factors), np.asarray(limits)
        self.follows = follows and loss.linear
        self.knows = knows
        more = np.zeros(2 * knows if not loss.linear else 2 if self.follows else 1)
        self.start = np.append(start, more)
        self.forgetting, self.prior, self.certain = forgetting, prior, certain
        self.binary_certain = 0.0 if loss.linear else binary_certain
        self.slow = slow if loss.linear else 0.0
        self.cautious = cautious and not loss.linear
        self.first_corrections = np.append(np.zeros(len(KNOTS)), -KNOTS / 2 if self.cautious else [])
        self.more = 0.0 if loss.linear or not binary_prior else binary_prior - prior

    def clear(self, experts: int, outputs: int) -> None:
        if experts != len(self.factors):
            raise ValueError(f"the stack is made for {len(self.factors)} experts, not {experts}")
        self.stack_weights: Array = self.start.copy()
        self.information: Array = self.prior * np.eye(len(self.start))
        self.slow_weights: Array = self.start.copy()
        self.slow_information: Array = SLOW_PRIOR * np.eye(len(self.start))
        self.errors: Array = np.zeros(experts)
        self.stacked = 0
        self.rate = 0.5
        self.alarm = DriftAlarm()
        self.alarm_rows: Array = np.zeros(0)
        self.variance = SkewedVariance(START_NOISE)
        self.lowest = self.highest = 0.0
        self.tracked = TargetLevel()
        self.own = self.last_residual = self.known_residual = 0.0
        self.label = self.missed = math.nan
        self.agreement = self.relative_step = self.last_score = self.last_target = 0.0
        self.calibration: Array = self.first_corrections.copy()
        self.calibration_information: Array = np.full(len(self.calibration), KNOT_PRIOR)
        self.unknown, self.unknown_share = False, 1.0

    @property
    def alarmed(self) -> bool:
        return bool(len(self.alarm_rows) and self.alarm_rows[-1] == self.stacked)

    @property
    def alarms(self) -> list[float]:
        return [float(row) for row in self.alarm_rows]

    def watch(self, error: bool) -> None:
        """Tell the alarm of a row."""
        if self.alarm.observe_row(float(error)):
            self.alarm_rows = np.append(self.alarm_rows, self.stacked)[-MOST_ALARMS:]

    @property
    def noise(self) -> Noise:
        return self.variance.noise if self.loss.linear else Noise()

    def inputs(self, scores: Array) -> Array:  # (experts, c) -> (experts, columns)
        """What the stack sees."""
        if self.loss.linear:
            more = [1.0, self.last] if self.follows else [1.0]
            return np.append(np.clip(scores[:, 0], self.lowest, self.highest), more)[:, None]
        seen = np.clip(scores * self.factors[:, None], -self.limits[:, None], self.limits[:, None])
        seen = np.hstack([-seen, seen]) if seen.shape[1] == 1 else seen
        if not self.knows:
            return seen
        known = np.where(np.arange(seen.shape[1]) == self.label, 0.5, -0.5) * (not math.isnan(self.label))
        return np.vstack([seen, known, known * (self.missed > 0)])

    @property
    def last(self) -> float:
        return self.known_residual if self.knows else self.last_residual

    def know(self, target: float, error: float) -> None:
        self.label, self.missed = target, error
        if self.loss.linear:
            reach = self.highest - self.lowest
            self.known_residual = 0.0 if math.isnan(error) else clip(error - self.tracked.level, reach)

    def set_unknown(self, unknown: bool) -> None:
        self.unknown = unknown

    @property
    def own_knots(self) -> int:
        """Where the knots of the row begin: a category that nobody has learned has other ones."""
        return len(KNOTS) if self.cautious and self.unknown and self.unknown_share < RARE_UNKNOWN else 0

    @property
    def unexplained(self) -> float:
        return self.last_residual + self.tracked.level

    def combine(self, scores: Array) -> Array:
        z = self.stack_weights @ self.inputs(scores)
        if self.loss.linear:
            f = min(self.highest, max(self.lowest, float(z[0])))
            return np.array([self.tracked.bounded(self.tracked.level + f)])
        best, gap, u = standing(z)
        change = self.correction(u) if gap > 0 else 0.0
        z[best] += max(change, (LEAST_GAP - 1) * gap)
        return np.asarray((z[1:] - z[:1]) / 2 if scores.shape[1] == 1 else z)

    def spread(self, scores: Array, f: Array) -> float:
        own = np.clip(scores[:, 0], self.lowest, self.highest)
        return float(np.sqrt(np.mean((own - (f[0] - self.tracked.level)) ** 2)))

    def target(self, y: Array) -> Array:
        return np.array([self.own]) if self.loss.linear else y

    def correction(self, u: float) -> float:
        (k, a), own = place(u), self.calibration[self.own_knots :]
        beyond = max(0.0, u - float(KNOTS[-1])) if self.own_knots else 0.0
        return float((1 - a) * own[k] + a * own[k + 1]) - beyond

    def learn(self, scores: Array, y: Array, f: Array, weight: float) -> None:
        self.stacked += 1
        seen = self.inputs(scores)
        if self.loss.linear:
            self.learn_number(seen[:, 0], float(y[0]), float(f[0]), weight)
        else:
            self.learn_class(seen, y, weight)

    def learn_class(self, seen: Array, y: Array, weight: float) -> None:
        own = int(np.argmax(y)) if len(y) > 1 else int(y[0] > 0)
        self.watch(int(np.argmax(self.start @ seen)) != own)
        self.count_errors((seen[: len(self.factors)].argmax(axis=1) != own).astype(np.float64))
        z = self.stack_weights @ seen
        self.calibrate(z, own, weight)
        if self.cautious:
            self.unknown_share += (self.unknown - self.unknown_share) / min(self.stacked, RECENT)
        p = softmax(z)
        middle = seen @ p
        away = seen - middle[:, None]
        # Among the rows that are remembered one may contradict: the second best class has at least that probability in
        # H, or a single row outweighs all rows that were certain.
        second = int(np.argmax(np.where(np.arange(len(p)) == np.argmax(p), -1.0, p)))
        p[second] = max(p[second], 1 - self.forgetting)
        common = p > RARE
        q = sigmoid(standing(z)[2])
        share = max(self.least_share(len(p)), min(1.0, 4 * q * (1 - q)))
        if self.binary_certain and len(p) == 2:
            self.rate += (own - self.rate) / min(self.stacked + 1, RECENT)
        curvature = (weight * p[common] * away[:, common]) @ away[:, common].T
        self.stack_weights, self.information = stepped(
            self.stack_weights, self.information, self.start, weight * away[:, own], curvature, self.prior,
            (1 - self.forgetting) * share, self.more if len(p) == 2 else 0.0,
        )  # fmt: skip

    def least_share(self, classes: int) -> float:
        """Of the forgetting, by a row that is certain."""
        if not self.binary_certain or classes > 2:
            return self.certain
        return max(LEAST_SHARE, self.binary_certain * 4 * self.rate * (1 - self.rate))

    def calibrate(self, z: Array, own: int, weight: float) -> None:
        """One step of the calibration at the two knots beside the log-odds."""
        best, gap, u = standing(z)
        if not gap > 0:
            return
        (k, a), back = place(u), 0.0 if self.own_knots else (1 - self.forgetting) * KNOT_PRIOR
        q, own_k = sigmoid(u + self.correction(u)), self.own_knots + k
        for knot, share in ((own_k, 1 - a), (own_k + 1, a)):
            information = self.forgetting * self.calibration_information[knot] + back + weight * share * q * (1 - q)
            self.calibration_information[knot] = information
            pull = weight * share * ((best == own) - q) - back * self.calibration[knot]
            self.calibration[knot] += pull / information

    def learn_number(self, seen: Array, y: float, f: float, weight: float) -> None:
        noise, residual, experts = self.noise, y - f, len(self.factors)
        z, unit = y - self.tracked.level, math.sqrt(noise.variance)
        self.count_errors(np.clip(z - seen[:experts], -LARGEST, LARGEST) ** 2)
        explained = min(1.0, max(0.0, float(self.stack_weights[-1]))) * self.last if self.follows else 0.0
        self.regress(seen, z, weight, noise)
        self.watch(abs(residual) > UNUSUAL * unit)
        df, dy = f - self.last_score, y - self.last_target
        relative = abs(df / dy) if abs(df) < abs(dy) else 1.0
        self.agreement += (float(np.sign(df * dy)) - self.agreement) / AGREEMENT_ROWS
        self.relative_step += (relative - self.relative_step) / RELATIVE_ROWS
        self.last_score, self.last_target = f, y
        self.highest = max(self.highest, min(z + MARGIN, max(USUAL_RANGE, GROWTH * self.highest)))
        self.lowest = min(self.lowest, max(z - MARGIN, min(-USUAL_RANGE, GROWTH * self.lowest)))
        self.own = min(self.highest, max(self.lowest, z - explained))
        self.variance.observe_residual(residual, self.stacked, weight)
        moved = self.tracked.observe_row(y, residual, residual - noise.clip(residual, CLIP * unit))
        self.last_residual = min(self.highest, max(self.lowest, z)) - moved
        self.last_residual -= float(self.start[:experts] @ seen[:experts])

    def regress(self, seen: Array, z: float, weight: float, noise: Noise) -> None:
        """One step of the slow weights, and one of those in use."""
        nu, limit, to = noise.variance, CLIP * math.sqrt(noise.variance), self.start
        curvature = weight / nu * np.outer(seen, seen)

        def gradient(weights: Array) -> Array:
            return np.asarray(weight * noise.clip(z - float(weights @ seen), limit) / nu * seen)

        if self.slow:
            pull = gradient(self.slow_weights)
            self.slow_weights, self.slow_information = stepped(
                self.slow_weights, self.slow_information, to, pull, curvature, SLOW_PRIOR, 1 - self.slow
            )
            to = self.slow_weights
        pull = gradient(self.stack_weights)
        self.stack_weights, self.information = stepped(
            self.stack_weights, self.information, to, pull, curvature, self.prior, 1 - self.forgetting
        )

    def count_errors(self, errors: Array) -> None:
        """Running means over the last rows."""
        self.errors = self.errors + (errors - self.errors) / min(self.stacked, RECENT)

    def fields(self) -> list[Field]:
        k, experts = len(self.start), len(self.factors)
        own = [
            Field(self, "stack_weights", (k,)),
            Field(self, "information", (k, k)),
            Field(self, "errors", (experts,), low=0.0),
            count(self, "stacked"),
            *(replace(field, name=f"alarm_{field.key}") for field in self.alarm.fields()),
            Field(self, "alarm_rows", (Size("alarms", MOST_ALARMS),), name="alarms", whole=True, low=0.0),
        ]
        numbers = [Field(self, name) for name in ("lowest", "highest")]
        if self.loss.linear:
            followed = [Field(self, "last_residual")] if self.follows else []
            steps = [Field(self, "agreement", low=-1.0), Field(self, "relative_step", low=0.0)]
            agreed = [*steps, Field(self, "last_score"), Field(self, "last_target")]
            slow = [Field(self, "slow_weights", (k,)), Field(self, "slow_information", (k, k))] if self.slow else []
            level = [*self.tracked.fields(), *followed, *slow, *agreed]
            return [*own, *self.variance.fields(), *numbers, *level]
        knots = (len(self.first_corrections),)
        information = Field(self, "calibration_information", knots, low=0.0)
        rate = [Field(self, "rate", low=0.0, high=1.0)] if self.binary_certain else []
        share = [Field(self, "unknown_share", low=0.0, high=1.0)] if self.cautious else []
        return [*own, Field(self, "calibration", knots), information, *rate, *share]


def stepped(
    weights: Array,
    information: Array,
    to: Array,
    gradient: Array,
    curvature: Array,
    prior: float,
    forgotten: float,
    more: float = 0.0,
) -> tuple[Array, Array]:
    """theta (k,) and H (k, k) after a Newton step, and a step back towards other weights; the prior is rho + more."""
    eye = np.eye(len(weights))
    information = (1 - forgotten) * information + forgotten * prior * eye + curvature
    gradient = gradient - forgotten * (prior + more) * (weights - to)
    return weights + np.linalg.solve(information + more * eye, gradient), information


def clip(x: float, limit: float) -> float:
    """x within +-limit."""
    return min(limit, max(-limit, x))


def standing(z: Array) -> tuple[int, float, float]:
    """The best class of scores (c,), its distance to the second best, and its log-odds."""
    best = int(np.argmax(z))
    others = np.delete(z, best)
    second = float(others.max())
    return best, float(z[best]) - second, float(z[best]) - second - math.log(np.exp(others - second).sum())


def place(u: float) -> tuple[int, float]:
    """The knot below u, and the share of the next one."""
    k = int(np.clip(np.searchsorted(KNOTS, u, side="right") - 1, 0, len(KNOTS) - 2))
    return k, min(1.0, max(0.0, (u - float(KNOTS[k])) / float(KNOTS[k + 1] - KNOTS[k])))
