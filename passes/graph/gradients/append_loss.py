"""`append-loss`: a model returns its loss in place of its outputs."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, i64
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph_ir.state import (
    NAME,
    argument_attributes,
    named,
    return_states,
    set_argument_attributes,
    state_pairs,
)
from stepwell.dialects.types import dims_of, tensor_of, tensor_type
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.functions import main_function
from stepwell.runtime.errors import StepwellError

TARGETS = "targets"
LOSS = "loss"
Loss = Callable[[SSAValue, SSAValue, GradientBuilder], SSAValue]
"""The mean loss of an output and its targets."""


@dataclass(frozen=True)
class AppendLossPass(Pass):
    """
    Let `@main` take targets as its last argument, and return the mean loss of an output, with its states.

    ```mlir
    func.func @main(%x: tensor<2x3xf32>) -> tensor<2x3xf32> {
      %y = graph.tanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
      func.return %y : tensor<2x3xf32>
    }
    // ->
    func.func @main(%x: tensor<2x3xf32>, %targets: tensor<2x3xf32>) -> tensor<f32> {
      %y = graph.tanh %x : tensor<2x3xf32> -> tensor<2x3xf32>
      %d = graph.subtract %y, %targets : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %s = graph.multiply %d, %d : (tensor<2x3xf32>, tensor<2x3xf32>) -> tensor<2x3xf32>
      %loss = graph.reduce %s kind "mean" axes [0, 1] keep_dims false : tensor<2x3xf32> -> tensor<f32>
      func.return %loss : tensor<f32>
    }
    ```
    `cross_entropy` takes classes as i64, one for each row, or rows of probabilities with
    `targets=probabilities`; classes are along axis 1. If the output is a softmax, its logarithm is computed
    in one step; other outputs are logits. `binary_cross_entropy` does the same with a sigmoid. Formulas are
    torch's.

    Class: exact.
    """

    name = "append-loss"
    numerics = Numerics.EXACT

    kind: str
    """`cross_entropy`, `mse`, `mae`, `binary_cross_entropy` or `huber`."""
    output: str = ""
    """The name of the output; the first one when empty."""
    targets: str = "classes"
    """For `cross_entropy`: `classes` or `probabilities`."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_function(op)
        if self.kind not in _LOSSES:
            raise _bad_option("kind", self.kind, _LOSSES)
        if self.targets not in ("classes", "probabilities"):
            raise _bad_option("targets", self.targets, ("classes", "probabilities"))
        block = main.body.block
        last = block.last_op
        assert isinstance(last, ReturnOp)
        output = last.operands[self._number(main)]
        classes = self.kind == "cross_entropy" and self.targets == "classes"
        dims = dims_of(output.type)
        type = tensor_type(i64, [*dims[:1], *dims[2:]]) if classes else output.type
        attributes = argument_attributes(main)
        targets = block.insert_arg(type, len(block.args))
        targets.name_hint = TARGETS
        b = GradientBuilder(Builder(InsertPoint.before(last)), weights_of(ctx))
        loss = _LOSSES[self.kind](output, targets, b)
        loss.name_hint = LOSS
        states = {
            pair.name: last.operands[pair.result] for pair in state_pairs(main) if pair.result is not None
        }
        last.operands = [loss]
        set_argument_attributes(main, [*attributes, named(TARGETS)])
        main.properties["res_attrs"] = ArrayAttr([named(LOSS)])
        return_states(main, states)

    def _number(self, main: FuncOp) -> int:
        """The number of the output. Raises: StepwellError `bad-option`."""
        given = main.res_attrs.data if main.res_attrs is not None else ()
        names = [name.data for each in given if isinstance(name := each.data.get(NAME), StringAttr)]
        if not self.output:
            return 0
        if self.output not in names:
            raise _bad_option("output", self.output, names)
        return names.index(self.output)


def _bad_option(option: str, found: str, legal: Iterable[str]) -> StepwellError:
    message = f"{option} is {found!r}"
    return StepwellError("bad-option", "append-loss", message, help=f"it is one of {', '.join(legal)}")


def _mean(values: SSAValue, b: GradientBuilder) -> SSAValue:
    return b.insert(graph.ReduceOp(values, "mean", range(len(b.dims(values)))))


def _cross_entropy(output: SSAValue, targets: SSAValue, b: GradientBuilder) -> SSAValue:
    """-mean(sum(targets log softmax(output)))."""
    axis = min(1, len(b.dims(output)) - 1)
    owner = output.owner
    if isinstance(owner, graph.LogSoftmaxOp) and owner.axis.value.data == axis:
        logarithms = output
    elif isinstance(owner, graph.SoftmaxOp) and owner.axis.value.data == axis:
        logarithms = b.insert(graph.LogSoftmaxOp(owner.input, axis))
    else:
        logarithms = b.insert(graph.LogSoftmaxOp(output, axis))
    if tensor_of(targets).element_type == i64:
        chosen = b.insert(graph.OneHotOp(targets, b.dims(output)[axis], axis))
        products = b.only_where(chosen, logarithms)
    else:
        products = b.multiply(targets, logarithms)
    return b.negate(_mean(b.sum(products, [axis]), b))


def _binary_cross_entropy(output: SSAValue, targets: SSAValue, b: GradientBuilder) -> SSAValue:
    """mean(softplus(z) - targets z), where the output is sigmoid(z), or z."""
    owner = output.owner
    z = owner.input if isinstance(owner, graph.SigmoidOp) else output
    return _mean(b.subtract(b.insert(graph.SoftplusOp(z)), b.multiply(targets, z)), b)


def _mse(output: SSAValue, targets: SSAValue, b: GradientBuilder) -> SSAValue:
    """mean((output - targets)²)."""
    return _mean(b.square(b.subtract(output, targets)), b)


def _mae(output: SSAValue, targets: SSAValue, b: GradientBuilder) -> SSAValue:
    """mean(|output - targets|)."""
    return _mean(b.insert(graph.AbsOp(b.subtract(output, targets))), b)


def _huber(output: SSAValue, targets: SSAValue, b: GradientBuilder) -> SSAValue:
    """mean(d² / 2 where |d| < 1, else |d| - 1/2), d = output - targets."""
    difference = b.subtract(output, targets)
    distance = b.insert(graph.AbsOp(difference))
    is_near = b.less(distance, b.scalar(1.0, distance))
    return _mean(b.where(is_near, b.scaled(b.square(difference), 0.5), b.plus(distance, -0.5)), b)


_LOSSES: Mapping[str, Loss] = {
    "cross_entropy": _cross_entropy,
    "mse": _mse,
    "mae": _mae,
    "binary_cross_entropy": _binary_cross_entropy,
    "huber": _huber,
}
