"""Helpers for tests of patterns: functions from text, and their values by name."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module

F32 = "tensor<4x4xf32>"


class Graph:
    """A function parsed from text; `graph["x"]` is its value `%x`."""

    def __init__(self, text: str):
        self.ctx = StepwellContext()
        self.module: ModuleOp = parse_module(self.ctx, text)
        verify_module(self.module)
        ops = [op for op in self.module.walk() if isinstance(op, FuncOp)]
        self.func = ops[0]
        self._values = {value.name_hint: value for value in _values(self.func)}

    def __getitem__(self, name: str) -> SSAValue:
        return self._values[name]

    def ops(self) -> list[str]:
        """The names of the function's own ops, in order, without the dialect."""
        return [op.name.partition(".")[2] for op in self.func.body.block.ops]

    def first(self, name: str) -> Operation:
        """The first op of a name, of the function's own block."""
        return next(op for op in self.func.body.block.ops if op.name == name)


def _values(func: FuncOp) -> list[SSAValue]:
    found: list[SSAValue] = []
    for op in func.walk():
        found += op.results
        for region in op.regions:
            for block in region.blocks:
                found += block.args
    return found


def elementwise(body: str, inputs: str = "x, y", type: str = F32, returns: str = "") -> Graph:
    """
    A function of ops on tensors of one type: `r = relu x; s = add r, y` defines %r and %s.

    It returns the last one, or the names in `returns`.
    """
    names = [name.strip() for name in inputs.split(",")]
    lines: list[str] = []
    last = names[0]
    for statement in filter(None, map(str.strip, body.split(";"))):
        last, _, right = (part.strip() for part in statement.partition("="))
        kind, *operands = right.replace(",", " ").split()
        values = ", ".join(f"%{operand}" for operand in operands)
        extra = {"cast": 'to i32 saturate true round "nearest"', "leaky_relu": "alpha 1.0e-2"}.get(kind, "")
        if kind == "constant":
            lines.append(f"%{last} = graph.constant dense<{operands[0]}> : {type}")
        elif len(operands) == 1:
            lines.append(f"%{last} = graph.{kind} {values} {extra} : {type} -> {type}")
        else:
            lines.append(f"%{last} = graph.{kind} {values} : ({', '.join([type] * len(operands))}) -> {type}")
    results = [name.strip() for name in (returns or last).split(",")]
    args = ", ".join(f"%{name}: {type}" for name in names)
    types = ", ".join([type] * len(results))
    text = "\n".join(lines)
    return Graph(
        f"func.func @main({args}) -> ({types}) {{\n{text}\nfunc.return "
        f"{', '.join(f'%{name}' for name in results)} : {types}\n}}"
    )
