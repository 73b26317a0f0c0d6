"""`convert-graph-to-onnx`: functions of `graph` ops as operators of ONNX, for engines that read models."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, i64
from xdsl.passes import ModulePass

from stepwell.dialects import graph, onnx
from stepwell.dialects._xdsl import weights_of
from stepwell.dialects.graph_ir.dissolve import open_regions, take_fields
from stepwell.lowering.graph_to_onnx import (
    activation,
    attention,
    checks,
    contraction,
    copies,
    elementwise,
    indexing,
    movement,
    norm,
    placing,
    quantized,
    recurrent,
    reduction,
    resize,
    shape,
    structure,
    window,
)
from stepwell.lowering.graph_to_onnx.control import convert_control_flow
from stepwell.lowering.graph_to_onnx.extents import erase_sizes
from stepwell.lowering.graph_to_onnx.nodes import OPSET
from stepwell.lowering.graph_to_onnx.support import OnnxExport
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.pattern_set import patterns_in

# A list of patterns per family; the pattern of an op is found by the op's class.
GRAPH_TO_ONNX: list[type[OnnxExport]] = patterns_in(
    OnnxExport,
    activation,
    attention,
    checks,
    contraction,
    copies,
    elementwise,
    indexing,
    movement,
    norm,
    placing,
    quantized,
    recurrent,
    reduction,
    resize,
    shape,
    structure,
    window,
)


class ConvertGraphToOnnxPass(ModulePass):
    """
    Lower `graph` to `onnx`, opset 21: leaves functions that `export_onnx` writes as a model.

    Sizes of symbolic dimensions come from the shapes of the function's arguments. Kernels and composites are
    inlined. Fails, and lists all such ops, when an op has no counterpart in ONNX.
    """

    name = "convert-graph-to-onnx"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        """Inline regions and unpack tuples, then convert all `graph` ops."""
        patterns = [pattern(weights_of(ctx)) for pattern in GRAPH_TO_ONNX]
        op.attributes[onnx.OPSETS] = DictionaryAttr({"": IntegerAttr(OPSET, i64)})
        open_regions(op)
        take_fields(op)
        # Regions are converted where they are, and then the ops around them; terminators with these.
        kept = (graph.IfOp, graph.ForOp, graph.WhileOp, graph.YieldOp, graph.BindSizesOp, graph.DefineSizesOp)
        convert(op, patterns, illegal=["graph"], legal_ops=kept)
        convert_control_flow(op, weights_of(ctx))
        erase_sizes(op)
