"""`raise-loops-to-linalg`: loops over tensors as structured ops."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects import scf
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import Operation

from stepwell.dialects.ir_builder import IRBuilder
from stepwell.dialects.sched import AXIS, PARALLEL
from stepwell.dialects.tensor_ir.dead import erase_dead
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.passes.tensor.script.raising.dependences import expect_independent
from stepwell.passes.tensor.script.raising.hints import schedule_by_hints
from stepwell.passes.tensor.script.raising.nests import Nest, NotRaisedError
from stepwell.passes.tensor.script.raising.races import expect_no_race
from stepwell.passes.tensor.script.raising.structured_ops import StructuredNest
from stepwell.runtime.errors import StepwellError


class RaiseLoopsToLinalgPass(Pass):
    """
    Replace loops over tensors by structured ops: elementwise ops, fills, sums and other reductions.

    ```mlir
    %y = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %e) -> (tensor<8xf32>) {
      %a = tensor.extract %x[%i] : tensor<8xf32>
      %b = math.exp %a : f32
      %u = tensor.insert %b into %t[%i] : tensor<8xf32>
      scf.yield %u : tensor<8xf32>
    }
    // ->
    %n = tensor.empty() : tensor<8xf32>
    %y = linalg.generic {… elementwise …} ins(%x : tensor<8xf32>) outs(%n : tensor<8xf32>) {
    ^bb0(%a: f32, %o: f32):
      %b = math.exp %a : f32
      linalg.yield %b : f32
    } -> tensor<8xf32>
    ```
    A nest becomes several ops, one after the other, if no iteration reads an element that another one writes,
    except to add to a sum. Loops with `sched.parallel` must have independent iterations; loops of a block,
    which have `sched.axis`, must form a structured op. A remark explains each loop that is not replaced.
    Class: rounding.
    """

    name = "raise-loops-to-linalg"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for func in functions_of(op):
            if func.body.blocks:
                _raise_in(func)


def _raise_in(func: FuncOp) -> None:
    for op in [inner for inner in func.walk() if isinstance(inner, scf.ForOp)]:
        if PARALLEL in op.attributes:
            expect_no_race(op)
    for op in list(func.body.block.ops):
        if isinstance(op, scf.ForOp) and any(isinstance(result.type, TensorType) for result in op.results):
            _raise(op)
    erase_dead(func)


def _raise(op: scf.ForOp) -> None:
    """Replace a nest by structured ops, if it is such."""
    emit = IRBuilder.before(op)
    first = op.prev_op
    try:
        nest = Nest(op)
        expect_independent(nest)
        structured = StructuredNest(nest, emit)
        structured.run()
    except NotRaisedError as error:
        while (made := op.prev_op) is not first:
            assert made is not None
            made.detach()
            made.erase(safe_erase=False)
        _declined(op, error)
        return
    for made, loops in structured.made:
        schedule_by_hints(made, loops)
    for result, buffer in nest.results.items():
        value = structured.current[buffer]
        if not isinstance(result.type, TensorType):
            value = emit.value(ExtractOp.create(operands=[value], result_types=[result.type]))
        result.replace_all_uses_with(value)
    op.detach()
    op.erase()
    count("rewrites")


def _declined(op: scf.ForOp, error: NotRaisedError) -> None:
    """Say why a nest stays. Raises: StepwellError for one that is declared to be a structured op."""
    if any(AXIS in inner.attributes for inner in op.walk() if isinstance(inner, scf.ForOp)):
        raise race(error)
    remark(error.op, f"a loop stays a loop: {error.reason}")


def race(error: NotRaisedError) -> StepwellError:
    """The error of axes or loops with a wrong declaration."""
    points = () if error.points is None else f"{error.points[0]} and {error.points[1]} meet in one element"
    help = "an axis that is summed over is reduce, and a loop that is parallel writes an element once"
    where: Operation = error.op
    return StepwellError("script-race", where, error.reason, note=points, help=help)
