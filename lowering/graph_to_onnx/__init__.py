"""`convert-graph-to-onnx`: functions of `graph` ops as operators of ONNX, for engines that read models."""

from __future__ import annotations

from xdsl.context import Context
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, ModuleOp, f64, i64
from xdsl.ir import Operation
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
    detection,
    elementwise,
    host_calls,
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
    trees,
    window,
)
from stepwell.lowering.graph_to_onnx.control import convert_control_flow
from stepwell.lowering.graph_to_onnx.extents import erase_sizes
from stepwell.lowering.graph_to_onnx.host_nodes import OWN_OPSET
from stepwell.lowering.graph_to_onnx.nodes import ML, ML_OPSET, ML_OPSET_OF_DOUBLES, OPSET
from stepwell.lowering.graph_to_onnx.refused import PARTLY, REASONS, hint_of
from stepwell.lowering.graph_to_onnx.support import OnnxExport, cast_to, element_of
from stepwell.lowering.onnx_to_graph import FUNCTIONS
from stepwell.passes.analysis.dead_ops import erase_dead_ops
from stepwell.patterns.driver.conversion import convert
from stepwell.patterns.driver.pattern_set import patterns_in

__all__ = ["GRAPH_TO_ONNX", "OPSET", "PARTLY", "REASONS", "ConvertGraphToOnnxPass", "cast_to", "element_of"]

# A list of patterns per family; the pattern of an op is found by the op's class.
GRAPH_TO_ONNX: list[type[OnnxExport]] = patterns_in(
    OnnxExport,
    activation,
    attention,
    checks,
    contraction,
    copies,
    detection,
    elementwise,
    host_calls,
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
    trees,
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
        op.attributes[onnx.OPSETS] = _opsets(op)
        open_regions(op)
        take_fields(op)
        # Regions are converted where they are, and then the ops around them; terminators with these.
        kept = (graph.IfOp, graph.ForOp, graph.WhileOp, graph.YieldOp, graph.BindSizesOp, graph.DefineSizesOp)
        convert(op, patterns, illegal=["graph"], legal_ops=kept, hint=hint_of)
        convert_control_flow(op, weights_of(ctx))
        erase_sizes(op)
        _erase_unused(op)
        op.attributes[onnx.OPSETS] = _opsets_in_use(op)


def _opsets(module: ModuleOp) -> DictionaryAttr:
    """The opsets to write operators of."""
    doubles = any(isinstance(op, graph.TreeEnsembleOp) and element_of(op.x) == f64 for op in module.walk())
    opsets = {"": OPSET, ML: ML_OPSET_OF_DOUBLES if doubles else ML_OPSET}
    return DictionaryAttr({domain: IntegerAttr(opset, i64) for domain, opset in opsets.items()})


def _opsets_in_use(module: ModuleOp) -> DictionaryAttr:
    """The opsets of the domains that occur; that of ONNX itself in any case."""
    calls = {op.domain.data for op in module.walk() if isinstance(op, onnx.CallOp)}
    operators = {onnx.domain_of(op.name) for op in module.walk() if isinstance(op, onnx.OnnxOp)}
    known = module.attributes[onnx.OPSETS]
    assert isinstance(known, DictionaryAttr)
    kept = {domain: opset for domain, opset in known.data.items() if domain in operators or not domain}
    return DictionaryAttr({**kept, **{domain: IntegerAttr(OWN_OPSET, i64) for domain in sorted(calls)}})


def _erase_unused(module: ModuleOp) -> None:
    """Erase nodes without uses, such as the tables of trees; calls of functions may have effects."""
    for function in module.ops:
        for region in function.regions:
            for block in region.blocks:
                erase_dead_ops(block, _is_free)


def _is_free(op: Operation) -> bool:
    return not any(isinstance(inner, onnx.CallOp) and inner.domain.data == FUNCTIONS for inner in op.walk())
