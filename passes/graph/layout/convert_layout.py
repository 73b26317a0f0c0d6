"""`convert-layout`: feature maps in another layout between convolutions, such as blocked channels."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation

from stepwell.dialects import graph
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph.base import GraphOp
from stepwell.passes.base import FunctionPass, Numerics
from stepwell.passes.graph.layout.feature_map_layouts import FeatureMapLayout, FeatureMaps
from stepwell.passes.graph.layout.layout_rewrites import LAYOUT_REWRITES, Rewrites, conv, elementwise
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.log import logger

_log = logger(__name__)


@dataclass(frozen=True)
class ConvertLayoutPass(FunctionPass):
    """
    Store feature maps in another layout between convolutions.

    They are stored as [N, C/block, H, W, block], with one or three spatial axes likewise, or, with
    `conv="NHWC:HWIO"`, with their axes in another order. To blocks, dense and depthwise convolutions with
    constant filters are converted; a first layer of few channels reads NCHW. Elementwise ops, pools, resizes,
    reductions over pixels and concats preserve the layout. All other ops, and the function's results, get
    NCHW back, once for all users. Constants are rearranged at compile time. Channels that do not fill their
    last block are padded when that wastes little.

    ```mlir
    %y = graph.conv %x, %w strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
      : (tensor<1x64x7x7xf32>, tensor<64x64x3x3xf32>) -> tensor<1x64x7x7xf32>
    // ->
    %0 = graph.layout_transform %x from "NCHW" to "NCHW16c" : tensor<1x64x7x7xf32> -> tensor<1x4x7x7x16xf32>
    %1 = graph.conv %0, %v strides [1, 1] dilations [1, 1] pads [1, 1, 1, 1]
      data_layout "NCHW16c" kernel_layout "OIHW16i16o"
      : (tensor<1x4x7x7x16xf32>, tensor<4x4x3x3x16x16xf32>) -> tensor<1x4x7x7x16xf32>
    %y = graph.layout_transform %1 from "NCHW16c" to "NCHW" : tensor<1x4x7x7x16xf32> -> tensor<1x64x7x7xf32>
    ```
    Class: rounding (sums are taken in another order). Runs before `fuse-ops`.
    Source: ORT's NchwcTransformer; Liu et al. 2019, "Optimizing CNN Model Inference on CPUs" (NeoCPU).
    """

    name = "convert-layout"
    opt_level = 2
    numerics = Numerics.ROUNDING

    block: int = 16
    """The channels of a block: the f32 lanes of a vector."""
    conv: str = ""
    """A layout of feature maps and filters instead of blocks: `NHWC:HWIO`."""
    winograd: bool = True
    """Whether `winograd-conv` runs later: it supports 3x3 windows in blocks only."""

    def apply_to_function(self, ctx: Context, func: FuncOp) -> None:
        if self.block == 1 and not self.conv:  # a target without vectors
            return
        layout = layout_from(self.conv) if self.conv else FeatureMapLayout(self.block, winograd=self.winograd)
        convert_function(func, layout, weights_of(ctx), {graph.ConvOp: conv})
        if _log.on(1):
            ops = list(func.walk())
            layouts = Counter(op.data_layout.data for op in ops if isinstance(op, graph.ConvOp))
            transforms = sum(isinstance(op, graph.LayoutTransformOp) for op in ops)
            found = ", ".join(f"{count} in {name}" for name, count in layouts.most_common())
            _log(1, "convolutions: {}; {} transforms of layouts", found or "none", transforms)


def layout_from(text: str) -> FeatureMapLayout:
    """The layout of an option's text, `DATA` or `DATA:KERNEL`. Raises: StepwellError `bad-option`."""
    try:
        return FeatureMapLayout.of(text)
    except ValueError as error:
        raise StepwellError("bad-option", None, str(error)) from None


def convert_function(
    func: FuncOp, layout: FeatureMapLayout, weights: WeightStore, rewrites: Rewrites
) -> None:
    """Convert the blocks of a function to a layout by `rewrites`, other op classes by `LAYOUT_REWRITES`."""
    inside = (op for op in func.body.walk() if isinstance(op, graph.ControlFlowOp))
    regions = [func.body, *(region for op in inside for region in op.regions)]
    # Each block by itself, inner ones first: operands and results of branches and loops are plain.
    for block in [block for region in reversed(regions) for block in region.blocks]:
        _convert_block(block, layout.feature_maps(weights), {**LAYOUT_REWRITES, **rewrites})


def _convert_block(block: Block, values: FeatureMaps, rewrites: Rewrites) -> None:
    replaced: list[Operation] = []
    for op in list(block.ops):
        if isinstance(op, GraphOp) and rewrites.get(type(op), elementwise)(op, values):
            replaced.append(op)
            continue
        for inner in op.walk():
            for index, operand in enumerate(inner.operands):
                if (plain := values.plain(operand, op)) is not operand:
                    inner.operands[index] = plain
    for op in reversed(replaced):
        op.detach()
        op.erase()
