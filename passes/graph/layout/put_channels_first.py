"""`put-channels-first`: feature maps of models with channels last as the other passes know them."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import TensorType
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation, SSAValue

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.types import dims_of
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.layout.convert_layout import convert_function
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMapLayout, FeatureMaps
from stepwell.passes.graph.layout.layout_rewrites import conv
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.layout import Layout, parse_layout, plain_layout


@dataclass(frozen=True)
class PutChannelsFirstPass(FunctionPass):
    """
    Compute convolutions of feature maps [N, H, W, C] on [N, C, H, W], and all that is between them.

    Filters are rearranged likewise. Elementwise ops, pools, resizes, reductions over pixels and concats of
    such feature maps preserve the order; all other ops, and the function's results, get the model's own back.

    ```mlir
    %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      data_layout "NHWC" kernel_layout "OHWI"
      : (tensor<1x5x5x3xf32>, tensor<8x2x2x3xf32>) -> tensor<1x4x4x8xf32>
    // ->
    %0 = graph.transpose %x perm [0, 3, 1, 2] : tensor<1x5x5x3xf32> -> tensor<1x3x5x5xf32>
    %1 = graph.transpose %w perm [0, 3, 1, 2] : tensor<8x2x2x3xf32> -> tensor<8x3x2x2xf32>
    %2 = graph.conv %0, %1 strides [1, 1] dilations [1, 1] pads [0, 0, 0, 0]
      : (tensor<1x3x5x5xf32>, tensor<8x3x2x2xf32>) -> tensor<1x8x4x4xf32>
    %y = graph.transpose %2 perm [0, 2, 3, 1] : tensor<1x8x4x4xf32> -> tensor<1x4x4x8xf32>
    ```
    Class: exact. Runs after the conversion of a model with channels last, before `fold-qdq`.
    """

    name = "put-channels-first"
    numerics = Numerics.EXACT

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        convert_function(func, _ChannelsFirst(), weights_of(ctx), {graph.ConvOp: conv})


@dataclass(frozen=True)
class _ChannelsFirst(FeatureMapLayout):
    """Channels before the spatial axes, for any number of these and all element types."""

    def of_rank(self, rank: int) -> Layout:
        return parse_layout(plain_layout("NC", rank - 2))

    def supports(self, value: SSAValue) -> bool:
        is_ranked = isinstance(value.type, TensorType)
        return is_ranked and len(dims_of(value.type)) > 2

    def feature_maps(self, weights: WeightStore) -> FeatureMaps:
        return _ChannelsLastMaps(self, weights)


class _ChannelsLastMaps(FeatureMaps):
    """The feature maps of a model that has channels last."""

    has_channels_last = True

    def plain_layout(self, value: SSAValue) -> str:
        return f"N{plain_layout('NC', len(dims_of(value.type)) - 2)[2:]}C"

    def takes_filters(self, op: graph.ConvOp) -> bool:
        return parse_layout(op.kernel_layout.data).rank == len(dims_of(op.w.type))

    def kernel_layout(self, op: graph.ConvOp) -> str:
        return plain_layout("OI", len(dims_of(op.w.type)) - 2)

    def transformed(self, value: SSAValue, source: str, target: str, before: Operation) -> SSAValue:
        """A value with its axes in another order, by a transpose: simplifications know those."""
        if source == target or isinstance(value.owner, graph.ConstantOp):
            return super().transformed(value, source, target, before)
        return self.insert(graph.TransposeOp(value, [source.index(letter) for letter in target]), before)

    def _unpacked(self, value: SSAValue, before: Operation) -> SSAValue:
        layouts = str(self.layout(value)), self.plain_layout(value)
        return self.transformed(self._stored[value], *layouts, before)
