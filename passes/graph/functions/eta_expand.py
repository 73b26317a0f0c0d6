"""`eta-expand`: functions and constructors that are values become lambdas that call or make them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import adt, graph
from stepwell.dialects.locations import adopt_location
from stepwell.passes.base import FunctionPass
from stepwell.passes.context import count


@dataclass(frozen=True)
class EtaExpandPass(FunctionPass):
    """
    Replace functions of the module and constructors that are values by lambdas.

    ```mlir
    %f = graph.function @f : (tensor<f32>) -> tensor<f32>
    ```
    becomes
    ```mlir
    %f = graph.lambda (%x: tensor<f32>) -> (tensor<f32>) {
      %y = graph.call @f(%x) : (tensor<f32>) -> tensor<f32>
      graph.yield %y : tensor<f32>
    }
    ```
    and a constructor a lambda that makes its value. Class: exact.
    """

    name = "eta-expand"

    functions: bool = True
    """Whether functions of the module are expanded."""
    constructors: bool = True
    """Whether constructors are expanded."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        for op in [op for op in func.walk() if isinstance(op, graph.FunctionOp)]:
            is_constructor = bool(op.callee.nested_references.data)
            if self.constructors if is_constructor else self.functions:
                _expand(op)
                count("values expanded")


def _expand(op: graph.FunctionOp) -> None:
    """Replace a function value by a lambda that calls it."""
    type = op.result.type
    block = Block(arg_types=type.inputs.data)
    called = call_of(op, block.args)
    block.add_ops([called, graph.YieldOp(called.results)])
    expanded = graph.LambdaOp(Region(block))
    adopt_location(expanded, op.location)
    Rewriter.replace_op(op, expanded)


def call_of(op: graph.FunctionOp, arguments: Sequence[SSAValue]) -> Operation:
    """The call of a function value by name; of a constructor, the op that makes its value."""
    type = op.result.type
    if path := op.callee.nested_references.data:
        return adt.MakeOp(path[-1].data, arguments, cast(adt.DataType, type.outputs.data[0]))
    type_args = () if op.type_args is None else op.type_args.data
    return graph.CallOp(op.callee.root_reference.data, arguments, list(type.outputs), type_args)
