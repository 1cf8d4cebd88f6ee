"""The default learner, `StreamClassifier`, in one file of NumPy, for reading: predict a row, learn it, forget it.

    row x ─ Scaling ─ z ─┬ Linear      full covariance                  ┐
                         ├ Landmarks   Newton (slow), LMS (fast)        ┼─ Stack ─ probabilities p
                         ├ Bins        diagonal (slow), constant (fast) │
                         └ Neighbours  votes of the last 100, 316, ...  ┘

Four feature maps, because they fail on different streams. Slow heads converge, fast heads track drift, and the stack
learns which of them to trust now. What StreamClassifier has besides: trees, fixed memory and speed (C++), changing
units of features, their relevance, classes that appear later, sample weights, calibration, drift alarms.

Letters: d features, c classes, m landmarks, G grids, W rows in the ring buffer, t rows learned so far.
Every expert has `scores(z)`, one row of c scores for each of its heads, and `learn(y)`, which learns the row that was
scored last; y is the index of its class.
"""

import numpy as np

FORGETTING = 1 - 3e-5  # per row, of slow heads: a stream is never quite stationary


def softmax(f):  # (c,) -> (c,)
    e = np.exp(f - f.max())
    return e / e.sum()


def logistic_step(f, v, y):  # (c,), float, int -> (c,), float
    """Implicit step: solve f* = f + v (onehot(y) - softmax(f*)), v the variance of f, by two Newton iterations.

    The gradient is that AFTER the step, so no step overshoots. Returns it (the pull), and the curvature e of the loss.
    """
    p, g, target = softmax(f), f, np.eye(len(f))[y]
    before = p @ (1 - p)
    for _ in range(2):
        g = g + (f + v * (target - p) - g) / (1 + v * np.maximum(0.05, p * (1 - p)))
        p = softmax(g)
    return target - p, max(before, p @ (1 - p)) / 2


class Scaling:
    """q = (x - mean)/standard deviation, z = q for |q| <= 1, else sign(q) (1 + log|q|): no outlier is far.

    Running moments of the first rows, robust because e = x - mean is clipped at 6 standard deviations, a = 1/t:

        mean += a e,   variance += a ((1 - a) e^2 - variance)
    """

    def __init__(self, d, rows):  # t rows (d,)
        self.mean, variance = np.zeros(d), np.zeros(d)
        for t, x in enumerate(rows, start=1):
            a, e, limit = 1 / t, x - self.mean, 6 * np.sqrt(variance)
            e = np.where((t > 4) & (limit > 0), np.clip(e, -limit, limit), e)
            self.mean = self.mean + a * e
            variance = variance + a * ((1 - a) * e * e - variance)
        self.deviation = np.where(variance > 0, np.sqrt(variance), np.inf)  # a constant feature has z = 0

    def scale(self, x):  # (d,) -> (d,)
        q = (x - self.mean) / self.deviation
        return np.sign(q) * (np.minimum(abs(q), 1) + np.log(np.maximum(abs(q), 1)))


class Linear:
    """f = w phi, phi = (z, 1): logistic regression by Newton steps, which needs few rows if the classes are linear.

    C is the covariance of the weights, h = C phi, v = phi.h, pull and e those of a logistic step:

        w += pull h',   C -= e/(1 + e v) h h'   (Sherman-Morrison)
    """

    START = (0.6,)  # first weights in the stack

    def __init__(self, d, c):
        self.w, self.C = np.zeros((c, d + 1)), np.eye(d + 1)

    def scores(self, z):  # (d,) -> (1, c)
        self.phi = np.append(z, 1.0)
        self.f = self.w @ self.phi
        return [np.clip(self.f / 2, -10, 10)]

    def learn(self, y):
        h = self.C @ self.phi
        v = self.phi @ h
        pull, e = logistic_step(self.f, v, y)
        self.w += np.outer(pull, h)
        self.C -= e / (1 + e * v) * np.outer(h, h)
        self.w *= np.sqrt(FORGETTING)  # forget towards the prior, not into the void
        self.C = FORGETTING * self.C + (1 - FORGETTING) * np.eye(len(h))


class Landmarks:
    """Kernel values k_i = exp(-gamma |z - u_i|^2) with m landmarks u_i, f = alpha k: smooth functions.

    E_ij = k(u_i, u_j) and P = (E + delta I)^-1, the prior covariance of alpha. Targets y are +-1, one against the rest;
    a class learns only if it is active, its margin y f below 1 (squared hinge loss).

    Slow (a Kalman filter): R is the covariance of alpha, h = R k, kappa = k.h, a the share of classes that are active:

        alpha += (y - f) h'/(noise + kappa),   R -= a/(noise + a kappa) h h'

    Fast (normalised LMS): alpha += rate (y - f) (Pk)'/(k.Pk + .01), the gradient step of Nystroem features: Si, Kumar,
    Li, "Nonlinear Online Learning with Adaptive Nystroem Approximation".

    A row of large novelty 1 - k.Pk, the part of it that the landmarks do not explain, becomes a landmark.
    """

    START = (0.6, 0.1)
    M, DELTA, NOISE, RATE = 100, 1e-3, 0.05, 0.1

    def __init__(self, d, c):
        self.gamma = 1 / (2 * d)  # 2 d is the mean squared distance of standardised rows
        self.u, self.P, self.R, self.t = np.zeros((0, d)), np.zeros((0, 0)), np.zeros((0, 0)), 0
        self.slow, self.fast = np.zeros((c, 0)), np.zeros((c, 0))  # alpha of both heads

    def scores(self, z):  # (d,) -> (2, c)
        self.z, self.k = z, np.exp(-self.gamma * ((self.u - z) ** 2).sum(axis=1))
        self.f_slow, self.f_fast = self.slow @ self.k, self.fast @ self.k
        return [np.clip(self.f_slow, -2, 2), np.clip(self.f_fast, -2, 2)]

    def learn(self, y):
        self.t += 1
        target = 2 * np.eye(len(self.slow))[y] - 1
        h, Pk = self.R @ self.k, self.P @ self.k
        kappa, explained = self.k @ h, self.k @ Pk

        active = target * self.f_slow < 1
        self.slow += np.outer(active * (target - self.f_slow), h) / (self.NOISE + kappa)
        share = active.mean()  # a full downdate for a few active classes would make the others overconfident
        self.R -= share / (self.NOISE + share * kappa) * np.outer(h, h)
        self.slow *= np.sqrt(FORGETTING)
        self.R = FORGETTING * self.R + (1 - FORGETTING) * self.P

        active = target * self.f_fast < 1
        self.fast += self.RATE * np.outer(active * (target - self.f_fast), Pk) / (explained + 0.01)

        if len(self.u) < self.M and 1 - explained > max(0.002, 0.03 * min(1, self.M / self.t)):
            self.grow(Pk, 1 + self.DELTA - explained)

    def grow(self, Pk, g):  # (m,), float
        """P' = P (+) 0 + p p'/g,  R' = R (+) 0 + p p'/g,  p = [-Pk; 1]: the new weight starts at its prior."""
        p = np.append(-Pk, 1.0)
        self.u = np.vstack([self.u, self.z])
        self.P, self.R = (np.pad(A, (0, 1)) + np.outer(p, p) / g for A in (self.P, self.R))
        self.slow, self.fast = (np.pad(alpha, ((0, 0), (0, 1))) for alpha in (self.slow, self.fast))


class Bins:
    """Random binning: a row is in one bin of each of G random grids, f is the sum of the weights of its G bins.

    Slow: every bin has a variance s; v = sum of s, pull and e of a logistic step:

        w += s pull,   s <- max(floor, s - s^2 e/(1 + e v))

    Fast: other weights of the same bins, which all keep the variance 6.4/G.

    The share of bins that two rows have in common is, on average, a Laplacian-like kernel: fine local structure at the
    cost of G look-ups. Rahimi, Recht, "Random Features for Large-Scale Kernel Machines", NIPS 2007; Wu, Yen, Chen, Yan,
    "Revisiting Random Binning Features", KDD 2016.
    """

    START = (0.6, 0.1)
    G, PRIOR, GAIN, FLOOR = 128, 3.2, 6.4, 1e-4

    def __init__(self, d, c, rng):
        self.inverse_pitch = np.zeros((self.G, d))  # 0 if the grid does not use the feature: all rows are in one bin
        sizes = [2**i for i in range(1, 7) if 2**i < d] or [d]
        for g in range(self.G):  # from coarse to fine; every other grid uses all features, the others 2, 4, 8, ...
            n = d if g % 2 == 0 else rng.choice(sizes)
            pitch = np.maximum(0.05, rng.gamma(2, 0.5, n)) * 4 * (1 / 8) ** (g / (self.G - 1)) * np.sqrt(n)
            self.inverse_pitch[g, rng.permutation(d)[:n]] = 1 / pitch
        self.offset = rng.random((self.G, d))
        self.multiplier = rng.integers(-(2**62), 2**62, (self.G, d))  # of a hash; integers wrap around
        self.index = {}  # hash of a grid and its bin -> its row in the tables, which grow without bound
        self.s, self.slow, self.fast = np.zeros(0), np.zeros((0, c)), np.zeros((0, c))

    def scores(self, z):  # (d,) -> (2, c)
        bins = np.floor(z * self.inverse_pitch + self.offset).astype(np.int64)  # (G, d)
        keys = (bins * self.multiplier).sum(axis=1) + np.arange(self.G)
        self.rows = np.array([self.index.setdefault(key, len(self.index)) for key in keys.tolist()])
        while len(self.index) > len(self.s):
            more = max(1024, len(self.s))
            self.s = np.append(self.s, np.full(more, self.PRIOR / self.G))
            self.slow, self.fast = (np.pad(w, ((0, more), (0, 0))) for w in (self.slow, self.fast))
        self.f_slow, self.f_fast = self.slow[self.rows].sum(axis=0), self.fast[self.rows].sum(axis=0)
        return [np.clip(self.f_slow / 2, -10, 10), np.clip(self.f_fast / 2, -10, 10)]

    def learn(self, y):
        s = self.s[self.rows]
        v = s.sum()
        pull, e = logistic_step(self.f_slow, v, y)
        self.slow[self.rows] += np.outer(s, pull)
        self.s[self.rows] = np.maximum(self.FLOOR, s - s * s * e / (1 + e * v))

        pull, _ = logistic_step(self.f_fast, self.GAIN, y)
        self.fast[self.rows] += self.GAIN / self.G * pull


class Neighbours:
    """A ring buffer of the last W rows. In each of its nested windows the 5 nearest rows vote with 1.5 - (D/D_5)^2.

    f = (log(votes + .1) - mean over the classes)/2, D the sum of absolute differences. Nothing is learned, so nothing
    has to be unlearned when regions move.
    """

    WINDOWS, K = (100, 316, 1000, 3162), 5
    START = (0.1,) * len(WINDOWS)

    def __init__(self, d, c):
        W = self.WINDOWS[-1]
        self.c, self.t, self.z, self.y = c, 0, np.zeros((W, d)), np.zeros(W, dtype=int)

    def scores(self, z):  # (d,) -> (4, c)
        self.row = z
        D = abs(self.z[: self.t] - z).sum(axis=1)
        nearest = np.argsort(D)
        age = (self.t - 1 - nearest) % len(self.y)
        return [self.vote(D, nearest[age < window][: self.K]) for window in self.WINDOWS]

    def vote(self, D, nearest):  # (n,), (5,) -> (c,)
        ratio = D[nearest] / max(D[nearest].max(initial=0.0), 1e-12)
        votes = np.bincount(self.y[nearest], weights=1.5 - ratio**2, minlength=self.c)
        logs = np.log(votes + 0.1)
        return np.clip((logs - logs.mean()) / 2, -2, 2)

    def learn(self, y):
        self.z[self.t % len(self.y)], self.y[self.t % len(self.y)] = self.row, y
        self.t += 1


class Stack:
    """Multinomial logistic regression on the scores E (k, c) of the k heads, theta (k,) shared by all classes.

        p = softmax(theta E),   Ebar = sum_c p_c E_c
        H <- lambda H + (1 - lambda) I + sum_c p_c (E_c - Ebar)(E_c - Ebar)'
        theta += H^-1 [E_y - Ebar - (1 - lambda)(theta - theta0)]

    One Newton step for each row. lambda forgets H and pulls theta back to theta0.
    """

    LAMBDA = 0.999

    def __init__(self, start):  # (k,)
        self.start, self.theta, self.H = start, start.copy(), np.eye(len(start))

    def learn(self, E, y):  # (k, c), int -> (c,), p before the row was learned
        p, back = softmax(self.theta @ E), 1 - self.LAMBDA
        away = E - (E @ p)[:, None]
        self.H = self.LAMBDA * self.H + back * np.eye(len(E)) + (p * away) @ away.T
        self.theta = self.theta + np.linalg.solve(self.H, away[:, y] - back * (self.theta - self.start))
        return p


class NanoClassifier:
    """d features, c classes; X (n, d) has no missing values, y (n,) has integers below c."""

    SETTLED = 512  # rows, after which the scale stays: landmarks, bins and neighbours are places in z

    def __init__(self, d, c, seed=0):
        self.d, self.c, self.seed, self.first = d, c, seed, []
        self.start()

    def start(self):
        """New experts learn the first rows again, all in the scale of now. (StreamClassifier converts the old ones.)"""
        d, c, rng = self.d, self.c, np.random.default_rng(self.seed)
        self.scaling = Scaling(d, [x for x, _ in self.first])
        self.experts = [Linear(d, c), Landmarks(d, c), Bins(d, c, rng), Neighbours(d, c)]
        self.stack = Stack(np.concatenate([expert.START for expert in self.experts]))
        for x, y in self.first:
            self.step(x, y)

    def step(self, x, y):  # (d,), int -> (c,)
        z = self.scaling.scale(x)
        E = np.array([f for expert in self.experts for f in expert.scores(z)])  # (k, c)
        p = self.stack.learn(E, y)
        for expert in self.experts:
            expert.learn(y)
        return p

    def learn(self, X, y):  # (n, d), (n,) -> (n, c)
        """Probabilities of each row BEFORE it was learned: their accuracy is that on unseen rows (prequential)."""
        p = np.empty((len(X), self.c))
        for i, (x, label) in enumerate(zip(X, y, strict=True)):
            p[i] = self.step(x, label)
            if len(self.first) < self.SETTLED:
                self.first.append((x, label))
                if len(self.first).bit_count() == 1:  # 1, 2, 4, 8, ..., 512 rows
                    self.start()
        return p


if __name__ == "__main__":
    from sklearn.datasets import load_digits
    from sklearn.utils import shuffle

    from nolana import StreamClassifier

    X, y = shuffle(*load_digits(return_X_y=True), random_state=0)
    nano = NanoClassifier(d=64, c=10).learn(X, y)
    product = StreamClassifier(random_state=0).learn_proba(X, y)[1]
    for name, p in {"NanoClassifier": nano, "StreamClassifier": product}.items():
        print(f"{name}: {100 * np.mean(p.argmax(axis=1) == y):.1f} % of {len(y):,} digits")
