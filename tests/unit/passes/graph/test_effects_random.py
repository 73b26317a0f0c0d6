"""Random programs with cells, branches, lambdas and calls: passes keep the order of effects."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from tests.support.samples import examples

VALUE, CELL, FUNCTION = "tensor<i64>", "!ref.cell<tensor<i64>>", "(tensor<i64>) -> tensor<i64>"
PASSES = (
    "eliminate-common-subexpr",
    "to-a-normal-form",
    "to-graph-normal-form",
    "to-basic-block-normal-form",
    "dead-code-elimination",
    "dead-code-elimination{inline-once}",
    "inline",
    "inline{once}",
    "inline,eliminate-common-subexpr,dead-code-elimination",
    "lambda-lift",
    "defunctionalize",
    "to-cps,un-cps",
    "tail-calls-to-loops",
    "loops-to-calls",
    "specialize-functions",
    "fuse-ops",
    "partial-evaluate",
    "partial-evaluate,dead-code-elimination",
)


class Program:
    """The text of a random program: a scope has the values, cells and function values that it sees."""

    def __init__(self, data: st.DataObject):
        self._data, self._number = data, 0
        self.helpers: list[str] = []

    def draw(self, *choices: str) -> str:
        return self._data.draw(st.sampled_from(choices))

    def name(self) -> str:
        self._number += 1
        return f"%v{self._number}"

    def body(self, values: list[str], cells: list[str], functions: list[str], depth: int) -> list[str]:
        """Some ops; the lists are extended by what they define."""
        lines: list[str] = []
        for _ in range(self._data.draw(st.integers(2, 7))):
            lines += self.op(values, cells, functions, depth)
        return lines

    def block(self, values: list[str], cells: list[str], functions: list[str], depth: int) -> str:
        inner = [*values], [*cells], [*functions]
        lines = self.body(*inner, depth)
        return "\n".join([*lines, f"graph.yield {self.draw(*inner[0])} : {VALUE}"])

    def op(self, values: list[str], cells: list[str], functions: list[str], depth: int) -> list[str]:
        made, value = self.name(), self.draw(*values)
        kinds = [
            "add",
            "new",
            "read",
            "write",
            "write",
            "call",
            "apply",
            "apply",
            *["if", "lambda"] * (depth < 2),
        ]
        match self.draw(*kinds):
            case "new":
                cells.append(made)
                return [f"{made} = ref.new {value} : {VALUE} -> {CELL}"]
            case "read" if cells:
                line = f"{made} = ref.read {self.draw(*cells)} : {CELL} -> {VALUE}"
            case "write" if cells:
                return [f"ref.write {self.draw(*cells)}, {value} : {CELL}, {VALUE}"]
            case "call" if cells and self.helpers:
                arguments = f"{self.draw(*cells)}, {value}"
                callee = self.draw(*self.helpers)
                line = f"{made} = graph.call @{callee}({arguments}) : ({CELL}, {VALUE}) -> {VALUE}"
            case "apply" if functions:
                line = f"{made} = graph.call {self.draw(*functions)}({value}) : {FUNCTION}"
            case "if":
                arms = [self.block(values, cells, functions, depth + 1) for _ in range(2)]
                condition = self.draw("%c", "%d") if depth < 2 else "%c"
                line = (
                    f"{made} = graph.if {condition} : tensor<i1> -> ({VALUE})"
                    f" {{\n{arms[0]}\n}} else {{\n{arms[1]}\n}}"
                )
            case "lambda":
                argument = self.name()
                body = self.block([*values, argument], cells, functions, depth + 1)
                functions.append(made)
                return [f"{made} = graph.lambda ({argument}: {VALUE}) -> ({VALUE}) {{\n{body}\n}}"]
            case kind:
                op = kind if kind == "add" else "subtract"
                line = f"{made} = graph.{op} {value}, {self.draw(*values)} : ({VALUE}, {VALUE}) -> {VALUE}"
        values.append(made)
        return [line]

    def text(self) -> str:
        functions: list[str] = []
        for number in range(self._data.draw(st.integers(0, 2))):
            lines = self.function(f"helper{number}", f"(%r: {CELL}, %x: {VALUE})", ["%x"], ["%r"])
            functions.append(lines.replace("func.func @", "func.func private @"))
            self.helpers.append(f"helper{number}")
        arguments = f"(%x: {VALUE}, %y: {VALUE}, %c: tensor<i1>, %d: tensor<i1>)"
        return "\n".join([*functions, self.function("main", arguments, ["%x", "%y"], [])])

    def function(self, name: str, arguments: str, values: list[str], cells: list[str]) -> str:
        """A function of the last value, or of that and the contents of all cells."""
        lines: list[str] = []
        functions: list[str] = []
        if name == "main":  # a cell, and a function that may write it
            lines += [f"%r = ref.new %y : {VALUE} -> {CELL}"]
            cells.append("%r")
            body = self.block([*values, "%p"], cells, functions, 1)
            lines += [f"%f = graph.lambda (%p: {VALUE}) -> ({VALUE}) {{\n{body}\n}}"]
            functions.append("%f")
        lines += self.body(values, cells, functions, 0 if name == "main" else 2)
        returned = [values[-1]]
        if name == "main":
            for cell in cells:
                returned.append(self.name())
                lines.append(f"{returned[-1]} = ref.read {cell} : {CELL} -> {VALUE}")
        types = ", ".join([VALUE] * len(returned))
        lines.append(f"func.return {', '.join(returned)} : {types}")
        return f"func.func @{name}{arguments} -> ({types}) {{\n" + "\n".join(lines) + "\n}"


def results(text: str, pipeline: str = "") -> list[list[int]]:
    """The results of a program for both values of its conditions, after passes."""
    module = stepwell.parse(text)
    if pipeline:
        module.run(pipeline)
    pairs = [(False, False), (True, False), (False, True)]
    found = [module.interpret(np.int64(3), np.int64(5), np.bool_(c), np.bool_(d)) for c, d in pairs]
    return [[int(each) for each in each_run] for each_run in found]


@examples(20)
@given(data=st.data())
def test_passes_keep_the_order_of_effects(data: st.DataObject) -> None:
    text = Program(data).text()
    expected = results(text)
    for pipeline in PASSES:
        assert results(text, pipeline) == expected, pipeline
