"""Sparse rows in the engine: core against reference, contracts, and which features have a slot."""

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.experts.sparse_linear import moved_slots, slot_features
from nolana.learner.rows import SparseRows

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])
FEATURES = 300
CASES = [("Logistic", 1), ("Logistic", 3), ("Squared", 1)]


def rows(n, outputs=1, loss="Logistic", seed=0):
    """Rows with frequent and rare features, among them explicit zeros and an empty row; targets and weights."""
    rng = np.random.default_rng(seed)
    starts = np.concatenate([[0], np.cumsum(rng.integers(0, 15, n))])
    indices = np.minimum(FEATURES - 1, rng.zipf(1.3, starts[-1]) - 1)
    x = sp.csr_matrix((rng.choice([0.0, -3.0, 1.0, 2.0, 1e6], starts[-1]), indices, starts), (n, FEATURES))
    x.sum_duplicates()
    y = rng.normal(size=(n, 1)) if loss == "Squared" else np.sign(rng.normal(size=(n, 1)))
    if outputs > 1:
        y = np.where(rng.integers(0, outputs, n)[:, None] == np.arange(outputs), 1.0, -1.0)
    return SparseRows.of(x), y, rng.choice([0.0, 0.5, 1.0, 3.0], n)


class Pair:
    """A feature table, and a learner on its slots and on a sketch."""

    def __init__(self, module, loss="Logistic", outputs=1, table=64, counters=100):
        self.module = module
        self.features = module.FeatureTable(FEATURES, table, counters)
        kind = getattr(module, loss)()
        linear = module.DiagonalLinear(kind, variance=4.0, bias=1.0, floor=4e-3)
        cells = module.DiagonalBins(kind, variance=0.1, linear=0.1, floor=1e-4)
        maps = [module.LinearMap(min(table, FEATURES)), module.BinMap(features=8, table=50, grids=6, seed=0)]
        experts = [module.Expert(0, linear), module.Expert(1, cells)]
        self.learner = module.Learner(maps, experts, module.Mean())
        self.learner.clear(outputs)

    def learn(self, x, y, weight=None):
        starts, indices, values = x.parts
        slots, z = self.features.advance(starts, indices, values, weight)
        sketch = self.module.sketch_rows(starts, indices, z, 8, 1)
        return self.learner.learn_sparse(sketch, starts, slots, z, y, weight)

    def scores(self, x):
        starts, indices, values = x.parts
        slots, z = self.features.apply(starts, indices, values)
        return self.learner.scores_sparse(self.module.sketch_rows(starts, indices, z, 8, 1), starts, slots, z)

    def state(self):
        return {f"features/{k}": v for k, v in self.features.state().items()} | self.learner.state()

    def restore(self, state):
        own = {k.removeprefix("features/"): v for k, v in state.items() if k.startswith("features/")}
        self.features.restore(own)
        self.learner.restore({k: v for k, v in state.items() if not k.startswith("features/")})


@builds
@pytest.mark.parametrize(("loss", "outputs"), CASES)
@pytest.mark.parametrize(("table", "counters"), [(64, 100), (64, 300), (300, 300)])
def test_core_equals_reference(build, loss, outputs, table, counters):
    """Bound: weights in single precision, so a last bit may differ, 6e-8 of its size."""
    core, mine = (Pair(module, loss, outputs, table, counters) for module in (build, reference))
    for seed in range(3):
        mine.restore(core.state())
        x, y, weight = rows(60, outputs, loss, seed)
        assert np.abs(core.learn(x, y, weight) - mine.learn(x, y, weight)).max() < 1e-6
        assert np.abs(core.scores(x) - mine.scores(x)).max() < 1e-6
        a, b = core.state(), mine.state()
        assert a.keys() == b.keys()
        for name in a:
            assert np.asarray(a[name]).dtype == np.asarray(b[name]).dtype, name
            assert np.allclose(a[name], b[name], rtol=1e-6, atol=1e-6), name


@engines
@pytest.mark.parametrize(("loss", "outputs"), CASES)
def test_splitting_and_resuming_change_no_bit(engine, loss, outputs):
    x, y, weight = rows(90, outputs, loss)
    whole, parts = Pair(engine, loss, outputs), Pair(engine, loss, outputs)
    expected = whole.learn(x, y, weight)
    pieces = []
    for i, j in itertools.pairwise([0, 1, 2, 17, 50, 90]):
        pieces.append(parts.learn(x[i:j], y[i:j], weight[i:j]))
        resumed = Pair(engine, loss, outputs)
        resumed.restore(parts.state())
        parts = resumed
    assert np.array_equal(expected, np.concatenate(pieces))
    assert same_state(whole.state(), parts.state())


@engines
def test_scores_are_those_of_a_linear_model(engine):
    """f = b + w.z of the exported weights, averaged with those of the cells."""
    pair = Pair(engine, table=300)
    x, y, _ = rows(80)
    pair.learn(x, y)
    state = pair.state()
    starts, indices, values = x.parts
    slots, z = pair.features.apply(starts, indices, values)
    assert (slots == indices)[z != 0].all()
    rows_of_z = sp.csr_matrix((z, slots, starts), (80, 300))
    lengths = np.sqrt(np.asarray(rows_of_z.multiply(rows_of_z).sum(axis=1)).ravel())
    assert np.allclose(lengths[lengths > 0], 1)
    linear = rows_of_z @ state["expert0/slots"] + state["expert0/bias"]
    alone = engine.Learner(
        [engine.LinearMap(300)], [engine.Expert(0, engine.DiagonalLinear(engine.Logistic(), 4.0, 1.0, 4e-3))]
    )
    own = {k.removeprefix("expert0/"): v for k, v in state.items() if k.startswith("expert0/")}
    alone.restore(own | {"rows": state["rows"]})
    assert np.allclose(alone.scores_sparse(np.zeros((80, 0)), starts, slots, z), linear, atol=1e-9)


@engines
def test_the_most_frequent_features_have_a_slot(engine):
    table = engine.FeatureTable(FEATURES, 64, FEATURES)
    rng = np.random.default_rng(0)
    frequent = rng.permutation(FEATURES)[:24]
    for _ in range(40):
        x = sp.csr_matrix(
            (np.ones(8), np.concatenate([rng.choice(frequent, 4, False), rng.choice(FEATURES, 4, False)]), [0, 8]),
            (1, FEATURES),
        )
        x.sum_duplicates()
        table.advance(*SparseRows.of(x).parts)
    assert np.isin(frequent, table.state()["keys"]).mean() > 0.8


@engines
def test_units_of_a_feature_do_not_matter(engine):
    """Features in units 1e-3 to 1e6 give the same rows as in one unit, to the precision of the scales."""
    x, _, _ = rows(60)
    units = 10.0 ** np.random.default_rng(3).uniform(-3, 6, FEATURES)
    other = SparseRows(x.starts, x.indices, x.values * units[x.indices])
    one, two = (engine.FeatureTable(FEATURES, 300, 300).advance(*each.parts) for each in (x, other))
    assert np.array_equal(one[0], two[0])
    assert np.allclose(one[1], two[1], atol=1e-5)


@engines
def test_a_smaller_table_has_the_features_at_their_places(engine):
    table = engine.FeatureTable(FEATURES, 128, FEATURES)
    x, _, _ = rows(60)
    table.advance(*x.parts)
    state = table.state()
    sources, keys = moved_slots(state["keys"], slot_features(FEATURES, state)["frequencies"], 32)
    assert (state["keys"][sources[keys >= 0]] == keys[keys >= 0]).all()
    smaller = engine.FeatureTable(FEATURES, 32, FEATURES)
    scales = np.where(keys >= 0, state["scales"][sources], 0).astype(np.float32)
    smaller.restore(state | {"keys": keys, "scales": scales})
    before, after = (each.apply(*x.parts) for each in (table, smaller))
    found = after[1] != 0
    assert found.mean() > 0.3
    assert (keys[after[0][found]] == x.indices[found]).all()
    assert (before[1][found] != 0).all()


@engines
def test_sketches_preserve_dot_products(engine):
    """Bound: a product of unit rows deviates by about 1/sqrt(1024), a squared length by sqrt(2) of that."""
    rng = np.random.default_rng(0)
    x = sp.random(40, 5000, 0.01, "csr", random_state=0, data_rvs=lambda size: rng.normal(size=size))
    x = sp.csr_matrix(sp.diags(1 / np.sqrt(np.asarray(x.multiply(x).sum(axis=1)).ravel())) @ x)
    sketch = engine.sketch_rows(*SparseRows.of(x).parts, 1024, 0)
    assert np.sqrt(np.mean((sketch @ sketch.T - (x @ x.T).toarray()) ** 2)) < np.sqrt(2 / 1024)


@engines
def test_invalid_sizes_rows_and_states_are_refused(engine):
    with pytest.raises(ValueError, match="multiple of 8"):
        engine.FeatureTable(FEATURES, 60, 100)
    pair = Pair(engine)
    with pytest.raises(ValueError, match="sparse rows"):
        pair.learner.learn(np.zeros((1, 8)), np.ones((1, 1)))
    state = pair.features.state()
    for change in ({"keys": state["keys"] + 400}, {"counts": state["counts"] - 1}, {"scales": state["scales"] - 1}):
        with pytest.raises(ValueError, match=f"state: {next(iter(change))}"):
            pair.features.restore(state | change)


@builds
def test_the_core_refuses_non_zeros_beyond_the_features(build):
    table = build.FeatureTable(FEATURES, 64, 100)
    starts, values = np.array([0, 1]), np.ones(1)
    for index in (-1, FEATURES):
        with pytest.raises(ValueError, match="beyond the features"):
            table.advance(starts, np.array([index], np.int32), values)
    with pytest.raises(ValueError, match="starts"):
        table.advance(np.array([0, 2]), np.zeros(1, np.int32), values)
