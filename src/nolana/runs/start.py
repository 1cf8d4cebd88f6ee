"""A run from the first row of a source."""

from typing import TYPE_CHECKING

from nolana.errors import Remedy, StreamError
from nolana.runs.source import open_labelled, options_to_save
from nolana.sources import SourceOptions

if TYPE_CHECKING:
    from nolana.runs.recipe import Recipe
    from nolana.runs.run import Run
    from nolana.runs.score import Scoring

__all__ = ["start"]


def start(source: str, options: SourceOptions, recipe: "Recipe", scoring: "Scoring") -> "Run":
    """A new run; the task is inferred from the first block if the recipe has none (`nolana.sources.task`).

    Examples
    --------
    >>> import os, tempfile
    >>> from nolana.runs import Recipe, Scoring, SourceOptions, start
    >>> path = os.path.join(tempfile.mkdtemp(), "xor.csv")
    >>> lines = [f"{i % 7 - 3},{i % 5 - 2},{'same' if (i % 7 > 3) == (i % 5 > 2) else 'other'}" for i in range(700)]
    >>> with open(path, "w") as file:
    ...     _ = file.write("a,b,kind\\n" + "\\n".join(lines))
    >>> run = start(path, SourceOptions(target="kind"), Recipe(), Scoring())
    >>> run.process()
    >>> run.task, run.rows, run.evaluation.metrics["accuracy"] > 0.85
    ('classification', 700, True)
    """
    recipe.check_new()
    evaluation = scoring.new_evaluation()
    stream = open_labelled(source, options, recipe.task)
    try:
        first = next(stream, None)
        if first is None:
            problem, remedies = "there are no rows to learn", []
            if stream.bad_rows:
                problem += f"; {stream.bad_rows:,} invalid rows were left out"
            if stream.unfinished_line is not None:
                problem += f"; line {stream.unfinished_line:,} has no line end"
                remedies = [Remedy("last_line", "take", "reads it")]
            raise StreamError(problem, path=stream.name, remedies=remedies)
        from nolana.runs.checkpoints import SavedRun
        from nolana.runs.run import Run  # not for a source that cannot be learned, nor for a prediction

        assert first.y is not None
        inferred = recipe.infer_task(first.y, stream.plan["target"])
        estimator = recipe.build(inferred.task, keep_growing=bool(options.keep_column or options.features))
        scoring.check(estimator)
        record = SavedRun(stream.name, False, options_to_save(options, stream))
        return Run(estimator, evaluation, record, stream=stream, first=first, inferred=inferred)
    except BaseException:
        stream.close()
        raise
