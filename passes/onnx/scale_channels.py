"""`scale-channels`: activations of products are divided channel by channel, their weights multiplied."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.locations import node_name
from stepwell.dialects.onnx.constants import constant_of
from stepwell.dialects.quantization.factors import Doubles, read_factors
from stepwell.passes.analysis.channel_parts import (
    Part,
    channels_of,
    parts_before,
    scalable_products,
    weight_part,
)
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.onnx.initializers import erase_unused, insert_initializer, value_name
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.weights import WeightStore


@dataclass(frozen=True)
class ScaleChannelsPass(Pass):
    """
    Divide the activations of products by a factor for each channel, and multiply their weights by it.

    ```mlir
    %n = "onnx.LayerNormalization"(%x, %g, %b) {onnx.values = ["n"]} : (…) -> tensor<8x32xf32>
    %y = "onnx.MatMul"(%n, %w) {onnx.values = ["y"]} : (…) -> tensor<8x64xf32>
    // ->
    %n = "onnx.LayerNormalization"(%x, %g_scaled, %b_scaled) {onnx.values = ["n"]} : (…) -> tensor<8x32xf32>
    %y = "onnx.MatMul"(%n, %w_scaled) {onnx.values = ["y"]} : (…) -> tensor<8x64xf32>
    ```
    `factors` is a file with the factors of each product, under the name of its node; products of one
    activation have the same. The factors go into initializers before the activation: gains of norms, factors
    and terms of elementwise operators, weights of a product. Products whose activation has none stay as they
    are (`channel_parts.py` finds the others).

    Class: rounding. Source: Xiao et al., SmoothQuant, 2022, section 4.
    """

    name = "scale-channels"
    numerics = Numerics.ROUNDING

    factors: str

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        factors = read_factors(Path(self.factors))
        for main in op.ops:
            if isinstance(main, FuncOp) and main.sym_name.data == "main":
                _scale(main, factors, weights_of(ctx))


def _scale(main: FuncOp, factors: Mapping[str, Doubles], weights: WeightStore) -> None:
    """Scale the activations of a function. Raises: StepwellError `bad-data`."""
    replaced: list[SSAValue] = []
    known_names = {node_name(each) for each in main.body.block.ops}
    for name in factors.keys() - known_names:
        help = did_you_mean(name, known_names) or None
        raise StepwellError("bad-data", main, f"@main has no node {name!r}", help=help)
    for products in scalable_products(main, weights):
        names = [node_name(each) for each in products]
        known = [factors[name] for name in names if name in factors]
        if not known:
            continue
        factor = known[0]
        if len(known) < len(names) or any(not np.array_equal(each, known[0]) for each in known):
            message = f"products of one activation need the same factors: {', '.join(names)}"
            raise StepwellError("bad-data", products[0], message)
        channels = channels_of(products[0], weights)
        _expect_factors(products[0], factor, channels)
        parts = parts_before(products[0].operands[0], channels, weights)
        assert parts is not None
        replaced += [_replace(part, 1 / factor, main, weights) for part in parts]
        replaced += [_replace(weight_part(each), factor, main, weights) for each in products]
    erase_unused(replaced)


def _expect_factors(product: Operation, factor: Doubles, size: int) -> None:
    """Raises: StepwellError `bad-data` for factors that are not one a channel."""
    if factor.size != size:
        message = f"{size} factors are expected, found {factor.size}"
        raise StepwellError("bad-data", product, message, help="one for each channel of the activation")


def _replace(part: Part, factor: Doubles, main: FuncOp, weights: WeightStore) -> SSAValue:
    """Multiply an initializer along a dimension, for one node; returns the value before."""
    old = part.node.operands[part.operand]
    array = constant_of(old, weights)
    assert array is not None
    spread = factor.reshape([-1 if i == part.axis else 1 for i in range(array.ndim)])
    made = (array.astype(np.float64) * spread).astype(np.float32)
    part.node.operands[part.operand] = insert_initializer(main, made, f"{value_name(old)}_scaled", weights)
    return old
