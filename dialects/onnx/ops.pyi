# ruff: noqa: E501, E741, I001
"""The op classes of onnx 1.23.2, for type checkers.

Made by `tools.generators.generate_onnx`: do not edit.
"""

from xdsl.dialects.builtin import AnyFloat, ArrayAttr, BytesAttr, DenseArrayBase, Float32Type
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, IntegerType, StringAttr
from xdsl.ir import Attribute, OpResult, Region, SSAValue
from xdsl.irdl import VarOperand, VarOpResult

from stepwell.dialects.onnx.base import OnnxOp

OPS: tuple[type[OnnxOp], ...]

class AbsOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class AcosOp(OnnxOp):
    input: SSAValue
    output: OpResult

class AcoshOp(OnnxOp):
    input: SSAValue
    output: OpResult

class AddOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class AffineGridOp(OnnxOp):
    theta: SSAValue
    size: SSAValue
    grid: OpResult
    align_corners: IntegerAttr | None

class AndOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class ArgMaxOp(OnnxOp):
    data: SSAValue
    reduced: OpResult
    axis: IntegerAttr | None
    keepdims: IntegerAttr | None
    select_last_index: IntegerAttr | None

class ArgMinOp(OnnxOp):
    data: SSAValue
    reduced: OpResult
    axis: IntegerAttr | None
    keepdims: IntegerAttr | None
    select_last_index: IntegerAttr | None

class AsinOp(OnnxOp):
    input: SSAValue
    output: OpResult

class AsinhOp(OnnxOp):
    input: SSAValue
    output: OpResult

class AtanOp(OnnxOp):
    input: SSAValue
    output: OpResult

class AtanhOp(OnnxOp):
    input: SSAValue
    output: OpResult

class AttentionOp(OnnxOp):
    Q: SSAValue
    K: SSAValue
    V: SSAValue
    attn_mask: SSAValue | None
    past_key: SSAValue | None
    past_value: SSAValue | None
    nonpad_kv_seqlen: SSAValue | None
    Y: OpResult
    present_key: OpResult | None
    present_value: OpResult | None
    qk_matmul_output: OpResult | None
    is_causal: IntegerAttr | None
    kv_num_heads: IntegerAttr | None
    left_window_size: IntegerAttr | None
    q_num_heads: IntegerAttr | None
    qk_matmul_output_mode: IntegerAttr | None
    right_window_size: IntegerAttr | None
    scale: FloatAttr[AnyFloat] | None
    softcap: FloatAttr[AnyFloat] | None
    softmax_precision: IntegerAttr | None

class AveragePoolOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    auto_pad: StringAttr | BytesAttr | None
    ceil_mode: IntegerAttr | None
    count_include_pad: IntegerAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class BatchNormalizationOp(OnnxOp):
    X: SSAValue
    scale: SSAValue
    B: SSAValue
    input_mean: SSAValue
    input_var: SSAValue
    Y: OpResult
    running_mean: OpResult | None
    running_var: OpResult | None
    saved_mean: OpResult | None
    saved_var: OpResult | None
    consumed_inputs: DenseArrayBase[IntegerType] | None
    epsilon: FloatAttr[AnyFloat] | None
    is_test: IntegerAttr | None
    momentum: FloatAttr[AnyFloat] | None
    spatial: IntegerAttr | None
    training_mode: IntegerAttr | None

class BernoulliOp(OnnxOp):
    input: SSAValue
    output: OpResult
    dtype: IntegerAttr | None
    seed: FloatAttr[AnyFloat] | None

class BitCastOp(OnnxOp):
    input: SSAValue
    output: OpResult
    to: IntegerAttr | None

class BitShiftOp(OnnxOp):
    X: SSAValue
    Y: SSAValue
    Z: OpResult
    direction: StringAttr | BytesAttr | None

class BitwiseAndOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult

class BitwiseNotOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class BitwiseOrOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult

class BitwiseXorOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult

class BlackmanWindowOp(OnnxOp):
    size: SSAValue
    output: OpResult
    output_datatype: IntegerAttr | None
    periodic: IntegerAttr | None

class CastOp(OnnxOp):
    input: SSAValue
    output: OpResult
    round_mode: StringAttr | BytesAttr | None
    saturate: IntegerAttr | None
    to: Attribute | None

class CastLikeOp(OnnxOp):
    input: SSAValue
    target_type: SSAValue
    output: OpResult
    round_mode: StringAttr | BytesAttr | None
    saturate: IntegerAttr | None

class CausalConvWithStateOp(OnnxOp):
    input: SSAValue
    weight: SSAValue
    bias: SSAValue | None
    past_state: SSAValue | None
    output: OpResult
    present_state: OpResult
    activation: StringAttr | BytesAttr | None

class CeilOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class CeluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None

class CenterCropPadOp(OnnxOp):
    input_data: SSAValue
    shape: SSAValue
    output_data: OpResult
    axes: DenseArrayBase[IntegerType] | None

class ClipOp(OnnxOp):
    input: SSAValue
    min: SSAValue | None
    max: SSAValue | None
    output: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None
    max_attr: FloatAttr[AnyFloat] | None
    min_attr: FloatAttr[AnyFloat] | None

class Col2ImOp(OnnxOp):
    input: SSAValue
    image_shape: SSAValue
    block_shape: SSAValue
    output: OpResult
    dilations: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class CompressOp(OnnxOp):
    input: SSAValue
    condition: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class ConcatOp(OnnxOp):
    inputs: VarOperand
    concat_result: OpResult
    axis: IntegerAttr | None

class ConcatFromSequenceOp(OnnxOp):
    input_sequence: SSAValue
    concat_result: OpResult
    axis: IntegerAttr | None
    new_axis: IntegerAttr | None

class ConstantOp(OnnxOp):
    output: OpResult
    sparse_value: Attribute | None
    value: Attribute | None
    value_float: FloatAttr[AnyFloat] | None
    value_floats: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    value_int: IntegerAttr | None
    value_ints: DenseArrayBase[IntegerType] | None
    value_string: StringAttr | BytesAttr | None
    value_strings: ArrayAttr[Attribute] | None

class ConstantOfShapeOp(OnnxOp):
    input: SSAValue
    output: OpResult
    value: Attribute | None

class ConvOp(OnnxOp):
    X: SSAValue
    W: SSAValue
    B: SSAValue | None
    Y: OpResult
    auto_pad: StringAttr | BytesAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    group: IntegerAttr | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class ConvIntegerOp(OnnxOp):
    x: SSAValue
    w: SSAValue
    x_zero_point: SSAValue | None
    w_zero_point: SSAValue | None
    y: OpResult
    auto_pad: StringAttr | BytesAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    group: IntegerAttr | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class ConvTransposeOp(OnnxOp):
    X: SSAValue
    W: SSAValue
    B: SSAValue | None
    Y: OpResult
    auto_pad: StringAttr | BytesAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    group: IntegerAttr | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    output_padding: DenseArrayBase[IntegerType] | None
    output_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class CosOp(OnnxOp):
    input: SSAValue
    output: OpResult

class CoshOp(OnnxOp):
    input: SSAValue
    output: OpResult

class CumProdOp(OnnxOp):
    x: SSAValue
    axis: SSAValue
    y: OpResult
    exclusive: IntegerAttr | None
    reverse: IntegerAttr | None

class CumSumOp(OnnxOp):
    x: SSAValue
    axis: SSAValue
    y: OpResult
    exclusive: IntegerAttr | None
    reverse: IntegerAttr | None

class DFTOp(OnnxOp):
    input: SSAValue
    dft_length: SSAValue | None
    axis: SSAValue | None
    output: OpResult
    axis_attr: IntegerAttr | None
    inverse: IntegerAttr | None
    onesided: IntegerAttr | None

class DeformConvOp(OnnxOp):
    X: SSAValue
    W: SSAValue
    offset: SSAValue
    B: SSAValue | None
    mask: SSAValue | None
    Y: OpResult
    dilations: DenseArrayBase[IntegerType] | None
    group: IntegerAttr | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    offset_group: IntegerAttr | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class DepthToSpaceOp(OnnxOp):
    input: SSAValue
    output: OpResult
    blocksize: IntegerAttr | None
    mode: StringAttr | BytesAttr | None

class DequantizeLinearOp(OnnxOp):
    x: SSAValue
    x_scale: SSAValue
    x_zero_point: SSAValue | None
    y: OpResult
    axis: IntegerAttr | None
    block_size: IntegerAttr | None
    output_dtype: IntegerAttr | None

class DetOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class DivOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class DropoutOp(OnnxOp):
    data: SSAValue
    ratio: SSAValue | None
    training_mode: SSAValue | None
    output: OpResult
    mask: OpResult | None
    consumed_inputs: DenseArrayBase[IntegerType] | None
    is_test: IntegerAttr | None
    ratio_attr: FloatAttr[AnyFloat] | None
    seed: IntegerAttr | None

class DynamicQuantizeLinearOp(OnnxOp):
    x: SSAValue
    y: OpResult
    y_scale: OpResult
    y_zero_point: OpResult

class EinsumOp(OnnxOp):
    Inputs: VarOperand
    Output: OpResult
    equation: StringAttr | BytesAttr | None

class EluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class EqualOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class ErfOp(OnnxOp):
    input: SSAValue
    output: OpResult

class ExpOp(OnnxOp):
    input: SSAValue
    output: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class ExpandOp(OnnxOp):
    input: SSAValue
    shape: SSAValue
    output: OpResult

class EyeLikeOp(OnnxOp):
    input: SSAValue
    output: OpResult
    dtype: IntegerAttr | None
    k: IntegerAttr | None

class FlattenOp(OnnxOp):
    input: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class FloorOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class GRUOp(OnnxOp):
    X: SSAValue
    W: SSAValue
    R: SSAValue
    B: SSAValue | None
    sequence_lens: SSAValue | None
    initial_h: SSAValue | None
    Y: OpResult | None
    Y_h: OpResult | None
    activation_alpha: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    activation_beta: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    activations: ArrayAttr[Attribute] | None
    clip: FloatAttr[AnyFloat] | None
    direction: StringAttr | BytesAttr | None
    hidden_size: IntegerAttr | None
    layout: IntegerAttr | None
    linear_before_reset: IntegerAttr | None
    output_sequence: IntegerAttr | None

class GatherOp(OnnxOp):
    data: SSAValue
    indices: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class GatherElementsOp(OnnxOp):
    data: SSAValue
    indices: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class GatherNDOp(OnnxOp):
    data: SSAValue
    indices: SSAValue
    output: OpResult
    batch_dims: IntegerAttr | None

class GeluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    approximate: StringAttr | BytesAttr | None

class GemmOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: SSAValue | None
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None
    beta: FloatAttr[AnyFloat] | None
    broadcast: IntegerAttr | None
    transA: IntegerAttr | None
    transB: IntegerAttr | None

class GlobalAveragePoolOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class GlobalLpPoolOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    p: Attribute | None

class GlobalMaxPoolOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class GreaterOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class GreaterOrEqualOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult

class GridSampleOp(OnnxOp):
    X: SSAValue
    grid: SSAValue
    Y: OpResult
    align_corners: IntegerAttr | None
    mode: StringAttr | BytesAttr | None
    padding_mode: StringAttr | BytesAttr | None

class GroupNormalizationOp(OnnxOp):
    X: SSAValue
    scale: SSAValue
    bias: SSAValue
    Y: OpResult
    epsilon: FloatAttr[AnyFloat] | None
    num_groups: IntegerAttr | None
    stash_type: IntegerAttr | None

class HammingWindowOp(OnnxOp):
    size: SSAValue
    output: OpResult
    output_datatype: IntegerAttr | None
    periodic: IntegerAttr | None

class HannWindowOp(OnnxOp):
    size: SSAValue
    output: OpResult
    output_datatype: IntegerAttr | None
    periodic: IntegerAttr | None

class HardSigmoidOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None
    beta: FloatAttr[AnyFloat] | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class HardSwishOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class HardmaxOp(OnnxOp):
    input: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class IdentityOp(OnnxOp):
    input: SSAValue
    output: OpResult

class IfOp(OnnxOp):
    cond: SSAValue
    outputs: VarOpResult
    else_branch: Region
    then_branch: Region

class ImageDecoderOp(OnnxOp):
    encoded_stream: SSAValue
    image: OpResult
    pixel_format: StringAttr | BytesAttr | None

class InstanceNormalizationOp(OnnxOp):
    input: SSAValue
    scale: SSAValue
    B: SSAValue
    output: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None
    epsilon: FloatAttr[AnyFloat] | None

class IsInfOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    detect_negative: IntegerAttr | None
    detect_positive: IntegerAttr | None

class IsNaNOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class LRNOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None
    beta: FloatAttr[AnyFloat] | None
    bias: FloatAttr[AnyFloat] | None
    size: IntegerAttr | None

class LSTMOp(OnnxOp):
    X: SSAValue
    W: SSAValue
    R: SSAValue
    B: SSAValue | None
    sequence_lens: SSAValue | None
    initial_h: SSAValue | None
    initial_c: SSAValue | None
    P: SSAValue | None
    Y: OpResult | None
    Y_h: OpResult | None
    Y_c: OpResult | None
    activation_alpha: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    activation_beta: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    activations: ArrayAttr[Attribute] | None
    clip: FloatAttr[AnyFloat] | None
    direction: StringAttr | BytesAttr | None
    hidden_size: IntegerAttr | None
    input_forget: IntegerAttr | None
    layout: IntegerAttr | None
    output_sequence: IntegerAttr | None

class LayerNormalizationOp(OnnxOp):
    X: SSAValue
    Scale: SSAValue
    B: SSAValue | None
    Y: OpResult
    Mean: OpResult | None
    InvStdDev: OpResult | None
    axis: IntegerAttr | None
    epsilon: FloatAttr[AnyFloat] | None
    stash_type: IntegerAttr | None

class LeakyReluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class LessOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class LessOrEqualOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult

class LinearAttentionOp(OnnxOp):
    query: SSAValue
    key: SSAValue
    value: SSAValue
    past_state: SSAValue | None
    decay: SSAValue | None
    beta: SSAValue | None
    output: OpResult
    present_state: OpResult
    chunk_size: IntegerAttr | None
    kv_num_heads: IntegerAttr | None
    q_num_heads: IntegerAttr | None
    scale: FloatAttr[AnyFloat] | None
    update_rule: StringAttr | BytesAttr | None

class LogOp(OnnxOp):
    input: SSAValue
    output: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class LogSoftmaxOp(OnnxOp):
    input: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class LoopOp(OnnxOp):
    M: SSAValue | None
    cond: SSAValue | None
    v_initial: VarOperand
    v_final_and_scan_outputs: VarOpResult
    body: Region

class LpNormalizationOp(OnnxOp):
    input: SSAValue
    output: OpResult
    axis: IntegerAttr | None
    p: IntegerAttr | None

class LpPoolOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    auto_pad: StringAttr | BytesAttr | None
    ceil_mode: IntegerAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    p: Attribute | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class MatMulOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    Y: OpResult

class MatMulIntegerOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    a_zero_point: SSAValue | None
    b_zero_point: SSAValue | None
    Y: OpResult

class MaxOp(OnnxOp):
    data_0: VarOperand
    max: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class MaxPoolOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    Indices: OpResult | None
    auto_pad: StringAttr | BytesAttr | None
    ceil_mode: IntegerAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    storage_order: IntegerAttr | None
    strides: DenseArrayBase[IntegerType] | None

class MaxRoiPoolOp(OnnxOp):
    X: SSAValue
    rois: SSAValue
    Y: OpResult
    pooled_shape: DenseArrayBase[IntegerType] | None
    spatial_scale: FloatAttr[AnyFloat] | None

class MaxUnpoolOp(OnnxOp):
    X: SSAValue
    I: SSAValue
    output_shape: SSAValue | None
    output: OpResult
    kernel_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class MeanOp(OnnxOp):
    data_0: VarOperand
    mean: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class MeanVarianceNormalizationOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    axes: DenseArrayBase[IntegerType] | None

class MelWeightMatrixOp(OnnxOp):
    num_mel_bins: SSAValue
    dft_length: SSAValue
    sample_rate: SSAValue
    lower_edge_hertz: SSAValue
    upper_edge_hertz: SSAValue
    output: OpResult
    output_datatype: IntegerAttr | None

class MinOp(OnnxOp):
    data_0: VarOperand
    min: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class MishOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class ModOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    fmod: IntegerAttr | None

class MulOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class MultinomialOp(OnnxOp):
    input: SSAValue
    output: OpResult
    dtype: IntegerAttr | None
    sample_size: IntegerAttr | None
    seed: FloatAttr[AnyFloat] | None

class NegOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class NegativeLogLikelihoodLossOp(OnnxOp):
    input: SSAValue
    target: SSAValue
    weight: SSAValue | None
    loss: OpResult
    ignore_index: IntegerAttr | None
    reduction: StringAttr | BytesAttr | None

class NonMaxSuppressionOp(OnnxOp):
    boxes: SSAValue
    scores: SSAValue
    max_output_boxes_per_class: SSAValue | None
    iou_threshold: SSAValue | None
    score_threshold: SSAValue | None
    selected_indices: OpResult
    center_point_box: IntegerAttr | None

class NonZeroOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class NotOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class OneHotOp(OnnxOp):
    indices: SSAValue
    depth: SSAValue
    values: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class OptionalOp(OnnxOp):
    input: SSAValue | None
    output: OpResult
    type: Attribute | None

class OptionalGetElementOp(OnnxOp):
    input: SSAValue
    output: OpResult

class OptionalHasElementOp(OnnxOp):
    input: SSAValue | None
    output: OpResult

class OrOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class PReluOp(OnnxOp):
    X: SSAValue
    slope: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class PadOp(OnnxOp):
    data: SSAValue
    pads: SSAValue | None
    constant_value: SSAValue | None
    axes: SSAValue | None
    output: OpResult
    mode: StringAttr | BytesAttr | None
    paddings: DenseArrayBase[IntegerType] | None
    pads_attr: DenseArrayBase[IntegerType] | None
    value: FloatAttr[AnyFloat] | None

class PowOp(OnnxOp):
    X: SSAValue
    Y: SSAValue
    Z: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class QLinearConvOp(OnnxOp):
    x: SSAValue
    x_scale: SSAValue
    x_zero_point: SSAValue
    w: SSAValue
    w_scale: SSAValue
    w_zero_point: SSAValue
    y_scale: SSAValue
    y_zero_point: SSAValue
    B: SSAValue | None
    y: OpResult
    auto_pad: StringAttr | BytesAttr | None
    dilations: DenseArrayBase[IntegerType] | None
    group: IntegerAttr | None
    kernel_shape: DenseArrayBase[IntegerType] | None
    pads: DenseArrayBase[IntegerType] | None
    strides: DenseArrayBase[IntegerType] | None

class QLinearMatMulOp(OnnxOp):
    a: SSAValue
    a_scale: SSAValue
    a_zero_point: SSAValue
    b: SSAValue
    b_scale: SSAValue
    b_zero_point: SSAValue
    y_scale: SSAValue
    y_zero_point: SSAValue
    y: OpResult

class QuantizeLinearOp(OnnxOp):
    x: SSAValue
    y_scale: SSAValue
    y_zero_point: SSAValue | None
    y: OpResult
    axis: IntegerAttr | None
    block_size: IntegerAttr | None
    output_dtype: IntegerAttr | None
    precision: IntegerAttr | None
    saturate: IntegerAttr | None

class RMSNormalizationOp(OnnxOp):
    X: SSAValue
    scale: SSAValue
    Y: OpResult
    axis: IntegerAttr | None
    epsilon: FloatAttr[AnyFloat] | None
    stash_type: IntegerAttr | None

class RNNOp(OnnxOp):
    X: SSAValue
    W: SSAValue
    R: SSAValue
    B: SSAValue | None
    sequence_lens: SSAValue | None
    initial_h: SSAValue | None
    Y: OpResult | None
    Y_h: OpResult | None
    activation_alpha: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    activation_beta: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    activations: ArrayAttr[Attribute] | None
    clip: FloatAttr[AnyFloat] | None
    direction: StringAttr | BytesAttr | None
    hidden_size: IntegerAttr | None
    layout: IntegerAttr | None
    output_sequence: IntegerAttr | None

class RandomNormalOp(OnnxOp):
    output: OpResult
    dtype: IntegerAttr | None
    mean: FloatAttr[AnyFloat] | None
    scale: FloatAttr[AnyFloat] | None
    seed: FloatAttr[AnyFloat] | None
    shape: DenseArrayBase[IntegerType] | None

class RandomNormalLikeOp(OnnxOp):
    input: SSAValue
    output: OpResult
    dtype: IntegerAttr | None
    mean: FloatAttr[AnyFloat] | None
    scale: FloatAttr[AnyFloat] | None
    seed: FloatAttr[AnyFloat] | None

class RandomUniformOp(OnnxOp):
    output: OpResult
    dtype: IntegerAttr | None
    high: FloatAttr[AnyFloat] | None
    low: FloatAttr[AnyFloat] | None
    seed: FloatAttr[AnyFloat] | None
    shape: DenseArrayBase[IntegerType] | None

class RandomUniformLikeOp(OnnxOp):
    input: SSAValue
    output: OpResult
    dtype: IntegerAttr | None
    high: FloatAttr[AnyFloat] | None
    low: FloatAttr[AnyFloat] | None
    seed: FloatAttr[AnyFloat] | None

class RangeOp(OnnxOp):
    start: SSAValue
    limit: SSAValue
    delta: SSAValue
    output: OpResult
    stash_type: IntegerAttr | None

class ReciprocalOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class ReduceL1Op(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceL2Op(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceLogSumOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceLogSumExpOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceMaxOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceMeanOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceMinOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceProdOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceSumOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class ReduceSumSquareOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    reduced: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    keepdims: IntegerAttr | None
    noop_with_empty_axes: IntegerAttr | None

class RegexFullMatchOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    pattern: StringAttr | BytesAttr | None

class ReluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class ReshapeOp(OnnxOp):
    data: SSAValue
    shape: SSAValue | None
    reshaped: OpResult
    allowzero: IntegerAttr | None
    consumed_inputs: DenseArrayBase[IntegerType] | None
    shape_attr: DenseArrayBase[IntegerType] | None

class ResizeOp(OnnxOp):
    X: SSAValue
    roi: SSAValue | None
    scales: SSAValue | None
    sizes: SSAValue | None
    Y: OpResult
    antialias: IntegerAttr | None
    axes: DenseArrayBase[IntegerType] | None
    coordinate_transformation_mode: StringAttr | BytesAttr | None
    cubic_coeff_a: FloatAttr[AnyFloat] | None
    exclude_outside: IntegerAttr | None
    extrapolation_value: FloatAttr[AnyFloat] | None
    keep_aspect_ratio_policy: StringAttr | BytesAttr | None
    mode: StringAttr | BytesAttr | None
    nearest_mode: StringAttr | BytesAttr | None

class ReverseSequenceOp(OnnxOp):
    input: SSAValue
    sequence_lens: SSAValue
    Y: OpResult
    batch_axis: IntegerAttr | None
    time_axis: IntegerAttr | None

class RoiAlignOp(OnnxOp):
    X: SSAValue
    rois: SSAValue
    batch_indices: SSAValue
    Y: OpResult
    coordinate_transformation_mode: StringAttr | BytesAttr | None
    mode: StringAttr | BytesAttr | None
    output_height: IntegerAttr | None
    output_width: IntegerAttr | None
    sampling_ratio: IntegerAttr | None
    spatial_scale: FloatAttr[AnyFloat] | None

class RotaryEmbeddingOp(OnnxOp):
    X: SSAValue
    cos_cache: SSAValue
    sin_cache: SSAValue
    position_ids: SSAValue | None
    Y: OpResult
    interleaved: IntegerAttr | None
    num_heads: IntegerAttr | None
    rotary_embedding_dim: IntegerAttr | None

class RoundOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class STFTOp(OnnxOp):
    signal: SSAValue
    frame_step: SSAValue
    window: SSAValue | None
    frame_length: SSAValue | None
    output: OpResult
    onesided: IntegerAttr | None

class ScanOp(OnnxOp):
    initial_state_and_scan_inputs: VarOperand
    sequence_lens: SSAValue | None
    final_state_and_scan_outputs: VarOpResult
    body: Region
    directions: DenseArrayBase[IntegerType] | None
    num_scan_inputs: IntegerAttr | None
    scan_input_axes: DenseArrayBase[IntegerType] | None
    scan_input_directions: DenseArrayBase[IntegerType] | None
    scan_output_axes: DenseArrayBase[IntegerType] | None
    scan_output_directions: DenseArrayBase[IntegerType] | None

class ScatterOp(OnnxOp):
    data: SSAValue
    indices: SSAValue
    updates: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class ScatterElementsOp(OnnxOp):
    data: SSAValue
    indices: SSAValue
    updates: SSAValue
    output: OpResult
    axis: IntegerAttr | None
    reduction: StringAttr | BytesAttr | None

class ScatterNDOp(OnnxOp):
    data: SSAValue
    indices: SSAValue
    updates: SSAValue
    output: OpResult
    reduction: StringAttr | BytesAttr | None

class SeluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None
    consumed_inputs: DenseArrayBase[IntegerType] | None
    gamma: FloatAttr[AnyFloat] | None

class SequenceAtOp(OnnxOp):
    input_sequence: SSAValue
    position: SSAValue
    tensor: OpResult

class SequenceConstructOp(OnnxOp):
    inputs: VarOperand
    output_sequence: OpResult

class SequenceEmptyOp(OnnxOp):
    output: OpResult
    dtype: IntegerAttr | None

class SequenceEraseOp(OnnxOp):
    input_sequence: SSAValue
    position: SSAValue | None
    output_sequence: OpResult

class SequenceInsertOp(OnnxOp):
    input_sequence: SSAValue
    tensor: SSAValue
    position: SSAValue | None
    output_sequence: OpResult

class SequenceLengthOp(OnnxOp):
    input_sequence: SSAValue
    length: OpResult

class SequenceMapOp(OnnxOp):
    input_sequence: SSAValue
    additional_inputs: VarOperand
    out_sequence: VarOpResult
    body: Region

class ShapeOp(OnnxOp):
    data: SSAValue
    shape: OpResult
    end: IntegerAttr | None
    start: IntegerAttr | None

class ShrinkOp(OnnxOp):
    input: SSAValue
    output: OpResult
    bias: FloatAttr[AnyFloat] | None
    lambd: FloatAttr[AnyFloat] | None

class SigmoidOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class SignOp(OnnxOp):
    input: SSAValue
    output: OpResult

class SinOp(OnnxOp):
    input: SSAValue
    output: OpResult

class SinhOp(OnnxOp):
    input: SSAValue
    output: OpResult

class SizeOp(OnnxOp):
    data: SSAValue
    size: OpResult

class SliceOp(OnnxOp):
    data: SSAValue
    starts: SSAValue | None
    ends: SSAValue | None
    axes: SSAValue | None
    steps: SSAValue | None
    output: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None
    ends_attr: DenseArrayBase[IntegerType] | None
    starts_attr: DenseArrayBase[IntegerType] | None

class SoftmaxOp(OnnxOp):
    input: SSAValue
    output: OpResult
    axis: IntegerAttr | None

class SoftmaxCrossEntropyLossOp(OnnxOp):
    scores: SSAValue
    labels: SSAValue
    weights: SSAValue | None
    output: OpResult
    log_prob: OpResult | None
    ignore_index: IntegerAttr | None
    reduction: StringAttr | BytesAttr | None

class SoftplusOp(OnnxOp):
    X: SSAValue
    Y: OpResult

class SoftsignOp(OnnxOp):
    input: SSAValue
    output: OpResult

class SpaceToDepthOp(OnnxOp):
    input: SSAValue
    output: OpResult
    blocksize: IntegerAttr | None
    mode: StringAttr | BytesAttr | None

class SplitOp(OnnxOp):
    input: SSAValue
    split: SSAValue | None
    outputs: VarOpResult
    axis: IntegerAttr | None
    num_outputs: IntegerAttr | None
    split_attr: DenseArrayBase[IntegerType] | None

class SplitToSequenceOp(OnnxOp):
    input: SSAValue
    split: SSAValue | None
    output_sequence: OpResult
    axis: IntegerAttr | None
    keepdims: IntegerAttr | None

class SqrtOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class SqueezeOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    squeezed: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None

class StringConcatOp(OnnxOp):
    X: SSAValue
    Y: SSAValue
    Z: OpResult

class StringNormalizerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    case_change_action: StringAttr | BytesAttr | None
    is_case_sensitive: IntegerAttr | None
    locale: StringAttr | BytesAttr | None
    stopwords: ArrayAttr[Attribute] | None

class StringSplitOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    Z: OpResult
    delimiter: StringAttr | BytesAttr | None
    maxsplit: IntegerAttr | None

class SubOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None
    consumed_inputs: DenseArrayBase[IntegerType] | None

class SumOp(OnnxOp):
    data_0: VarOperand
    sum: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class SwiGLUOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None

class SwishOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None

class TanOp(OnnxOp):
    input: SSAValue
    output: OpResult

class TanhOp(OnnxOp):
    input: SSAValue
    output: OpResult
    consumed_inputs: DenseArrayBase[IntegerType] | None

class TensorScatterOp(OnnxOp):
    past_cache: SSAValue
    update: SSAValue
    write_indices: SSAValue | None
    present_cache: OpResult
    axis: IntegerAttr | None
    mode: StringAttr | BytesAttr | None

class TfIdfVectorizerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    max_gram_length: IntegerAttr | None
    max_skip_count: IntegerAttr | None
    min_gram_length: IntegerAttr | None
    mode: StringAttr | BytesAttr | None
    ngram_counts: DenseArrayBase[IntegerType] | None
    ngram_indexes: DenseArrayBase[IntegerType] | None
    pool_int64s: DenseArrayBase[IntegerType] | None
    pool_strings: ArrayAttr[Attribute] | None
    weights: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None

class ThresholdedReluOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    alpha: FloatAttr[AnyFloat] | None

class TileOp(OnnxOp):
    input: SSAValue
    repeats: SSAValue | None
    tiles: SSAValue | None
    axis: SSAValue | None
    output: OpResult

class TopKOp(OnnxOp):
    X: SSAValue
    K: SSAValue | None
    Values: OpResult
    Indices: OpResult
    axis: IntegerAttr | None
    k: IntegerAttr | None
    largest: IntegerAttr | None
    sorted: IntegerAttr | None

class TransposeOp(OnnxOp):
    data: SSAValue
    transposed: OpResult
    perm: DenseArrayBase[IntegerType] | None

class TriluOp(OnnxOp):
    input: SSAValue
    k: SSAValue | None
    output: OpResult
    upper: IntegerAttr | None

class UniqueOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    indices: OpResult | None
    inverse_indices: OpResult | None
    counts: OpResult | None
    axis: IntegerAttr | None
    sorted: IntegerAttr | None

class UnsqueezeOp(OnnxOp):
    data: SSAValue
    axes: SSAValue | None
    expanded: OpResult
    axes_attr: DenseArrayBase[IntegerType] | None

class UpsampleOp(OnnxOp):
    X: SSAValue
    scales: SSAValue | None
    Y: OpResult
    height_scale: FloatAttr[AnyFloat] | None
    mode: StringAttr | BytesAttr | None
    scales_attr: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    width_scale: FloatAttr[AnyFloat] | None

class WhereOp(OnnxOp):
    condition: SSAValue
    X: SSAValue
    Y: SSAValue
    output: OpResult

class XorOp(OnnxOp):
    A: SSAValue
    B: SSAValue
    C: OpResult
    axis: IntegerAttr | None
    broadcast: IntegerAttr | None

class ArrayFeatureExtractorOp(OnnxOp):
    X: SSAValue
    Y: SSAValue
    Z: OpResult

class BinarizerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    threshold: FloatAttr[AnyFloat] | None

class CastMapOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    cast_to: StringAttr | BytesAttr | None
    map_form: StringAttr | BytesAttr | None
    max_map: IntegerAttr | None

class CategoryMapperOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    cats_int64s: DenseArrayBase[IntegerType] | None
    cats_strings: ArrayAttr[Attribute] | None
    default_int64: IntegerAttr | None
    default_string: StringAttr | BytesAttr | None

class DictVectorizerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    int64_vocabulary: DenseArrayBase[IntegerType] | None
    string_vocabulary: ArrayAttr[Attribute] | None

class FeatureVectorizerOp(OnnxOp):
    X: VarOperand
    Y: OpResult
    inputdimensions: DenseArrayBase[IntegerType] | None

class ImputerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    imputed_value_floats: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    imputed_value_int64s: DenseArrayBase[IntegerType] | None
    replaced_value_float: FloatAttr[AnyFloat] | None
    replaced_value_int64: IntegerAttr | None

class LabelEncoderOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    classes_strings: ArrayAttr[Attribute] | None
    default_float: FloatAttr[AnyFloat] | None
    default_int64: IntegerAttr | None
    default_string: StringAttr | BytesAttr | None
    default_tensor: Attribute | None
    keys_floats: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    keys_int64s: DenseArrayBase[IntegerType] | None
    keys_strings: ArrayAttr[Attribute] | None
    keys_tensor: Attribute | None
    values_floats: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    values_int64s: DenseArrayBase[IntegerType] | None
    values_strings: ArrayAttr[Attribute] | None
    values_tensor: Attribute | None

class LinearClassifierOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    Z: OpResult
    classlabels_ints: DenseArrayBase[IntegerType] | None
    classlabels_strings: ArrayAttr[Attribute] | None
    coefficients: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    intercepts: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    multi_class: IntegerAttr | None
    post_transform: StringAttr | BytesAttr | None

class LinearRegressorOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    coefficients: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    intercepts: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    post_transform: StringAttr | BytesAttr | None
    targets: IntegerAttr | None

class NormalizerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    norm: StringAttr | BytesAttr | None

class OneHotEncoderOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    cats_int64s: DenseArrayBase[IntegerType] | None
    cats_strings: ArrayAttr[Attribute] | None
    zeros: IntegerAttr | None

class SVMClassifierOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    Z: OpResult
    classlabels_ints: DenseArrayBase[IntegerType] | None
    classlabels_strings: ArrayAttr[Attribute] | None
    coefficients: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    kernel_params: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    kernel_type: StringAttr | BytesAttr | None
    post_transform: StringAttr | BytesAttr | None
    prob_a: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    prob_b: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    rho: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    support_vectors: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    vectors_per_class: DenseArrayBase[IntegerType] | None

class SVMRegressorOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    coefficients: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    kernel_params: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    kernel_type: StringAttr | BytesAttr | None
    n_supports: IntegerAttr | None
    one_class: IntegerAttr | None
    post_transform: StringAttr | BytesAttr | None
    rho: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    support_vectors: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None

class ScalerOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    offset: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    scale: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None

class TreeEnsembleOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    aggregate_function: IntegerAttr | None
    leaf_targetids: DenseArrayBase[IntegerType] | None
    leaf_weights: Attribute | None
    membership_values: Attribute | None
    n_targets: IntegerAttr | None
    nodes_falseleafs: DenseArrayBase[IntegerType] | None
    nodes_falsenodeids: DenseArrayBase[IntegerType] | None
    nodes_featureids: DenseArrayBase[IntegerType] | None
    nodes_hitrates: Attribute | None
    nodes_missing_value_tracks_true: DenseArrayBase[IntegerType] | None
    nodes_modes: Attribute | None
    nodes_splits: Attribute | None
    nodes_trueleafs: DenseArrayBase[IntegerType] | None
    nodes_truenodeids: DenseArrayBase[IntegerType] | None
    post_transform: IntegerAttr | None
    tree_roots: DenseArrayBase[IntegerType] | None

class TreeEnsembleClassifierOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    Z: OpResult
    base_values: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    base_values_as_tensor: Attribute | None
    class_ids: DenseArrayBase[IntegerType] | None
    class_nodeids: DenseArrayBase[IntegerType] | None
    class_treeids: DenseArrayBase[IntegerType] | None
    class_weights: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    class_weights_as_tensor: Attribute | None
    classlabels_int64s: DenseArrayBase[IntegerType] | None
    classlabels_strings: ArrayAttr[Attribute] | None
    nodes_falsenodeids: DenseArrayBase[IntegerType] | None
    nodes_featureids: DenseArrayBase[IntegerType] | None
    nodes_hitrates: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    nodes_hitrates_as_tensor: Attribute | None
    nodes_missing_value_tracks_true: DenseArrayBase[IntegerType] | None
    nodes_modes: ArrayAttr[Attribute] | None
    nodes_nodeids: DenseArrayBase[IntegerType] | None
    nodes_treeids: DenseArrayBase[IntegerType] | None
    nodes_truenodeids: DenseArrayBase[IntegerType] | None
    nodes_values: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    nodes_values_as_tensor: Attribute | None
    post_transform: StringAttr | BytesAttr | None

class TreeEnsembleRegressorOp(OnnxOp):
    X: SSAValue
    Y: OpResult
    aggregate_function: StringAttr | BytesAttr | None
    base_values: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    base_values_as_tensor: Attribute | None
    n_targets: IntegerAttr | None
    nodes_falsenodeids: DenseArrayBase[IntegerType] | None
    nodes_featureids: DenseArrayBase[IntegerType] | None
    nodes_hitrates: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    nodes_hitrates_as_tensor: Attribute | None
    nodes_missing_value_tracks_true: DenseArrayBase[IntegerType] | None
    nodes_modes: ArrayAttr[Attribute] | None
    nodes_nodeids: DenseArrayBase[IntegerType] | None
    nodes_treeids: DenseArrayBase[IntegerType] | None
    nodes_truenodeids: DenseArrayBase[IntegerType] | None
    nodes_values: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    nodes_values_as_tensor: Attribute | None
    post_transform: StringAttr | BytesAttr | None
    target_ids: DenseArrayBase[IntegerType] | None
    target_nodeids: DenseArrayBase[IntegerType] | None
    target_treeids: DenseArrayBase[IntegerType] | None
    target_weights: DenseArrayBase[Float32Type] | ArrayAttr[Attribute] | None
    target_weights_as_tensor: Attribute | None

class ZipMapOp(OnnxOp):
    X: SSAValue
    Z: OpResult
    classlabels_int64s: DenseArrayBase[IntegerType] | None
    classlabels_strings: ArrayAttr[Attribute] | None

class FlexAttentionOp(OnnxOp):
    Q: SSAValue
    K: SSAValue
    V: SSAValue
    Y: OpResult
    prob_mod: Region | None
    scale: FloatAttr[AnyFloat] | None
    score_mod: Region | None
    softmax_precision: IntegerAttr | None

class AdagradOp(OnnxOp):
    R: SSAValue
    T: SSAValue
    inputs: VarOperand
    outputs: VarOpResult
    decay_factor: FloatAttr[AnyFloat] | None
    epsilon: FloatAttr[AnyFloat] | None
    norm_coefficient: FloatAttr[AnyFloat] | None

class AdamOp(OnnxOp):
    R: SSAValue
    T: SSAValue
    inputs: VarOperand
    outputs: VarOpResult
    alpha: FloatAttr[AnyFloat] | None
    beta: FloatAttr[AnyFloat] | None
    epsilon: FloatAttr[AnyFloat] | None
    norm_coefficient: FloatAttr[AnyFloat] | None
    norm_coefficient_post: FloatAttr[AnyFloat] | None

class GradientOp(OnnxOp):
    Inputs: VarOperand
    Outputs: VarOpResult
    xs: ArrayAttr[Attribute] | None
    y: StringAttr | BytesAttr | None
    zs: ArrayAttr[Attribute] | None

class MomentumOp(OnnxOp):
    R: SSAValue
    T: SSAValue
    inputs: VarOperand
    outputs: VarOpResult
    alpha: FloatAttr[AnyFloat] | None
    beta: FloatAttr[AnyFloat] | None
    mode: StringAttr | BytesAttr | None
    norm_coefficient: FloatAttr[AnyFloat] | None
