"""A learner with units: one call against the chain of scaling, feature table, learner and interval, bit for bit."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.base.state import pack
from nolana.learner.rows import SparseRows
from nolana.learner.schedule import any_anchor_row

BUILDS = core_builds()
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", [*BUILDS, reference], ids=lambda m: m.__name__.split(".")[-1])
LEVELS = np.array([0.5, 0.9, 0.99])
FEATURES, SKETCH, SEED = 300, 8, 5  # of sparse rows
PREFIXES = {"scaling": "scaling/", "target_scaling": "target_scaling/", "interval": "interval/"}
PREFIXES |= {"feature_table": "features/", "label_sets": "label_sets/", "growth": "scaling_growth/"}
JUDGEMENT = {"stack_weights", "information", "errors", "calibration", "calibration_information"}
JUDGEMENT |= {"residual_variance", "skew", "lowest", "highest", "slow_weights", "slow_information"}
CASES = {  # kind of rows, outputs (0: a number)
    "two classes": ("dense", 1),
    "three classes": ("dense", 3),
    "a number": ("dense", 0),
    "a number, unsquashed": ("unsquashed", 0),
    "a number, by row": ("by row", 0),
    "two classes, growing": ("growing", 1),
    "sparse, two classes": ("sparse", 1),
    "sparse, a number": ("sparse", 0),
    "sparse, linear alone": ("alone", 3),
}
DENSE = ("dense", "unsquashed", "by row", "growing")
CALLER_SETS_LATE = ("unsquashed", "growing")  # anchors
cases = pytest.mark.parametrize("case", CASES)
# What the experts say of a row, by which its width is, is known within a learner alone.
chained = pytest.mark.parametrize("case", [case for case, (kind, _) in CASES.items() if kind != "by row"])


def parts_of(module, case):
    """Maps, experts, combiner and units of a case, all new."""
    kind, outputs = CASES[case]
    loss, width = (
        module.Squared() if outputs == 0 else module.Logistic(),
        4 if kind in DENSE else SKETCH,
    )
    maps, heads = [], []
    if kind in ("sparse", "alone"):
        maps.append(module.LinearMap(64))
        heads.append(module.DiagonalLinear(loss, variance=4.0, bias=1.0, floor=4e-3))
    if kind != "alone":
        maps.append(module.BinMap(features=width, table=64, grids=6, seed=0))
        heads.append(module.DiagonalBins(loss, variance=0.1, linear=0.1, floor=1e-4))
        maps.append(module.NeighbourMap(width, np.array([20.0, 50.0]), 3))
        heads.append(module.Vote(loss, window=1))
    if kind == "unsquashed":
        maps.append(module.IdentityMap(width, unsquashed=True))
        heads.append(module.FullLinear(loss, variance=0.1, forgetting=0.9999))
    n = len(heads)
    start = np.full(n, 1 / n)
    stack = module.Stack(loss, np.ones(n), np.full(n, 10.0), start, 0.999, 1.0, follows=outputs == 0)
    experts = [module.Expert(i, head) for i, head in enumerate(heads)]
    units = {"scaling": module.RobustScaling(width, keeps_first=kind == "growing")}
    if kind == "growing":
        units["growth"] = module.GrowthWatch(width)
    if outputs == 0:
        units |= {"target_scaling": module.RobustScaling(1, follows_level=False)}
        units |= {"interval": module.IntervalWidth(LEVELS, kind == "by row")}
    else:
        units |= {"label_sets": module.LabelSets(LEVELS)}
    if kind in ("sparse", "alone"):
        units |= {"feature_table": module.FeatureTable(FEATURES, 64, 100, SEED)}
    return maps, experts, stack, units


class Driven:
    """What is due at anchors; `learn` cuts blocks there."""

    def __init__(self, module, case):
        self.module, (self.kind, outputs) = module, CASES[case]
        self.number, self.outputs = outputs == 0, max(1, outputs)

    def learn(self, x, y, weight=None, **how):
        pieces, start = [], 0
        while start < len(x):
            stop = min(len(x), start + any_anchor_row(self.scaling.rows) - self.scaling.rows)
            if self.number and self.scaling.rows == 0:
                stop = start + 1
            own = None if weight is None else weight[start:stop]
            pieces.append(self.learn_part(x[start:stop], y[start:stop], own, **how))
            if self.scaling.rows <= 512 or self.kind in CALLER_SETS_LATE:
                self.scaling.anchor()
            if self.number:
                self.target_scaling.anchor()
                self.after_anchor()
            start = stop
        return np.concatenate(pieces)

    def after_anchor(self):
        pass


class One(Driven):
    """One learner with units."""

    def __init__(self, module, case):
        super().__init__(module, case)
        *parts, units = parts_of(module, case)
        self.learner = module.Learner(*parts, **units)
        if not self.number:
            self.learner.clear(self.outputs)

    @property
    def scaling(self):
        return self.learner.scaling

    @property
    def target_scaling(self):
        return self.learner.target_scaling

    def learn_part(self, x, y, weight, **how):
        how = how | {"late_anchors": self.kind not in CALLER_SETS_LATE}
        if isinstance(x, SparseRows):
            return self.learner.learn_sparse(None, *x.parts, y, weight, **how)
        return self.learner.learn(x, y, weight, **how)

    def scores(self, x):
        return self.learner.scores_sparse(None, *x.parts) if isinstance(x, SparseRows) else self.learner.scores(x)

    def intervals(self, x, level):
        if isinstance(x, SparseRows):
            return self.learner.intervals_sparse(None, *x.parts, level)
        return self.learner.intervals(x, level)

    def state(self):
        return self.learner.state()


class Chain(Driven):
    """Units and a learner without them, one after the other."""

    def __init__(self, module, case):
        super().__init__(module, case)
        *parts, self.units = parts_of(module, case)
        self.scaling, self.target_scaling = self.units["scaling"], self.units.get("target_scaling")
        self.learner = module.Learner(*parts)
        self.learner.clear(self.outputs)
        self.after_anchor()

    def after_anchor(self):
        if self.number:
            state = self.target_scaling.state()
            self.center = state["center" if self.target_scaling.rows > 1 else "mean"][0]
            self.factor = state["factor"][0]

    def leave(self, f):
        if not self.number:
            return f
        return f / self.factor + self.center if self.factor > 0 else f * 0 + self.center

    def learn_part(self, x, y, weight, frozen=False, repeats=False):
        targets = (y - self.center) * self.factor if self.number else y
        before = {name: value for name, value in self.learner.state().items() if name in JUDGEMENT}
        late = not frozen and self.kind not in CALLER_SETS_LATE
        if isinstance(x, SparseRows):
            starts, indices, values = x.parts
            table = self.units["feature_table"]
            looked_up = (
                table.apply(starts, indices, values) if frozen else table.advance(starts, indices, values, weight)
            )
            sketch = self.module.sketch_rows(starts, indices, looked_up[1], SKETCH, SEED)
            z = self.scaling.advance(sketch, weight, late)
            z = z[:, :0] if self.kind == "alone" else z
            f = self.learner.learn_sparse(np.ascontiguousarray(z), starts, *looked_up, targets, weight)
        else:
            f = self.learner.learn(self.scaling.advance(x, weight, late), targets, weight)
        if "growth" in self.units:
            self.units["growth"].observe(x, weight, self.scaling.state()["factor"])
        if repeats:
            self.learner.restore_part(before)
        if self.number:
            learned = slice(None) if weight is None else weight > 0
            if not repeats:
                self.units["interval"].observe(np.ascontiguousarray((targets - f)[learned, 0]))
            self.target_scaling.observe(np.ascontiguousarray(y[learned]))
        elif not repeats:
            learned = slice(None) if weight is None else weight > 0
            self.units["label_sets"].observe(np.ascontiguousarray(f[learned]), np.ascontiguousarray(y[learned]))
        return self.leave(f)

    def scores(self, x):
        if not isinstance(x, SparseRows):
            return self.leave(self.learner.scores(self.scaling.apply(x)))
        starts, indices, values = x.parts
        slots, z = self.units["feature_table"].apply(starts, indices, values)
        dense = self.scaling.apply(self.module.sketch_rows(starts, indices, z, SKETCH, SEED))
        dense = dense[:, :0] if self.kind == "alone" else dense
        return self.leave(self.learner.scores_sparse(np.ascontiguousarray(dense), starts, slots, z))

    def state(self):
        parts = (
            {PREFIXES[name] + key: value for key, value in each.state().items()} for name, each in self.units.items()
        )
        return self.learner.state() | {key: value for part in parts for key, value in part.items()}


def rows(case, n, seed=0):
    """Rows with a feature that moves far away after 900 rows, so that it has a late anchor; targets and weights."""
    kind, outputs = CASES[case]
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 4)) * [1, 1e3, 1e-3, 1] + [0, 1e6, 0, 5]
    x[900:, 0] += 50
    score = np.sin(x[:, 0]) + x[:, 3] - 5 + 0.3 * rng.normal(size=n)
    y = 1e4 + 300 * score[:, None]
    if outputs:
        y = np.where(score[:, None] > 0, 1.0, -1.0)
    if outputs > 1:
        y = np.where(np.digitize(score, [-0.5, 0.5])[:, None] == np.arange(outputs), 1.0, -1.0)
    weight = rng.choice([0.0, 0.5, 1.0, 3.0], n)
    if kind in DENSE:
        return x, y, weight
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 12, n))])
    indices = np.minimum(FEATURES - 1, rng.zipf(1.3, starts[-1]) - 1)
    sparse = sp.csr_matrix((rng.choice([0.0, -3.0, 1.0, 1e3], starts[-1]), indices, starts), (n, FEATURES))
    sparse.sum_duplicates()
    return SparseRows.of(sparse), y, weight


def settled(state):
    """The state with what waits for the covariance in it."""
    for prefix in (name.removesuffix("covariance") for name in list(state) if name.endswith("/covariance")):
        left, right = (state.pop(f"{prefix}waiting_{side}") for side in ("left", "right"))
        state[f"{prefix}covariance"] = state[f"{prefix}covariance"] + pack(left.T @ right)
    return state


@builds
@chained
@pytest.mark.parametrize("weighted", [False, True])
def test_one_call_equals_the_chain_bit_for_bit(build, case, weighted):
    x, y, weight = rows(case, 1500)
    one, chain = One(build, case), Chain(build, case)
    for start, stop in itertools.pairwise([0, 1, 3, 130, 1500]):
        at = slice(start, stop)
        own = weight[at] if weighted else None
        assert np.array_equal(one.learn(x[at], y[at], own), chain.learn(x[at], y[at], own))
        assert np.array_equal(one.scores(x[:50]), chain.scores(x[:50]))
    assert same_state(one.state(), chain.state())
    if CASES[case][0] in DENSE:
        assert one.scaling.state()["moved"][0] > 0


@builds
@chained
@pytest.mark.parametrize("how", [{"frozen": True}, {"repeats": True}, {"frozen": True, "repeats": True}], ids="-".join)
def test_one_frozen_or_repeated_call_equals_the_chain_bit_for_bit(build, case, how):
    x, y, weight = rows(case, 1300)
    one, chain = One(build, case), Chain(build, case)
    for each in (one, chain):
        each.learn(x[:800], y[:800], weight[:800])
    before = one.state()
    parts = [each.learn_part(x[800:], y[800:], weight[800:], **how) for each in (one, chain)]
    assert np.array_equal(*parts)
    after = one.state()
    assert same_state(after, chain.state())
    changed = {name for name in before if not np.array_equal(before[name], after[name])}
    if "repeats" in how:
        assert not changed & JUDGEMENT
        assert not {name for name in changed if name.startswith(("interval/", "label_sets/"))}
    if "frozen" in how:
        kept = {"scaling/center", "scaling/factor", *(name for name in before if name.startswith("features/"))}
        assert not changed & kept
    elif CASES[case][0] == "dense":
        assert "scaling/center" in changed


@engines
@cases
def test_splitting_and_resuming_change_no_bit(engine, case):
    n = 700 if engine is not reference else 150
    x, y, weight = rows(case, n)
    whole, parts = One(engine, case), One(engine, case)
    expected, pieces = whole.learn(x, y, weight), []
    for i, j in itertools.pairwise([0, 1, 2, 3, 17, 70, 101, n]):
        pieces.append(parts.learn(x[i:j], y[i:j], weight[i:j]))
        resumed = One(engine, case)
        resumed.learner.restore(parts.state())
        parts = resumed
    assert np.array_equal(expected, np.concatenate(pieces))
    assert same_state(whole.state(), parts.state())


@builds
@cases
@pytest.mark.parametrize("how", [{}, {"frozen": True, "repeats": True}], ids=["learned", "frozen-repeats"])
def test_core_equals_reference(build, case, how):
    """Bound: weights in single precision, so a last bit may differ, 6e-8 of its size; targets are about 1e4."""
    core, mine = One(build, case), One(reference, case)
    x, y, weight = rows(case, 720)
    for start, stop in itertools.pairwise([0, 40, 110, 560, 720]):
        at = slice(start, stop)
        more = how if start >= 560 else {}
        mine.learner.restore(core.state())
        if stop - start > 200:
            core.learn(x[at], y[at], weight[at])
            continue
        assert np.allclose(
            core.learn(x[at], y[at], weight[at], **more),
            mine.learn(x[at], y[at], weight[at], **more),
            rtol=1e-6,
            atol=1e-6,
        )
        assert np.allclose(core.scores(x[:20]), mine.scores(x[:20]), rtol=1e-6, atol=1e-6)
        if core.number:
            assert np.allclose(core.intervals(x[:20], 0.8), mine.intervals(x[:20], 0.8), rtol=1e-6, atol=1e-6)
        a, b = settled(core.state()), settled(mine.state())
        assert a.keys() == b.keys()
        for name in a:
            assert np.asarray(a[name]).dtype == np.asarray(b[name]).dtype, name
            assert np.allclose(a[name], b[name], rtol=1e-5, atol=1e-6), name


@engines
@cases
def test_restore_without_units_leaves_them_as_they_are(engine, case):
    x, y, _ = rows(case, 60)
    one, other = One(engine, case), One(engine, case)
    one.learn(x[:40], y[:40])
    other.learn(x, y)
    own = one.learner.state(units=False)
    assert own.keys() == {name for name in one.state() if not name.startswith(tuple(PREFIXES.values()))}
    units = {name: value for name, value in other.state().items() if name not in own}
    other.learner.restore(own, units=False)
    assert same_state(other.state(), own | units)
    before = one.state()
    one.learner.clear(one.outputs)
    assert one.learner.rows == 0
    kept = one.state()
    assert all(np.array_equal(kept[name], before[name]) for name in units)


@engines
@cases
def test_refused_state_changes_nothing(engine, case):
    x, y, _ = rows(case, 40)
    one, other = One(engine, case), One(engine, case)
    one.learn(x, y)
    before = one.state()
    for name in (each for each in before if each.startswith(tuple(PREFIXES.values()))):
        wrong = np.zeros((2, 2, 2)) if np.ndim(before[name]) else -2.0
        with pytest.raises(ValueError, match=f"state: {name}"):
            one.learner.restore(other.state() | {name: wrong})
    assert same_state(one.state(), before)


@builds
@cases
def test_memory_counts_the_units_and_does_not_depend_on_the_block(build, case):
    one, chain = One(build, case), Chain(build, case)
    parts = [chain.learner, *chain.units.values()]
    assert one.learner.memory_bytes == sum(each.memory_bytes for each in parts)
    x, y, _ = rows(case, 1000)
    one.learn(x[:600], y[:600])
    before = one.learner.memory_bytes
    one.learn_part(x[600:], y[600:], None)
    assert one.learner.memory_bytes == before


@engines
def test_units_that_do_not_fit_are_refused(engine):
    def build(case="a number", **changed):
        *parts, units = parts_of(engine, case)
        return engine.Learner(*parts, **{name: value for name, value in (units | changed).items() if value is not None})

    with pytest.raises(ValueError, match="another number of features"):
        build(scaling=engine.RobustScaling(5))
    with pytest.raises(ValueError, match="as many features"):
        build(growth=engine.GrowthWatch(5))
    with pytest.raises(ValueError, match="interval needs the scaling"):
        build(target_scaling=None)
    with pytest.raises(ValueError, match="single target"):
        build(target_scaling=engine.RobustScaling(2))
    with pytest.raises(ValueError, match="more slots"):
        build("sparse, a number", feature_table=engine.FeatureTable(FEATURES, 128, 100))
    with pytest.raises(ValueError, match="more slots"):
        build("two classes", feature_table=engine.FeatureTable(FEATURES, 64, 100))
    with pytest.raises(ValueError, match="power of 2"):
        build("sparse, linear alone", scaling=engine.RobustScaling(6))
    with pytest.raises(ValueError, match="outputs"):
        build().clear(2)
    table, (x, y, _) = build("sparse, two classes"), rows("sparse, two classes", 3)
    with pytest.raises(ValueError, match="sparse rows"):
        table.learn(np.zeros((1, SKETCH)), np.ones((1, 1)))
    with pytest.raises(ValueError, match="x is None"):
        table.learn_sparse(np.zeros((3, SKETCH)), *x.parts, y)
    with pytest.raises(ValueError, match="dense rows"):
        build("two classes").learn_sparse(None, *x.parts, y)
    *parts, units = parts_of(engine, "sparse, two classes")
    del units["feature_table"]
    with pytest.raises(ValueError, match="x is None"):
        engine.Learner(*parts, **units).learn_sparse(None, *x.parts, y)
