"""Derivatives of branches and matches."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import count

from xdsl.ir import Attribute, Region, SSAValue

from stepwell.dialects import adt, graph
from stepwell.passes.graph.gradients.arms import Arms, binding_all, copied, of_arms
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.rules import Cotangents, derivative


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
    Arms with calls leave a tape instead: data with a constructor an arm, on which the derivative is a match.
    """
    regions = [copied(region, op) for region in op.regions]

    def made(arms: Sequence[Region], types: Sequence[Attribute]) -> graph.IfOp:
        return graph.IfOp.create(operands=[op.condition], result_types=types, regions=arms)

    given = [dy] if isinstance(dy, SSAValue) else list(dy)
    return of_arms(Arms(op, regions, ("Then", "Else"), made), given, b)


@derivative(adt.MatchOp)
def match(op: adt.MatchOp, dy: SSAValue | Sequence[SSAValue | None], b: GradientBuilder) -> Cotangents:
    """
    A match whose cases compute the forward cases again, then the cotangents: that of the value, by its parts.

    ```mlir
    %y = adt.match %o : !adt.data<@Option, tensor<f32>> -> (tensor<f32>) case Some(%x: tensor<f32>) {
      %e = graph.exp %x : tensor<f32> -> tensor<f32>
      graph.yield %e : tensor<f32>
    } case None { … }
    // ->
    %do = adt.match %o : !adt.data<@Option, tensor<f32>> -> (!adt.data<@Option, tensor<f32>>)
    case Some(%x: tensor<f32>) {
      %e = graph.exp %x : tensor<f32> -> tensor<f32>
      %dx = graph.multiply %dy, %e : (tensor<f32>, tensor<f32>) -> tensor<f32>
      %s = adt.make @Option::@Some(%dx) : (tensor<f32>) -> !adt.data<@Option, tensor<f32>>
      graph.yield %s : !adt.data<@Option, tensor<f32>>
    } case None { … }
    ```
    Cases with calls leave a tape, as arms of `graph.if` do.
    """
    regions = [copied(case, op) for case in op.cases]
    patterns, value = list(op.patterns), None
    if op.value in b.active:
        value = op.value
        for number, (pattern, region) in enumerate(zip(op.patterns, regions, strict=True)):
            patterns[number], new = binding_all(pattern, value.type, count(), b)
            for place, type in new:
                region.block.insert_arg(type, place)

    def made(cases: Sequence[Region], types: Sequence[Attribute]) -> adt.MatchOp:
        return adt.MatchOp(op.value, patterns, cases, types, partial=op.is_partial)

    given = [dy] if isinstance(dy, SSAValue) else list(dy)
    return of_arms(Arms(op, regions, _labels(op.patterns), made, value, patterns), given, b)


def _labels(patterns: Iterable[adt.PatternAttr]) -> list[str]:
    """A name for each pattern: the constructor, and a number where two patterns have the same."""
    names: list[str] = []
    for number, pattern in enumerate(patterns):
        name = pattern.kind if pattern.is_constructor else "Case"
        names.append(name if name not in names else f"{name}_{number}")
    return names
