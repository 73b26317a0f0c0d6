"""Functions as bytes for a forked process are the same functions afterwards."""

from __future__ import annotations

import pytest
from xdsl.dialects.arith import AddfOp, AddiOp
from xdsl.dialects.builtin import ModuleOp, i32
from xdsl.dialects.cf import BranchOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Region

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels.packed import NotPacked, packed, unpacked
from stepwell.lowering.kernels.sample import SAMPLE

NESTED = """
func.func @nested(%x: tensor<4x?xf32> {graph.dims = #graph.dims<["N", 4]>}, %n: index) -> tensor<4x?xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1, symbols = ["N"]>} {
  %zero = arith.constant 0 : index
  %one = arith.constant 1 : index
  %y = scf.for %i = %zero to %n step %one iter_args(%t = %x) -> (tensor<4x?xf32>) {
    %v = tensor.extract %t[%zero, %i] : tensor<4x?xf32>
    %w = arith.addf %v, %v : f32
    %u = tensor.insert %w into %t[%zero, %i] : tensor<4x?xf32>
    scf.yield %u : tensor<4x?xf32>
  }
  func.return %y : tensor<4x?xf32>
}
"""


def kernel_of(text: str) -> FuncOp:
    """The first function of a module."""
    return next(op for op in parse_module(StepwellContext(), text).ops if isinstance(op, FuncOp))


@pytest.mark.parametrize("text", [SAMPLE, NESTED], ids=["product", "nested"])
def test_a_function_comes_back_with_names_and_locations(text: str) -> None:
    func = kernel_of(text)
    other = kernel_of(NESTED)
    found, _ = unpacked(packed([func, other]))
    assert found is not func and str(found) == str(func)
    assert [op.location for op in found.walk()] == [op.location for op in func.walk()]
    ModuleOp([found]).verify()


def test_a_class_without_a_name_is_refused() -> None:
    func = kernel_of(NESTED)
    add = next(op for op in func.walk() if isinstance(op, AddfOp))
    assert add.parent is not None
    local = type("Local", (AddfOp,), {}).create(operands=add.operands, result_types=[add.results[0].type])
    add.parent.insert_op_before(local, add)
    with pytest.raises(NotPacked, match="Local"):
        packed([func])


def test_successors_and_values_from_elsewhere_are_refused() -> None:
    block = Block(arg_types=[i32])
    outside = FuncOp("outside", ((), ()), Region(Block([AddiOp(block.args[0], block.args[0])])))
    with pytest.raises(NotPacked, match=r"arith.addi has operands from elsewhere"):
        packed([outside])
    end = Block()
    jump = FuncOp("jump", ((), ()), Region([Block([BranchOp(end)]), end]))
    with pytest.raises(NotPacked, match=r"cf.br has successors"):
        packed([jump])
