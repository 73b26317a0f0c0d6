"""`append-optimizer`: a function of parameters that returns a loss becomes a step of training."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from xdsl.builder import Builder
from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Attribute, Block, Region, SSAValue
from xdsl.rewriter import InsertPoint

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.constants import inline_attr
from stepwell.dialects.graph_ir.state import argument_attributes, named, state_pairs
from stepwell.dialects.types import dtype_of, tensor_of, tensor_type
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.graph.gradients.builder import GradientBuilder
from stepwell.passes.graph.gradients.functions import main_function
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore

LOSS_FUNCTION = "loss"
NO_OPTIMIZER = "none"
RATE = "lr"
"""The state that is the learning rate, with `rate=state`."""
COUNT = "step"
"""The state that counts steps."""


@dataclass(frozen=True)
class AppendOptimizerPass(Pass):
    """
    Make a step of training of `@main`: parameters, state of the optimizer, inputs and targets in; parameters,
    state and the loss out.

    `@main` has its parameters as arguments with `graph.state`, as `lift-parameters` leaves them, and returns
    a loss, as `append-loss` does. It becomes `@loss`, and the new `@main` calls its gradient, which the pass
    `gradient` writes out:

    ```mlir
    func.func @main(%w: tensor<4xf32> {graph.name = "w", graph.state = "w"}, %x: tensor<4xf32>)
        -> tensor<f32> {
      …
    // ->
    func.func private @loss(%w: tensor<4xf32>, %x: tensor<4xf32>) -> tensor<f32> {
      …
    func.func @main(%w: …, %x: …) -> (tensor<4xf32> {graph.name = "w", graph.state = "w"}, tensor<f32>) {
      %g = graph.gradient @loss wrt [0] : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      %loss, %dw = graph.call %g(%w, %x) : (tensor<4xf32>, tensor<4xf32>) -> (tensor<f32>, tensor<4xf32>)
      %lr = graph.constant dense<0.1> : tensor<f32>
      %s = graph.multiply %dw, %lr : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
      %0 = graph.subtract %w, %s : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
      func.return %0, %loss : tensor<4xf32>, tensor<f32>
    }
    ```
    Formulas and defaults are torch's (`torch.optim`, 2.13): Adam by Kingma and Ba (2015), AdamW by Loshchilov
    and Hutter (2019), Nesterov's momentum by Sutskever et al. (2013). State begins as zeros. With `none`
    all states stay as they are, and `@main` returns the gradient of each parameter and the loss. States that
    `@main` changes itself, such as running statistics, are no parameters.

    Class: exact. Fails for a program without parameters.
    """

    name = "append-optimizer"
    numerics = Numerics.EXACT

    kind: str = "adam"
    """`sgd`, `momentum`, `nesterov`, `adam` or `adamw`; `none` returns the gradients."""
    lr: float = 1e-3
    rate: str = "fixed"
    """`fixed` makes the learning rate a constant; `state` a state that calls only read."""
    momentum: float = 0.9
    beta1: float = 0.9
    beta2: float = 0.999
    eps: float = 1e-8
    weight_decay: float = -1.0
    """Below 0: 0.01 for `adamw`, 0 for others."""
    clip: float = 0.0
    """The largest norm of all gradients together; 0 for none."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = main_function(op)
        pairs = state_pairs(main)
        parameters = [pair.argument for pair in pairs if pair.result is None]
        if self.kind not in _RULES and self.kind != NO_OPTIMIZER:
            message, help = f"kind is {self.kind!r}", f"it is one of {', '.join(_RULES)}, {NO_OPTIMIZER}"
            raise StepwellError("bad-option", self.name, message, help=help)
        if self.rate not in ("fixed", "state"):
            message, help = f"rate is {self.rate!r}", "it is one of fixed, state"
            raise StepwellError("bad-option", self.name, message, help=help)
        if not parameters:
            message = "@main has no parameters"
            raise StepwellError("bad-main", main, message, help="run lift-parameters before, on level 0")
        step = _Step(self, main, parameters, weights_of(ctx)).function()
        op.body.block.insert_op_after(step, main)
        main.properties["sym_name"] = StringAttr(LOSS_FUNCTION)
        main.properties["sym_visibility"] = StringAttr("private")
        for given in ("arg_attrs", "res_attrs"):
            main.properties.pop(given, None)


@dataclass
class _State:
    """The state of an optimizer: arguments, and the values that they get."""

    block: Block
    position: int
    """Where the next argument is inserted."""
    arguments: dict[str, SSAValue] = field(default_factory=dict[str, "SSAValue"])
    results: dict[str, SSAValue] = field(default_factory=dict[str, "SSAValue"])

    def argument(self, name: str, type: Attribute) -> SSAValue:
        """The value of a state before the step."""
        if name not in self.arguments:
            self.arguments[name] = argument = self.block.insert_arg(type, self.position)
            argument.name_hint = name.replace(".", "_")
            self.position += 1
        return self.arguments[name]


class _Step:
    """The function of a step, under construction."""

    def __init__(
        self, options: AppendOptimizerPass, loss: FuncOp, parameters: Sequence[int], weights: WeightStore
    ):
        self.options, self._loss, self._numbers, self._weights = options, loss, parameters, weights
        pairs = state_pairs(loss)
        self._names = [pair.name for pair in pairs if pair.result is None]
        self._kept = [pair for pair in pairs if pair.result is not None]
        """The states that the loss changes itself, such as statistics of batches."""

    def function(self) -> FuncOp:
        """The step."""
        given = list(self._loss.body.block.arg_types)
        block = Block(arg_types=given)
        for new, old in zip(block.args, self._loss.body.block.args, strict=True):
            new.name_hint = old.name_hint
        arguments = list(block.args)
        b = GradientBuilder(Builder(InsertPoint.at_end(block)), self._weights)
        parameters = [arguments[number] for number in self._numbers]
        (loss, *others), gradients = self._gradients(arguments, parameters, b)
        self.state = _State(block, len(parameters))
        if self.options.clip:
            gradients = self._clipped(gradients, b)
        if (rule := _RULES.get(self.options.kind)) is None:
            about = [named(name) for name in self._names]
            return self._returned(block, gradients, about, loss)
        found = [
            rule(self, name, value, gradient, b)
            for name, value, gradient in zip(self._names, parameters, gradients, strict=True)
        ]
        changed = {**dict(zip(self._names, found, strict=True)), **self.state.results}
        changed |= {pair.name: others[(pair.result or 0) - 1] for pair in self._kept}
        about = [named(name, state=True) for name in changed]
        return self._returned(block, list(changed.values()), about, loss)

    def _gradients(
        self, arguments: Sequence[SSAValue], parameters: Sequence[SSAValue], b: GradientBuilder
    ) -> tuple[list[SSAValue], list[SSAValue]]:
        """The results of the loss, and the gradients of parameters."""
        results = [*self._loss.function_type.outputs.data, *(value.type for value in parameters)]
        type = FunctionType.from_lists([value.type for value in arguments], results)
        function = b.insert(graph.GradientOp(LOSS_FUNCTION, self._numbers, type))
        call = graph.CallOp(function, arguments, results)
        b.rewriter.insert(call)
        count = len(results) - len(parameters)
        return list(call.results[:count]), list(call.results[count:])

    def _clipped(self, gradients: Sequence[SSAValue], b: GradientBuilder) -> list[SSAValue]:
        """Gradients times min(1, clip / (norm + 1e-6))."""
        squares = [b.sum(b.square(each), range(len(b.dims(each)))) for each in gradients]
        total = squares[0]
        for square in squares[1:]:
            total = b.add(total, square)
        norm = b.plus(b.insert(graph.SqrtOp(total)), 1e-6)
        ratio = b.divide(b.scalar(self.options.clip, norm), norm)
        factor = b.insert(graph.MinimumOp(b.scalar(1.0, norm), ratio))
        return [b.multiply(each, factor) for each in gradients]

    def _returned(
        self, block: Block, results: Sequence[SSAValue], about: Sequence[DictionaryAttr], loss: SSAValue
    ) -> FuncOp:
        """The function of a block that returns some results, with their attributes, and the loss."""
        block.add_op(ReturnOp(*results, loss))
        given = argument_attributes(self._loss)
        states = [
            named(name, state=True, initial=self._rate if name == RATE else None)
            for name in self.state.arguments
        ]
        types = [*(value.type for value in results), loss.type]
        function = FuncOp("main", (list(block.arg_types), types), Region(block))
        count = len(self._numbers)
        function.properties["arg_attrs"] = ArrayAttr([*given[:count], *states, *given[count:]])
        function.properties["res_attrs"] = ArrayAttr([*about, self._about_loss()])
        return function

    def _about_loss(self) -> DictionaryAttr:
        given = self._loss.res_attrs
        return given.data[0] if given is not None else named(LOSS_FUNCTION)

    def rate(self, like: SSAValue, b: GradientBuilder) -> SSAValue:
        """The learning rate as a scalar."""
        if self.options.rate == "fixed":
            return b.scalar(self.options.lr, like)
        element = tensor_of(like).element_type
        self._rate = inline_attr(np.array(self.options.lr).astype(dtype_of(element)))
        return self.state.argument(RATE, tensor_type(element, []))

    def count(self, like: SSAValue, b: GradientBuilder) -> SSAValue:
        """The number of this step, from 1 on, counted once for all parameters."""
        before = self.state.argument(COUNT, tensor_type(tensor_of(like).element_type, []))
        if COUNT not in self.state.results:
            self.state.results[COUNT] = b.plus(before, 1.0)
        return self.state.results[COUNT]

    def moving(self, name: str, value: SSAValue, factor: float, share: float, b: GradientBuilder) -> SSAValue:
        """A state: `factor` times what it was, plus `share` times a value."""
        before = self.state.argument(name, value.type)
        added = value if share == 1.0 else b.scaled(value, share)
        self.state.results[name] = found = b.add(b.scaled(before, factor), added)
        return found


Rule = Callable[[_Step, str, SSAValue, SSAValue, GradientBuilder], SSAValue]
"""The new value of a parameter, from its name, value and gradient."""


def _decayed(step: _Step, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    """A gradient with the derivative of the weights' penalty."""
    decay = step.options.weight_decay
    return gradient if decay <= 0 else b.add(gradient, b.scaled(value, decay))


def _sgd(step: _Step, name: str, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    """w - lr g."""
    return b.subtract(value, b.multiply(_decayed(step, value, gradient, b), step.rate(value, b)))


def _momentum(step: _Step, name: str, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    """v = momentum v + g; w - lr v."""
    speed = step.moving(f"{name}.v", _decayed(step, value, gradient, b), step.options.momentum, 1.0, b)
    return b.subtract(value, b.multiply(speed, step.rate(value, b)))


def _nesterov(step: _Step, name: str, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    """v = momentum v + g; w - lr (g + momentum v)."""
    slope, momentum = _decayed(step, value, gradient, b), step.options.momentum
    speed = step.moving(f"{name}.v", slope, momentum, 1.0, b)
    ahead = b.add(slope, b.scaled(speed, momentum))
    return b.subtract(value, b.multiply(ahead, step.rate(value, b)))


def _adam(step: _Step, name: str, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    """w - lr m̂ / (√v̂ + eps), with means that are corrected for their beginning."""
    return _adam_step(step, name, value, _decayed(step, value, gradient, b), b)


def _adamw(step: _Step, name: str, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    """As adam, on weights that are made smaller by lr weight_decay before."""
    decay = 0.01 if step.options.weight_decay < 0 else step.options.weight_decay
    if step.options.rate == "fixed":
        smaller = b.scaled(value, 1.0 - step.options.lr * decay)
    else:
        share = b.scaled(step.rate(value, b), decay)
        smaller = b.multiply(value, b.subtract(b.scalar(1.0, share), share))
    return _adam_step(step, name, smaller, gradient, b)


def _adam_step(step: _Step, name: str, value: SSAValue, gradient: SSAValue, b: GradientBuilder) -> SSAValue:
    options = step.options
    mean = step.moving(f"{name}.m", gradient, options.beta1, 1.0 - options.beta1, b)
    square = step.moving(f"{name}.v", b.square(gradient), options.beta2, 1.0 - options.beta2, b)
    count = step.count(value, b)
    first, second = (
        b.subtract(b.scalar(1.0, count), b.insert(graph.PowerOp(b.scalar(beta, count), count)))
        for beta in (options.beta1, options.beta2)
    )
    # √(v / c₂) is √v / √c₂: a number a step, not a division an element.
    deviation = b.plus(b.multiply(b.insert(graph.SqrtOp(square)), b.rsqrt(second)), options.eps)
    rate = b.divide(step.rate(count, b), first)
    return b.subtract(value, b.divide(b.multiply(mean, rate), deviation))


_RULES: Mapping[str, Rule] = {
    "sgd": _sgd,
    "momentum": _momentum,
    "nesterov": _nesterov,
    "adam": _adam,
    "adamw": _adamw,
}
