"""The reduction of an ONNX model: its nodes by delta debugging, then edits that make the rest simpler."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass

from stepwell.tools.reduce.ddmin import minimized
from stepwell.tools.reduce.onnx_case import ModelCase, Parts
from stepwell.tools.reduce.onnx_edits import SIMPLER, Edit
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
        best = self._fewer_nodes()
        return self._simplest(best)

    def _fewer_nodes(self) -> ModelCase:
        whole = list(range(len(self.parts.nodes)))
        near = self.probes.first(map(self.parts.part, list(self._near())))
        chosen = whole if near is None else self._indices(near)
        return self._case(minimized(chosen, self._first_part))

    def _near(self) -> Iterator[Sequence[int]]:
        """Parts around the node at fault, from small to large; none where it is not known."""
        names = _QUOTED.findall(self.place) or [self.place]
        seen: Collection[int] = ()
        for hops in _HOPS:
            found = self.parts.near(names, hops)
            if found and found != seen and len(found) < len(self.parts.nodes):
                yield found
            seen = found

    def _first_part(self, some: Iterable[Sequence[int]]) -> Sequence[int] | None:
        case = self.probes.first(map(self.parts.part, some))
        return None if case is None else self._indices(case)

    def _indices(self, case: ModelCase) -> list[int]:
        """The indices of a part's nodes, which are those of the whole: a value has one node."""
        made = {node.output[0] for node in case.model.graph.node}
        return [index for index, node in enumerate(self.parts.nodes) if node.output[0] in made]

    def _case(self, indices: Sequence[int]) -> ModelCase:
        if len(indices) == len(self.parts.nodes):
            return self.parts.whole
        case = self.parts.part(indices)
        return self.parts.whole if case is None else case

    def _simplest(self, case: ModelCase) -> ModelCase:
        """A case that no edit makes simpler in such a way that it still fails so."""
        changed = True
        while changed and not self.probes.is_over:
            changed = False
            for edit in SIMPLER:
                while (simpler := self._edited(case, edit)) is not None:
                    case, changed = simpler, True
        return case

    def _edited(self, case: ModelCase, edit: Edit) -> ModelCase | None:
        return self.probes.first(edit(case))
