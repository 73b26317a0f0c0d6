"""The passes on the whole program: time, number of ops, changed lines, and the nodes that each removes."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute
from xdsl.passes import ModulePass

from stepwell.dialects.locations import node_names
from stepwell.passes.context import Remark
from stepwell.passes.instruments import PASS_SECONDS, Instrument, module_text
from stepwell.passes.pipelines import FROM_MODELS
from stepwell.passes.text_diff import text_diff
from stepwell.tools.explore.kernel_steps import Data
from stepwell.tools.explore.model_graph import result_types
from stepwell.tools.explore.structure import Structure, structure

_REFUSED = re.compile(r"not fused with \S+ \((?P<reader>.*?)\): (?P<why>.*)", re.DOTALL)
_NODE = re.compile(r'node "((?:[^"])*)"')
TYPED_BY = tuple(FROM_MODELS.values())
"""The passes after which all values have types."""


@dataclass
class GraphPasses(Instrument):
    """Records each pass on the whole program; `removed` maps a node to the pass after which it is gone."""

    level: str = "graph"
    rows: list[Data] = field(default_factory=list[Data])
    removed: dict[str, str] = field(default_factory=dict[str, str])
    types: dict[str, list[Attribute]] = field(default_factory=dict[str, list[Attribute]])
    _text: str = ""
    _structure: Structure = field(default_factory=list[object])
    _names: frozenset[str] = frozenset()
    _depth: int = 0

    def run_before_pass(self, module: ModuleOp, step: ModulePass) -> None:
        if not self._text:
            self._text, self._names = module_text(module), names_in(module)
        self._depth += 1

    def run_after_pass(self, module: ModuleOp, step: ModulePass) -> None:
        self._depth -= 1
        if self._depth:
            return
        now = structure(module)
        is_same, self._structure = now == self._structure, now
        text, names = (self._text, self._names) if is_same else (module_text(module), names_in(module))
        self.removed |= dict.fromkeys(self._names - names, step.name)
        row: Data = {"level": self.level, "pass": step.name, "ms": round(1e3 * PASS_SECONDS.get(), 3)}
        row["ops"] = [sum(" = " in line for line in t.splitlines()) for t in (self._text, text)]
        row["diff"] = text_diff(self._text, text) if text != self._text else ""
        self.rows.append(row)
        self._text, self._names = text, names
        if step.name in TYPED_BY:
            for op in module.ops:
                self.types |= result_types(op) if isinstance(op, func.FuncOp) else {}


def names_in(module: ModuleOp) -> frozenset[str]:
    """The names of the model's nodes that locations of a module have."""
    return frozenset(name for op in module.walk() for name in node_names(op.location))


def refusals(remarks: Iterable[Remark]) -> Mapping[tuple[str, str], str]:
    """The reasons of `fuse-ops{explain}` by the nodes of producer and reader."""
    found: dict[tuple[str, str], str] = {}
    for remark in remarks:
        if remark.pass_name == "fuse-ops" and (refused := _REFUSED.match(remark.message)):
            for producer in _NODE.findall(remark.where):
                for reader in _NODE.findall(refused["reader"]):
                    found.setdefault((producer, reader), refused["why"])
    return found
