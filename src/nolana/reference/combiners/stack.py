"""The stack: second-order regression on the experts' scores, with forgetting.

Inputs E (experts, columns) are the scores times `factors`, clipped to +-`limits`; one output has the columns -F, F.

    classes    z_c = theta.E_c,  p = softmax(z),  Ebar = sum_c p_c E_c
               H <- lambda H + (1 - lambda) rho I + w sum_c p_c (E_c - Ebar)(E_c - Ebar)'
               theta += H^-1 [w (E_y - Ebar) - (1 - lambda) rho (theta - theta0)]

    a number   inputs e: scores clipped to the range of the targets seen, and 1;  f = theta.e
               H <- lambda H + (1 - lambda) rho I + w e e'/nu
               theta += H^-1 [w r e/nu - (1 - lambda) rho (theta - theta0)],  r = y - f clipped at 3 sqrt(nu)
               nu: running variance of the residuals

A drift alarm watches the experts with the weights theta0 they began with (the stack itself may turn around after a
few rows), for numbers the residuals beyond 2 sqrt(nu).

theta is shared by all classes, so a new class needs nothing. Scores are log-odds: softmax of -f, f for one output.
"""

import math
from dataclasses import replace

import numpy as np

from nolana.reference.bounds import Memory, Numbers, Positive
from nolana.reference.combiners.combiner import Array, Combiner
from nolana.reference.drift_alarm import DriftAlarm
from nolana.reference.heads.implicit import CLIP, softmax
from nolana.reference.losses import Loss
from nolana.reference.residual_variance import ResidualVariance
from nolana.reference.state import Field, Size, count

RARE = 1e-4  # a class below this probability adds nothing to H
LARGEST_TARGET, MARGIN = 8.0, 0.1  # how far targets extend the range of predictions
RECENT = 1000  # rows that the errors of the experts stand for
UNUSUAL = 2.0  # deviations of a residual, for the alarm
MOST_ALARMS = 100


class Stack(Combiner):
    """theta and H as `stack_weights` (k,), `information` (k, k); factors, limits and start (experts,) as above."""

    def __init__(
        self, loss: Loss, factors: Numbers, limits: Numbers, start: Numbers, forgetting: Memory, prior: Positive
    ) -> None:
        if not len(factors) == len(limits) == len(start):
            raise ValueError("factors, limits and start have one entry for each expert")
        self.loss, self.factors, self.limits = loss, np.asarray(factors), np.asarray(limits)
        self.start = np.append(start, 0.0) if loss.linear else np.array(start, dtype=np.float64)
        self.forgetting, self.prior = forgetting, prior

    def clear(self, experts: int, outputs: int) -> None:
        if experts != len(self.factors):
            raise ValueError(f"the stack is made for {len(self.factors)} experts, not {experts}")
        self.stack_weights: Array = self.start.copy()
        self.information: Array = self.prior * np.eye(len(self.start))
        self.errors: Array = np.zeros(experts)
        self.stacked = 0
        self.alarm = DriftAlarm()
        self.alarm_rows: Array = np.zeros(0)
        self.variance = ResidualVariance()
        self.lowest = self.highest = 0.0

    @property
    def alarms(self) -> list[float]:
        return [float(row) for row in self.alarm_rows]

    def watch(self, error: bool) -> None:
        """Tell the alarm of a row."""
        if self.alarm.observe_row(float(error)):
            self.alarm_rows = np.append(self.alarm_rows, self.stacked)[-MOST_ALARMS:]

    @property
    def noise(self) -> float:
        return self.variance.noise if self.loss.linear else 1.0

    def inputs(self, scores: Array) -> Array:  # (experts, c) -> (experts, columns)
        """What the stack sees."""
        if self.loss.linear:
            return np.append(np.clip(scores[:, 0], self.lowest, self.highest), 1.0)[:, None]
        seen = np.clip(scores * self.factors[:, None], -self.limits[:, None], self.limits[:, None])
        return np.hstack([-seen, seen]) if seen.shape[1] == 1 else seen

    def combine(self, scores: Array) -> Array:
        z = self.stack_weights @ self.inputs(scores)
        if self.loss.linear:
            return np.clip(z, self.lowest, self.highest)
        return np.asarray(z[1:] if scores.shape[1] == 1 else z)

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
        self.count_errors((seen.argmax(axis=1) != own).astype(np.float64))
        p = softmax(self.stack_weights @ seen)
        middle = seen @ p
        away = seen - middle[:, None]
        common = p > RARE
        self.step(weight * away[:, own], (weight * p[common] * away[:, common]) @ away[:, common].T)

    def learn_number(self, seen: Array, y: float, f: float, weight: float) -> None:
        nu, residual = self.noise, y - f
        self.count_errors((y - seen[:-1]) ** 2)
        limit = CLIP * math.sqrt(nu)
        clipped = min(limit, max(-limit, residual))
        self.step(weight * clipped / nu * seen, weight / nu * np.outer(seen, seen))
        self.watch(abs(residual) > UNUSUAL * math.sqrt(nu))
        bounded = min(LARGEST_TARGET, max(-LARGEST_TARGET, y))
        self.lowest, self.highest = min(self.lowest, bounded - MARGIN), max(self.highest, bounded + MARGIN)
        self.variance.observe_row(residual**2, self.stacked)

    def step(self, gradient: Array, curvature: Array) -> None:
        """One Newton step with forgetting."""
        k, back = len(self.start), (1 - self.forgetting) * self.prior
        self.information = self.forgetting * self.information + back * np.eye(k) + curvature
        pull = gradient - back * (self.stack_weights - self.start)
        self.stack_weights = self.stack_weights + np.linalg.solve(self.information, pull)

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
        return [*own, *self.variance.fields(), *numbers] if self.loss.linear else own
