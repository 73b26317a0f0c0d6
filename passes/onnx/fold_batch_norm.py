"""`fold-batch-norm`: batch normalizations after convolutions become part of their weights, on level 0."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from xdsl.context import Context
from xdsl.dialects.builtin import IntegerAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.rewriter import Rewriter

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.onnx.constants import constant_of
from stepwell.dialects.onnx.training import is_training
from stepwell.passes.base import Numerics, Pass
from stepwell.passes.onnx.initializers import erase_unused, insert_initializer, set_value_names, value_name
from stepwell.runtime.files.weights import WeightStore

Doubles = npt.NDArray[np.float64]


@dataclass(frozen=True)
class FoldBatchNormPass(Pass):
    """
    Multiply each batch normalization into the weights of the convolution before, if nothing else reads that.

    ```mlir
    %c = "onnx.Conv"(%x, %w) {onnx.values = ["c"]} : (…) -> tensor<1x4x8x8xf32>
    %y = "onnx.BatchNormalization"(%c, %s, %b, %m, %v) {onnx.values = ["y"]} : (…) -> tensor<1x4x8x8xf32>
    // ->
    %y = "onnx.Conv"(%x, %w_folded, %b_folded) {onnx.values = ["y"]} : (…) -> tensor<1x4x8x8xf32>
    ```
    Weights and statistics are initializers in f32. The model stays one of level 0, so that a file written
    from it has the weights that were measured.

    Class: rounding.
    """

    name = "fold-batch-norm"
    numerics = Numerics.ROUNDING

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        for main in op.ops:
            if isinstance(main, FuncOp) and main.sym_name.data == "main":
                for node in list(main.body.block.ops):
                    if isinstance(node, onnx.BatchNormalizationOp):
                        _fold(node, main, weights_of(ctx))


def _fold(norm: onnx.BatchNormalizationOp, main: FuncOp, weights: WeightStore) -> None:
    conv = norm.X.owner
    if not isinstance(conv, onnx.ConvOp) or not norm.X.has_one_use() or conv.parent is not main.body.block:
        return
    if is_training(norm) or any(result.uses for result in norm.results[1:]):
        return
    spatial = norm.properties.get("spatial")
    if isinstance(spatial, IntegerAttr) and not spatial.value.data:
        return
    old = [conv.W, norm.scale, norm.B, norm.input_mean, norm.input_var]
    arrays = [constant_of(value, weights) for value in old]
    bias = None if conv.B is None else constant_of(conv.B, weights)
    known = [each.astype(np.float64) for each in arrays if each is not None and each.dtype == np.float32]
    if len(known) < len(old) or (conv.B is not None and bias is None):
        return
    w, scale, offset, mean, variance = known
    factor = scale / np.sqrt(variance + norm.floating("epsilon"))
    offset = offset + ((0.0 if bias is None else bias.astype(np.float64)) - mean) * factor
    w = w * factor.reshape(-1, *[1] * (w.ndim - 1))
    _replace(conv, norm, _initializers(conv, w, offset, main, weights))
    erase_unused([*old, *([conv.B] if conv.B is not None else [])])


def _initializers(
    conv: onnx.ConvOp, w: Doubles, bias: Doubles, main: FuncOp, weights: WeightStore
) -> tuple[SSAValue, SSAValue]:
    """The new weight and bias of a convolution."""
    name = value_name(conv.W)
    made = insert_initializer(main, w.astype(np.float32), f"{name}_folded", weights)
    return made, insert_initializer(main, bias.astype(np.float32), f"{name}_bias", weights)


def _replace(conv: onnx.ConvOp, norm: onnx.BatchNormalizationOp, new: tuple[SSAValue, SSAValue]) -> None:
    """Replace a convolution and its normalization by a convolution, under the name of the result."""
    made = onnx.ConvOp.build(
        operands=[[conv.X], [new[0]], [new[1]]],
        result_types=[[norm.results[0].type]],
        properties={k: v for k, v in conv.properties.items() if k not in onnx.SEGMENTS},
    )
    made.attributes = dict(conv.attributes)
    made.location = conv.location
    set_value_names(made, [value_name(norm.results[0])])
    made.results[0].name_hint = norm.results[0].name_hint
    Rewriter.replace_op(norm, [], [conv.results[0], *([None] * (len(norm.results) - 1))], safe_erase=True)
    Rewriter.replace_op(conv, made)
