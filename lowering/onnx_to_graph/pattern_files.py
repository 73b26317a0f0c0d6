"""The files of patterns by operator, each imported when the first op of its operators is met."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from importlib import import_module

from xdsl.ir import Operation
from xdsl.pattern_rewriter import RewritePattern

from stepwell.dialects._xdsl import matched_op_types
from stepwell.lowering.onnx_to_graph.elementwise_tables import BINARY, CHAINS, SWAPPED, UNARY
from stepwell.lowering.onnx_to_graph.support import OnnxLowering
from stepwell.patterns.driver.pattern_set import PatternSet, patterns_in
from stepwell.runtime.files.weights import WeightStore

FILES: Mapping[str, str] = {
    "operators": "Call",
    "contrib.patterns": "Call",
    "host.functions": "Call",
    "control.loops": "Loop",
    "control.regions": "If Yield",
    "control.scans": "Scan",
    "control.sequence_maps": "SequenceMap",
    "tensor.ngrams": "TfIdfVectorizer",
    "host.data": "ImageDecoder",
    "host.string_constants": "Constant",
    "host.strings": "Cast CastLike Equal RegexFullMatch StringConcat StringNormalizer StringSplit "
    "TfIdfVectorizer Where",
    "math.contraction": "Gemm MatMul",
    "math.determinant": "Det",
    "math.einsum": "Einsum",
    "math.elementwise": " ".join((*UNARY, *BINARY, *SWAPPED, *CHAINS))
    + " BitShift Identity IsInf Mod Reciprocal Where",
    "math.ordering": "ReverseSequence TopK",
    "math.random_numbers": "Bernoulli Dropout Multinomial RandomNormal RandomNormalLike RandomUniform "
    "RandomUniformLike",
    "math.reduction": "ArgMax ArgMin Hardmax LogSoftmax ReduceL1 ReduceL2 ReduceLogSum ReduceLogSumExp "
    "ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum ReduceSumSquare Softmax",
    "math.signal": "DFT MelWeightMatrix STFT",
    "math.training": "Adagrad Adam Momentum",
    "ml.features": "ArrayFeatureExtractor Binarizer CategoryMapper FeatureVectorizer Imputer LabelEncoder "
    "Normalizer OneHotEncoder Scaler",
    "ml.linear_models": "LinearClassifier LinearRegressor ZipMap",
    "ml.maps": "CastMap DictVectorizer",
    "ml.support_vectors": "SVMClassifier SVMRegressor",
    "ml.trees": "TreeEnsemble TreeEnsembleClassifier TreeEnsembleRegressor",
    "nn.activation": "Celu Clip Elu Gelu HardSigmoid HardSwish LeakyRelu Mish PRelu Selu Shrink Softsign "
    "SwiGLU Swish ThresholdedRelu",
    "nn.causal_convolution": "CausalConvWithState",
    "nn.convolution": "Conv ConvTranspose",
    "nn.deformable": "DeformConv",
    "nn.norm": "BatchNormalization GroupNormalization InstanceNormalization LRN LayerNormalization "
    "LpNormalization MeanVarianceNormalization RMSNormalization",
    "nn.pool": "AveragePool GlobalAveragePool GlobalLpPool GlobalMaxPool LpPool MaxPool",
    "nn.recurrent": "GRU LSTM RNN",
    "nn.region_pooling": "RoiAlign",
    "quantized.products": "ConvInteger DequantizeLinear DynamicQuantizeLinear MatMulInteger QLinearConv "
    "QLinearMatMul QuantizeLinear",
    "sequence.lists": "ConcatFromSequence Optional OptionalGetElement OptionalHasElement SequenceAt "
    "SequenceConstruct SequenceEmpty SequenceErase SequenceInsert SequenceLength SplitToSequence",
    "tensor.cast": "BitCast Cast CastLike CumProd CumSum",
    "tensor.counting": "EyeLike Range Trilu",
    "tensor.detection": "NonMaxSuppression",
    "tensor.indexing": "Gather GatherElements GatherND OneHot Scatter ScatterElements ScatterND",
    "tensor.movement": "CenterCropPad Concat DepthToSpace Pad Slice SpaceToDepth Split Tile Transpose",
    "tensor.placing": "Col2Im MaxUnpool TensorScatter",
    "tensor.resize": "Resize Upsample",
    "tensor.sampling": "AffineGrid GridSample",
    "tensor.selection": "Compress NonZero Unique",
    "tensor.shape": "Constant ConstantOfShape Expand Flatten Reshape Shape Size Squeeze Unsqueeze",
}
"""
The operators, without their domains, for which a file has patterns; of two files the first one's are tried
first.
"""


class OnnxPatterns(PatternSet):
    """All patterns of the conversion, by op class."""

    def __init__(self, weights: WeightStore):
        super().__init__(())
        self._weights = weights

    def of(self, op_type: type[Operation]) -> tuple[RewritePattern, ...]:
        """The patterns for a class."""
        if (found := self._found.get(op_type)) is None:
            found = self._found[op_type] = tuple(self._of(op_type.name))
        return found

    def _of(self, op_name: str) -> Iterator[OnnxLowering]:
        prefix, _, title = op_name.rpartition(".")
        if prefix.partition(".")[0] == "onnx":
            for file in (file for file, titles in _TITLES.items() if title in titles):
                patterns = (each(self._weights, self) for each in patterns_in_file(file))
                yield from (pattern for pattern in patterns if op_name in operators_of(pattern))


def patterns_in_file(file: str) -> list[type[OnnxLowering]]:
    """The patterns that a file of `FILES` defines."""
    return patterns_in(OnnxLowering, import_module(f"{__name__.rpartition('.')[0]}.{file}"))


def operators_of(pattern: OnnxLowering) -> set[str]:
    """The operators that a pattern matches, by their names in the IR."""
    if pattern.operators:
        return {f"onnx.{title}" for title in pattern.operators}
    return {op_type.name for op_type in matched_op_types(pattern)}


_TITLES = {file: frozenset(titles.split()) for file, titles in FILES.items()}
