# fmt: off
# ruff: noqa: E501, E741, I001
"""One op class for each operator of onnx 1.23.2. Made by `tools.generators.generate_onnx`: do not edit."""

from xdsl.dialects.builtin import FloatAttr, IntegerAttr
from xdsl.irdl import (
    irdl_op_definition,
    operand_def,
    opt_operand_def,
    opt_prop_def,
    opt_region_def,
    opt_result_def,
    region_def,
    result_def,
    var_operand_def,
    var_result_def,
)

from stepwell.dialects.onnx.base import FLOATS, INTS, OPERAND_SEGMENTS, REGION_SEGMENTS, RESULT_SEGMENTS, STRING, STRINGS, OnnxOp


@irdl_op_definition
class AbsOp(OnnxOp):
    """ONNX `Abs`, since 1, 6, 13."""

    name = 'onnx.Abs'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class AcosOp(OnnxOp):
    """ONNX `Acos`, since 7, 22."""

    name = 'onnx.Acos'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class AcoshOp(OnnxOp):
    """ONNX `Acosh`, since 9, 22."""

    name = 'onnx.Acosh'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class AddOp(OnnxOp):
    """ONNX `Add`, since 1, 6, 7, 13, 14."""

    name = 'onnx.Add'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class AffineGridOp(OnnxOp):
    """ONNX `AffineGrid`, since 20."""

    name = 'onnx.AffineGrid'
    theta = operand_def()
    size = operand_def()
    grid = result_def()
    align_corners = opt_prop_def(IntegerAttr)


@irdl_op_definition
class AndOp(OnnxOp):
    """ONNX `And`, since 1, 7."""

    name = 'onnx.And'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ArgMaxOp(OnnxOp):
    """ONNX `ArgMax`, since 1, 11, 12, 13."""

    name = 'onnx.ArgMax'
    data = operand_def()
    reduced = result_def()
    axis = opt_prop_def(IntegerAttr)
    keepdims = opt_prop_def(IntegerAttr)
    select_last_index = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ArgMinOp(OnnxOp):
    """ONNX `ArgMin`, since 1, 11, 12, 13."""

    name = 'onnx.ArgMin'
    data = operand_def()
    reduced = result_def()
    axis = opt_prop_def(IntegerAttr)
    keepdims = opt_prop_def(IntegerAttr)
    select_last_index = opt_prop_def(IntegerAttr)


@irdl_op_definition
class AsinOp(OnnxOp):
    """ONNX `Asin`, since 7, 22."""

    name = 'onnx.Asin'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class AsinhOp(OnnxOp):
    """ONNX `Asinh`, since 9, 22."""

    name = 'onnx.Asinh'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class AtanOp(OnnxOp):
    """ONNX `Atan`, since 7, 22."""

    name = 'onnx.Atan'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class AtanhOp(OnnxOp):
    """ONNX `Atanh`, since 9, 22."""

    name = 'onnx.Atanh'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class AttentionOp(OnnxOp):
    """ONNX `Attention`, since 23, 24, 25."""

    name = 'onnx.Attention'
    Q = operand_def()
    K = operand_def()
    V = operand_def()
    attn_mask = opt_operand_def()
    past_key = opt_operand_def()
    past_value = opt_operand_def()
    nonpad_kv_seqlen = opt_operand_def()
    Y = result_def()
    present_key = opt_result_def()
    present_value = opt_result_def()
    qk_matmul_output = opt_result_def()
    is_causal = opt_prop_def(IntegerAttr)
    kv_num_heads = opt_prop_def(IntegerAttr)
    left_window_size = opt_prop_def(IntegerAttr)
    q_num_heads = opt_prop_def(IntegerAttr)
    qk_matmul_output_mode = opt_prop_def(IntegerAttr)
    right_window_size = opt_prop_def(IntegerAttr)
    scale = opt_prop_def(FloatAttr)
    softcap = opt_prop_def(FloatAttr)
    softmax_precision = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS, RESULT_SEGMENTS,)


@irdl_op_definition
class AveragePoolOp(OnnxOp):
    """ONNX `AveragePool`, since 1, 7, 10, 11, 19, 22."""

    name = 'onnx.AveragePool'
    X = operand_def()
    Y = result_def()
    auto_pad = opt_prop_def(STRING)
    ceil_mode = opt_prop_def(IntegerAttr)
    count_include_pad = opt_prop_def(IntegerAttr)
    dilations = opt_prop_def(INTS)
    kernel_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class BatchNormalizationOp(OnnxOp):
    """ONNX `BatchNormalization`, since 1, 6, 7, 9, 14, 15."""

    name = 'onnx.BatchNormalization'
    X = operand_def()
    scale = operand_def()
    B = operand_def()
    input_mean = operand_def()
    input_var = operand_def()
    Y = result_def()
    running_mean = opt_result_def()
    running_var = opt_result_def()
    saved_mean = opt_result_def()
    saved_var = opt_result_def()
    consumed_inputs = opt_prop_def(INTS)
    epsilon = opt_prop_def(FloatAttr)
    is_test = opt_prop_def(IntegerAttr)
    momentum = opt_prop_def(FloatAttr)
    spatial = opt_prop_def(IntegerAttr)
    training_mode = opt_prop_def(IntegerAttr)
    irdl_options = (RESULT_SEGMENTS,)


@irdl_op_definition
class BernoulliOp(OnnxOp):
    """ONNX `Bernoulli`, since 15, 22."""

    name = 'onnx.Bernoulli'
    input = operand_def()
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    seed = opt_prop_def(FloatAttr)


@irdl_op_definition
class BitCastOp(OnnxOp):
    """ONNX `BitCast`, since 26."""

    name = 'onnx.BitCast'
    input = operand_def()
    output = result_def()
    to = opt_prop_def(IntegerAttr)


@irdl_op_definition
class BitShiftOp(OnnxOp):
    """ONNX `BitShift`, since 11, 28."""

    name = 'onnx.BitShift'
    X = operand_def()
    Y = operand_def()
    Z = result_def()
    direction = opt_prop_def(STRING)


@irdl_op_definition
class BitwiseAndOp(OnnxOp):
    """ONNX `BitwiseAnd`, since 18."""

    name = 'onnx.BitwiseAnd'
    A = operand_def()
    B = operand_def()
    C = result_def()


@irdl_op_definition
class BitwiseNotOp(OnnxOp):
    """ONNX `BitwiseNot`, since 18."""

    name = 'onnx.BitwiseNot'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class BitwiseOrOp(OnnxOp):
    """ONNX `BitwiseOr`, since 18."""

    name = 'onnx.BitwiseOr'
    A = operand_def()
    B = operand_def()
    C = result_def()


@irdl_op_definition
class BitwiseXorOp(OnnxOp):
    """ONNX `BitwiseXor`, since 18."""

    name = 'onnx.BitwiseXor'
    A = operand_def()
    B = operand_def()
    C = result_def()


@irdl_op_definition
class BlackmanWindowOp(OnnxOp):
    """ONNX `BlackmanWindow`, since 17."""

    name = 'onnx.BlackmanWindow'
    size = operand_def()
    output = result_def()
    output_datatype = opt_prop_def(IntegerAttr)
    periodic = opt_prop_def(IntegerAttr)


@irdl_op_definition
class CastOp(OnnxOp):
    """ONNX `Cast`, since 1, 6, 9, 13, 19, 21, 23, 24, 25, 28."""

    name = 'onnx.Cast'
    input = operand_def()
    output = result_def()
    round_mode = opt_prop_def(STRING)
    saturate = opt_prop_def(IntegerAttr)
    to = opt_prop_def()


@irdl_op_definition
class CastLikeOp(OnnxOp):
    """ONNX `CastLike`, since 15, 19, 21, 23, 24, 25."""

    name = 'onnx.CastLike'
    input = operand_def()
    target_type = operand_def()
    output = result_def()
    round_mode = opt_prop_def(STRING)
    saturate = opt_prop_def(IntegerAttr)


@irdl_op_definition
class CausalConvWithStateOp(OnnxOp):
    """ONNX `CausalConvWithState`, since 27."""

    name = 'onnx.CausalConvWithState'
    input = operand_def()
    weight = operand_def()
    bias = opt_operand_def()
    past_state = opt_operand_def()
    output = result_def()
    present_state = result_def()
    activation = opt_prop_def(STRING)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class CeilOp(OnnxOp):
    """ONNX `Ceil`, since 1, 6, 13."""

    name = 'onnx.Ceil'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class CeluOp(OnnxOp):
    """ONNX `Celu`, since 12, 28."""

    name = 'onnx.Celu'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)


@irdl_op_definition
class CenterCropPadOp(OnnxOp):
    """ONNX `CenterCropPad`, since 18."""

    name = 'onnx.CenterCropPad'
    input_data = operand_def()
    shape = operand_def()
    output_data = result_def()
    axes = opt_prop_def(INTS)


@irdl_op_definition
class ClipOp(OnnxOp):
    """ONNX `Clip`, since 1, 6, 11, 12, 13."""

    name = 'onnx.Clip'
    input = operand_def()
    min = opt_operand_def()
    max = opt_operand_def()
    output = result_def()
    consumed_inputs = opt_prop_def(INTS)
    max_attr = opt_prop_def(FloatAttr, prop_name='max')
    min_attr = opt_prop_def(FloatAttr, prop_name='min')
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class Col2ImOp(OnnxOp):
    """ONNX `Col2Im`, since 18."""

    name = 'onnx.Col2Im'
    input = operand_def()
    image_shape = operand_def()
    block_shape = operand_def()
    output = result_def()
    dilations = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class CompressOp(OnnxOp):
    """ONNX `Compress`, since 9, 11, 28."""

    name = 'onnx.Compress'
    input = operand_def()
    condition = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ConcatOp(OnnxOp):
    """ONNX `Concat`, since 1, 4, 11, 13."""

    name = 'onnx.Concat'
    inputs = var_operand_def()
    concat_result = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ConcatFromSequenceOp(OnnxOp):
    """ONNX `ConcatFromSequence`, since 11."""

    name = 'onnx.ConcatFromSequence'
    input_sequence = operand_def()
    concat_result = result_def()
    axis = opt_prop_def(IntegerAttr)
    new_axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ConstantOp(OnnxOp):
    """ONNX `Constant`, since 1, 9, 11, 12, 13, 19, 21, 23, 24, 25."""

    name = 'onnx.Constant'
    output = result_def()
    sparse_value = opt_prop_def()
    value = opt_prop_def()
    value_float = opt_prop_def(FloatAttr)
    value_floats = opt_prop_def(FLOATS)
    value_int = opt_prop_def(IntegerAttr)
    value_ints = opt_prop_def(INTS)
    value_string = opt_prop_def(STRING)
    value_strings = opt_prop_def(STRINGS)


@irdl_op_definition
class ConstantOfShapeOp(OnnxOp):
    """ONNX `ConstantOfShape`, since 9, 20, 21, 23, 24, 25."""

    name = 'onnx.ConstantOfShape'
    input = operand_def()
    output = result_def()
    value = opt_prop_def()


@irdl_op_definition
class ConvOp(OnnxOp):
    """ONNX `Conv`, since 1, 11, 22."""

    name = 'onnx.Conv'
    X = operand_def()
    W = operand_def()
    B = opt_operand_def()
    Y = result_def()
    auto_pad = opt_prop_def(STRING)
    dilations = opt_prop_def(INTS)
    group = opt_prop_def(IntegerAttr)
    kernel_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class ConvIntegerOp(OnnxOp):
    """ONNX `ConvInteger`, since 10."""

    name = 'onnx.ConvInteger'
    x = operand_def()
    w = operand_def()
    x_zero_point = opt_operand_def()
    w_zero_point = opt_operand_def()
    y = result_def()
    auto_pad = opt_prop_def(STRING)
    dilations = opt_prop_def(INTS)
    group = opt_prop_def(IntegerAttr)
    kernel_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class ConvTransposeOp(OnnxOp):
    """ONNX `ConvTranspose`, since 1, 11, 22."""

    name = 'onnx.ConvTranspose'
    X = operand_def()
    W = operand_def()
    B = opt_operand_def()
    Y = result_def()
    auto_pad = opt_prop_def(STRING)
    dilations = opt_prop_def(INTS)
    group = opt_prop_def(IntegerAttr)
    kernel_shape = opt_prop_def(INTS)
    output_padding = opt_prop_def(INTS)
    output_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class CosOp(OnnxOp):
    """ONNX `Cos`, since 7, 22."""

    name = 'onnx.Cos'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class CoshOp(OnnxOp):
    """ONNX `Cosh`, since 9, 22."""

    name = 'onnx.Cosh'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class CumProdOp(OnnxOp):
    """ONNX `CumProd`, since 26."""

    name = 'onnx.CumProd'
    x = operand_def()
    axis = operand_def()
    y = result_def()
    exclusive = opt_prop_def(IntegerAttr)
    reverse = opt_prop_def(IntegerAttr)


@irdl_op_definition
class CumSumOp(OnnxOp):
    """ONNX `CumSum`, since 11, 14."""

    name = 'onnx.CumSum'
    x = operand_def()
    axis = operand_def()
    y = result_def()
    exclusive = opt_prop_def(IntegerAttr)
    reverse = opt_prop_def(IntegerAttr)


@irdl_op_definition
class DFTOp(OnnxOp):
    """ONNX `DFT`, since 17, 20."""

    name = 'onnx.DFT'
    input = operand_def()
    dft_length = opt_operand_def()
    axis = opt_operand_def()
    output = result_def()
    axis_attr = opt_prop_def(IntegerAttr, prop_name='axis')
    inverse = opt_prop_def(IntegerAttr)
    onesided = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class DeformConvOp(OnnxOp):
    """ONNX `DeformConv`, since 19, 22."""

    name = 'onnx.DeformConv'
    X = operand_def()
    W = operand_def()
    offset = operand_def()
    B = opt_operand_def()
    mask = opt_operand_def()
    Y = result_def()
    dilations = opt_prop_def(INTS)
    group = opt_prop_def(IntegerAttr)
    kernel_shape = opt_prop_def(INTS)
    offset_group = opt_prop_def(IntegerAttr)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class DepthToSpaceOp(OnnxOp):
    """ONNX `DepthToSpace`, since 1, 11, 13, 28."""

    name = 'onnx.DepthToSpace'
    input = operand_def()
    output = result_def()
    blocksize = opt_prop_def(IntegerAttr)
    mode = opt_prop_def(STRING)


@irdl_op_definition
class DequantizeLinearOp(OnnxOp):
    """ONNX `DequantizeLinear`, since 10, 13, 19, 21, 23, 24, 25, 28."""

    name = 'onnx.DequantizeLinear'
    x = operand_def()
    x_scale = operand_def()
    x_zero_point = opt_operand_def()
    y = result_def()
    axis = opt_prop_def(IntegerAttr)
    block_size = opt_prop_def(IntegerAttr)
    output_dtype = opt_prop_def(IntegerAttr)


@irdl_op_definition
class DetOp(OnnxOp):
    """ONNX `Det`, since 11, 22."""

    name = 'onnx.Det'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class DivOp(OnnxOp):
    """ONNX `Div`, since 1, 6, 7, 13, 14."""

    name = 'onnx.Div'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class DropoutOp(OnnxOp):
    """ONNX `Dropout`, since 1, 6, 7, 10, 12, 13, 22."""

    name = 'onnx.Dropout'
    data = operand_def()
    ratio = opt_operand_def()
    training_mode = opt_operand_def()
    output = result_def()
    mask = opt_result_def()
    consumed_inputs = opt_prop_def(INTS)
    is_test = opt_prop_def(IntegerAttr)
    ratio_attr = opt_prop_def(FloatAttr, prop_name='ratio')
    seed = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class DynamicQuantizeLinearOp(OnnxOp):
    """ONNX `DynamicQuantizeLinear`, since 11."""

    name = 'onnx.DynamicQuantizeLinear'
    x = operand_def()
    y = result_def()
    y_scale = result_def()
    y_zero_point = result_def()


@irdl_op_definition
class EinsumOp(OnnxOp):
    """ONNX `Einsum`, since 12, 28."""

    name = 'onnx.Einsum'
    Inputs = var_operand_def()
    Output = result_def()
    equation = opt_prop_def(STRING)


@irdl_op_definition
class EluOp(OnnxOp):
    """ONNX `Elu`, since 1, 6, 22."""

    name = 'onnx.Elu'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class EqualOp(OnnxOp):
    """ONNX `Equal`, since 1, 7, 11, 13, 19."""

    name = 'onnx.Equal'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ErfOp(OnnxOp):
    """ONNX `Erf`, since 9, 13."""

    name = 'onnx.Erf'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class ExpOp(OnnxOp):
    """ONNX `Exp`, since 1, 6, 13."""

    name = 'onnx.Exp'
    input = operand_def()
    output = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class ExpandOp(OnnxOp):
    """ONNX `Expand`, since 8, 13."""

    name = 'onnx.Expand'
    input = operand_def()
    shape = operand_def()
    output = result_def()


@irdl_op_definition
class EyeLikeOp(OnnxOp):
    """ONNX `EyeLike`, since 9, 22."""

    name = 'onnx.EyeLike'
    input = operand_def()
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    k = opt_prop_def(IntegerAttr)


@irdl_op_definition
class FlattenOp(OnnxOp):
    """ONNX `Flatten`, since 1, 9, 11, 13, 21, 23, 24, 25."""

    name = 'onnx.Flatten'
    input = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class FloorOp(OnnxOp):
    """ONNX `Floor`, since 1, 6, 13."""

    name = 'onnx.Floor'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class GRUOp(OnnxOp):
    """ONNX `GRU`, since 1, 3, 7, 14, 22."""

    name = 'onnx.GRU'
    X = operand_def()
    W = operand_def()
    R = operand_def()
    B = opt_operand_def()
    sequence_lens = opt_operand_def()
    initial_h = opt_operand_def()
    Y = opt_result_def()
    Y_h = opt_result_def()
    activation_alpha = opt_prop_def(FLOATS)
    activation_beta = opt_prop_def(FLOATS)
    activations = opt_prop_def(STRINGS)
    clip = opt_prop_def(FloatAttr)
    direction = opt_prop_def(STRING)
    hidden_size = opt_prop_def(IntegerAttr)
    layout = opt_prop_def(IntegerAttr)
    linear_before_reset = opt_prop_def(IntegerAttr)
    output_sequence = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS, RESULT_SEGMENTS,)


@irdl_op_definition
class GatherOp(OnnxOp):
    """ONNX `Gather`, since 1, 11, 13."""

    name = 'onnx.Gather'
    data = operand_def()
    indices = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class GatherElementsOp(OnnxOp):
    """ONNX `GatherElements`, since 11, 13."""

    name = 'onnx.GatherElements'
    data = operand_def()
    indices = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class GatherNDOp(OnnxOp):
    """ONNX `GatherND`, since 11, 12, 13."""

    name = 'onnx.GatherND'
    data = operand_def()
    indices = operand_def()
    output = result_def()
    batch_dims = opt_prop_def(IntegerAttr)


@irdl_op_definition
class GeluOp(OnnxOp):
    """ONNX `Gelu`, since 20."""

    name = 'onnx.Gelu'
    X = operand_def()
    Y = result_def()
    approximate = opt_prop_def(STRING)


@irdl_op_definition
class GemmOp(OnnxOp):
    """ONNX `Gemm`, since 1, 6, 7, 9, 11, 13."""

    name = 'onnx.Gemm'
    A = operand_def()
    B = operand_def()
    C = opt_operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)
    beta = opt_prop_def(FloatAttr)
    broadcast = opt_prop_def(IntegerAttr)
    transA = opt_prop_def(IntegerAttr)
    transB = opt_prop_def(IntegerAttr)


@irdl_op_definition
class GlobalAveragePoolOp(OnnxOp):
    """ONNX `GlobalAveragePool`, since 1, 22."""

    name = 'onnx.GlobalAveragePool'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class GlobalLpPoolOp(OnnxOp):
    """ONNX `GlobalLpPool`, since 1, 2, 22."""

    name = 'onnx.GlobalLpPool'
    X = operand_def()
    Y = result_def()
    p = opt_prop_def()


@irdl_op_definition
class GlobalMaxPoolOp(OnnxOp):
    """ONNX `GlobalMaxPool`, since 1, 22."""

    name = 'onnx.GlobalMaxPool'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class GreaterOp(OnnxOp):
    """ONNX `Greater`, since 1, 7, 9, 13."""

    name = 'onnx.Greater'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class GreaterOrEqualOp(OnnxOp):
    """ONNX `GreaterOrEqual`, since 12, 16."""

    name = 'onnx.GreaterOrEqual'
    A = operand_def()
    B = operand_def()
    C = result_def()


@irdl_op_definition
class GridSampleOp(OnnxOp):
    """ONNX `GridSample`, since 16, 20, 22."""

    name = 'onnx.GridSample'
    X = operand_def()
    grid = operand_def()
    Y = result_def()
    align_corners = opt_prop_def(IntegerAttr)
    mode = opt_prop_def(STRING)
    padding_mode = opt_prop_def(STRING)


@irdl_op_definition
class GroupNormalizationOp(OnnxOp):
    """ONNX `GroupNormalization`, since 18, 21."""

    name = 'onnx.GroupNormalization'
    X = operand_def()
    scale = operand_def()
    bias = operand_def()
    Y = result_def()
    epsilon = opt_prop_def(FloatAttr)
    num_groups = opt_prop_def(IntegerAttr)
    stash_type = opt_prop_def(IntegerAttr)


@irdl_op_definition
class HammingWindowOp(OnnxOp):
    """ONNX `HammingWindow`, since 17."""

    name = 'onnx.HammingWindow'
    size = operand_def()
    output = result_def()
    output_datatype = opt_prop_def(IntegerAttr)
    periodic = opt_prop_def(IntegerAttr)


@irdl_op_definition
class HannWindowOp(OnnxOp):
    """ONNX `HannWindow`, since 17."""

    name = 'onnx.HannWindow'
    size = operand_def()
    output = result_def()
    output_datatype = opt_prop_def(IntegerAttr)
    periodic = opt_prop_def(IntegerAttr)


@irdl_op_definition
class HardSigmoidOp(OnnxOp):
    """ONNX `HardSigmoid`, since 1, 6, 22."""

    name = 'onnx.HardSigmoid'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)
    beta = opt_prop_def(FloatAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class HardSwishOp(OnnxOp):
    """ONNX `HardSwish`, since 14, 22."""

    name = 'onnx.HardSwish'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class HardmaxOp(OnnxOp):
    """ONNX `Hardmax`, since 1, 11, 13."""

    name = 'onnx.Hardmax'
    input = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class IdentityOp(OnnxOp):
    """ONNX `Identity`, since 1, 13, 14, 16, 19, 21, 23, 24, 25."""

    name = 'onnx.Identity'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class IfOp(OnnxOp):
    """ONNX `If`, since 1, 11, 13, 16, 19, 21, 23, 24, 25."""

    name = 'onnx.If'
    cond = operand_def()
    outputs = var_result_def()
    else_branch = region_def()
    then_branch = region_def()


@irdl_op_definition
class ImageDecoderOp(OnnxOp):
    """ONNX `ImageDecoder`, since 20."""

    name = 'onnx.ImageDecoder'
    encoded_stream = operand_def()
    image = result_def()
    pixel_format = opt_prop_def(STRING)


@irdl_op_definition
class InstanceNormalizationOp(OnnxOp):
    """ONNX `InstanceNormalization`, since 1, 6, 22."""

    name = 'onnx.InstanceNormalization'
    input = operand_def()
    scale = operand_def()
    B = operand_def()
    output = result_def()
    consumed_inputs = opt_prop_def(INTS)
    epsilon = opt_prop_def(FloatAttr)


@irdl_op_definition
class IsInfOp(OnnxOp):
    """ONNX `IsInf`, since 10, 20."""

    name = 'onnx.IsInf'
    X = operand_def()
    Y = result_def()
    detect_negative = opt_prop_def(IntegerAttr)
    detect_positive = opt_prop_def(IntegerAttr)


@irdl_op_definition
class IsNaNOp(OnnxOp):
    """ONNX `IsNaN`, since 9, 13, 20."""

    name = 'onnx.IsNaN'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class LRNOp(OnnxOp):
    """ONNX `LRN`, since 1, 13."""

    name = 'onnx.LRN'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)
    beta = opt_prop_def(FloatAttr)
    bias = opt_prop_def(FloatAttr)
    size = opt_prop_def(IntegerAttr)


@irdl_op_definition
class LSTMOp(OnnxOp):
    """ONNX `LSTM`, since 1, 7, 14, 22."""

    name = 'onnx.LSTM'
    X = operand_def()
    W = operand_def()
    R = operand_def()
    B = opt_operand_def()
    sequence_lens = opt_operand_def()
    initial_h = opt_operand_def()
    initial_c = opt_operand_def()
    P = opt_operand_def()
    Y = opt_result_def()
    Y_h = opt_result_def()
    Y_c = opt_result_def()
    activation_alpha = opt_prop_def(FLOATS)
    activation_beta = opt_prop_def(FLOATS)
    activations = opt_prop_def(STRINGS)
    clip = opt_prop_def(FloatAttr)
    direction = opt_prop_def(STRING)
    hidden_size = opt_prop_def(IntegerAttr)
    input_forget = opt_prop_def(IntegerAttr)
    layout = opt_prop_def(IntegerAttr)
    output_sequence = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS, RESULT_SEGMENTS,)


@irdl_op_definition
class LayerNormalizationOp(OnnxOp):
    """ONNX `LayerNormalization`, since 17."""

    name = 'onnx.LayerNormalization'
    X = operand_def()
    Scale = operand_def()
    B = opt_operand_def()
    Y = result_def()
    Mean = opt_result_def()
    InvStdDev = opt_result_def()
    axis = opt_prop_def(IntegerAttr)
    epsilon = opt_prop_def(FloatAttr)
    stash_type = opt_prop_def(IntegerAttr)
    irdl_options = (RESULT_SEGMENTS,)


@irdl_op_definition
class LeakyReluOp(OnnxOp):
    """ONNX `LeakyRelu`, since 1, 6, 16."""

    name = 'onnx.LeakyRelu'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class LessOp(OnnxOp):
    """ONNX `Less`, since 1, 7, 9, 13."""

    name = 'onnx.Less'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class LessOrEqualOp(OnnxOp):
    """ONNX `LessOrEqual`, since 12, 16."""

    name = 'onnx.LessOrEqual'
    A = operand_def()
    B = operand_def()
    C = result_def()


@irdl_op_definition
class LinearAttentionOp(OnnxOp):
    """ONNX `LinearAttention`, since 27."""

    name = 'onnx.LinearAttention'
    query = operand_def()
    key = operand_def()
    value = operand_def()
    past_state = opt_operand_def()
    decay = opt_operand_def()
    beta = opt_operand_def()
    output = result_def()
    present_state = result_def()
    chunk_size = opt_prop_def(IntegerAttr)
    kv_num_heads = opt_prop_def(IntegerAttr)
    q_num_heads = opt_prop_def(IntegerAttr)
    scale = opt_prop_def(FloatAttr)
    update_rule = opt_prop_def(STRING)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class LogOp(OnnxOp):
    """ONNX `Log`, since 1, 6, 13."""

    name = 'onnx.Log'
    input = operand_def()
    output = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class LogSoftmaxOp(OnnxOp):
    """ONNX `LogSoftmax`, since 1, 11, 13."""

    name = 'onnx.LogSoftmax'
    input = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class LoopOp(OnnxOp):
    """ONNX `Loop`, since 1, 11, 13, 16, 19, 21, 23, 24, 25."""

    name = 'onnx.Loop'
    M = opt_operand_def()
    cond = opt_operand_def()
    v_initial = var_operand_def()
    v_final_and_scan_outputs = var_result_def()
    body = region_def()
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class LpNormalizationOp(OnnxOp):
    """ONNX `LpNormalization`, since 1, 22."""

    name = 'onnx.LpNormalization'
    input = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)
    p = opt_prop_def(IntegerAttr)


@irdl_op_definition
class LpPoolOp(OnnxOp):
    """ONNX `LpPool`, since 1, 2, 11, 18, 22."""

    name = 'onnx.LpPool'
    X = operand_def()
    Y = result_def()
    auto_pad = opt_prop_def(STRING)
    ceil_mode = opt_prop_def(IntegerAttr)
    dilations = opt_prop_def(INTS)
    kernel_shape = opt_prop_def(INTS)
    p = opt_prop_def()
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class MatMulOp(OnnxOp):
    """ONNX `MatMul`, since 1, 9, 13."""

    name = 'onnx.MatMul'
    A = operand_def()
    B = operand_def()
    Y = result_def()


@irdl_op_definition
class MatMulIntegerOp(OnnxOp):
    """ONNX `MatMulInteger`, since 10."""

    name = 'onnx.MatMulInteger'
    A = operand_def()
    B = operand_def()
    a_zero_point = opt_operand_def()
    b_zero_point = opt_operand_def()
    Y = result_def()
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class MaxOp(OnnxOp):
    """ONNX `Max`, since 1, 6, 8, 12, 13."""

    name = 'onnx.Max'
    data_0 = var_operand_def()
    max = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class MaxPoolOp(OnnxOp):
    """ONNX `MaxPool`, since 1, 8, 10, 11, 12, 22."""

    name = 'onnx.MaxPool'
    X = operand_def()
    Y = result_def()
    Indices = opt_result_def()
    auto_pad = opt_prop_def(STRING)
    ceil_mode = opt_prop_def(IntegerAttr)
    dilations = opt_prop_def(INTS)
    kernel_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    storage_order = opt_prop_def(IntegerAttr)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class MaxRoiPoolOp(OnnxOp):
    """ONNX `MaxRoiPool`, since 1, 22."""

    name = 'onnx.MaxRoiPool'
    X = operand_def()
    rois = operand_def()
    Y = result_def()
    pooled_shape = opt_prop_def(INTS)
    spatial_scale = opt_prop_def(FloatAttr)


@irdl_op_definition
class MaxUnpoolOp(OnnxOp):
    """ONNX `MaxUnpool`, since 9, 11, 22."""

    name = 'onnx.MaxUnpool'
    X = operand_def()
    I = operand_def()
    output_shape = opt_operand_def()
    output = result_def()
    kernel_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class MeanOp(OnnxOp):
    """ONNX `Mean`, since 1, 6, 8, 13."""

    name = 'onnx.Mean'
    data_0 = var_operand_def()
    mean = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class MeanVarianceNormalizationOp(OnnxOp):
    """ONNX `MeanVarianceNormalization`, since 9, 13."""

    name = 'onnx.MeanVarianceNormalization'
    X = operand_def()
    Y = result_def()
    axes = opt_prop_def(INTS)


@irdl_op_definition
class MelWeightMatrixOp(OnnxOp):
    """ONNX `MelWeightMatrix`, since 17."""

    name = 'onnx.MelWeightMatrix'
    num_mel_bins = operand_def()
    dft_length = operand_def()
    sample_rate = operand_def()
    lower_edge_hertz = operand_def()
    upper_edge_hertz = operand_def()
    output = result_def()
    output_datatype = opt_prop_def(IntegerAttr)


@irdl_op_definition
class MinOp(OnnxOp):
    """ONNX `Min`, since 1, 6, 8, 12, 13."""

    name = 'onnx.Min'
    data_0 = var_operand_def()
    min = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class MishOp(OnnxOp):
    """ONNX `Mish`, since 18, 22."""

    name = 'onnx.Mish'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class ModOp(OnnxOp):
    """ONNX `Mod`, since 10, 13, 28."""

    name = 'onnx.Mod'
    A = operand_def()
    B = operand_def()
    C = result_def()
    fmod = opt_prop_def(IntegerAttr)


@irdl_op_definition
class MulOp(OnnxOp):
    """ONNX `Mul`, since 1, 6, 7, 13, 14."""

    name = 'onnx.Mul'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class MultinomialOp(OnnxOp):
    """ONNX `Multinomial`, since 7, 22."""

    name = 'onnx.Multinomial'
    input = operand_def()
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    sample_size = opt_prop_def(IntegerAttr)
    seed = opt_prop_def(FloatAttr)


@irdl_op_definition
class NegOp(OnnxOp):
    """ONNX `Neg`, since 1, 6, 13."""

    name = 'onnx.Neg'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class NegativeLogLikelihoodLossOp(OnnxOp):
    """ONNX `NegativeLogLikelihoodLoss`, since 12, 13, 22."""

    name = 'onnx.NegativeLogLikelihoodLoss'
    input = operand_def()
    target = operand_def()
    weight = opt_operand_def()
    loss = result_def()
    ignore_index = opt_prop_def(IntegerAttr)
    reduction = opt_prop_def(STRING)


@irdl_op_definition
class NonMaxSuppressionOp(OnnxOp):
    """ONNX `NonMaxSuppression`, since 10, 11."""

    name = 'onnx.NonMaxSuppression'
    boxes = operand_def()
    scores = operand_def()
    max_output_boxes_per_class = opt_operand_def()
    iou_threshold = opt_operand_def()
    score_threshold = opt_operand_def()
    selected_indices = result_def()
    center_point_box = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class NonZeroOp(OnnxOp):
    """ONNX `NonZero`, since 9, 13."""

    name = 'onnx.NonZero'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class NotOp(OnnxOp):
    """ONNX `Not`, since 1."""

    name = 'onnx.Not'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class OneHotOp(OnnxOp):
    """ONNX `OneHot`, since 9, 11, 28."""

    name = 'onnx.OneHot'
    indices = operand_def()
    depth = operand_def()
    values = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class OptionalOp(OnnxOp):
    """ONNX `Optional`, since 15, 28."""

    name = 'onnx.Optional'
    input = opt_operand_def()
    output = result_def()
    type = opt_prop_def()


@irdl_op_definition
class OptionalGetElementOp(OnnxOp):
    """ONNX `OptionalGetElement`, since 15, 18, 28."""

    name = 'onnx.OptionalGetElement'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class OptionalHasElementOp(OnnxOp):
    """ONNX `OptionalHasElement`, since 15, 18, 28."""

    name = 'onnx.OptionalHasElement'
    input = opt_operand_def()
    output = result_def()


@irdl_op_definition
class OrOp(OnnxOp):
    """ONNX `Or`, since 1, 7."""

    name = 'onnx.Or'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class PReluOp(OnnxOp):
    """ONNX `PRelu`, since 1, 6, 7, 9, 16."""

    name = 'onnx.PRelu'
    X = operand_def()
    slope = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class PadOp(OnnxOp):
    """ONNX `Pad`, since 1, 2, 11, 13, 18, 19, 21, 23, 24, 25."""

    name = 'onnx.Pad'
    data = operand_def()
    pads = opt_operand_def()
    constant_value = opt_operand_def()
    axes = opt_operand_def()
    output = result_def()
    mode = opt_prop_def(STRING)
    paddings = opt_prop_def(INTS)
    pads_attr = opt_prop_def(INTS, prop_name='pads')
    value = opt_prop_def(FloatAttr)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class PowOp(OnnxOp):
    """ONNX `Pow`, since 1, 7, 12, 13, 15."""

    name = 'onnx.Pow'
    X = operand_def()
    Y = operand_def()
    Z = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class QLinearConvOp(OnnxOp):
    """ONNX `QLinearConv`, since 10."""

    name = 'onnx.QLinearConv'
    x = operand_def()
    x_scale = operand_def()
    x_zero_point = operand_def()
    w = operand_def()
    w_scale = operand_def()
    w_zero_point = operand_def()
    y_scale = operand_def()
    y_zero_point = operand_def()
    B = opt_operand_def()
    y = result_def()
    auto_pad = opt_prop_def(STRING)
    dilations = opt_prop_def(INTS)
    group = opt_prop_def(IntegerAttr)
    kernel_shape = opt_prop_def(INTS)
    pads = opt_prop_def(INTS)
    strides = opt_prop_def(INTS)


@irdl_op_definition
class QLinearMatMulOp(OnnxOp):
    """ONNX `QLinearMatMul`, since 10, 21."""

    name = 'onnx.QLinearMatMul'
    a = operand_def()
    a_scale = operand_def()
    a_zero_point = operand_def()
    b = operand_def()
    b_scale = operand_def()
    b_zero_point = operand_def()
    y_scale = operand_def()
    y_zero_point = operand_def()
    y = result_def()


@irdl_op_definition
class QuantizeLinearOp(OnnxOp):
    """ONNX `QuantizeLinear`, since 10, 13, 19, 21, 23, 24, 25, 28."""

    name = 'onnx.QuantizeLinear'
    x = operand_def()
    y_scale = operand_def()
    y_zero_point = opt_operand_def()
    y = result_def()
    axis = opt_prop_def(IntegerAttr)
    block_size = opt_prop_def(IntegerAttr)
    output_dtype = opt_prop_def(IntegerAttr)
    precision = opt_prop_def(IntegerAttr)
    saturate = opt_prop_def(IntegerAttr)


@irdl_op_definition
class RMSNormalizationOp(OnnxOp):
    """ONNX `RMSNormalization`, since 23."""

    name = 'onnx.RMSNormalization'
    X = operand_def()
    scale = operand_def()
    Y = result_def()
    axis = opt_prop_def(IntegerAttr)
    epsilon = opt_prop_def(FloatAttr)
    stash_type = opt_prop_def(IntegerAttr)


@irdl_op_definition
class RNNOp(OnnxOp):
    """ONNX `RNN`, since 1, 7, 14, 22."""

    name = 'onnx.RNN'
    X = operand_def()
    W = operand_def()
    R = operand_def()
    B = opt_operand_def()
    sequence_lens = opt_operand_def()
    initial_h = opt_operand_def()
    Y = opt_result_def()
    Y_h = opt_result_def()
    activation_alpha = opt_prop_def(FLOATS)
    activation_beta = opt_prop_def(FLOATS)
    activations = opt_prop_def(STRINGS)
    clip = opt_prop_def(FloatAttr)
    direction = opt_prop_def(STRING)
    hidden_size = opt_prop_def(IntegerAttr)
    layout = opt_prop_def(IntegerAttr)
    output_sequence = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS, RESULT_SEGMENTS,)


@irdl_op_definition
class RandomNormalOp(OnnxOp):
    """ONNX `RandomNormal`, since 1, 22."""

    name = 'onnx.RandomNormal'
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    mean = opt_prop_def(FloatAttr)
    scale = opt_prop_def(FloatAttr)
    seed = opt_prop_def(FloatAttr)
    shape = opt_prop_def(INTS)


@irdl_op_definition
class RandomNormalLikeOp(OnnxOp):
    """ONNX `RandomNormalLike`, since 1, 22."""

    name = 'onnx.RandomNormalLike'
    input = operand_def()
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    mean = opt_prop_def(FloatAttr)
    scale = opt_prop_def(FloatAttr)
    seed = opt_prop_def(FloatAttr)


@irdl_op_definition
class RandomUniformOp(OnnxOp):
    """ONNX `RandomUniform`, since 1, 22."""

    name = 'onnx.RandomUniform'
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    high = opt_prop_def(FloatAttr)
    low = opt_prop_def(FloatAttr)
    seed = opt_prop_def(FloatAttr)
    shape = opt_prop_def(INTS)


@irdl_op_definition
class RandomUniformLikeOp(OnnxOp):
    """ONNX `RandomUniformLike`, since 1, 22."""

    name = 'onnx.RandomUniformLike'
    input = operand_def()
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)
    high = opt_prop_def(FloatAttr)
    low = opt_prop_def(FloatAttr)
    seed = opt_prop_def(FloatAttr)


@irdl_op_definition
class RangeOp(OnnxOp):
    """ONNX `Range`, since 11, 27."""

    name = 'onnx.Range'
    start = operand_def()
    limit = operand_def()
    delta = operand_def()
    output = result_def()
    stash_type = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReciprocalOp(OnnxOp):
    """ONNX `Reciprocal`, since 1, 6, 13."""

    name = 'onnx.Reciprocal'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class ReduceL1Op(OnnxOp):
    """ONNX `ReduceL1`, since 1, 11, 13, 18."""

    name = 'onnx.ReduceL1'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceL2Op(OnnxOp):
    """ONNX `ReduceL2`, since 1, 11, 13, 18."""

    name = 'onnx.ReduceL2'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceLogSumOp(OnnxOp):
    """ONNX `ReduceLogSum`, since 1, 11, 13, 18, 28."""

    name = 'onnx.ReduceLogSum'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceLogSumExpOp(OnnxOp):
    """ONNX `ReduceLogSumExp`, since 1, 11, 13, 18, 28."""

    name = 'onnx.ReduceLogSumExp'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceMaxOp(OnnxOp):
    """ONNX `ReduceMax`, since 1, 11, 12, 13, 18, 20."""

    name = 'onnx.ReduceMax'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceMeanOp(OnnxOp):
    """ONNX `ReduceMean`, since 1, 11, 13, 18."""

    name = 'onnx.ReduceMean'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceMinOp(OnnxOp):
    """ONNX `ReduceMin`, since 1, 11, 12, 13, 18, 20."""

    name = 'onnx.ReduceMin'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceProdOp(OnnxOp):
    """ONNX `ReduceProd`, since 1, 11, 13, 18."""

    name = 'onnx.ReduceProd'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceSumOp(OnnxOp):
    """ONNX `ReduceSum`, since 1, 11, 13."""

    name = 'onnx.ReduceSum'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ReduceSumSquareOp(OnnxOp):
    """ONNX `ReduceSumSquare`, since 1, 11, 13, 18."""

    name = 'onnx.ReduceSumSquare'
    data = operand_def()
    axes = opt_operand_def()
    reduced = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    keepdims = opt_prop_def(IntegerAttr)
    noop_with_empty_axes = opt_prop_def(IntegerAttr)


@irdl_op_definition
class RegexFullMatchOp(OnnxOp):
    """ONNX `RegexFullMatch`, since 20."""

    name = 'onnx.RegexFullMatch'
    X = operand_def()
    Y = result_def()
    pattern = opt_prop_def(STRING)


@irdl_op_definition
class ReluOp(OnnxOp):
    """ONNX `Relu`, since 1, 6, 13, 14."""

    name = 'onnx.Relu'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class ReshapeOp(OnnxOp):
    """ONNX `Reshape`, since 1, 5, 13, 14, 19, 21, 23, 24, 25."""

    name = 'onnx.Reshape'
    data = operand_def()
    shape = opt_operand_def()
    reshaped = result_def()
    allowzero = opt_prop_def(IntegerAttr)
    consumed_inputs = opt_prop_def(INTS)
    shape_attr = opt_prop_def(INTS, prop_name='shape')


@irdl_op_definition
class ResizeOp(OnnxOp):
    """ONNX `Resize`, since 10, 11, 13, 18, 19."""

    name = 'onnx.Resize'
    X = operand_def()
    roi = opt_operand_def()
    scales = opt_operand_def()
    sizes = opt_operand_def()
    Y = result_def()
    antialias = opt_prop_def(IntegerAttr)
    axes = opt_prop_def(INTS)
    coordinate_transformation_mode = opt_prop_def(STRING)
    cubic_coeff_a = opt_prop_def(FloatAttr)
    exclude_outside = opt_prop_def(IntegerAttr)
    extrapolation_value = opt_prop_def(FloatAttr)
    keep_aspect_ratio_policy = opt_prop_def(STRING)
    mode = opt_prop_def(STRING)
    nearest_mode = opt_prop_def(STRING)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class ReverseSequenceOp(OnnxOp):
    """ONNX `ReverseSequence`, since 10, 28."""

    name = 'onnx.ReverseSequence'
    input = operand_def()
    sequence_lens = operand_def()
    Y = result_def()
    batch_axis = opt_prop_def(IntegerAttr)
    time_axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class RoiAlignOp(OnnxOp):
    """ONNX `RoiAlign`, since 10, 16, 22."""

    name = 'onnx.RoiAlign'
    X = operand_def()
    rois = operand_def()
    batch_indices = operand_def()
    Y = result_def()
    coordinate_transformation_mode = opt_prop_def(STRING)
    mode = opt_prop_def(STRING)
    output_height = opt_prop_def(IntegerAttr)
    output_width = opt_prop_def(IntegerAttr)
    sampling_ratio = opt_prop_def(IntegerAttr)
    spatial_scale = opt_prop_def(FloatAttr)


@irdl_op_definition
class RotaryEmbeddingOp(OnnxOp):
    """ONNX `RotaryEmbedding`, since 23."""

    name = 'onnx.RotaryEmbedding'
    X = operand_def()
    cos_cache = operand_def()
    sin_cache = operand_def()
    position_ids = opt_operand_def()
    Y = result_def()
    interleaved = opt_prop_def(IntegerAttr)
    num_heads = opt_prop_def(IntegerAttr)
    rotary_embedding_dim = opt_prop_def(IntegerAttr)


@irdl_op_definition
class RoundOp(OnnxOp):
    """ONNX `Round`, since 11, 22."""

    name = 'onnx.Round'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class STFTOp(OnnxOp):
    """ONNX `STFT`, since 17."""

    name = 'onnx.STFT'
    signal = operand_def()
    frame_step = operand_def()
    window = opt_operand_def()
    frame_length = opt_operand_def()
    output = result_def()
    onesided = opt_prop_def(IntegerAttr)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class ScanOp(OnnxOp):
    """ONNX `Scan`, since 8, 9, 11, 16, 19, 21, 23, 24, 25."""

    name = 'onnx.Scan'
    initial_state_and_scan_inputs = var_operand_def()
    sequence_lens = opt_operand_def()
    final_state_and_scan_outputs = var_result_def()
    body = region_def()
    directions = opt_prop_def(INTS)
    num_scan_inputs = opt_prop_def(IntegerAttr)
    scan_input_axes = opt_prop_def(INTS)
    scan_input_directions = opt_prop_def(INTS)
    scan_output_axes = opt_prop_def(INTS)
    scan_output_directions = opt_prop_def(INTS)
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class ScatterOp(OnnxOp):
    """ONNX `Scatter`, since 9, 11."""

    name = 'onnx.Scatter'
    data = operand_def()
    indices = operand_def()
    updates = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ScatterElementsOp(OnnxOp):
    """ONNX `ScatterElements`, since 11, 13, 16, 18."""

    name = 'onnx.ScatterElements'
    data = operand_def()
    indices = operand_def()
    updates = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)
    reduction = opt_prop_def(STRING)


@irdl_op_definition
class ScatterNDOp(OnnxOp):
    """ONNX `ScatterND`, since 11, 13, 16, 18."""

    name = 'onnx.ScatterND'
    data = operand_def()
    indices = operand_def()
    updates = operand_def()
    output = result_def()
    reduction = opt_prop_def(STRING)


@irdl_op_definition
class SeluOp(OnnxOp):
    """ONNX `Selu`, since 1, 6, 22."""

    name = 'onnx.Selu'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)
    consumed_inputs = opt_prop_def(INTS)
    gamma = opt_prop_def(FloatAttr)


@irdl_op_definition
class SequenceAtOp(OnnxOp):
    """ONNX `SequenceAt`, since 11."""

    name = 'onnx.SequenceAt'
    input_sequence = operand_def()
    position = operand_def()
    tensor = result_def()


@irdl_op_definition
class SequenceConstructOp(OnnxOp):
    """ONNX `SequenceConstruct`, since 11."""

    name = 'onnx.SequenceConstruct'
    inputs = var_operand_def()
    output_sequence = result_def()


@irdl_op_definition
class SequenceEmptyOp(OnnxOp):
    """ONNX `SequenceEmpty`, since 11."""

    name = 'onnx.SequenceEmpty'
    output = result_def()
    dtype = opt_prop_def(IntegerAttr)


@irdl_op_definition
class SequenceEraseOp(OnnxOp):
    """ONNX `SequenceErase`, since 11."""

    name = 'onnx.SequenceErase'
    input_sequence = operand_def()
    position = opt_operand_def()
    output_sequence = result_def()


@irdl_op_definition
class SequenceInsertOp(OnnxOp):
    """ONNX `SequenceInsert`, since 11."""

    name = 'onnx.SequenceInsert'
    input_sequence = operand_def()
    tensor = operand_def()
    position = opt_operand_def()
    output_sequence = result_def()


@irdl_op_definition
class SequenceLengthOp(OnnxOp):
    """ONNX `SequenceLength`, since 11."""

    name = 'onnx.SequenceLength'
    input_sequence = operand_def()
    length = result_def()


@irdl_op_definition
class SequenceMapOp(OnnxOp):
    """ONNX `SequenceMap`, since 17."""

    name = 'onnx.SequenceMap'
    input_sequence = operand_def()
    additional_inputs = var_operand_def()
    out_sequence = var_result_def()
    body = region_def()


@irdl_op_definition
class ShapeOp(OnnxOp):
    """ONNX `Shape`, since 1, 13, 15, 19, 21, 23, 24, 25."""

    name = 'onnx.Shape'
    data = operand_def()
    shape = result_def()
    end = opt_prop_def(IntegerAttr)
    start = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ShrinkOp(OnnxOp):
    """ONNX `Shrink`, since 9."""

    name = 'onnx.Shrink'
    input = operand_def()
    output = result_def()
    bias = opt_prop_def(FloatAttr)
    lambd = opt_prop_def(FloatAttr)


@irdl_op_definition
class SigmoidOp(OnnxOp):
    """ONNX `Sigmoid`, since 1, 6, 13."""

    name = 'onnx.Sigmoid'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class SignOp(OnnxOp):
    """ONNX `Sign`, since 9, 13."""

    name = 'onnx.Sign'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class SinOp(OnnxOp):
    """ONNX `Sin`, since 7, 22."""

    name = 'onnx.Sin'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class SinhOp(OnnxOp):
    """ONNX `Sinh`, since 9, 22."""

    name = 'onnx.Sinh'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class SizeOp(OnnxOp):
    """ONNX `Size`, since 1, 13, 19, 21, 23, 24, 25."""

    name = 'onnx.Size'
    data = operand_def()
    size = result_def()


@irdl_op_definition
class SliceOp(OnnxOp):
    """ONNX `Slice`, since 1, 10, 11, 13."""

    name = 'onnx.Slice'
    data = operand_def()
    starts = opt_operand_def()
    ends = opt_operand_def()
    axes = opt_operand_def()
    steps = opt_operand_def()
    output = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')
    ends_attr = opt_prop_def(INTS, prop_name='ends')
    starts_attr = opt_prop_def(INTS, prop_name='starts')
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class SoftmaxOp(OnnxOp):
    """ONNX `Softmax`, since 1, 11, 13."""

    name = 'onnx.Softmax'
    input = operand_def()
    output = result_def()
    axis = opt_prop_def(IntegerAttr)


@irdl_op_definition
class SoftmaxCrossEntropyLossOp(OnnxOp):
    """ONNX `SoftmaxCrossEntropyLoss`, since 12, 13."""

    name = 'onnx.SoftmaxCrossEntropyLoss'
    scores = operand_def()
    labels = operand_def()
    weights = opt_operand_def()
    output = result_def()
    log_prob = opt_result_def()
    ignore_index = opt_prop_def(IntegerAttr)
    reduction = opt_prop_def(STRING)


@irdl_op_definition
class SoftplusOp(OnnxOp):
    """ONNX `Softplus`, since 1, 22."""

    name = 'onnx.Softplus'
    X = operand_def()
    Y = result_def()


@irdl_op_definition
class SoftsignOp(OnnxOp):
    """ONNX `Softsign`, since 1, 22."""

    name = 'onnx.Softsign'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class SpaceToDepthOp(OnnxOp):
    """ONNX `SpaceToDepth`, since 1, 13, 28."""

    name = 'onnx.SpaceToDepth'
    input = operand_def()
    output = result_def()
    blocksize = opt_prop_def(IntegerAttr)
    mode = opt_prop_def(STRING)


@irdl_op_definition
class SplitOp(OnnxOp):
    """ONNX `Split`, since 1, 2, 11, 13, 18."""

    name = 'onnx.Split'
    input = operand_def()
    split = opt_operand_def()
    outputs = var_result_def()
    axis = opt_prop_def(IntegerAttr)
    num_outputs = opt_prop_def(IntegerAttr)
    split_attr = opt_prop_def(INTS, prop_name='split')


@irdl_op_definition
class SplitToSequenceOp(OnnxOp):
    """ONNX `SplitToSequence`, since 11, 24."""

    name = 'onnx.SplitToSequence'
    input = operand_def()
    split = opt_operand_def()
    output_sequence = result_def()
    axis = opt_prop_def(IntegerAttr)
    keepdims = opt_prop_def(IntegerAttr)


@irdl_op_definition
class SqrtOp(OnnxOp):
    """ONNX `Sqrt`, since 1, 6, 13."""

    name = 'onnx.Sqrt'
    X = operand_def()
    Y = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class SqueezeOp(OnnxOp):
    """ONNX `Squeeze`, since 1, 11, 13, 21, 23, 24, 25."""

    name = 'onnx.Squeeze'
    data = operand_def()
    axes = opt_operand_def()
    squeezed = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')


@irdl_op_definition
class StringConcatOp(OnnxOp):
    """ONNX `StringConcat`, since 20."""

    name = 'onnx.StringConcat'
    X = operand_def()
    Y = operand_def()
    Z = result_def()


@irdl_op_definition
class StringNormalizerOp(OnnxOp):
    """ONNX `StringNormalizer`, since 10."""

    name = 'onnx.StringNormalizer'
    X = operand_def()
    Y = result_def()
    case_change_action = opt_prop_def(STRING)
    is_case_sensitive = opt_prop_def(IntegerAttr)
    locale = opt_prop_def(STRING)
    stopwords = opt_prop_def(STRINGS)


@irdl_op_definition
class StringSplitOp(OnnxOp):
    """ONNX `StringSplit`, since 20."""

    name = 'onnx.StringSplit'
    X = operand_def()
    Y = result_def()
    Z = result_def()
    delimiter = opt_prop_def(STRING)
    maxsplit = opt_prop_def(IntegerAttr)


@irdl_op_definition
class SubOp(OnnxOp):
    """ONNX `Sub`, since 1, 6, 7, 13, 14."""

    name = 'onnx.Sub'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class SumOp(OnnxOp):
    """ONNX `Sum`, since 1, 6, 8, 13."""

    name = 'onnx.Sum'
    data_0 = var_operand_def()
    sum = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class SwiGLUOp(OnnxOp):
    """ONNX `SwiGLU`, since 28."""

    name = 'onnx.SwiGLU'
    A = operand_def()
    B = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)


@irdl_op_definition
class SwishOp(OnnxOp):
    """ONNX `Swish`, since 24."""

    name = 'onnx.Swish'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)


@irdl_op_definition
class TanOp(OnnxOp):
    """ONNX `Tan`, since 7, 22."""

    name = 'onnx.Tan'
    input = operand_def()
    output = result_def()


@irdl_op_definition
class TanhOp(OnnxOp):
    """ONNX `Tanh`, since 1, 6, 13."""

    name = 'onnx.Tanh'
    input = operand_def()
    output = result_def()
    consumed_inputs = opt_prop_def(INTS)


@irdl_op_definition
class TensorScatterOp(OnnxOp):
    """ONNX `TensorScatter`, since 24."""

    name = 'onnx.TensorScatter'
    past_cache = operand_def()
    update = operand_def()
    write_indices = opt_operand_def()
    present_cache = result_def()
    axis = opt_prop_def(IntegerAttr)
    mode = opt_prop_def(STRING)


@irdl_op_definition
class TfIdfVectorizerOp(OnnxOp):
    """ONNX `TfIdfVectorizer`, since 9."""

    name = 'onnx.TfIdfVectorizer'
    X = operand_def()
    Y = result_def()
    max_gram_length = opt_prop_def(IntegerAttr)
    max_skip_count = opt_prop_def(IntegerAttr)
    min_gram_length = opt_prop_def(IntegerAttr)
    mode = opt_prop_def(STRING)
    ngram_counts = opt_prop_def(INTS)
    ngram_indexes = opt_prop_def(INTS)
    pool_int64s = opt_prop_def(INTS)
    pool_strings = opt_prop_def(STRINGS)
    weights = opt_prop_def(FLOATS)


@irdl_op_definition
class ThresholdedReluOp(OnnxOp):
    """ONNX `ThresholdedRelu`, since 10, 22."""

    name = 'onnx.ThresholdedRelu'
    X = operand_def()
    Y = result_def()
    alpha = opt_prop_def(FloatAttr)


@irdl_op_definition
class TileOp(OnnxOp):
    """ONNX `Tile`, since 1, 6, 13."""

    name = 'onnx.Tile'
    input = operand_def()
    repeats = opt_operand_def()
    tiles = opt_operand_def()
    axis = opt_operand_def()
    output = result_def()
    irdl_options = (OPERAND_SEGMENTS,)


@irdl_op_definition
class TopKOp(OnnxOp):
    """ONNX `TopK`, since 1, 10, 11, 24."""

    name = 'onnx.TopK'
    X = operand_def()
    K = opt_operand_def()
    Values = result_def()
    Indices = result_def()
    axis = opt_prop_def(IntegerAttr)
    k = opt_prop_def(IntegerAttr)
    largest = opt_prop_def(IntegerAttr)
    sorted = opt_prop_def(IntegerAttr)


@irdl_op_definition
class TransposeOp(OnnxOp):
    """ONNX `Transpose`, since 1, 13, 21, 23, 24, 25."""

    name = 'onnx.Transpose'
    data = operand_def()
    transposed = result_def()
    perm = opt_prop_def(INTS)


@irdl_op_definition
class TriluOp(OnnxOp):
    """ONNX `Trilu`, since 14."""

    name = 'onnx.Trilu'
    input = operand_def()
    k = opt_operand_def()
    output = result_def()
    upper = opt_prop_def(IntegerAttr)


@irdl_op_definition
class UniqueOp(OnnxOp):
    """ONNX `Unique`, since 11, 28."""

    name = 'onnx.Unique'
    X = operand_def()
    Y = result_def()
    indices = opt_result_def()
    inverse_indices = opt_result_def()
    counts = opt_result_def()
    axis = opt_prop_def(IntegerAttr)
    sorted = opt_prop_def(IntegerAttr)
    irdl_options = (RESULT_SEGMENTS,)


@irdl_op_definition
class UnsqueezeOp(OnnxOp):
    """ONNX `Unsqueeze`, since 1, 11, 13, 21, 23, 24, 25."""

    name = 'onnx.Unsqueeze'
    data = operand_def()
    axes = opt_operand_def()
    expanded = result_def()
    axes_attr = opt_prop_def(INTS, prop_name='axes')


@irdl_op_definition
class UpsampleOp(OnnxOp):
    """ONNX `Upsample`, since 1, 7, 9, 10."""

    name = 'onnx.Upsample'
    X = operand_def()
    scales = opt_operand_def()
    Y = result_def()
    height_scale = opt_prop_def(FloatAttr)
    mode = opt_prop_def(STRING)
    scales_attr = opt_prop_def(FLOATS, prop_name='scales')
    width_scale = opt_prop_def(FloatAttr)


@irdl_op_definition
class WhereOp(OnnxOp):
    """ONNX `Where`, since 9, 16."""

    name = 'onnx.Where'
    condition = operand_def()
    X = operand_def()
    Y = operand_def()
    output = result_def()


@irdl_op_definition
class XorOp(OnnxOp):
    """ONNX `Xor`, since 1, 7."""

    name = 'onnx.Xor'
    A = operand_def()
    B = operand_def()
    C = result_def()
    axis = opt_prop_def(IntegerAttr)
    broadcast = opt_prop_def(IntegerAttr)


@irdl_op_definition
class ArrayFeatureExtractorOp(OnnxOp):
    """ONNX `ArrayFeatureExtractor` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.ArrayFeatureExtractor'
    X = operand_def()
    Y = operand_def()
    Z = result_def()


@irdl_op_definition
class BinarizerOp(OnnxOp):
    """ONNX `Binarizer` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.Binarizer'
    X = operand_def()
    Y = result_def()
    threshold = opt_prop_def(FloatAttr)


@irdl_op_definition
class CastMapOp(OnnxOp):
    """ONNX `CastMap` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.CastMap'
    X = operand_def()
    Y = result_def()
    cast_to = opt_prop_def(STRING)
    map_form = opt_prop_def(STRING)
    max_map = opt_prop_def(IntegerAttr)


@irdl_op_definition
class CategoryMapperOp(OnnxOp):
    """ONNX `CategoryMapper` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.CategoryMapper'
    X = operand_def()
    Y = result_def()
    cats_int64s = opt_prop_def(INTS)
    cats_strings = opt_prop_def(STRINGS)
    default_int64 = opt_prop_def(IntegerAttr)
    default_string = opt_prop_def(STRING)


@irdl_op_definition
class DictVectorizerOp(OnnxOp):
    """ONNX `DictVectorizer` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.DictVectorizer'
    X = operand_def()
    Y = result_def()
    int64_vocabulary = opt_prop_def(INTS)
    string_vocabulary = opt_prop_def(STRINGS)


@irdl_op_definition
class FeatureVectorizerOp(OnnxOp):
    """ONNX `FeatureVectorizer` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.FeatureVectorizer'
    X = var_operand_def()
    Y = result_def()
    inputdimensions = opt_prop_def(INTS)


@irdl_op_definition
class ImputerOp(OnnxOp):
    """ONNX `Imputer` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.Imputer'
    X = operand_def()
    Y = result_def()
    imputed_value_floats = opt_prop_def(FLOATS)
    imputed_value_int64s = opt_prop_def(INTS)
    replaced_value_float = opt_prop_def(FloatAttr)
    replaced_value_int64 = opt_prop_def(IntegerAttr)


@irdl_op_definition
class LabelEncoderOp(OnnxOp):
    """ONNX `LabelEncoder` of `ai.onnx.ml`, since 1, 2, 4."""

    name = 'onnx.ml.LabelEncoder'
    X = operand_def()
    Y = result_def()
    classes_strings = opt_prop_def(STRINGS)
    default_float = opt_prop_def(FloatAttr)
    default_int64 = opt_prop_def(IntegerAttr)
    default_string = opt_prop_def(STRING)
    default_tensor = opt_prop_def()
    keys_floats = opt_prop_def(FLOATS)
    keys_int64s = opt_prop_def(INTS)
    keys_strings = opt_prop_def(STRINGS)
    keys_tensor = opt_prop_def()
    values_floats = opt_prop_def(FLOATS)
    values_int64s = opt_prop_def(INTS)
    values_strings = opt_prop_def(STRINGS)
    values_tensor = opt_prop_def()


@irdl_op_definition
class LinearClassifierOp(OnnxOp):
    """ONNX `LinearClassifier` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.LinearClassifier'
    X = operand_def()
    Y = result_def()
    Z = result_def()
    classlabels_ints = opt_prop_def(INTS)
    classlabels_strings = opt_prop_def(STRINGS)
    coefficients = opt_prop_def(FLOATS)
    intercepts = opt_prop_def(FLOATS)
    multi_class = opt_prop_def(IntegerAttr)
    post_transform = opt_prop_def(STRING)


@irdl_op_definition
class LinearRegressorOp(OnnxOp):
    """ONNX `LinearRegressor` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.LinearRegressor'
    X = operand_def()
    Y = result_def()
    coefficients = opt_prop_def(FLOATS)
    intercepts = opt_prop_def(FLOATS)
    post_transform = opt_prop_def(STRING)
    targets = opt_prop_def(IntegerAttr)


@irdl_op_definition
class NormalizerOp(OnnxOp):
    """ONNX `Normalizer` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.Normalizer'
    X = operand_def()
    Y = result_def()
    norm = opt_prop_def(STRING)


@irdl_op_definition
class OneHotEncoderOp(OnnxOp):
    """ONNX `OneHotEncoder` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.OneHotEncoder'
    X = operand_def()
    Y = result_def()
    cats_int64s = opt_prop_def(INTS)
    cats_strings = opt_prop_def(STRINGS)
    zeros = opt_prop_def(IntegerAttr)


@irdl_op_definition
class SVMClassifierOp(OnnxOp):
    """ONNX `SVMClassifier` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.SVMClassifier'
    X = operand_def()
    Y = result_def()
    Z = result_def()
    classlabels_ints = opt_prop_def(INTS)
    classlabels_strings = opt_prop_def(STRINGS)
    coefficients = opt_prop_def(FLOATS)
    kernel_params = opt_prop_def(FLOATS)
    kernel_type = opt_prop_def(STRING)
    post_transform = opt_prop_def(STRING)
    prob_a = opt_prop_def(FLOATS)
    prob_b = opt_prop_def(FLOATS)
    rho = opt_prop_def(FLOATS)
    support_vectors = opt_prop_def(FLOATS)
    vectors_per_class = opt_prop_def(INTS)


@irdl_op_definition
class SVMRegressorOp(OnnxOp):
    """ONNX `SVMRegressor` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.SVMRegressor'
    X = operand_def()
    Y = result_def()
    coefficients = opt_prop_def(FLOATS)
    kernel_params = opt_prop_def(FLOATS)
    kernel_type = opt_prop_def(STRING)
    n_supports = opt_prop_def(IntegerAttr)
    one_class = opt_prop_def(IntegerAttr)
    post_transform = opt_prop_def(STRING)
    rho = opt_prop_def(FLOATS)
    support_vectors = opt_prop_def(FLOATS)


@irdl_op_definition
class ScalerOp(OnnxOp):
    """ONNX `Scaler` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.Scaler'
    X = operand_def()
    Y = result_def()
    offset = opt_prop_def(FLOATS)
    scale = opt_prop_def(FLOATS)


@irdl_op_definition
class TreeEnsembleOp(OnnxOp):
    """ONNX `TreeEnsemble` of `ai.onnx.ml`, since 5."""

    name = 'onnx.ml.TreeEnsemble'
    X = operand_def()
    Y = result_def()
    aggregate_function = opt_prop_def(IntegerAttr)
    leaf_targetids = opt_prop_def(INTS)
    leaf_weights = opt_prop_def()
    membership_values = opt_prop_def()
    n_targets = opt_prop_def(IntegerAttr)
    nodes_falseleafs = opt_prop_def(INTS)
    nodes_falsenodeids = opt_prop_def(INTS)
    nodes_featureids = opt_prop_def(INTS)
    nodes_hitrates = opt_prop_def()
    nodes_missing_value_tracks_true = opt_prop_def(INTS)
    nodes_modes = opt_prop_def()
    nodes_splits = opt_prop_def()
    nodes_trueleafs = opt_prop_def(INTS)
    nodes_truenodeids = opt_prop_def(INTS)
    post_transform = opt_prop_def(IntegerAttr)
    tree_roots = opt_prop_def(INTS)


@irdl_op_definition
class TreeEnsembleClassifierOp(OnnxOp):
    """ONNX `TreeEnsembleClassifier` of `ai.onnx.ml`, since 1, 3, 5."""

    name = 'onnx.ml.TreeEnsembleClassifier'
    X = operand_def()
    Y = result_def()
    Z = result_def()
    base_values = opt_prop_def(FLOATS)
    base_values_as_tensor = opt_prop_def()
    class_ids = opt_prop_def(INTS)
    class_nodeids = opt_prop_def(INTS)
    class_treeids = opt_prop_def(INTS)
    class_weights = opt_prop_def(FLOATS)
    class_weights_as_tensor = opt_prop_def()
    classlabels_int64s = opt_prop_def(INTS)
    classlabels_strings = opt_prop_def(STRINGS)
    nodes_falsenodeids = opt_prop_def(INTS)
    nodes_featureids = opt_prop_def(INTS)
    nodes_hitrates = opt_prop_def(FLOATS)
    nodes_hitrates_as_tensor = opt_prop_def()
    nodes_missing_value_tracks_true = opt_prop_def(INTS)
    nodes_modes = opt_prop_def(STRINGS)
    nodes_nodeids = opt_prop_def(INTS)
    nodes_treeids = opt_prop_def(INTS)
    nodes_truenodeids = opt_prop_def(INTS)
    nodes_values = opt_prop_def(FLOATS)
    nodes_values_as_tensor = opt_prop_def()
    post_transform = opt_prop_def(STRING)


@irdl_op_definition
class TreeEnsembleRegressorOp(OnnxOp):
    """ONNX `TreeEnsembleRegressor` of `ai.onnx.ml`, since 1, 3, 5."""

    name = 'onnx.ml.TreeEnsembleRegressor'
    X = operand_def()
    Y = result_def()
    aggregate_function = opt_prop_def(STRING)
    base_values = opt_prop_def(FLOATS)
    base_values_as_tensor = opt_prop_def()
    n_targets = opt_prop_def(IntegerAttr)
    nodes_falsenodeids = opt_prop_def(INTS)
    nodes_featureids = opt_prop_def(INTS)
    nodes_hitrates = opt_prop_def(FLOATS)
    nodes_hitrates_as_tensor = opt_prop_def()
    nodes_missing_value_tracks_true = opt_prop_def(INTS)
    nodes_modes = opt_prop_def(STRINGS)
    nodes_nodeids = opt_prop_def(INTS)
    nodes_treeids = opt_prop_def(INTS)
    nodes_truenodeids = opt_prop_def(INTS)
    nodes_values = opt_prop_def(FLOATS)
    nodes_values_as_tensor = opt_prop_def()
    post_transform = opt_prop_def(STRING)
    target_ids = opt_prop_def(INTS)
    target_nodeids = opt_prop_def(INTS)
    target_treeids = opt_prop_def(INTS)
    target_weights = opt_prop_def(FLOATS)
    target_weights_as_tensor = opt_prop_def()


@irdl_op_definition
class ZipMapOp(OnnxOp):
    """ONNX `ZipMap` of `ai.onnx.ml`, since 1."""

    name = 'onnx.ml.ZipMap'
    X = operand_def()
    Z = result_def()
    classlabels_int64s = opt_prop_def(INTS)
    classlabels_strings = opt_prop_def(STRINGS)


@irdl_op_definition
class FlexAttentionOp(OnnxOp):
    """ONNX `FlexAttention` of `ai.onnx.preview`, since 1."""

    name = 'onnx.preview.FlexAttention'
    Q = operand_def()
    K = operand_def()
    V = operand_def()
    Y = result_def()
    prob_mod = opt_region_def()
    scale = opt_prop_def(FloatAttr)
    score_mod = opt_region_def()
    softmax_precision = opt_prop_def(IntegerAttr)
    irdl_options = (REGION_SEGMENTS,)


@irdl_op_definition
class AdagradOp(OnnxOp):
    """ONNX `Adagrad` of `ai.onnx.preview.training`, since 1."""

    name = 'onnx.training.Adagrad'
    R = operand_def()
    T = operand_def()
    inputs = var_operand_def()
    outputs = var_result_def()
    decay_factor = opt_prop_def(FloatAttr)
    epsilon = opt_prop_def(FloatAttr)
    norm_coefficient = opt_prop_def(FloatAttr)


@irdl_op_definition
class AdamOp(OnnxOp):
    """ONNX `Adam` of `ai.onnx.preview.training`, since 1."""

    name = 'onnx.training.Adam'
    R = operand_def()
    T = operand_def()
    inputs = var_operand_def()
    outputs = var_result_def()
    alpha = opt_prop_def(FloatAttr)
    beta = opt_prop_def(FloatAttr)
    epsilon = opt_prop_def(FloatAttr)
    norm_coefficient = opt_prop_def(FloatAttr)
    norm_coefficient_post = opt_prop_def(FloatAttr)


@irdl_op_definition
class GradientOp(OnnxOp):
    """ONNX `Gradient` of `ai.onnx.preview.training`, since 1."""

    name = 'onnx.training.Gradient'
    Inputs = var_operand_def()
    Outputs = var_result_def()
    xs = opt_prop_def(STRINGS)
    y = opt_prop_def(STRING)
    zs = opt_prop_def(STRINGS)


@irdl_op_definition
class MomentumOp(OnnxOp):
    """ONNX `Momentum` of `ai.onnx.preview.training`, since 1."""

    name = 'onnx.training.Momentum'
    R = operand_def()
    T = operand_def()
    inputs = var_operand_def()
    outputs = var_result_def()
    alpha = opt_prop_def(FloatAttr)
    beta = opt_prop_def(FloatAttr)
    mode = opt_prop_def(STRING)
    norm_coefficient = opt_prop_def(FloatAttr)


OPS = (
    AbsOp,
    AcosOp,
    AcoshOp,
    AddOp,
    AffineGridOp,
    AndOp,
    ArgMaxOp,
    ArgMinOp,
    AsinOp,
    AsinhOp,
    AtanOp,
    AtanhOp,
    AttentionOp,
    AveragePoolOp,
    BatchNormalizationOp,
    BernoulliOp,
    BitCastOp,
    BitShiftOp,
    BitwiseAndOp,
    BitwiseNotOp,
    BitwiseOrOp,
    BitwiseXorOp,
    BlackmanWindowOp,
    CastOp,
    CastLikeOp,
    CausalConvWithStateOp,
    CeilOp,
    CeluOp,
    CenterCropPadOp,
    ClipOp,
    Col2ImOp,
    CompressOp,
    ConcatOp,
    ConcatFromSequenceOp,
    ConstantOp,
    ConstantOfShapeOp,
    ConvOp,
    ConvIntegerOp,
    ConvTransposeOp,
    CosOp,
    CoshOp,
    CumProdOp,
    CumSumOp,
    DFTOp,
    DeformConvOp,
    DepthToSpaceOp,
    DequantizeLinearOp,
    DetOp,
    DivOp,
    DropoutOp,
    DynamicQuantizeLinearOp,
    EinsumOp,
    EluOp,
    EqualOp,
    ErfOp,
    ExpOp,
    ExpandOp,
    EyeLikeOp,
    FlattenOp,
    FloorOp,
    GRUOp,
    GatherOp,
    GatherElementsOp,
    GatherNDOp,
    GeluOp,
    GemmOp,
    GlobalAveragePoolOp,
    GlobalLpPoolOp,
    GlobalMaxPoolOp,
    GreaterOp,
    GreaterOrEqualOp,
    GridSampleOp,
    GroupNormalizationOp,
    HammingWindowOp,
    HannWindowOp,
    HardSigmoidOp,
    HardSwishOp,
    HardmaxOp,
    IdentityOp,
    IfOp,
    ImageDecoderOp,
    InstanceNormalizationOp,
    IsInfOp,
    IsNaNOp,
    LRNOp,
    LSTMOp,
    LayerNormalizationOp,
    LeakyReluOp,
    LessOp,
    LessOrEqualOp,
    LinearAttentionOp,
    LogOp,
    LogSoftmaxOp,
    LoopOp,
    LpNormalizationOp,
    LpPoolOp,
    MatMulOp,
    MatMulIntegerOp,
    MaxOp,
    MaxPoolOp,
    MaxRoiPoolOp,
    MaxUnpoolOp,
    MeanOp,
    MeanVarianceNormalizationOp,
    MelWeightMatrixOp,
    MinOp,
    MishOp,
    ModOp,
    MulOp,
    MultinomialOp,
    NegOp,
    NegativeLogLikelihoodLossOp,
    NonMaxSuppressionOp,
    NonZeroOp,
    NotOp,
    OneHotOp,
    OptionalOp,
    OptionalGetElementOp,
    OptionalHasElementOp,
    OrOp,
    PReluOp,
    PadOp,
    PowOp,
    QLinearConvOp,
    QLinearMatMulOp,
    QuantizeLinearOp,
    RMSNormalizationOp,
    RNNOp,
    RandomNormalOp,
    RandomNormalLikeOp,
    RandomUniformOp,
    RandomUniformLikeOp,
    RangeOp,
    ReciprocalOp,
    ReduceL1Op,
    ReduceL2Op,
    ReduceLogSumOp,
    ReduceLogSumExpOp,
    ReduceMaxOp,
    ReduceMeanOp,
    ReduceMinOp,
    ReduceProdOp,
    ReduceSumOp,
    ReduceSumSquareOp,
    RegexFullMatchOp,
    ReluOp,
    ReshapeOp,
    ResizeOp,
    ReverseSequenceOp,
    RoiAlignOp,
    RotaryEmbeddingOp,
    RoundOp,
    STFTOp,
    ScanOp,
    ScatterOp,
    ScatterElementsOp,
    ScatterNDOp,
    SeluOp,
    SequenceAtOp,
    SequenceConstructOp,
    SequenceEmptyOp,
    SequenceEraseOp,
    SequenceInsertOp,
    SequenceLengthOp,
    SequenceMapOp,
    ShapeOp,
    ShrinkOp,
    SigmoidOp,
    SignOp,
    SinOp,
    SinhOp,
    SizeOp,
    SliceOp,
    SoftmaxOp,
    SoftmaxCrossEntropyLossOp,
    SoftplusOp,
    SoftsignOp,
    SpaceToDepthOp,
    SplitOp,
    SplitToSequenceOp,
    SqrtOp,
    SqueezeOp,
    StringConcatOp,
    StringNormalizerOp,
    StringSplitOp,
    SubOp,
    SumOp,
    SwiGLUOp,
    SwishOp,
    TanOp,
    TanhOp,
    TensorScatterOp,
    TfIdfVectorizerOp,
    ThresholdedReluOp,
    TileOp,
    TopKOp,
    TransposeOp,
    TriluOp,
    UniqueOp,
    UnsqueezeOp,
    UpsampleOp,
    WhereOp,
    XorOp,
    ArrayFeatureExtractorOp,
    BinarizerOp,
    CastMapOp,
    CategoryMapperOp,
    DictVectorizerOp,
    FeatureVectorizerOp,
    ImputerOp,
    LabelEncoderOp,
    LinearClassifierOp,
    LinearRegressorOp,
    NormalizerOp,
    OneHotEncoderOp,
    SVMClassifierOp,
    SVMRegressorOp,
    ScalerOp,
    TreeEnsembleOp,
    TreeEnsembleClassifierOp,
    TreeEnsembleRegressorOp,
    ZipMapOp,
    FlexAttentionOp,
    AdagradOp,
    AdamOp,
    GradientOp,
    MomentumOp,
)

__all__ = [
    "AbsOp",
    "AcosOp",
    "AcoshOp",
    "AddOp",
    "AffineGridOp",
    "AndOp",
    "ArgMaxOp",
    "ArgMinOp",
    "AsinOp",
    "AsinhOp",
    "AtanOp",
    "AtanhOp",
    "AttentionOp",
    "AveragePoolOp",
    "BatchNormalizationOp",
    "BernoulliOp",
    "BitCastOp",
    "BitShiftOp",
    "BitwiseAndOp",
    "BitwiseNotOp",
    "BitwiseOrOp",
    "BitwiseXorOp",
    "BlackmanWindowOp",
    "CastOp",
    "CastLikeOp",
    "CausalConvWithStateOp",
    "CeilOp",
    "CeluOp",
    "CenterCropPadOp",
    "ClipOp",
    "Col2ImOp",
    "CompressOp",
    "ConcatOp",
    "ConcatFromSequenceOp",
    "ConstantOp",
    "ConstantOfShapeOp",
    "ConvOp",
    "ConvIntegerOp",
    "ConvTransposeOp",
    "CosOp",
    "CoshOp",
    "CumProdOp",
    "CumSumOp",
    "DFTOp",
    "DeformConvOp",
    "DepthToSpaceOp",
    "DequantizeLinearOp",
    "DetOp",
    "DivOp",
    "DropoutOp",
    "DynamicQuantizeLinearOp",
    "EinsumOp",
    "EluOp",
    "EqualOp",
    "ErfOp",
    "ExpOp",
    "ExpandOp",
    "EyeLikeOp",
    "FlattenOp",
    "FloorOp",
    "GRUOp",
    "GatherOp",
    "GatherElementsOp",
    "GatherNDOp",
    "GeluOp",
    "GemmOp",
    "GlobalAveragePoolOp",
    "GlobalLpPoolOp",
    "GlobalMaxPoolOp",
    "GreaterOp",
    "GreaterOrEqualOp",
    "GridSampleOp",
    "GroupNormalizationOp",
    "HammingWindowOp",
    "HannWindowOp",
    "HardSigmoidOp",
    "HardSwishOp",
    "HardmaxOp",
    "IdentityOp",
    "IfOp",
    "ImageDecoderOp",
    "InstanceNormalizationOp",
    "IsInfOp",
    "IsNaNOp",
    "LRNOp",
    "LSTMOp",
    "LayerNormalizationOp",
    "LeakyReluOp",
    "LessOp",
    "LessOrEqualOp",
    "LinearAttentionOp",
    "LogOp",
    "LogSoftmaxOp",
    "LoopOp",
    "LpNormalizationOp",
    "LpPoolOp",
    "MatMulOp",
    "MatMulIntegerOp",
    "MaxOp",
    "MaxPoolOp",
    "MaxRoiPoolOp",
    "MaxUnpoolOp",
    "MeanOp",
    "MeanVarianceNormalizationOp",
    "MelWeightMatrixOp",
    "MinOp",
    "MishOp",
    "ModOp",
    "MulOp",
    "MultinomialOp",
    "NegOp",
    "NegativeLogLikelihoodLossOp",
    "NonMaxSuppressionOp",
    "NonZeroOp",
    "NotOp",
    "OneHotOp",
    "OptionalOp",
    "OptionalGetElementOp",
    "OptionalHasElementOp",
    "OrOp",
    "PReluOp",
    "PadOp",
    "PowOp",
    "QLinearConvOp",
    "QLinearMatMulOp",
    "QuantizeLinearOp",
    "RMSNormalizationOp",
    "RNNOp",
    "RandomNormalOp",
    "RandomNormalLikeOp",
    "RandomUniformOp",
    "RandomUniformLikeOp",
    "RangeOp",
    "ReciprocalOp",
    "ReduceL1Op",
    "ReduceL2Op",
    "ReduceLogSumOp",
    "ReduceLogSumExpOp",
    "ReduceMaxOp",
    "ReduceMeanOp",
    "ReduceMinOp",
    "ReduceProdOp",
    "ReduceSumOp",
    "ReduceSumSquareOp",
    "RegexFullMatchOp",
    "ReluOp",
    "ReshapeOp",
    "ResizeOp",
    "ReverseSequenceOp",
    "RoiAlignOp",
    "RotaryEmbeddingOp",
    "RoundOp",
    "STFTOp",
    "ScanOp",
    "ScatterOp",
    "ScatterElementsOp",
    "ScatterNDOp",
    "SeluOp",
    "SequenceAtOp",
    "SequenceConstructOp",
    "SequenceEmptyOp",
    "SequenceEraseOp",
    "SequenceInsertOp",
    "SequenceLengthOp",
    "SequenceMapOp",
    "ShapeOp",
    "ShrinkOp",
    "SigmoidOp",
    "SignOp",
    "SinOp",
    "SinhOp",
    "SizeOp",
    "SliceOp",
    "SoftmaxOp",
    "SoftmaxCrossEntropyLossOp",
    "SoftplusOp",
    "SoftsignOp",
    "SpaceToDepthOp",
    "SplitOp",
    "SplitToSequenceOp",
    "SqrtOp",
    "SqueezeOp",
    "StringConcatOp",
    "StringNormalizerOp",
    "StringSplitOp",
    "SubOp",
    "SumOp",
    "SwiGLUOp",
    "SwishOp",
    "TanOp",
    "TanhOp",
    "TensorScatterOp",
    "TfIdfVectorizerOp",
    "ThresholdedReluOp",
    "TileOp",
    "TopKOp",
    "TransposeOp",
    "TriluOp",
    "UniqueOp",
    "UnsqueezeOp",
    "UpsampleOp",
    "WhereOp",
    "XorOp",
    "ArrayFeatureExtractorOp",
    "BinarizerOp",
    "CastMapOp",
    "CategoryMapperOp",
    "DictVectorizerOp",
    "FeatureVectorizerOp",
    "ImputerOp",
    "LabelEncoderOp",
    "LinearClassifierOp",
    "LinearRegressorOp",
    "NormalizerOp",
    "OneHotEncoderOp",
    "SVMClassifierOp",
    "SVMRegressorOp",
    "ScalerOp",
    "TreeEnsembleOp",
    "TreeEnsembleClassifierOp",
    "TreeEnsembleRegressorOp",
    "ZipMapOp",
    "FlexAttentionOp",
    "AdagradOp",
    "AdamOp",
    "GradientOp",
    "MomentumOp",
    "OPS",
]
