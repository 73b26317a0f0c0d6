"""Derivatives of branches, and what those of loops share with them."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, Region, SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import graph
from stepwell.dialects.graph.control_flow import yield_of
from stepwell.dialects.graph.symbols import fresh_symbols
from stepwell.passes.analysis.rename_symbols import defined_names, rename_symbols
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative
from stepwell.passes.graph.gradients.sweep import Sweep, inputs_of
from stepwell.runtime.dims import Dim


@derivative(graph.IfOp)
def if_(op: graph.IfOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    A branch on the same condition whose arms compute the forward arms again, then the cotangents.

    ```mlir
    %y = graph.if %c : tensor<i1> -> (tensor<f32>) {
      %e = graph.exp %x : tensor<f32> -> tensor<f32>
      graph.yield %e : tensor<f32>
    } else {
      graph.yield %x : tensor<f32>
    }
    // ->
    %dx = graph.if %c : tensor<i1> -> (tensor<f32>) {
      %e = graph.exp %x : tensor<f32> -> tensor<f32>
      %d = graph.multiply %dy, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
      graph.yield %d : tensor<f32>
    } else {
      graph.yield %dy : tensor<f32>
    }
    ```
    """
    read = inputs_of(op)
    wanted = [value for value in read if value in b.active]
    given = [dy] if isinstance(dy, SSAValue) else list(dy)
    arms = [copied(region, op) for region in op.regions]
    # Within the function before its arms are swept: loops in them ask it for names of sizes.
    made = graph.IfOp.create(
        operands=[op.condition], result_types=[value.type for value in wanted], regions=arms
    )
    b.rewriter.insert(made)
    for arm in arms:
        last = yield_of(arm)
        ops = list(arm.block.ops)[:-1]
        return_cotangents(last, swept(ops, last.operands, given, wanted, b.before(last)))
    found = dict(zip(wanted, made.results, strict=True))
    return [found.get(value) for value in read]


def swept(
    ops: Sequence[Operation],
    values: Sequence[SSAValue],
    given: Sequence[SSAValue | None],
    wanted: Sequence[SSAValue],
    b: GradientBuilder,
) -> list[SSAValue]:
    """The cotangents of `wanted` by the ops of a block, from those that are given of some values."""
    sweep = Sweep(wanted, ops)
    for value, cotangent in zip(values, given, strict=False):
        if cotangent is not None and value in sweep.active:
            if list(b.dims(cotangent)) != list(b.dims(value)):  # an arm knows more sizes than its result
                cotangent = b.reshape(cotangent, b.dims(value))
            sweep.add(value, cotangent, b)
    return sweep.run(b)


def return_cotangents(last: Operation, values: Sequence[SSAValue]) -> None:
    """Let a region end in a yield of other values."""
    Rewriter.replace_op(last, graph.YieldOp(values), [])


def copied(region: Region, at: Operation) -> Region:
    """A copy of a region in which symbols that are defined inside have new names."""
    made = region.clone()
    if names := defined_names(made):
        new = fresh_symbols(at, len(names))
        rename_symbols(made, {old: Dim.symbol(name) for old, name in zip(names, new, strict=True)})
    return made
