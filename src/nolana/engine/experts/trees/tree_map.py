"""Complete binary trees over 8-bit codes of the row; one of them at a time is grown again from the most recent rows.

A row has one leaf in each tree. Codes are z without the relevance metric, in steps of 1/40, clipped to +-126: a tree
does not care about the scale of a feature, but about its resolution. A missing number has the code 127, so that a split
may have all of them on one side; a category has a random code from -127 to 126 that belongs to its value, because an
effect alone would hide what it does together with others. A tree that splits a row by a value whose code no learned row
had says nothing about it: the row has no leaf there. Node i: feature f_i, threshold t_i,

    i <- 2i + 1 + (code[f_i] > t_i), of a category (code[f_i] == t_i), depth times;   t = 127 where a node is not split

Growing a tree from gradients g and curvatures h of the stored rows, which the slow head knows (`leaves`): in each node
at most 64 random features and all thresholds; the split with the largest gain

    G_L^2/(H_L + l) + G_R^2/(H_R + l) - G^2/(H + l),   above 1, and at least 8 rows on both sides

Chen, Guestrin, "XGBoost: A Scalable Tree Boosting System", KDD 2016. Thresholds lie half-way between the bins beside
the cut; a node of fewer than 256 (64) rows has bins of 2 (4) codes. A category is split by one value against all
others. g and h are integers, in steps of 1/1024: sums are exact, so the core finds the same splits.

When trees are grown, by the number of rows learned: after rows 129, 257 and 513, one after the last anchors of the
scaling, all start again, with 8, 8 and 16 trees; then one more every 64 rows until all are grown, then the oldest one
again every 1,024 rows. After a drift alarm every 64 rows again, until all that were grown before it are new: trees of
the rows before a drift are worth little.

A tree that was grown again is on trial (`trials`): the rows that are stored until the next one tell whether the tree
before, whose leaves have learned for long, would have predicted them better. If so, it comes back (`leaves`).
"""

import functools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from nolana.engine.base.bounds import Count, Depth, Index, Numbers, Seed
from nolana.engine.base.draw import below, draw, draws, shuffle
from nolana.engine.base.state import POSITIVE, Field, Size, count
from nolana.engine.experts.effects.keys import column_hash
from nolana.engine.experts.map import Array, Map

if TYPE_CHECKING:
    from nolana.engine.experts.trees.leaves import LeafHead

Integers = NDArray[np.int64]

STEPS = 40.0  # in a unit
LARGEST = 127.0
MISSING = 127.0
LARGEST_NUMBER = 126.0
CATEGORY_CODES = 254
MOST_FEATURES = 256  # a node has 8 bits for its feature
MOST_ROWS = 65535
STARTS = {129: 8, 257: 8, 513: 16}  # trees that are grown at once after this row
GROW_EVERY, REFIT_EVERY = 64, 1024  # rows
CANDIDATES = 64  # features of a node
LEAST_ROWS = 8  # of both sides of a split
LEAST_GAIN = 1.0
FINE, COARSE = 256, 64  # rows of a node below which a bin has 2 and 4 codes
GRADIENT_STEPS = 1024.0


def leaves_of(
    codes: NDArray[Any], features: Integers, thresholds: Integers, categories: Sequence[int]
) -> Integers:  # (n, d), (nodes,), (nodes,) -> (n,)
    """The leaf of each row in one tree."""
    at, flat = np.zeros(len(codes), dtype=np.int64), codes.ravel()
    row = codes.shape[1] * np.arange(len(codes))
    is_category = np.isin(features, categories) if len(categories) else None
    while len(at) and at[0] < len(features):
        own, threshold = flat.take(row + features.take(at)), thresholds.take(at)
        right = own > threshold
        at = 2 * at + 1 + (right if is_category is None else np.where(is_category[at], own == threshold, right))
    return at - len(features)


class TreeMap(Map):
    """split_features and thresholds (trees, nodes); codes (rows, d) of the stored rows, the oldest first; metric (d,);
    learned_codes (categories, 254), whether a learned row had them.

    `categories` are the columns that hold keys of categories. `grown` trees are in use; `oldest` is the next one to be
    grown again; `stale` trees are from before the last drift alarm; `kept` rows were stored so far. Without `refits`
    all trees stay as they are. With `trials` there is one tree more: the last one of the arrays is what the tree was
    that is `on_trial`, and `fresh` rows were stored since.
    """

    def __init__(
        self,
        features: Count,
        trees: Index,
        depth: Depth,
        rows: Count,
        seed: Seed,
        refits: bool = True,
        categories: Numbers | None = None,
        trials: bool = False,
    ) -> None:
        super().__init__(features)
        if trees and features > MOST_FEATURES:
            raise ValueError("a tree map takes at most 256 features")
        if not 1 <= depth <= 10:
            raise ValueError("the depth of trees is 1 to 10")
        if not 1 <= rows <= MOST_ROWS:
            raise ValueError("a tree map stores 1 to 65,535 rows")
        self.trees, self.depth, self.rows, self.seed, self.refits = trees, depth, rows, seed, refits
        self.places = trees + (1 if trials and trees else 0)
        self.categories = [] if categories is None else [int(j) for j in categories]
        if not all(0 <= j < features for j in self.categories):
            raise ValueError("a category names a column that does not exist")
        self.raw: Array | None = None
        self.new: NDArray[np.bool_] = np.zeros(features, dtype=bool)  # categories of the row that nobody has learned
        self.nodes, self.leaves = (1 << depth) - 1, 1 << depth
        self.self_value = 1.0
        self.heads: list[LeafHead] = []
        self.clear()

    @property
    def trials(self) -> bool:
        return self.places > self.trees

    @property
    def side(self) -> int:
        return self.places * self.leaves

    def clear(self) -> None:
        self.split_features: Integers = np.zeros((self.places, self.nodes), dtype=np.int64)
        self.thresholds: Integers = np.full((self.places, self.nodes), int(LARGEST))
        self.codes: NDArray[np.float32] = np.zeros((0, self.features), dtype=np.float32)
        self.metric = np.ones(self.features)
        self.learned_codes: NDArray[np.float32] = np.zeros((len(self.categories), CATEGORY_CODES), dtype=np.float32)
        self.grown = self.oldest = self.stale = self.kept = self.on_trial = self.fresh = 0
        self.keeps = True  # whether the row that was learned is stored; the slow head decides

    def fields(self) -> list[Field]:
        shape, whole = (self.places, self.nodes), functools.partial(Field, self, dtype=np.float32, whole=True)
        codes = (Size("codes", self.rows, owner="map"), self.features)
        return [
            whole("split_features", shape, low=0.0, high=self.features - 1.0),
            whole("thresholds", shape, low=-LARGEST, high=LARGEST),
            Field(self, "grown", whole=True, low=0.0, high=float(self.trees)),
            Field(self, "oldest", whole=True, low=0.0, high=float(max(0, self.trees - 1))),
            Field(self, "stale", whole=True, low=0.0, high=float(self.trees)),
            count(self, "kept"),
            *([Field(self, "on_trial", whole=True, low=0.0, high=1.0), count(self, "fresh")] if self.trials else []),
            whole("codes", codes, low=-LARGEST, high=LARGEST),
            Field(self, "metric", (self.features,), low=POSITIVE),
            *([whole("learned_codes", self.learned_codes.shape, low=0.0, high=1.0)] if self.categories else []),
        ]

    def restored(self) -> None:
        self.split_features, self.thresholds = (a.astype(np.int64) for a in (self.split_features, self.thresholds))

    def see(self, raw: Array | None) -> None:
        self.raw = raw

    def evaluate(self, x: Array) -> None:
        self.code = np.clip(np.rint(x * (STEPS / self.metric)), -LARGEST_NUMBER, LARGEST_NUMBER)
        if self.raw is None:
            return
        self.code[np.isnan(self.raw)] = MISSING
        for k, j in enumerate(self.categories):
            code = below(column_hash(j, float(self.raw[j])), CATEGORY_CODES)
            self.code[j], self.new[j] = code - LARGEST, self.learned_codes[k, code] == 0

    @property
    def slots(self) -> Integers:
        """The leaves of the row at hand, counted through all trees, of those that have one for it."""
        at = [self.leaves_in(q, self.code[None])[0] for q in range(self.grown)]
        found = np.arange(self.grown) * self.leaves + np.array(at, dtype=np.int64)
        return found[[not self.new.any() or self.decides(q, at[q]) for q in range(self.grown)]]

    def leaves_in(self, q: int, codes: NDArray[Any]) -> Integers:  # (n, d) -> (n,)
        """The leaf of each row in this tree."""
        return leaves_of(codes, self.split_features[q], self.thresholds[q], self.categories)

    def decides(self, q: int, leaf: int) -> bool:
        """Whether the way of the row to its leaf depends on no new value."""
        node = leaf + self.nodes
        while node:
            node = (node - 1) // 2
            if self.new[self.split_features[q, node]] and self.thresholds[q, node] < LARGEST:
                return False
        return True

    def after(self, step: int) -> None:
        for k, j in enumerate(self.categories):
            self.learned_codes[k, int(self.code[j] + LARGEST)] = 1
        if self.keeps:
            self.codes = np.vstack([self.codes, self.code.astype(np.float32)])[-self.rows :]
            self.kept += 1
            self.fresh += 1
        if not self.refits or not self.trees:
            return
        if step in STARTS:
            self.grown = self.oldest = self.stale = self.on_trial = 0
            for head in self.heads:
                head.restart()
            for _ in range(min(self.trees, STARTS[step])):
                self.refit(step)
        elif step > max(STARTS) and step % self.pace == 0:
            self.refit(step)

    @property
    def pace(self) -> int:
        """Rows from one tree to the next."""
        return GROW_EVERY if self.grown < self.trees or self.stale else REFIT_EVERY

    def drifted(self) -> None:
        self.stale, self.on_trial = (self.grown, 0) if self.refits else (0, self.on_trial)

    def refit(self, step: int) -> None:
        """Grow one more tree, or the oldest one again."""
        codes = self.codes.astype(np.int64)
        if self.on_trial:
            self.judge(codes)
        q = self.grown if self.grown < self.trees else self.oldest
        word = draw(self.seed, step * self.trees + q)
        self.on_trial = int(self.trials and self.grown == self.trees and not self.stale)
        if self.on_trial:
            self.fresh = 0
            self.copy(q, self.trees)
        slow = self.heads[0]
        slow.add(q, self.leaves_in(q, codes), -1)
        self.split_features[q], self.thresholds[q] = 0, int(LARGEST)
        g, h, ridge = slow.gradients(word)
        self.grow(q, codes, g, h, ridge, word)
        leaf = self.leaves_in(q, codes)
        if self.grown < self.trees:
            self.grown += 1
        else:
            self.oldest, self.stale = (q + 1) % self.trees, max(0, self.stale - 1)
        for head in self.heads:
            head.start_tree(q, leaf)

    def judge(self, codes: Integers) -> None:
        """The tree on trial stays, or that before it comes back."""
        q, slow = (self.oldest - 1) % self.trees, self.heads[0]
        before, now = self.leaves_in(self.trees, codes), self.leaves_in(q, codes)
        if slow.was_better(self.trees, before, q, now, min(self.fresh, len(codes))):
            slow.add(q, now, -1)
            self.copy(self.trees, q)
            slow.add(q, before, 1)

    def copy(self, tree: int, to: int) -> None:
        """Its splits, and its leaves in all heads."""
        self.split_features[to], self.thresholds[to] = self.split_features[tree], self.thresholds[tree]
        for head in self.heads:
            head.copy_tree(tree, to)

    def grow(self, q: int, codes: Integers, g: Integers, h: Integers, ridge: float, word: int) -> None:
        """The splits of tree q: codes (n, d), g and h (n,) in steps."""
        members = {0: np.arange(len(codes))}
        for node in range(self.nodes):
            rows = members.pop(node, np.zeros(0, dtype=np.intp))
            if len(rows) < 2 * LEAST_ROWS:
                continue
            features = candidates(self.features, word, node)
            split = best_split(codes[rows], g[rows], h[rows], ridge, features, self.categories)
            if split is None:
                continue
            self.split_features[q, node], self.thresholds[q, node] = split
            own = codes[rows, split[0]]
            right = own == split[1] if split[0] in self.categories else own > split[1]
            members[2 * node + 1], members[2 * node + 2] = rows[~right], rows[right]


def candidates(features: int, word: int, node: int) -> NDArray[np.intp]:
    """The features that a node may be split by."""
    order = np.arange(features)
    if features <= CANDIDATES:
        return order
    places = np.arange(node * CANDIDATES, (node + 1) * CANDIDATES, dtype=np.uint64)
    return shuffle(order, draws(word, places))


def best_split(
    codes: Integers, g: Integers, h: Integers, ridge: float, features: NDArray[np.intp], categories: Sequence[int]
) -> tuple[int, int] | None:
    """Feature and threshold with the largest gain, the first of equal ones; None if no gain is large enough."""
    n, steps = len(codes), GRADIENT_STEPS
    of_numbers = 0 if n >= FINE else 1 if n >= COARSE else 2
    total_g, total_h = float(g.sum()) / steps, float(h.sum()) / steps
    before, best, found = total_g * total_g / (total_h + ridge), LEAST_GAIN, None
    for j in features.tolist():
        category = j in categories
        shift = 0 if category else of_numbers
        bins = (codes[:, j] + int(LARGEST)) >> shift
        used, left = np.unique(bins, return_counts=True)
        left_g, left_h = np.bincount(bins, g)[used] / steps, np.bincount(bins, h)[used] / steps
        if not category:
            left, left_g, left_h = (np.cumsum(each)[:-1] for each in (left, left_g, left_h))
        right_g, right_h = total_g - left_g, total_h - left_h
        gain = left_g * left_g / (left_h + ridge) + right_g * right_g / (right_h + ridge) - before
        gain[(left < LEAST_ROWS) | (n - left < LEAST_ROWS)] = -np.inf
        if len(gain) and gain.max() > best:
            k = int(np.argmax(gain))
            low = high = int(used[k])
            if not category:
                low, high = ((low + 1) << shift) - 1, (int(used[k + 1]) << shift) - 1
            best, found = float(gain[k]), (j, (low + high) // 2 - int(LARGEST))
    return found
