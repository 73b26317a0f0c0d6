"""`lift-parameters`: initializers become arguments, so that they can change."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from math import prod
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, FunctionType, ModuleOp, StringAttr, TensorType
from xdsl.dialects.func import FuncOp
from xdsl.rewriter import Rewriter

from stepwell.dialects import onnx
from stepwell.dialects.graph.relations import Domain
from stepwell.dialects.graph_ir.state import argument_attributes, named, set_argument_attributes
from stepwell.dialects.onnx.marks import INITIALIZER, VALUES
from stepwell.dialects.types import Tensor
from stepwell.passes.base import Pass
from stepwell.runtime.errors import StepwellError, did_you_mean

ALL = "*"
_FIXED: Mapping[str, tuple[int, ...]] = {
    "onnx.BatchNormalization": (3, 4),
    "onnx.Clip": (1, 2),
    "onnx.DequantizeLinear": (1, 2),
    "onnx.Dropout": (1,),
    "onnx.Pad": (2,),
    "onnx.QuantizeLinear": (1, 2),
    "onnx.Resize": (1, 2),
    "onnx.Upsample": (1,),
}
"""Operands of floats that are no parameters: statistics, bounds, scales."""


@dataclass(frozen=True)
class LiftParametersPass(Pass):
    """
    Make initializers of floats the first arguments of `@main`, marked `graph.state` with their names, and
    begin with their values.

    ```mlir
    func.func @main(%x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
      %w = "onnx.Constant"() <{value = dense<1.0> : tensor<4xf32>}> {onnx.initializer, onnx.values = ["w"]}
        : () -> tensor<4xf32>
      …
    // ->
    func.func @main(%w: tensor<4xf32> {graph.name = "w", graph.state = "w",
                                       graph.initial = dense<1.0> : tensor<4xf32>},
                    %x: tensor<4xf32> {graph.name = "x"}) -> (tensor<4xf32> {graph.name = "y"}) {
      …
    ```
    `names` has names and patterns such as `layer1.*`; `*` stands for all that have more than one element and
    are no bounds, scales or running statistics of operators. Runs on level 0: later, weights are computed
    from others, and lose their names.

    Class: exact. Fails for a name that no initializer of floats has.
    """

    name = "lift-parameters"

    names: tuple[str, ...] = (ALL,)

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        main = next((f for f in op.ops if isinstance(f, FuncOp) and f.sym_name.data == "main"), None)
        if main is None:
            raise StepwellError(
                "no-main", op, "lifting parameters needs a function @main, and the module has none"
            )
        found = {name: each for each in main.body.block.ops if (name := _name_of(each)) is not None}
        chosen = self._chosen(main, cast("dict[str, onnx.ConstantOp]", found))
        attributes = argument_attributes(main)
        for position, (name, constant) in enumerate(chosen.items()):
            argument = main.body.block.insert_arg(constant.results[0].type, position)
            argument.name_hint = constant.results[0].name_hint
            Rewriter.replace_op(constant, [], [argument])
            attributes.insert(position, named(name, state=True, initial=constant.value))
        set_argument_attributes(main, attributes)
        types = list(main.body.block.arg_types), main.function_type.outputs.data
        main.properties["function_type"] = FunctionType.from_lists(*types)

    def _chosen(self, main: FuncOp, known: dict[str, onnx.ConstantOp]) -> dict[str, onnx.ConstantOp]:
        """The initializers to lift, in the order of the model. Raises: StepwellError `bad-option`."""
        for pattern in self.names:
            if pattern != ALL and not any(fnmatchcase(name, pattern) for name in known):
                message = f"no initializer of floats has the name {pattern!r}"
                help = f"{did_you_mean(pattern, known)}the model has {', '.join(known) or 'none'}"
                raise StepwellError("bad-option", main, message, help=help)
        single = [pattern for pattern in self.names if pattern != ALL]
        return {
            name: op
            for name, op in known.items()
            if any(fnmatchcase(name, pattern) for pattern in single)
            or (ALL in self.names and _is_parameter(op))
        }


def _name_of(op: object) -> str | None:
    """The name of an initializer of floats; None for any other op."""
    if not isinstance(op, onnx.ConstantOp) or INITIALIZER not in op.attributes:
        return None
    names, type = op.attributes.get(VALUES), op.results[0].type
    if not isinstance(type, TensorType) or not Domain.FLOAT.holds(cast(Tensor, type).element_type):
        return None
    first = cast("ArrayAttr[StringAttr]", names).data[0] if isinstance(names, ArrayAttr) else None
    return None if first is None else first.data


def _is_parameter(op: onnx.ConstantOp) -> bool:
    """Whether an initializer has several elements, and all of the users compute with them."""
    result = op.results[0]
    if prod(cast(Tensor, result.type).get_shape()) <= 1:
        return False
    return all(use.index not in _FIXED.get(use.operation.name, ()) for use in result.uses)
