"""The reduction of an ONNX model: its nodes by delta debugging, then edits that make the rest simpler."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from stepwell.tools.reduce.ddmin import minimized
from stepwell.tools.reduce.onnx_case import ModelCase, Parts
from stepwell.tools.reduce.onnx_edits import SIMPLER
from stepwell.tools.reduce.probes import Probes

_HOPS = (0, 1, 2, 4, 8, 16)
"""How far from the node at fault parts are tried before all nodes."""
_QUOTED = re.compile(r'"([^"]+)"')


@dataclass
class ModelReduction:
    """
    A reduction of a model.

    Args: `parts` are those of the model that fails; `place` may name the node at fault, in quotes.
    """

    parts: Parts
    probes: Probes[ModelCase]
    place: str = ""

    def run(self) -> ModelCase:
        """The smallest case found that fails as the model does."""
        parts = self.parts
        near = self.probes.first(map(parts.part, self._near()))
        start = list(range(len(parts.nodes))) if near is None else _indices(parts, near)
        case = self._fewer_nodes(parts, start)
        while (simpler := self._simpler(case)) is not None:
            parts = Parts(simpler)  # nodes of bodies can be left out now
            case = self._fewer_nodes(parts, range(len(parts.nodes)))
        return case

    def _near(self) -> Iterator[Sequence[int]]:
        """Parts around the node at fault, from small to large; none where it is not known."""
        names = _QUOTED.findall(self.place) or [self.place]
        seen: Sequence[int] = ()
        for hops in _HOPS:
            found = self.parts.near(names, hops)
            if found != seen and len(found) < len(self.parts.nodes):
                yield found
            seen = found

    def _fewer_nodes(self, parts: Parts, indices: Sequence[int]) -> ModelCase:
        """A part that fails so, and does not with any one node less."""

        def first_kept(some: Iterable[Sequence[int]]) -> Sequence[int] | None:
            case = self.probes.first(map(parts.part, some))
            return None if case is None else _indices(parts, case)

        kept = minimized(indices, first_kept)
        whole = len(kept) == len(parts.nodes)
        return parts.whole if whole or (case := parts.part(kept)) is None else case

    def _simpler(self, case: ModelCase) -> ModelCase | None:
        """A case after all edits that keep the failure; None where none does."""
        begin = case
        for edit in SIMPLER:
            while (simpler := self.probes.first(edit(case))) is not None:
                case = simpler
        return None if case is begin else case


def _indices(parts: Parts, case: ModelCase) -> list[int]:
    """The indices of a part's nodes in the whole: a value has one node."""
    made = {name for node in case.model.graph.node for name in node.output if name}
    return [index for index, node in enumerate(parts.nodes) if not made.isdisjoint(node.output)]
