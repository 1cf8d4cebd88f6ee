"""The parts of the stream learner, each and all together: core against reference, split anywhere, states refused."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import nolana.engine as reference
from conftest import core_builds, same_state
from nolana.engine.base.state import pack
from splitting import check_split

BUILDS = core_builds()
ENGINES = [*BUILDS, reference]
builds = pytest.mark.parametrize("build", BUILDS, ids=lambda m: m.__name__.split(".")[-1])
engines = pytest.mark.parametrize("engine", ENGINES, ids=lambda m: m.__name__.split(".")[-1])

DOUBLE, SINGLE = 1e-7, 1e-6  # of the size of a number: double precision, and what is stored in single precision
GRIDS, WINDOWS = 10, np.array([4.0, 11.0, 30.0])


@dataclass(frozen=True)
class Parts:
    """Maps and heads of one engine."""

    module: Any
    features: int
    loss: str

    def made_loss(self):
        return getattr(self.module, self.loss)()

    def landmarks(self, single=False):
        m = self.module
        map = m.LandmarkMap(self.features, 9, m.RBF(), m.KMeans(0.01), single=single)
        map.gamma, map.threshold = 0.5 / self.features, 0.5
        return map

    def newton(self):
        clip = 3.0 if self.loss == "Squared" else np.inf
        return self.module.Newton(self.made_loss(), 0.1, 1.0, 0.01, forgetting=0.99, clip=clip)

    def lms(self):
        return self.module.LMS(self.made_loss(), rate=0.1, epsilon=0.01)

    def cells(self):
        return self.module.BinMap(features=self.features, table=200, grids=GRIDS, seed=3)

    def cell_heads(self, first):
        slow = self.module.DiagonalBins(self.made_loss(), 3.2 / GRIDS, 0.1, 1e-4, probes=True)
        return [slow, self.module.ConstantBins(self.made_loss(), gain=6.4 / GRIDS, offset=first)]

    def neighbours(self):
        return self.module.NeighbourMap(self.features, WINDOWS, 3)

    def votes(self):
        return [self.module.Vote(self.made_loss(), window=i) for i in range(len(WINDOWS))]

    def trees(self):
        return self.module.TreeMap(self.features, trees=10, depth=3, rows=150, seed=1)

    def leaf_heads(self):
        slow = self.module.DiagonalLeaves(self.made_loss(), variance=0.03, floor=1e-4)
        return [slow, self.module.ConstantLeaves(self.made_loss(), gain=0.05)]

    def identity(self):
        return self.module.IdentityMap(self.features)

    def linear(self):
        return self.module.FullLinear(self.made_loss(), variance=1.0, forgetting=0.99)

    def stack(self, experts):
        each = [np.full(experts, value) for value in (0.5, 2.0, 0.3)]
        return self.module.Stack(self.made_loss(), *each, forgetting=0.99, prior=1.0)

    def everything(self):
        dense, table, votes = [self.newton(), self.lms()], self.cell_heads(2), self.votes()
        heads = [*((0, h) for h in dense), *((1, h) for h in table), *((2, h) for h in votes), (3, self.linear())]
        maps = [self.landmarks(single=True), self.cells(), self.neighbours(), self.identity()]
        return maps, heads, self.stack(len(heads))


def mean_of(parts, map, heads):
    return [map], [(0, head) for head in heads], parts.module.Mean()


PARTS = {
    "lms": lambda p: ([p.landmarks()], [(0, p.lms())], None),
    "newton": lambda p: ([p.landmarks()], [(0, p.newton())], None),
    "linear": lambda p: ([p.identity()], [(0, p.linear())], None),
    "single": lambda p: mean_of(p, p.landmarks(single=True), [p.newton(), p.lms()]),
    "vote": lambda p: mean_of(p, p.neighbours(), p.votes()),
    "cells": lambda p: mean_of(p, p.cells(), p.cell_heads(0)),
    "trees": lambda p: mean_of(p, p.trees(), p.leaf_heads()),
    "stack": lambda p: p.everything(),
}


def learner(module, part, loss, outputs, features=5):
    maps, heads, combiner = PARTS[part](Parts(module, features, loss))
    made = module.Learner(maps, [module.Expert(i, head) for i, head in heads], combiner)
    made.clear(outputs)
    return made


def rows(n, outputs, loss, features=5, seed=0):
    """Products of two features; weights of 0 too; one row in 50 far away."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, features)) * np.where(rng.random((n, 1)) < 0.02, 5.0, 1.0)
    other = x[:, min(1, features - 1)]
    if loss == "Squared":
        y = (np.tanh(x[:, 0] * other) + 0.1 * rng.normal(size=n) + np.where(rng.random(n) < 0.02, 20.0, 0.0))[:, None]
    elif outputs == 1:
        y = np.where(x[:, 0] * other + 0.3 * rng.normal(size=n) > 0, 1.0, -1.0)[:, None]
    else:
        own = ((x[:, 0] > 0) + (other > 0) + rng.integers(0, 2, n)) % outputs
        y = np.where(own[:, None] == np.arange(outputs), 1.0, -1.0)
    return x, y, rng.choice([0.0, 0.5, 1.0, 3.0], size=n)


CASES = [
    *((part, loss, outputs) for part in PARTS for loss, outputs in (("Logistic", 1), ("Logistic", 4), ("Squared", 1))),
    ("lms", "SquaredHinge", 3),
    ("newton", "SquaredHinge", 3),
    *((part, "Logistic", 75) for part in ("cells", "stack")),  # cells of many outputs are read and changed otherwise
]
cases = pytest.mark.parametrize(("part", "loss", "outputs"), CASES)


def comparable(state):
    """A state whose covariances include what waits to be added to them: the engines add it at different times."""
    state = {name: np.asarray(value) for name, value in state.items()}
    for name in [name for name in state if name.endswith("covariance")]:
        prefix = name.removesuffix("covariance")
        left, right = state.pop(prefix + "waiting_left"), state.pop(prefix + "waiting_right")
        side = left.shape[1]
        state[name] = state[name] + pack((left.T @ right).reshape(side, side))
    return state


def assert_close(core, mine):
    a, b = comparable(core), comparable(mine)
    assert a.keys() == b.keys()
    for name in a:
        assert a[name].dtype == b[name].dtype, name
        assert a[name].shape == b[name].shape, name
        bound = SINGLE if any(value.dtype == np.float32 for value in a.values()) else DOUBLE
        gap = np.abs(a[name] - b[name]).max(initial=0.0) / (1 + np.abs(b[name]).max(initial=0.0))
        assert gap < bound, (name, gap)


def compare(build, part, loss, outputs, features, first, blocks, length, seed):
    """Blocks that start from equal states."""
    core, mine = learner(build, part, loss, outputs, features), learner(reference, part, loss, outputs, features)
    if first:
        core.learn(*rows(first, outputs, loss, features, seed=seed + 1))
    for block in range(blocks):
        mine.restore(core.state())
        x, y, weight = rows(length, outputs, loss, features, seed=seed + 2 + block)
        a, b = core.learn(x, y, weight), mine.learn(x, y, weight)
        assert np.abs(a - b).max() / (1 + np.abs(b).max()) < (SINGLE if part in ("cells", "trees", "stack") else DOUBLE)
        assert_close(core.state(), mine.state())
        assert core.alarms == mine.alarms


@builds
@cases
def test_core_equals_reference(build, part, loss, outputs):
    compare(build, part, loss, outputs, features=5, first=0, blocks=4, length=40, seed=0)


@builds
@pytest.mark.parametrize(("loss", "outputs"), [("Logistic", 1), ("Logistic", 4), ("Squared", 1)])
@pytest.mark.parametrize(("features", "first"), [(3, 540), (3, 700), (3, 2000), (3, 2100), (3, 9000), (40, 9500)])
def test_probes_equal_reference(build, loss, outputs, features, first):
    """The sample fills after row 512; probes begin when it is full; they are rare after row 2,048, and rarer once each
    feature had 200 of them: with 40 features at row 9,568."""
    compare(build, "cells", loss, outputs, features=features, first=int(first / 0.75), blocks=4, length=60, seed=5)


@given(
    case=st.sampled_from(CASES),
    features=st.sampled_from([1, 2, 3, 8, 13, 17, 64, 70]),
    first=st.integers(0, 120),
    length=st.integers(1, 30),
    seed=st.integers(0, 2**32 - 10),
)
@settings(max_examples=80)
def test_core_equals_reference_on_any_shape(case, features, first, length, seed):
    compare(BUILDS[-1], *case, features=features, first=first, blocks=1, length=length, seed=seed)


@given(
    case=st.sampled_from(CASES),
    features=st.sampled_from([1, 3, 8, 13]),
    cuts=st.lists(st.integers(1, 899), max_size=10),
    restored=st.booleans(),
    seed=st.integers(0, 2**32 - 1),
)
@settings(max_examples=80)
def test_split_anywhere(case, features, cuts, restored, seed):
    """Also where each part is learned by a learner restored from the state of the one before."""
    part, loss, outputs = case
    data = rows(900, outputs, loss, features, seed)
    for build in BUILDS:
        whole, parts = check_split(
            lambda build=build: learner(build, part, loss, outputs, features), *data, (1, *cuts), restored=restored
        )
        assert whole.memory_bytes == parts.memory_bytes
        assert np.array_equal(whole.scores(data[0][:50]), parts.scores(data[0][:50]))


@cases
def test_split_anywhere_in_numpy(part, loss, outputs):
    data = rows(60, outputs, loss)
    check_split(lambda: learner(reference, part, loss, outputs), *data, (1, 2, 5, 33), restored=False)


@engines
@cases
def test_scores_change_nothing_and_are_those_of_learn(engine, part, loss, outputs):
    x, y, weight = rows(60, outputs, loss)
    made = learner(engine, part, loss, outputs)
    made.learn(x[:50], y[:50], weight[:50])
    state = made.state()
    read = made.scores(x[50:])
    assert same_state(made.state(), state)
    assert np.array_equal(made.learn(x[50:51], y[50:51]), read[:1])
    made.restore(state)
    assert np.array_equal(made.learn(x[50:], y[50:], np.zeros(10)), read)
    assert same_state(made.state(), state)


@engines
@cases
def test_a_refused_state_names_the_field_and_changes_nothing(engine, part, loss, outputs):
    made = learner(engine, part, loss, outputs)
    made.learn(*rows(100, outputs, loss))
    state = made.state()
    for name, value in state.items():
        wrong = [np.zeros((1, 1, 1)), "text"]
        if np.ndim(value):
            wrong += [value[..., None], np.append(value, value) if value.ndim > 1 else value[:, None][:, :0]]
            wrong += [np.concatenate([value, value], axis=-1)] if value.size else []
            wrong.append(value.astype(np.float64 if value.dtype == np.float32 else np.float32))
        else:
            wrong.append(np.zeros(2))
        for each in wrong:
            with pytest.raises(ValueError, match=rf"state: ({name}|\S+ has shape)"):
                made.restore(state | {name: each})
            assert same_state(made.state(), state), name
        with pytest.raises(ValueError, match=f"state: {name} is missing"):
            made.restore({key: value for key, value in state.items() if key != name})
    assert same_state(made.state(), state)


OUT_OF_RANGE = {
    "expert0/variances": [-1e-3, np.nan],
    "expert0/linear_variances": [-1.0, np.nan],
    "expert0/probed": [-1.0, np.nan],
    "expert0/sample": [127.5, 128.0, -128.0, 0.5, np.nan, np.inf],
    "expert0/targets": [-(2.0**25), np.nan, np.inf, -np.inf],
    "expert0/counts": [-1.0, 0.5, np.nan, np.inf, 2.0**54],
    "map0/split_features": [-1.0, 0.5, 5.0, np.nan],
    "map0/thresholds": [127.5, 128.0, -128.0, np.nan],
    "map0/codes": [127.5, 128.0, -128.0, 0.5, np.nan, np.inf],
    "map0/grown": [-1.0, 0.5, 11.0, np.nan],
    "map0/oldest": [-1.0, 10.0],
    "map0/kept": [-1.0, 0.5, np.nan],
    "map0/metric": [0.0, -1.0, np.nan],
    "expert0/row_weights": [-1.0, np.nan],
    "map0/recent": [127.5, 128.0, -128.0, 0.5, np.nan, np.inf],
    "map0/counts": [-1.0, np.nan],
    "map0/gamma": [0.0, -1.0, np.nan],
    "map0/ridge": [-1.0, np.nan],
    "errors": [-1.0, np.nan],
    "stacked": [-1.0, 0.5, np.nan, np.inf],
    "alarms": [-1.0, 0.5, np.nan, np.inf],
    "alarm_recent": [-1.0, np.nan],
    "residual_variance": [-1.0, np.nan],
    "rows": [-1.0, 0.5, np.nan, np.inf, 2.0**54],
}


@engines
@pytest.mark.parametrize("part", ["single", "vote", "cells", "trees", "stack"])
@pytest.mark.parametrize(("loss", "outputs"), [("Logistic", 1), ("Logistic", 4), ("Squared", 1)])
def test_restore_refuses_out_of_range_values(engine, part, loss, outputs):
    n = 100 if engine is reference else 900
    made = learner(engine, part, loss, outputs)
    made.learn(*rows(n, outputs, loss))
    state = made.state()
    for name, values in OUT_OF_RANGE.items():
        for value in values if name in state else []:
            wrong = np.array(state[name])
            if wrong.ndim and not wrong.size:
                wrong = np.zeros((1, *wrong.shape[1:]), dtype=wrong.dtype)
            wrong.flat[-1] = value
            with pytest.raises(ValueError, match=f"state: {name} holds"):
                made.restore(state | {name: wrong if wrong.ndim else float(wrong)})
            assert same_state(made.state(), state), name


@engines
@pytest.mark.parametrize(("part", "n"), [("vote", 60), ("trees", 165)])
@pytest.mark.parametrize("outputs", [1, 4])
def test_scores_are_finite_for_any_legal_target_of_a_state(engine, part, n, outputs):
    """Targets of a file that no row could have left behind give scores, not a crash."""
    made = learner(engine, part, "Logistic", outputs)
    made.learn(*rows(n, outputs, "Logistic"))
    for target in (-5.0, -(2.0**24), 0.7, 2.0**24):
        state = made.state()
        for name in [name for name in state if name.endswith("targets")]:
            state[name][:] = target
        made.restore(state)
        x, y, _ = rows(10, outputs, "Logistic", seed=1)
        assert np.isfinite(made.learn(x, y)).all()


def widened(y, outputs):
    """Targets with an output of -1 for each class that is not among them."""
    return np.hstack([y, np.full((len(y), outputs - y.shape[1]), -1.0)])


@builds
@pytest.mark.parametrize("part", PARTS)
def test_append_output_core_equals_reference(build, part):
    """Before the first row, after some rows, and what is learned afterwards."""
    core, mine = (learner(module, part, "Logistic", 4) for module in (build, reference))
    for made in (core, mine):
        made.reserve(7)
    for outputs in (5, 6, 7):
        mine.restore(core.state())
        for made in (core, mine):
            made.append_output()
            assert (made.outputs, made.room) == (outputs, 7)
        assert_close(core.state(), mine.state())
        x, y, weight = rows(40, outputs, "Logistic", seed=outputs)
        a, b = core.learn(x, y, weight), mine.learn(x, y, weight)
        assert np.abs(a - b).max() / (1 + np.abs(b).max()) < SINGLE
        assert_close(core.state(), mine.state())


@engines
@pytest.mark.parametrize("part", PARTS)
def test_learner_with_room_learns_the_bits_of_one_without(engine, part):
    exact, roomy = (learner(engine, part, "Logistic", 4) for _ in range(2))
    roomy.reserve(9)
    x, y, weight = rows(100, 4, "Logistic")
    assert np.array_equal(exact.learn(x, y, weight), roomy.learn(x, y, weight))
    assert same_state(exact.state(), roomy.state())
    roomy.append_output()
    again = learner(engine, part, "Logistic", 5)
    again.restore(roomy.state())
    y = widened(y, 5)
    assert np.array_equal(again.learn(x, y, weight), roomy.learn(x, y, weight))
    assert same_state(again.state(), roomy.state())


@engines
@pytest.mark.parametrize(("outputs", "room"), [(1, 5), (3, 0), (3, 3)])
def test_append_output_without_room_is_refused(engine, outputs, room):
    made = learner(engine, "stack", "Logistic", outputs)
    made.reserve(room)
    before = made.state()
    with pytest.raises(ValueError, match="no room for another output"):
        made.append_output()
    assert made.outputs == outputs
    assert same_state(made.state(), before)
