"""`annotate-work`: attributes with each kernel's operations and bytes, to compare with its time."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr, TensorType
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp
from stepwell.dialects.graph_ir.annotations import ARITHMETIC, BYTES, FLOPS
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.passes.analysis.work import elements_of, flops_of, total_of
from stepwell.passes.base import Pass
from stepwell.runtime.dims import Dim


@dataclass(frozen=True)
class AnnotateWorkPass(Pass):
    """
    Annotate each `graph.fused` with its number of arithmetic operations and of bytes read and written.

    Both are dimension expressions. `graph.flops` is exact for contractions (two for each multiply-add); other
    computing ops count one for each element of the result, or of the reduced operand. `graph.bytes` counts
    each operand and result once; of a table that is only gathered from, it counts the gathered part. An
    amount that depends on data is left out. `graph.arithmetic` is the kind of the operations, where it is not
    floating point as written: `winograd`, counted as the convolution that it stands for, or `integer`.
    Changes nothing else.
    """

    name = "annotate-work"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for kernel in op.walk():
            if isinstance(kernel, graph.FusedOp):
                inner = [each for each in kernel.body.walk() if isinstance(each, GraphOp)]
                for name, amount in (
                    (FLOPS, total_of(map(flops_of, inner))),
                    (BYTES, total_of(map(_bytes, [*kernel.body.block.args, *kernel.results]))),
                ):
                    if not amount.is_unknown:
                        kernel.attributes[name] = StringAttr(str(amount))
                if kind := next((k for op in inner if (k := _arithmetic(op))), ""):
                    kernel.attributes[ARITHMETIC] = StringAttr(kind)


def _arithmetic(op: GraphOp) -> str:
    if isinstance(op, graph.ConvIntegerOp | graph.MatmulIntegerOp):
        return "integer"
    return "winograd" if isinstance(op, graph.WinogradConvOp) else ""


def _bytes(value: SSAValue) -> Dim:
    """The bytes that a kernel reads of an argument or writes of a result; of gathered tables, that part."""
    if not isinstance(value.type, TensorType):
        return Dim.of(0)
    readers = [use.operation for use in value.uses]
    if readers and all(_gathers_from(value, reader) for reader in readers):
        return total_of(_bytes(reader.results[0]) for reader in readers)
    return elements_of(value) * dtype_of(tensor_of(value).element_type).itemsize


def _gathers_from(value: SSAValue, reader: Operation) -> bool:
    return (
        isinstance(reader, graph.GatherOp)
        and reader.operands[0] is value
        and reader.operands[-1] is not value
    )
