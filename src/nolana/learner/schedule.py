"""The events of each learner as one table: after which rows, under which condition, what happens."""

from typing import TYPE_CHECKING

from nolana.engine.learner.robust_scaling import CHECK_EVERY, LAST_ANCHOR
from nolana.learner import events, landmark_events
from nolana.learner.driver import NEVER, Event

if TYPE_CHECKING:
    from nolana.learner.landmark import LandmarkLearner
    from nolana.learner.stream import StreamLearner

CHECK_FULL = 64  # rows between checks whether the landmarks have become full
FIRST_REDRAW, REDRAW_FACTOR = 2048, 4
SLOPES_AT = 512, 1024, 2048
SCREEN_AT = 128, 256  # before there are slopes; later the screen is part of every redraw


def each_row(t: int) -> int:
    """1, 2, 3, ..."""
    return t + 1


def doubling_row(t: int) -> int:
    """2, 4, 8, ..."""
    return 1 << max(1, t.bit_length())


def anchor_row(t: int) -> int:
    """2, 4, 8, ..., 512."""
    return doubling_row(t) if t < LAST_ANCHOR else NEVER


def late_anchor_row(t: int) -> int:
    """Every 64 rows after 512."""
    return max(LAST_ANCHOR, t // CHECK_EVERY * CHECK_EVERY) + CHECK_EVERY


def any_anchor_row(t: int) -> int:
    """Both of them."""
    return min(anchor_row(t), late_anchor_row(t))


def full_row(t: int) -> int:
    """Every 64 rows, but not at an anchor, which takes the width of the landmarks in any case."""
    row = (t // CHECK_FULL + 1) * CHECK_FULL
    return row if row > LAST_ANCHOR or row & (row - 1) else full_row(row)


def redraw_row(t: int) -> int:
    """2048 4^k."""
    row = FIRST_REDRAW
    while row <= t:
        row *= REDRAW_FACTOR
    return row


def slopes_row(t: int) -> int:
    """512, 1,024, 2,048."""
    return next((row for row in SLOPES_AT if row > t), NEVER)


def screen_row(t: int) -> int:
    """128, 256."""
    return next((row for row in SCREEN_AT if row > t), NEVER)


def sketched_slopes_row(t: int) -> int:
    """Stored rows that are sketches are forgotten by a redraw: slopes are measured once."""
    return SLOPES_AT[0] if t < SLOPES_AT[0] else NEVER


EVENTS: tuple[Event["StreamLearner"], ...] = (
    Event(redraw_row, lambda learner: learner.may_redraw, events.redraw_by_probes, catches_up=True),
    Event(anchor_row, lambda learner: True, events.follow_anchors),
    Event(full_row, lambda learner: not learner.widened.all(), events.widen_full_maps),
    Event(late_anchor_row, lambda learner: learner.extrapolates, events.follow_late_anchors),
    Event(
        screen_row,
        lambda learner: learner.may_redraw and not learner.stores_sketches,
        events.redraw_by_screen,
        catches_up=True,
    ),
    Event(
        slopes_row,
        lambda learner: learner.may_redraw and not learner.stores_sketches,
        events.redraw_by_slopes,
        catches_up=True,
    ),
    Event(
        sketched_slopes_row,
        lambda learner: learner.may_redraw and learner.stores_sketches,
        events.redraw_by_slopes,
        catches_up=True,
    ),
    Event(
        any_anchor_row,
        lambda learner: learner.regression,
        events.follow_target_anchor,
        of_labels=True,
    ),
)

LANDMARK_EVENTS: tuple[Event["LandmarkLearner"], ...] = (
    Event(any_anchor_row, lambda learner: learner.scaling is not None, landmark_events.follow_anchors, catches_up=True),
    Event(doubling_row, lambda learner: learner.estimates_width, landmark_events.reestimate_width, catches_up=True),
    Event(
        each_row,
        lambda learner: learner.filling,
        landmark_events.note_full,
        wait=lambda learner: learner.capacity - learner.size,
    ),
    Event(
        doubling_row,
        lambda learner: learner.estimates_threshold,
        landmark_events.reestimate_threshold,
        catches_up=True,
    ),
    Event(
        any_anchor_row,
        lambda learner: learner.target_scaling is not None,
        landmark_events.follow_target_anchors,
        catches_up=True,
    ),
    Event(doubling_row, lambda learner: learner.estimates_noise, landmark_events.reestimate_noise, catches_up=True),
)
