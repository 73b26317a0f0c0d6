"""
Faults planted into passes, one or more a level, each as the text of a plugin for `--load`.

`python -m tests.support.faults simplify-expr > fault.py` writes one.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from stepwell.passes.pipelines import Level

_BY_HAND = '''"""A fault: {name} swaps the operands of each {op}, once."""
from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate

Faulty = load_pass("{name}")
plain, swapped = Faulty.apply, {{}}
register_predicate("{stem}.any")(lambda value: True)  # a plugin registers something

def apply(self, ctx, op):
    plain(self, ctx, op)
    for inner in op.walk():
        if inner.name == "{op}" and id(inner) not in swapped:
            swapped[id(inner)] = inner
            inner.operands = [inner.operands[1], inner.operands[0], *inner.operands[2:]]

Faulty.apply = apply
'''
_BY_PATTERN = '''"""A fault: {name} swaps the operands of {op}, by a rewrite, once each."""
from stepwell.dialects import graph
from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate
from stepwell.patterns.driver.greedy import apply_patterns_once
from xdsl.dialects import arith
from xdsl.dialects.builtin import UnitAttr
from xdsl.pattern_rewriter import RewritePattern, op_type_rewrite_pattern

Faulty = load_pass("{name}")
plain = Faulty.apply
register_predicate("{stem}.any")(lambda value: True)

class SwapOperands(RewritePattern):
    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: {kind}, rewriter):
        if "swapped" in op.attributes:
            return
        swapped = {kind}(op.operands[1], op.operands[0])
        swapped.attributes["swapped"] = UnitAttr()
        rewriter.replace(op, swapped)

def apply(self, ctx, op):
    plain(self, ctx, op)
    apply_patterns_once(op.walk(), [SwapOperands()])

Faulty.apply = apply
'''
_CLASSES = {"graph.subtract": "graph.SubtractOp", "arith.subf": "arith.SubfOp"}


@dataclass(frozen=True)
class Fault:
    """A fault of a pass: the level, and the op whose operands it swaps; by a rewrite, or by hand."""

    level: Level
    op: str
    by_pattern: bool = False


FAULTS: Mapping[str, Fault] = {
    "simplify-expr": Fault("graph", "graph.subtract", by_pattern=True),
    "fold-scale-axis": Fault("graph", "graph.subtract"),
    "fuse-ops": Fault("graph", "graph.subtract"),
    "convert-graph-to-linalg": Fault("tensor", "arith.subf"),
    "vectorize": Fault("tensor", "arith.subf", by_pattern=True),
    "bufferize": Fault("loop", "arith.subf"),
    "expand-math": Fault("loop", "arith.subf"),
    "convert-loops-to-llvm": Fault("llvm", "llvm.fsub"),
    "hoist-addresses": Fault("llvm", "llvm.fsub"),
}
"""By the name of the pass."""


def plugin_text(name: str) -> str:
    """The text of the plugin that plants a fault."""
    fault, stem = FAULTS[name], f"fault_{name.replace('-', '_')}"
    text = _BY_PATTERN if fault.by_pattern else _BY_HAND
    return text.format(name=name, stem=stem, op=fault.op, kind=_CLASSES.get(fault.op))


def planted(name: str, folder: Path) -> Path:
    """The file of the plugin that plants a fault, written to a folder."""
    path = folder / f"fault_{name.replace('-', '_')}.py"
    path.write_text(plugin_text(name))
    return path


if __name__ == "__main__":
    print(plugin_text(sys.argv[1]))
