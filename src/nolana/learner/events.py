"""What happens to the default learner at events; `schedule` says after which rows.

- Rows are scaled by `RobustScaling`; at its anchors (2, 4, ..., 512 rows) experts follow the new scale, and tables are
  cleared (up to 256 rows; at 2 rows everything starts again).
- The kernel width is 1 / median squared distance of the landmarks, taken at the anchors and once they are full.
- At 512, 1024 and 2048 rows, at 2048 4^k rows once if few features matter, and at 128 and 256 rows if features act
  together: rows are scaled by the relevance of the features, the grids are drawn again, the tables cleared and the
  landmarks re-mapped.
- Targets have anchors too, and what was learned follows their scale.

Each action exports a part of the state, lets the experts change it, and restores it.
"""

from typing import TYPE_CHECKING

import numpy as np

from nolana.engine.base.state import State
from nolana.engine.base.threads import one_blas_thread
from nolana.engine.learner.robust_scaling import LAST_ANCHOR, OTHER_STEP, unscaled
from nolana.experts.base import Anchors, Array, ExpertState, joined_spec, joined_state
from nolana.experts.landmarks import Landmarks
from nolana.learner import stack
from nolana.learner.fitting import LAST_CLEARING, fit_tables, rebuild
from nolana.learner.relevance import FEWEST_PROBES, is_concentrated, metric, relevance, screened

if TYPE_CHECKING:
    from nolana.learner.stream import StreamLearner

LARGEST_RESCALING = 100.0  # of targets: beyond, one wild target had set the old unit, and nothing learned in it counts


def follow_anchors(learner: "StreamLearner") -> None:
    """The features have another scale."""
    before, t = learner.scaling.state(), learner.rows
    if not learner.scaling.anchor().any():
        return
    if t == 2:
        learner.widened[learner.landmarks] = 0.0
        labelled = float(learner.labelled)
        learner.engine.clear(learner.outputs)
        learner.engine.restore_part({"rows": labelled, "stacked": labelled})
        learner.prepare()
        return
    anchors = Anchors(lambda z: np.asarray(learner.scaling.apply(unscaled(z, before))), before, learner.scaling.state())
    if t > LAST_CLEARING and not learner.stores_sketches:
        solid = [i for i, each in enumerate(learner.experts) if not each.elastic]
        learner.change(solid, lambda expert, own: expert.follow_anchors(own, anchors))
    else:
        with one_blas_thread():
            state = learner.engine.state(tables=t > LAST_CLEARING, units=False)
            states = learner.split(state)
            for expert, own in zip(learner.experts, states, strict=True):
                expert.follow_anchors(own, anchors)
            state |= joined_state(learner.spec, states)
            learner.engine.restore(state, tables=t > LAST_CLEARING, units=False)
    _note_widths(learner)
    if t <= LAST_CLEARING:
        fit_tables(learner)


def follow_late_anchors(learner: "StreamLearner") -> None:
    """Experts that extrapolate follow features that have another anchor; all others learn in terms of it."""
    before = learner.scaling.state()
    if not learner.scaling.anchor().any():
        return
    after = learner.scaling.state()
    anchors = Anchors(lambda z: z, _in_unit_of(before, after), after)
    maps = learner.spec.arguments["maps"]
    following = [i for i, each in enumerate(learner.experts) if each.follows_late_anchors(maps[i])]
    learner.change(following, lambda expert, own: expert.follow_late_anchors(own, anchors))


def widen_full_maps(learner: "StreamLearner") -> None:
    """A landmark map that has just become full takes the width of all its landmarks."""
    full = [i for i in learner.landmarks if not learner.widened[i] and _is_full(learner, i)]
    ones = np.ones(learner.width)
    if full:
        learner.change(full, lambda expert, own: expert.multiply_features(own, ones))
        _note_widths(learner)


def _is_full(learner: "StreamLearner", map: int) -> bool:
    return bool(learner.maps[map].size == learner.spec.arguments["maps"][map].arguments["capacity"])


def _note_widths(learner: "StreamLearner") -> None:
    """All landmark maps have just been re-mapped, or have the width of full landmarks already."""
    for i in learner.landmarks:
        learner.widened[i] = float(_is_full(learner, i))


def _slopes(learner: "StreamLearner") -> Array | None:
    scaling = learner.scaling.state()
    middle = learner.scaling.apply(scaling["mean"][None])[0]
    slow = [i for i in learner.landmarks if learner.experts[i].slow]  # type: ignore[attr-defined]
    for expert, own in learner.export(slow[:1]):
        assert isinstance(expert, Landmarks)
        return expert.slopes(own, scaling["metric"], middle)
    return None


def redraw_by_screen(learner: "StreamLearner") -> None:
    """If features act together, before there are slopes."""
    with one_blas_thread():
        _redraw(learner, None)


def redraw_by_slopes(learner: "StreamLearner") -> None:
    """At 512, 1,024 and 2,048 rows."""
    with one_blas_thread():
        _redraw(learner, _slopes(learner))


def redraw_by_probes(learner: "StreamLearner") -> None:
    """Once, if few features matter."""
    probed = learner.probes()
    relevances = relevance([increase for increase, _ in probed], learner.row_features)
    if all(bool((count >= FEWEST_PROBES).all()) for _, count in probed) and is_concentrated(relevances):
        learner.redrawn = 1.0
        with one_blas_thread():
            found = _slopes(learner)
            _redraw(learner, np.sqrt(relevances) if found is None else np.sqrt(relevances * found))


def _redraw(learner: "StreamLearner", relevances: Array | None) -> None:
    """Measure distances by relevance, that of pairs of features included, and draw the grids again."""
    before = learner.scaling.state()["metric"]
    for rows, targets in _recent_rows(learner):
        relevances = screened(relevances, rows / before, targets, learner.options.task)
    if relevances is None:
        return
    after, state = metric(relevances), learner.engine.state(tables=False, units=False)
    states = learner.split(state)
    for expert, own in zip(learner.experts, states, strict=True):
        expert.multiply_features(own, after / before)
        own.map = expert.redrawn(own.map, relevances)
    rebuild(learner, joined_spec(learner.spec, states), state | joined_state(learner.spec, states), learner.outputs)
    _note_widths(learner)
    learner.scaling.restore(learner.scaling.state() | {"metric": after})


def _recent_rows(learner: "StreamLearner") -> list[tuple[Array, Array]]:
    """The rows that the first expert stores which stores any, and their targets."""
    storing = [i for i, each in enumerate(learner.experts) if each.stores_rows]
    found = [expert.recent_rows(own) for expert, own in learner.export(storing)]
    return [each for each in found if each is not None][:1]


def follow_target_anchor(learner: "StreamLearner") -> None:
    """Targets have another scale: y' = g y + shift in the engine."""
    center, factor = learner.target_unit()
    if not learner.target_scaling.anchor().any():
        return
    new_center, new_factor = learner.target_unit()
    g = new_factor / factor if factor > 0 else 0.0
    shift = (center - new_center) * new_factor if g > 0 else 0.0
    tables = learner.rows > LAST_CLEARING  # before, an anchor of the features has just cleared them
    state = learner.engine.state(tables=tables, units=False)
    states = learner.split(state)
    stack.move_range(state, g, shift)
    if learner.labelled > LAST_ANCHOR:
        kept = stack.change_unit(state, g, shift, lambda kept: _rescale_experts(learner, states, kept, 0.0))
    else:
        kept, shift = (g, shift) if g <= LARGEST_RESCALING else (0.0, 0.0)
        _rescale_experts(learner, states, kept, shift)
        stack.rescale(state, kept, shift)
    if kept > 0:
        learner.interval.rescale(kept)
    learner.engine.restore(state | joined_state(learner.spec, states), tables, units=False)


def _rescale_experts(learner: "StreamLearner", states: list[ExpertState], g: float, shift: float) -> None:
    for expert, own in zip(learner.experts, states, strict=True):
        expert.rescale_targets(own, g, shift)


def _in_unit_of(before: State, after: State) -> State:
    """The anchors `before`, as if a feature whose steps have another size had always had its new unit."""
    other = (
        (np.abs(before["step"] - before["usual_step"]) > OTHER_STEP) & (before["factor"] > 0) & (after["factor"] > 0)
    )
    ratio = np.divide(before["factor"], after["factor"], out=np.ones_like(before["factor"]), where=other)
    return before | {"center": before["center"] * ratio, "factor": before["factor"] / ratio}
