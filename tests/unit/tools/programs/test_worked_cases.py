"""Small programs of functions, data and cells: what they give in every executor, before and after passes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
from stepwell.runtime.values import Data
from tests.unit.passes.graph.test_partial_evaluate import COUNTER, FETCH
from tests.unit.tools.programs.test_compiled_programs import CLOSURES, COMPOSE, EVEN, MAP

EXECUTORS = ("interpreter", "vm", "native")
PASSES = (
    "",
    "defunctionalize",
    "to-cps,un-cps,monomorphize",
    "tail-calls-to-loops",
    "inline,dead-code-elimination",
    "lambda-lift",
    "partial-evaluate,dead-code-elimination",
)
NAT, N = "!adt.data<@Nat>", "tensor<i64>"


def naturals(number: int) -> str:
    """The ops of a natural number, whose name is `%sNUMBER`."""
    lines = [f"%s0 = adt.make @Nat::@Z() : () -> {NAT}"]
    lines += [f"%s{k + 1} = adt.make @Nat::@S(%s{k}) : ({NAT}) -> {NAT}" for k in range(number)]
    return "\n".join(lines)


ABS_DIFF = f"""
func.func private @abs_diff(%a: {NAT}, %b: {NAT}) -> {NAT} {{
  %t = graph.tuple %a, %b : {NAT}, {NAT}
  %r = adt.match %t : tuple<{NAT}, {NAT}> -> ({NAT}) case (S(%x: {NAT}), S(%y: {NAT})) {{
    %d = graph.call @abs_diff(%x, %y) : ({NAT}, {NAT}) -> {NAT}
    graph.yield %d : {NAT}
  }} case (Z, %y: {NAT}) {{
    graph.yield %y : {NAT}
  }} case (%x: {NAT}, Z) {{
    graph.yield %x : {NAT}
  }}
  func.return %r : {NAT}
}}
func.func @main(%n: {N}) -> {N} {{
  {naturals(7)}
  %d = graph.call @abs_diff(%s7, %s3) : ({NAT}, {NAT}) -> {NAT}
  %k = graph.call @number(%d, %n) : ({NAT}, {N}) -> {N}
  func.return %k : {N}
}}
func.func private @number(%a: {NAT}, %n: {N}) -> {N} {{
  %r = adt.match %a : {NAT} -> ({N}) case S(%b: {NAT}) {{
    %one = graph.constant dense<1> : {N}
    %m = graph.add %n, %one : ({N}, {N}) -> {N}
    %k = graph.call @number(%b, %m) : ({NAT}, {N}) -> {N}
    graph.yield %k : {N}
  }} case Z {{
    graph.yield %n : {N}
  }}
  func.return %r : {N}
}}
"""
SQUARE = f"""
func.func @main(%x: {N}) -> {N} {{
  %r = ref.new %x : {N} -> !ref.cell<{N}>
  %a = ref.read %r : !ref.cell<{N}> -> {N}
  %b = ref.read %r : !ref.cell<{N}> -> {N}
  %c = graph.multiply %a, %b : ({N}, {N}) -> {N}
  ref.write %r, %c : !ref.cell<{N}>, {N}
  %y = ref.read %r : !ref.cell<{N}> -> {N}
  func.return %y : {N}
}}
"""
TRUE, ONE = np.bool_(True), np.int64(1)
CASES: dict[str, tuple[str, Sequence[Any], Any]] = {
    "map": (MAP, ([1, 2, 3], ONE), [2, 3, 4]),
    "closures": (CLOSURES, ([2, 3, 5], np.int64(7)), [14, 21, 35]),
    "counter": (COUNTER, (TRUE,), 1),
    "fetch": (FETCH, (TRUE,), 1),
    "square": (SQUARE, (np.int64(5),), 25),
    "abs_diff": (ABS_DIFF, (np.int64(0),), 4),
    "even": (EVEN, (np.int64(1201),), False),
}


def given(value: Any, executor: str) -> Any:
    """A list as data of the interpreter, which takes no lists of Python."""
    if executor != "interpreter" or not isinstance(value, list):
        return value
    made = Data("Nil", ())
    for each in reversed(value):
        made = Data("Cons", (np.int64(each), made))
    return made


def taken(value: Any) -> Any:
    """A result of any executor as numbers and lists."""
    if isinstance(value, Data):
        found: list[Any] = []
        while value.constructor == "Cons":
            found.append(taken(value.fields[0]))
            value = value.fields[1]
        return found
    return [taken(each) for each in value] if isinstance(value, list) else np.asarray(value).item()


def called(text: str, passes: str, executor: str, tmp_path: Path) -> Callable[..., Any]:
    """A program after passes, as a function."""
    module = stepwell.parse(text).run("link-prelude,monomorphize")
    if passes:
        module.run(passes)
    if executor == "interpreter":
        return lambda *inputs: module.interpret(*inputs)[0]
    (tmp_path / "program.mlir").write_text(str(module))
    model: Any = stepwell.compile(tmp_path / "program.mlir", executor=executor)  # pyright: ignore
    return model


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", CASES)
def test_a_case_gives_the_same_everywhere(name: str, executor: str, tmp_path: Path) -> None:
    text, inputs, expected = CASES[name]
    for passes in PASSES if executor == "interpreter" else ("", "defunctionalize"):
        model = called(text, passes, executor, tmp_path)
        assert taken(model(*(given(each, executor) for each in inputs))) == expected, passes


@pytest.mark.parametrize("executor", ["vm", "native"])
def test_a_composed_function_is_returned(executor: str, tmp_path: Path) -> None:
    for passes in ("", "defunctionalize"):
        composed = called(COMPOSE, passes, executor, tmp_path)(np.int64(3))
        assert composed(np.int64(4)) == 19


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", EXECUTORS)
def test_mutual_recursion_is_deep(executor: str, tmp_path: Path) -> None:
    count = 2_000 if executor == "interpreter" else 12_000  # it takes 0.2 ms a call
    for passes in ("", "tail-calls-to-loops"):
        assert called(EVEN, passes, executor, tmp_path)(np.int64(count)) == True  # noqa: E712  # an array
