"""`fold-device-copies`: copies between devices that need not be go."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern, op_type_rewrite_pattern

from stepwell.dialects import dev, graph
from stepwell.dialects.dev.devices import ON, on_attribute
from stepwell.passes.base import FunctionPass
from stepwell.patterns.driver.greedy import apply_patterns


@dataclass(frozen=True)
class FoldDeviceCopiesPass(FunctionPass):
    """
    Remove copies to the device where a value is, copies of copies, and copies of constants.

    Class: exact.
    """

    name = "fold-device-copies"

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        apply_patterns(func.body, [CopyToItself(), CopyOfCopy(), CopyOfConstant()])


class CopyToItself(RewritePattern):
    """
    Remove a copy to the device where the value is.

    ```mlir
    %c = dev.copy %x from @host to @host : tensor<4xf32>
    %y = graph.relu %c : tensor<4xf32> -> tensor<4xf32>
    // ->
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: dev.CopyOp, rewriter: PatternRewriter) -> None:
        source, to = op.devices
        if source == to:
            rewriter.replace(op, [], [op.input])


class CopyOfCopy(RewritePattern):
    """
    Copy a value from the device where it was first.

    ```mlir
    dev.device @gpu0 #target.spec<"cuda", {}>
    %c = dev.copy %x from @gpu0 to @host : tensor<4xf32>
    %d = dev.copy %c from @host to @gpu1 : tensor<4xf32>
    // ->
    dev.device @gpu0 #target.spec<"cuda", {}>
    %d = dev.copy %x from @gpu0 to @gpu1 : tensor<4xf32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: dev.CopyOp, rewriter: PatternRewriter) -> None:
        if isinstance(first := op.input.owner, dev.CopyOp):
            rewriter.replace(op, dev.CopyOp(first.input, first.devices[0], op.devices[1]))
            _erase_unused(first, rewriter)


class CopyOfConstant(RewritePattern):
    """
    Make a constant on the device that reads it.

    ```mlir
    %k = graph.constant dense<1.0> : tensor<f32>
    %c = dev.copy %k from @host to @gpu0 : tensor<f32>
    // ->
    %c = graph.constant {dev.on = @gpu0} dense<1.0> : tensor<f32>
    ```
    """

    @op_type_rewrite_pattern
    def match_and_rewrite(self, op: dev.CopyOp, rewriter: PatternRewriter) -> None:
        if not isinstance(made := op.input.owner, graph.ConstantOp):
            return
        copy = made.clone()
        copy.attributes[ON] = on_attribute([op.devices[1]])
        rewriter.replace(op, copy)
        _erase_unused(made, rewriter)


def _erase_unused(op: dev.CopyOp | graph.ConstantOp, rewriter: PatternRewriter) -> None:
    if not op.result.uses:
        rewriter.erase(op)
