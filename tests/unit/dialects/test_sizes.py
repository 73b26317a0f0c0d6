"""Sizes of tensors as expressions over the symbols of a kernel."""

from __future__ import annotations

import pytest
from xdsl.dialects import tensor
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.tensor_ir.sizes import index_of, size_of
from stepwell.runtime.dims import Dim

KERNEL = """
func.func private @k(%x: tensor<3x?xf32> {{graph.dims = #graph.dims<[3, "2 * n"]>}}, %y: tensor<?xf32>,
    %i: index, %n: index, %m: index) -> tensor<?xf32>
    attributes {{sched.kernel = #sched.kernel<inputs = 2, outputs = 1, symbols = ["n", "m"]>}} {{
  %c3 = arith.constant 3 : index
  {lines}
  %e = tensor.empty({size}) : tensor<?xf32>
  func.return %e : tensor<?xf32>
}}
"""


def kernel(lines: str = "", size: str = "%n") -> FuncOp:
    """A kernel of symbols n and m that makes a tensor of a size."""
    (func,) = parse_module(StepwellContext(), KERNEL.format(lines=lines, size=size)).body.block.ops
    assert isinstance(func, FuncOp)
    return func


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("%s = arith.addi %n, %c3 : index", "n + 3"),
        ("%s = arith.subi %m, %n : index", "m - n"),
        ("%s = arith.muli %n, %m : index", "m * n"),
        ("%s = arith.floordivsi %m, %c3 : index", "m floordiv 3"),
        ("%s = arith.ceildivsi %n, %c3 : index", "n ceildiv 3"),
        ("%s = arith.maxsi %m, %n : index", "max(m, n)"),
        ("%s = arith.minsi %n, %c3 : index", "min(n, 3)"),
        ("%s = arith.divui %n, %c3 : index", None),
        ("%s = arith.addi %i, %n : index", None),  # %i is no symbol
    ],
)
def test_arithmetic_of_symbols_is_an_expression(lines: str, expected: str | None) -> None:
    func = kernel(lines, "%s")
    (empty,) = (op for op in func.body.block.ops if isinstance(op, tensor.EmptyOp))
    assert size_of(empty.tensor, 0) == (None if expected is None else Dim.of(expected))


def test_sizes_of_arguments_are_declared() -> None:
    x, y, *_ = kernel().body.block.args
    assert [size_of(x, 0), size_of(x, 1), size_of(y, 0)] == [Dim.of(3), Dim.of("2 * n"), None]


def test_long_arithmetic_has_no_expression() -> None:
    squares = [f"%s{i + 1} = arith.muli %s{i}, %s{i} : index" for i in range(40)]
    func = kernel("\n".join(["%s0 = arith.addi %n, %m : index", *squares]), "%s40")
    (empty,) = (op for op in func.body.block.ops if isinstance(op, tensor.EmptyOp))
    assert index_of(empty.dynamic_sizes[0]) is None


@pytest.mark.parametrize(
    ("made", "expected"),
    [
        ("%made = tensor.insert_slice %one into %t[%i] [1] [1] : tensor<1xf32> into tensor<?xf32>", "n"),
        ("%made = tensor.empty(%m) : tensor<?xf32>", None),  # another size in each iteration
    ],
)
def test_a_loop_that_keeps_the_size_of_a_tensor(made: str, expected: str | None) -> None:
    loop = f"""
  %one = tensor.empty() : tensor<1xf32>
  %start = tensor.empty(%n) : tensor<?xf32>
  %r = scf.for %at = %i to %n step %c3 iter_args(%t = %start) -> (tensor<?xf32>) {{
    {made}
    scf.yield %made : tensor<?xf32>
  }}"""
    (result,) = (op.results[0] for op in kernel(loop).body.block.ops if op.name == "scf.for")
    assert size_of(result, 0) == (None if expected is None else Dim.of(expected))
