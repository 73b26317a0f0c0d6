"""`inline`: programs whose functions come through tuples, data and branches compute the same."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

import stepwell
from tests.support.random_functions import Functions, results
from tests.support.samples import examples

PIPELINES = (
    "inline",
    "inline{once}",
    "inline,dead-code-elimination,inline",
    "partial-evaluate,inline",
    "lambda-lift,inline",
    "defunctionalize,inline",
)


@examples(15)
@given(data=st.data())
def test_random_programs_compute_the_same(data: st.DataObject) -> None:
    text = Functions(data).text()
    expected = results(stepwell.parse(text).run("link-prelude"))
    for pipeline in PIPELINES:
        module = stepwell.parse(text).run(f"link-prelude,{pipeline}")
        module.verify()
        assert results(module) == expected, pipeline


@pytest.mark.sample(3)
@pytest.mark.parametrize("wrap", ["tuple", "data"])
def test_a_chain_of_wrapped_functions_is_inlined(wrap: str) -> None:
    """Each function is taken out of a value that the one before was put into."""
    n, f = "tensor<i64>", "(tensor<i64>) -> tensor<i64>"
    option = f"!adt.data<@Option, {f}>"
    lines: list[str] = []
    for k in range(100):
        lines.append(f"%f{k} = graph.lambda (%a{k}: {n}) -> ({n}) {{")
        inner = f"graph.call %g{k - 1}(%a{k}) : {f}" if k else f"graph.neg %a{k} : {n} -> {n}"
        lines.append(f"%b{k} = {inner}\ngraph.yield %b{k} : {n}\n}}")
        if wrap == "tuple":
            lines.append(f"%t{k} = graph.tuple %f{k} : {f}")
            lines.append(f"%g{k} = graph.get %t{k} [0] : tuple<{f}> -> {f}")
        else:
            lines.append(f"%t{k} = adt.make @Option::@Some(%f{k}) : ({f}) -> {option}")
            lines.append(f"%g{k} = adt.match %t{k} : {option} -> ({f}) case Some(%h{k}: {f}) {{")
            lines.append(f"graph.yield %h{k} : {f}\n}} case None {{\ngraph.yield %f{k} : {f}\n}}")
    body = "\n".join(lines)
    text = (
        f"func.func @main(%x: {n}) -> {n} {{\n{body}\n"
        f"%y = graph.call %g99(%x) : {f}\nfunc.return %y : {n}\n}}"
    )
    module = stepwell.parse(text).run("link-prelude,inline")
    assert "graph.call" not in str(module) and "adt.match" not in str(module)
    assert str(module).count("graph.neg") == 1
