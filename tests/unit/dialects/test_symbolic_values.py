"""Shape arithmetic on symbols: the chains that exporters write."""

from __future__ import annotations

import pytest
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes.analysis.symbolic_values import symbolic_dims

X = 'tensor<?x?x256xf32, #graph.dims<["N", "S", 256]>>'
TAKEN = "(tensor<3xi64>, tensor<i64>) -> tensor<i64>"
PRELUDE = f"""
    %s = graph.shape_of %x start 0 end 3 : {X} -> tensor<3xi64>
    %zero = graph.constant dense<0> : tensor<i64>
    %one = graph.constant dense<1> : tensor<i64>
    %tail = graph.constant dense<[4, -1]> : tensor<2xi64>
    %n = graph.gather %s, %zero axis 0 batch_dims 0 bounds "check" : {TAKEN}
    %m = graph.gather %s, %one axis 0 batch_dims 0 bounds "check" : {TAKEN}
    %n1 = graph.expand_dims %n axes [0] : tensor<i64> -> tensor<1xi64>
    %m1 = graph.expand_dims %m axes [0] : tensor<i64> -> tensor<1xi64>
"""


@pytest.mark.parametrize(
    ("text", "type", "expected"),
    [
        (
            "%r = graph.concat %n1, %m1, %tail axis 0 : (tensor<1xi64>, tensor<1xi64>, tensor<2xi64>)",
            4,
            "N S 4 -1",
        ),
        ("%r = graph.multiply %n, %m : (tensor<i64>, tensor<i64>)", None, "N * S"),
        ("%r = graph.divide %s, %one : (tensor<3xi64>, tensor<i64>)", 3, "N S 256"),
        ("%r = graph.divide %n, %tail : (tensor<i64>, tensor<2xi64>)", 2, "(N floordiv 4)|-N"),
        ("%r = graph.subtract %tail, %m1 : (tensor<2xi64>, tensor<1xi64>)", 2, "-S + 4|-S - 1"),
        ("%r = graph.maximum %n1, %zero : (tensor<1xi64>, tensor<i64>)", 1, "N"),
        ("%r = graph.slice %s starts <[2]> limits <[-1]> steps [-2] : tensor<3xi64>", 2, "256 N"),
        ('%r = graph.reduce %s kind "prod" axes [0] keep_dims true : tensor<3xi64>', 1, "256 * N * S"),
        (
            "%q = graph.add %n, %one : (tensor<i64>, tensor<i64>) -> tensor<i64>\n"
            "%e = graph.equal %n, %q : (tensor<i64>, tensor<i64>) -> tensor<i1>\n"
            "%r = graph.where %e, %n, %m : (tensor<i1>, tensor<i64>, tensor<i64>)",
            None,
            "S",
        ),
        ("%r = graph.constant dense<[1.5, 2.0]> : tensor<2xf32>", None, None),
    ],
)
def test_chains(text: str, type: int | None, expected: str | None) -> None:
    ctx = StepwellContext()
    result = "tensor<i64>" if type is None else f"tensor<{type}xi64>"
    arrow = "" if "constant" in text else f" -> {result}"
    result = result if arrow else "tensor<2xf32>"
    source = f"func.func @f(%x: {X}) -> {result} {{ {PRELUDE} {text}{arrow}\n func.return %r : {result} }}"
    module = Parser(ctx, source).parse_module()
    function = module.body.block.first_op
    assert isinstance(function, FuncOp)
    last = function.body.block.last_op
    assert isinstance(last, ReturnOp)
    dims = symbolic_dims(last.arguments[0], ctx.weights)
    if expected is None:
        assert dims is None
    else:
        separator = "|" if "|" in expected or "*" in expected else " "
        assert dims is not None
        assert [str(d) for d in dims] == expected.split(separator)
