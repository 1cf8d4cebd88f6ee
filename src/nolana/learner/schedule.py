"""The events of the default learner as one table: after which rows, under which condition, what happens.

Every event is due after a row whose number is fixed, so that a block may be split anywhere. `learn` cuts blocks at
`next_event`, runs the events that are due, in the order of the table, and a merge of parts that learns again catches
up on those that fell into frozen rows.
"""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from nolana.engine.learner.robust_scaling import CHECK_EVERY, LAST_ANCHOR
from nolana.learner import events

if TYPE_CHECKING:
    from nolana.learner.stream import StreamLearner

NEVER = 1 << 62
CHECK_FULL = 64  # rows between checks whether the landmarks have become full
FIRST_REDRAW, REDRAW_FACTOR = 2048, 4
SLOPES_AT = 512, 1024, 2048
SCREEN_AT = 128, 256  # before there are slopes; later the screen is part of every redraw


class Event(NamedTuple):
    """`next_row(t)` is the first row after t at which the event may be due."""

    next_row: Callable[[int], int]
    condition: Callable[["StreamLearner"], bool]
    action: Callable[["StreamLearner"], None]
    catches_up: bool = False  # whether a merge of parts makes up for it
    of_labels: bool = False  # whether rows without labels do not count

    def is_due(self, learner: "StreamLearner", rows: int) -> bool:
        return rows > 0 and self.condition(learner) and self.next_row(rows - 1) == rows


def anchor_row(t: int) -> int:
    """2, 4, 8, ..., 512."""
    return 1 << max(1, t.bit_length()) if t < LAST_ANCHOR else NEVER


def late_anchor_row(t: int) -> int:
    """Every 64 rows after 512."""
    return max(LAST_ANCHOR, t // CHECK_EVERY * CHECK_EVERY) + CHECK_EVERY


def target_anchor_row(t: int) -> int:
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


EVENTS = (
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
        target_anchor_row,
        lambda learner: learner.regression,
        events.follow_target_anchor,
        of_labels=True,
    ),
)


def next_event(learner: "StreamLearner") -> int:
    """The row after which something may be re-estimated."""
    if learner.frozen:
        return NEVER
    rows, labelled = learner.rows, learner.labelled
    left = [
        event.next_row(labelled) - labelled if event.of_labels else event.next_row(rows) - rows
        for event in EVENTS
        if event.condition(learner)
    ]
    return rows + min(left, default=NEVER)


def run_events(learner: "StreamLearner") -> None:
    """What is due now that rows have been learned, with labels or without."""
    rows, of_labels = learner.rows, learner.labelled if learner.has_labels else 0
    for event in EVENTS:
        if event.is_due(learner, of_labels if event.of_labels else rows):
            event.action(learner)


def catch_up(learner: "StreamLearner", before: int) -> None:
    """What was due after row `before` while the maps were frozen."""
    for event in EVENTS:
        if event.catches_up and event.next_row(before) <= learner.rows and event.condition(learner):
            event.action(learner)
