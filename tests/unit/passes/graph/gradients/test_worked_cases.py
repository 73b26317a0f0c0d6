"""Worked cases of gradients, in the interpreter, on the machine and in native code."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline

F, P = "tensor<f64>", "(tensor<f64>, tensor<f64>) -> tensor<f64>"


def of(body: str, arguments: str = f"%x: {F}", wrt: str = "0", order: int = 1) -> str:
    """A program that returns `@f` and its first gradient, or `@f` differentiated several times."""
    types = ", ".join(part.split(": ")[1] for part in arguments.split(", %"))
    names = ", ".join("%" + part.split(":")[0].strip("% ") for part in arguments.split(", %"))
    functions = f"func.func @f0({arguments}) -> {F} {{ {body} func.return %y : {F} }}\n"
    for number in range(order):
        functions += f"""
func.func @f{number + 1}({arguments}) -> {F} {{
  %g = graph.gradient @f{number} wrt [{wrt}] : ({types}) -> ({F}, {F})
  %y, %d = graph.call %g({names}) : ({types}) -> ({F}, {F})
  func.return %d : {F}
}}"""
    return f"""{functions}
func.func @main({arguments}) -> ({F}, {F}) {{
  %y = graph.call @f0({names}) : ({types}) -> {F}
  %d = graph.call @f{order}({names}) : ({types}) -> {F}
  func.return %y, %d : {F}, {F}
}}"""


SQUARE = f"%y = graph.multiply %x, %x : {P}"
CUBE = f"%s = graph.multiply %x, %x : {P} %y = graph.multiply %s, %x : {P}"
TWICE = f"%y = graph.add %x, %x : {P}"
BRANCH = f"""
  %zero = graph.constant dense<0.0> : {F}
  %c = graph.less %x, %zero : ({F}, {F}) -> tensor<i1>
  %y = graph.if %c : tensor<i1> -> ({F}) {{
    %n = graph.neg %x : {F} -> {F}
    graph.yield %n : {F}
  }} else {{
    %s = graph.multiply %x, %x : {P}
    %t = graph.multiply %s, %x : {P}
    graph.yield %t : {F}
  }}"""
INDEX = f"""
  %r = graph.expand_dims %x axes [0] : {F} -> tensor<1xf64>
  %i = graph.argmax %r axis 0 keep_dims false select_last false : tensor<1xf64> -> tensor<i64>
  %y = graph.cast %i to f64 saturate true round "nearest" : tensor<i64> -> {F}"""
POWER = f"""
func.func @power(%x: {F}, %n: tensor<i64>) -> {F} {{
  %zero = graph.constant dense<0> : tensor<i64>
  %c = graph.less %zero, %n : (tensor<i64>, tensor<i64>) -> tensor<i1>
  %y = graph.if %c : tensor<i1> -> ({F}) {{
    %one = graph.constant dense<1> : tensor<i64>
    %m = graph.subtract %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>
    %r = graph.call @power(%x, %m) : ({F}, tensor<i64>) -> {F}
    %p = graph.multiply %x, %r : {P}
    graph.yield %p : {F}
  }} else {{
    %o = graph.constant dense<1.0> : {F}
    graph.yield %o : {F}
  }}
  func.return %y : {F}
}}
"""
CELL = f"""
  %r = ref.new %x : {F} -> !ref.cell<{F}>
  %a = ref.read %r : !ref.cell<{F}> -> {F}
  %b = graph.multiply %a, %a : {P}
  ref.write %r, %b : !ref.cell<{F}>, {F}
  %y = ref.read %r : !ref.cell<{F}> -> {F}"""
CASES: list[tuple[str, str, list[float], list[float]]] = [
    ("25: x x", of(SQUARE), [3.0], [9.0, 6.0]),
    ("26: a branch, at -1", of(BRANCH), [-1.0], [1.0, -1.0]),
    ("26: a branch, at 2", of(BRANCH), [2.0], [8.0, 12.0]),
    (
        "27: a recursive power",
        POWER
        + of(f"%y = graph.call @power(%x, %n) : ({F}, tensor<i64>) -> {F}", f"%x: {F}, %n: tensor<i64>"),
        [2.0, 5],
        [32.0, 80.0],
    ),
    ("29: a cell", of(CELL), [3.0], [9.0, 6.0]),
    ("30: the second derivative of a cube", of(CUBE, order=2), [2.0], [8.0, 12.0]),
    ("30: the third", of(CUBE, order=3), [2.0], [8.0, 6.0]),
    ("31: cotangents add", of(TWICE), [5.0], [10.0, 2.0]),
    ("32: relu at 0", of(f"%y = graph.relu %x : {F} -> {F}"), [0.0], [0.0, 0.0]),
    (
        "32: the maximum of equal numbers",
        of(f"%y = graph.maximum %x, %z : {P}", f"%x: {F}, %z: {F}"),
        [3.0, 3.0],
        [3.0, 0.5],
    ),
    ("33: an index is not reached", of(INDEX), [3.0], [0.0, 0.0]),
]


@pytest.mark.parametrize("executor", ["interpreter", "auto", "vm"])
@pytest.mark.parametrize(("name", "text", "given", "wanted"), CASES, ids=[case[0] for case in CASES])
@pytest.mark.sample(2)
def test_a_case(name: str, text: str, given: list[float], wanted: list[float], executor: Any, tmp_path: Path):
    values = [np.array(value) for value in given]
    if executor == "interpreter":
        ctx = StepwellContext()
        module = parse_module(ctx, text)
        run_pipeline(module, "gradient", ctx)
        found = interpret(module, ctx, "main", values)
    else:
        (tmp_path / "m.mlir").write_text(text)
        found = stepwell.compile(tmp_path / "m.mlir", executor=executor, threads=1)(*values)
    assert [float(np.asarray(value, np.float64)) for value in found] == wanted
