"""The files of patterns by op class, each imported when the first op of its classes is met."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.patterns.driver.pattern_set import PatternSet, patterns_in

FILES: Mapping[str, str] = {
    "binary": "BinaryOp PowerOp RemainderOp WhereOp",
    "contraction": "BiasAddOp EinsumOp MatmulIntegerOp MatmulOp",
    "convolution": "ConvOp",
    "convolution_transpose": "ConvTransposeOp",
    "elementwise": "BitcastOp CastOp ClipOp EluOp GeluOp IsInfOp LeakyReluOp SiluOp SoftplusOp UnaryOp",
    "expression": "ExpressionOp",
    "forms": "AttentionOp MatmulNbitsOp ResizeOp RnnOp ScanOp TopKOp TreeEnsembleOp WinogradConvOp",
    "generators": "ExtentsOp IotaOp RandomBitsOp ShapeOfOp",
    "indexing": "GatherElementsOp GatherNdOp GatherOp OneHotOp ScatterElementsOp ScatterNdOp",
    "layout": "LayoutTransformOp",
    "movement": "BroadcastToOp ConcatOp ExpandDimsOp FullOp InsertSliceOp PadOp ReshapeOp ReverseOp SliceOp "
    "SplitOp SqueezeOp TileOp TransposeOp",
    "nest": "NestOp",
    "norm": "BatchNormOp ChannelNormOp LayerNormOp LpNormOp LrnOp RmsNormOp",
    "ordering": "ReverseSequenceOp",
    "quantized": "ConvIntegerOp DequantizeOp ObserveOp QuantizeOp RequantizeOp",
    "reduction": "ArgReduceOp LogSoftmaxOp ReduceOp SoftmaxOp",
    "vectors.suppression": "JoinPartsOp NonMaxSuppressionOp",
    "window": "PoolOp",
}
"""The op classes, or bases of such, for which a file has patterns."""


class GraphPatterns(PatternSet):
    """
    All patterns of the conversion, by op class. Importing all files takes 25 ms, the files for one model 10
    ms.
    """

    def __init__(self) -> None:
        super().__init__(())

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class, the most specific class first."""
        if (found := self._found.get(op_type)) is None:
            classes = {base.__name__ for base in op_type.__mro__}
            files = [file for file, names in _CLASSES.items() if names & classes]
            patterns = [pattern() for file in files for pattern in patterns_in_file(file)]
            found = self._found[op_type] = PatternSet(patterns).of(op_type)
        return found


def patterns_in_file(file: str) -> list[type[RewritePattern]]:
    """The patterns that a file of `FILES` defines."""
    return patterns_in(RewritePattern, import_module(f"{__name__.rpartition('.')[0]}.{file}"))


_CLASSES = {file: frozenset(names.split()) for file, names in FILES.items()}
