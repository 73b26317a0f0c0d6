"""Copies of functions for known arguments: how many there are, and their names."""

from __future__ import annotations

import numpy as np
import pytest

import stepwell
from stepwell.passes.analysis.function_names import MOST_LETTERS, unused_name
from tests.support.samples import whole
from tests.unit.passes.graph.test_long_programs import functions


@whole
def test_a_chain_of_function_values_takes_a_copy_each_at_most() -> None:
    found: list[int] = []
    for count in (400, 800):
        module = stepwell.parse(functions(count)).run("specialize-functions")
        found.append(str(module).count("func.func"))
        assert found[-1] <= 2 * (count // 4) + 2 * 64
        assert module.interpret(np.int64(3)) == [-3]
    assert found[1] - found[0] <= 2 * 100


@pytest.mark.parametrize("pass_name", ["specialize-functions", "monomorphize"])
def test_names_are_short_and_equal_in_each_run(pass_name: str) -> None:
    tuples = "tensor<f32>"
    for _ in range(6):
        tuples = f"tuple<{tuples}, {tuples}>"
    use = f"graph.call @id<{tuples}>(%x) : ({tuples}) -> {tuples}"
    text = f"""
    func.func @main(%x: {tuples}) -> {tuples} {{
      %y = {use}
      func.return %y : {tuples}
    }}"""
    texts: set[str] = set()
    for _ in range(2):
        module = stepwell.parse(functions(400) if pass_name == "specialize-functions" else text)
        texts.add(str(module.run(f"link-prelude,{pass_name}")))
    (printed,) = texts
    names = [
        line.split("@")[1].split("(")[0].strip('"') for line in printed.splitlines() if "func.func" in line
    ]
    assert len(names) == len(set(names)) and max(map(len, names)) <= MOST_LETTERS


def test_long_labels_that_differ_at_the_end_stay_apart() -> None:
    one, other = ("f." + "x" * 100 + end for end in "ab")
    assert unused_name(one, ()) != unused_name(other, ())
    assert unused_name("f", {"f", "f.1"}) == "f.2"
    assert unused_name(one, {unused_name(one, ())}).endswith(".1")
