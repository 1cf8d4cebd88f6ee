"""Baselines that every learner should beat: a name of `nolana.evaluate.baselines`."""

from nolana.evaluate.baselines import LastLabel, LastTarget, MajorityClass, RunningMean

__all__ = ["LastLabel", "LastTarget", "MajorityClass", "RunningMean"]
