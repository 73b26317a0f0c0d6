"""`convert-graph-to-vm`: functions become instructions on registers."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import FunctionType, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Region
from xdsl.rewriter import Rewriter

from stepwell.dialects.vm import SEGMENT, ConstantOp, VmFuncOp
from stepwell.dialects.vm.interface import input_names, is_public, state_specs
from stepwell.lowering.graph_to_vm.code import Constants
from stepwell.lowering.graph_to_vm.function import FunctionCode
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.runtime.image import MAIN


@dataclass(frozen=True)
class ConvertGraphToVmPass(Pass):
    """
    Lower functions whose tensor ops are in segments (`outline-dataflow`) to instructions on registers.

    ```mlir
    func.func @main(%t: tuple<i64, i64>) -> i64 {
      %x = graph.get %t [1] : tuple<i64, i64> -> i64
      func.return %x : i64
    }
    ```
    becomes
    ```mlir
    vm.func @main (1) registers 2 : (tuple<i64, i64>) -> i64 {
      vm.get_field r1, r0 [1]
      vm.ret r1
    }
    ```
    Calls whose results are the function's own are tail calls. Segments and data types stay; functions that
    are not private state their type, and `@main` its states. Needs functions without type variables and
    lambdas. Class: exact.
    """

    name = "convert-graph-to-vm"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        constants = Constants()
        functions = [each for each in op.ops if isinstance(each, FuncOp) and SEGMENT not in each.attributes]
        segments = {
            each.sym_name.data for each in op.ops if isinstance(each, FuncOp) and SEGMENT in each.attributes
        }
        bodies = [function for function in functions if not function.is_declaration]
        names = {function.sym_name.data for function in bodies}
        for function in bodies:
            Rewriter.replace_op(function, _converted(function, segments, names, constants))
            count("functions converted")
        first = op.body.block.first_op
        table = [ConstantOp.of(number, value) for number, value in enumerate(constants.values)]
        if first is not None:
            op.body.block.insert_ops_before(table, first)


def _converted(function: FuncOp, segments: set[str], names: set[str], constants: Constants) -> VmFuncOp:
    """A function as instructions."""
    code = FunctionCode(function, segments, names, constants)
    blocks = code.blocks()
    is_private = not is_public(function)
    type: FunctionType | None = None if is_private else function.function_type
    counts = (len(function.args), code.registers)
    inputs = () if is_private else input_names(function)
    states = state_specs(function, constants.row) if function.sym_name.data == MAIN else ()
    made = VmFuncOp.of(function.sym_name.data, counts, type, Region(blocks), inputs, states)
    made.location = function.location
    return made
