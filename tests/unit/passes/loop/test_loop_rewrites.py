"""Loops written out, split at guards, relieved of conditions: the same results by interpretation."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline

PREDICATES = ("slt", "sle", "sgt", "sge")


def sums(predicate: str, operands: str, bounds: str = "%lo to %hi step %c1") -> str:
    """A loop that adds three times the index where a comparison holds, and 100 elsewhere; `%p` doubles it."""
    return f"""
func.func @main(%lo: index, %hi: index, %m: index, %p: i1) -> index {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %c7 = arith.constant 7 : index
  %c100 = arith.constant 100 : index
  %s = scf.for %i = {bounds} iter_args(%a = %c0) -> (index) {{
    %c = arith.cmpi {predicate}, {operands} : index
    %t = scf.if %c -> (index) {{
      %k = arith.muli %i, %c3 : index
      scf.yield %k : index
    }} else {{
      scf.yield %c100 : index
    }}
    %u = scf.if %p -> (index) {{
      %d = arith.addi %t, %t : index
      scf.yield %d : index
    }} else {{
      scf.yield %t : index
    }}
    %b = arith.addi %a, %u : index
    scf.yield %b : index
  }}
  func.return %s : index
}}
"""


def results(text: str, passes: str) -> tuple[str, list[int]]:
    """The text after passes, and what it returns for bounds, guards and conditions."""
    ctx = StepwellContext()
    module = parse_module(ctx, text)
    if passes:
        run_pipeline(module, passes, ctx)
        module.verify()
    found: list[int] = []
    for low, high, middle, condition in product((0, 2), (1, 2, 5), (-1, 0, 2, 3, 9), (False, True)):
        values = [np.asarray(low), np.asarray(high), np.asarray(middle), np.asarray(condition)]
        found.append(int(np.asarray(interpret(module, ctx, "main", values)[0])))
    return str(module), found


@pytest.mark.sample(3)
@pytest.mark.parametrize("predicate", PREDICATES)
@pytest.mark.parametrize("operands", ["%i, %m", "%m, %i"])
def test_a_guarded_loop_is_two_loops(predicate: str, operands: str) -> None:
    text = sums(predicate, operands)
    changed, found = results(text, "partition-loops")
    assert changed.count("scf.for") == 2 and "scf.if %c" not in changed
    assert found == results(text, "")[1]


def test_a_condition_is_tested_once() -> None:
    text = sums("slt", "%i, %m")
    changed, found = results(text, "hoist-conditions")
    assert changed.index("scf.if %p") < changed.index("scf.for")
    assert found == results(text, "")[1]
    assert results(text, "partition-loops,hoist-conditions")[1] == found


@pytest.mark.parametrize("step", ["%c1", "%c3"])
def test_blocks_of_iterations(step: str) -> None:
    text = sums("slt", "%i, %m", f"%lo to %hi step {step}")
    changed, found = results(text, "split-loops{factor=2}")
    assert changed.count("scf.for") == 2
    assert found == results(text, "")[1]
    assert results(text, "split-loops{factor=2},split-loops{factor=3},unroll-loops")[1] == found


def test_a_short_loop_is_written_out() -> None:
    text = sums("slt", "%i, %m", "%c1 to %c7 step %c3")
    changed, found = results(text, "unroll-loops{limit=2}")
    assert "scf.for" not in changed and changed.count("scf.if") == 4
    assert found == results(text, "")[1]
    assert "scf.for" in results(text, "unroll-loops{limit=1}")[0]
