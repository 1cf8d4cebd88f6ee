"""The maps and experts of a learner's spec, by their kind. Map i has state names map{i}/, expert e expert{e}/."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from nolana.engine.experts.bins.heads import DiagonalBins
from nolana.engine.experts.linear.identity_map import IdentityMap
from nolana.learner.driver import State
from nolana.modelfile.specs import Spec


def maps_of(spec: Spec, kind: type) -> list[int]:
    """Maps of a kind."""
    return [i for i, map in enumerate(spec.arguments["maps"]) if map.kind is kind]


def argument_of(spec: Spec, map: int, name: str) -> Any:
    """An argument of a map."""
    return spec.arguments["maps"][map].arguments[name]


def with_argument(spec: Spec, map: int, **changed: Any) -> Spec:
    """The learner's spec with other arguments for one of its maps."""
    maps = list(spec.arguments["maps"])
    maps[map] = replace(maps[map], arguments={**maps[map].arguments, **changed})
    return replace(spec, arguments={**spec.arguments, "maps": maps})


def head_of(spec: Spec, expert: int) -> Spec:
    """The head of an expert."""
    head: Spec = spec.arguments["experts"][expert].arguments["head"]
    return head


def experts_on(spec: Spec, map: int) -> list[int]:
    """Experts that share a map."""
    return [e for e, each in enumerate(spec.arguments["experts"]) if each.arguments["map"] == map]


def experts_with(spec: Spec, *kinds: type) -> list[int]:
    """Experts whose head is of one of these kinds."""
    return [e for kind in kinds for e in range(len(spec.arguments["experts"])) if head_of(spec, e).kind is kind]


def probing(spec: Spec) -> list[int]:
    """Experts that measure the relevance of the features."""
    return [e for e in experts_with(spec, DiagonalBins) if head_of(spec, e).arguments["probes"]]


def is_unsquashed(spec: Spec) -> bool:
    """Whether a linear head learns on features without the logarithmic tail of their scaling."""
    return any(spec.arguments["maps"][i].arguments.get("unsquashed") for i in maps_of(spec, IdentityMap))


def parts_on(spec: Spec, maps: Iterable[int]) -> list[str]:
    """Beginnings of the names of these maps and of their experts."""
    return [name for i in maps for name in (f"map{i}/", *(f"expert{e}/" for e in experts_on(spec, i)))]


def update_part(state: State, prefix: str, names: Any, values: State) -> None:
    """Replace these entries of one part of a state."""
    state.update({prefix + name: values[name] for name in names})
