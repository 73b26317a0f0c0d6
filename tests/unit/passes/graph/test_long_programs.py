"""Passes of functions, types and data on long programs: Python's stack limits none, and none is quadratic."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
import pytest

import stepwell
from stepwell.passes.registry import PASSES

N, F = "tensor<i64>", "(tensor<i64>) -> tensor<i64>"
SHORT, LONG = 1_200, 50_000
FOLDERS = ("passes.graph.functions", "passes.graph.types", "passes.graph.data")
NAMES = [
    name for name, entry in PASSES.items() if entry.place.startswith(tuple(f"stepwell.{f}" for f in FOLDERS))
]
HELPERS = f"""
func.func private @f(%x: {N}) -> {N} {{
  %y = graph.neg %x : {N} -> {N}
  func.return %y : {N}
}}
"""


def _main(lines: list[str], result: str) -> str:
    body = "\n".join(lines)
    return f"{HELPERS}\nfunc.func @main(%x0: {N}) -> {N} {{\n{body}\nfunc.return {result} : {N}\n}}\n"


def ops(count: int) -> str:
    """Each op reads the one before."""
    return _main([f"%x{k + 1} = graph.neg %x{k} : {N} -> {N}" for k in range(count)], f"%x{count}")


def calls(count: int) -> str:
    """Each call reads the result of the one before."""
    return _main([f"%x{k + 1} = graph.call @f(%x{k}) : {F}" for k in range(count)], f"%x{count}")


def data(count: int) -> str:
    """A list, an element a value, and a match of its first."""
    type = f"!adt.data<@List, {N}>"
    lines = [f"%l0 = adt.make @List::@Nil() : () -> {type}"]
    lines += [
        f"%l{k + 1} = adt.make @List::@Cons(%x0, %l{k}) : ({N}, {type}) -> {type}" for k in range(count)
    ]
    case = f"case Cons(%h: {N}, _) {{\ngraph.yield %h : {N}\n}} case Nil {{\ngraph.yield %x0 : {N}\n}}"
    return _main([*lines, f"%y = adt.match %l{count} : {type} -> ({N}) {case}"], "%y")


def functions(count: int) -> str:
    """Lambdas, each of which captures and calls the one before."""
    lines = [f"%f0 = graph.function @f : {F}"]
    for k in range(count // 4):
        call = f"%b{k} = graph.call %f{k}(%a{k}) : {F}\ngraph.yield %b{k} : {N}"
        lines.append(f"%f{k + 1} = graph.lambda (%a{k}: {N}) -> ({N}) {{\n{call}\n}}")
    return _main([*lines, f"%y = graph.call %f{count // 4}(%x0) : {F}"], "%y")


CHAINS: Mapping[str, Callable[[int], str]] = {each.__name__: each for each in (ops, calls, data, functions)}


def _run(chain: str, name: str, count: int) -> None:
    module = stepwell.parse(CHAINS[chain](count))
    if name == "un-cps":
        module.run("to-cps")
    if name == "outline-dataflow":
        module.run("eta-expand,lambda-lift")
    module.run(name)
    if count == SHORT and name not in ("to-cps", "remove-unused-functions", "outline-dataflow"):
        assert module.interpret(np.int64(3)) in ([3], [-3])


@pytest.mark.sample(20)
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chain", CHAINS)
def test_a_chain_goes_through_a_pass(chain: str, name: str) -> None:
    _run(chain, name, SHORT)


@pytest.mark.fuzz
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("chain", CHAINS)
def test_a_long_chain_goes_through_a_pass(chain: str, name: str) -> None:
    _run(chain, name, LONG)
