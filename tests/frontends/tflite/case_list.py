"""The cases of `cases`: for each converted operator some operands and options."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from tests.frontends.tflite.cases import (
    C,
    Case,
    X,
    Y,
    act,
    bq,
    element,
    f,
    ints,
    n,
    q,
    same_or_valid,
    w,
    wq,
    yq,
)
from tests.frontends.tflite.models import Quantized, schema

_I32, _I64, _BOOL = Y("int32"), Y("int64"), Y("bool")


def cases() -> list[Case]:
    """All cases."""
    parts = (unary, binary, layers, moves, reductions, indexing, sizes, quantized_layers, quantized_ops)
    return [case for part in parts for case in part()]


def unary() -> Iterator[Case]:
    """Functions of one tensor."""
    for name in ("CEIL", "FLOOR", "LOGISTIC", "RELU", "RELU6", "RELU_N1_TO_1", "RELU_0_TO_1", "ROUND", "SIN"):
        yield Case(name, [f(2, 3, 4, high=8.0, low=-8.0)])
    yield Case("TANH", [f(2, 3)])
    yield Case("ELU", [f(2, 3)])
    yield Case("SQRT", [f(5, low=0.0)])
    yield Case("RSQRT", [f(5, low=0.1)])
    yield Case("LOG", [f(5, low=0.1)])
    for name, table in (("ABS", "Abs"), ("COS", "Cos"), ("EXP", "Exp"), ("NEG", "Neg"), ("SQUARE", "Square")):
        yield Case(name, [f(3, 4)], table)
    yield Case("SIGN", [f(3, 4)], "Sign")
    yield Case("HARD_SWISH", [f(3, 9, low=-6.0, high=6.0)], "HardSwish")
    yield Case("NEG", [n(4)], "Neg", results=[_I32], title="i32")
    yield Case("ABS", [n(4)], "Abs", results=[_I32], title="i32")
    yield Case("LOGICAL_NOT", [X([5], "bool")], "LogicalNot", results=[_BOOL])
    yield Case("LEAKY_RELU", [f(3, 4)], "LeakyRelu", {"alpha": 0.3})
    yield Case("PRELU", [f(1, 2, 2, 3), w(1, 1, 3)])
    yield Case("GELU", [f(9)], "Gelu", {"approximate": False})
    yield Case("GELU", [f(9)], "Gelu", {"approximate": True}, title="tanh")
    yield Case("ZEROS_LIKE", [f(2, 3)], "ZerosLike")
    yield Case("CAST", [f(7, low=-9.0, high=9.0)], "Cast", _cast("FLOAT32", "INT32"), [_I32])
    yield Case("CAST", [n(7)], "Cast", _cast("INT32", "FLOAT32"), title="i32")
    yield Case("CAST", [n(7, low=-1, high=1)], "Cast", _cast("INT32", "BOOL"), [_BOOL], title="bool")
    yield Case("BITCAST", [f(4)], "Bitcast", results=[_I32])
    yield Case(
        "FAKE_QUANT", [f(30, low=-3.0, high=3.0)], "FakeQuant", {"min": -1.3, "max": 2.0, "numBits": 8}
    )
    yield Case("BUCKETIZE", [f(20)], "Bucketize", {"boundaries": [-1.0, 0.0, 1.5]}, [_I32])
    yield Case("SOFTMAX", [f(2, 5)], "Softmax", {"beta": 1.0})
    yield Case("SOFTMAX", [f(2, 3, 5)], "Softmax", {"beta": 0.5}, title="beta")
    yield Case("LOG_SOFTMAX", [f(2, 5)], "LogSoftmax")
    yield Case("L2_NORMALIZATION", [f(1, 2, 2, 5)], "L2Norm")
    lrn = {"radius": 2, "bias": 1.0, "alpha": 0.5, "beta": 0.75}
    yield Case("LOCAL_RESPONSE_NORMALIZATION", [f(1, 2, 3, 7)], "LocalResponseNormalization", lrn)


def _cast(before: str, after: str) -> dict[str, int]:
    return {"inDataType": element(before), "outDataType": element(after)}


def binary() -> Iterator[Case]:
    """Functions of two tensors."""
    for name, table in (("ADD", "Add"), ("SUB", "Sub"), ("MUL", "Mul"), ("DIV", "Div")):
        yield Case(name, [f(2, 3, 4), f(3, 4)], table)
        options = {"fusedActivationFunction": act("RELU6")}
        yield Case(name, [f(2, 4, low=1.0), f(1, low=1.0)], table, options, title="relu6")
    yield Case("ADD", [n(2, 3), n(1, 3)], "Add", results=[_I32], title="i32")
    yield Case("ADD", [f(4), f(4)], "Add", {"fusedActivationFunction": act("RELU_N1_TO_1")}, title="relu1")
    yield Case("MUL", [f(4), f(4)], "Mul", {"fusedActivationFunction": act("RELU")}, title="relu")
    yield Case("ADD_N", [f(2, 3), f(2, 3), f(2, 3)], "AddN")
    for name in ("MAXIMUM", "MINIMUM"):
        yield Case(name, [f(2, 3), f(3)], "MaximumMinimum")
        yield Case(name, [n(2, 3), n(3)], "MaximumMinimum", results=[_I32], title="i32")
    yield Case("POW", [f(6, low=0.1), f(6)], "Pow")
    yield Case("SQUARED_DIFFERENCE", [f(2, 3), f(3)], "SquaredDifference")
    yield Case("FLOOR_DIV", [f(8, low=-9.0, high=9.0), f(8, low=1.0)], "FloorDiv")
    yield Case("FLOOR_DIV", [n(40), n(40, low=1)], "FloorDiv", results=[_I32], title="i32")
    yield Case("FLOOR_DIV", [n(40), n(40, low=-4, high=-1)], "FloorDiv", results=[_I32], title="negative")
    yield Case("FLOOR_MOD", [n(40), n(40, low=1)], "FloorMod", results=[_I32])
    yield Case("FLOOR_MOD", [f(8, low=-9.0, high=9.0), f(8, low=1.0)], "FloorMod", title="f32")
    yield Case("ATAN2", [f(30), f(30)], "ATan2")
    for name, table in (
        ("EQUAL", "Equal"),
        ("NOT_EQUAL", "NotEqual"),
        ("LESS", "Less"),
        ("LESS_EQUAL", "LessEqual"),
        ("GREATER", "Greater"),
        ("GREATER_EQUAL", "GreaterEqual"),
    ):
        yield Case(name, [n(4, 6, low=-2, high=2), n(6, low=-2, high=2)], table, results=[_BOOL])
        yield Case(name, [f(4), f(4)], table, results=[_BOOL], title="f32")
    for name, table in (("LOGICAL_AND", "LogicalAnd"), ("LOGICAL_OR", "LogicalOr")):
        yield Case(name, [X([3, 4], "bool"), X([3, 4], "bool")], table, results=[_BOOL])
    yield Case("BITWISE_XOR", [n(9), n(9)], "BitwiseXor", results=[_I32])
    yield Case("RIGHT_SHIFT", [n(9, low=-90, high=90), n(9, low=0, high=4)], "RightShift", results=[_I32])
    yield Case("SELECT", [X([2, 3], "bool"), f(2, 3), f(2, 3)], "Select")
    yield Case("SELECT", [X([4], "bool"), f(4, 3), f(4, 3)], "Select", title="rows")
    yield Case("SELECT_V2", [X([2, 1], "bool"), f(2, 3), f(3)], "SelectV2")


def layers() -> Iterator[Case]:
    """Convolutions, pools and products."""
    for padding in ("SAME", "VALID"):
        options = same_or_valid(padding, 2)
        yield Case("CONV_2D", [f(2, 9, 8, 3), w(4, 3, 3, 3), w(4)], "Conv2D", options, title=padding.lower())
        pool = same_or_valid(padding, 2, filterWidth=3, filterHeight=2)
        for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D", "L2_POOL_2D"):
            yield Case(name, [f(1, 7, 8, 3)], "Pool2D", pool, title=padding.lower())
        options = same_or_valid(padding, 1, depthMultiplier=2)
        yield Case(
            "DEPTHWISE_CONV_2D",
            [f(1, 6, 7, 3), w(1, 3, 2, 6), w(6)],
            "DepthwiseConv2D",
            options,
            title=padding.lower(),
        )
        options = same_or_valid(padding, 2)
        shape = ints(1, 8, 8, 4) if padding == "SAME" else ints(1, 9, 9, 4)
        yield Case(
            "TRANSPOSE_CONV",
            [shape, w(4, 3, 3, 3), f(1, 4, 4, 3)],
            "TransposeConv",
            options,
            title=padding.lower(),
        )
        deep = dict(same_or_valid(padding, 2), strideD=1)
        yield Case(
            "CONV_3D", [f(1, 3, 5, 6, 2), w(2, 3, 3, 2, 4), w(4)], "Conv3D", deep, title=padding.lower()
        )
    options = same_or_valid("SAME", 1, dilationWFactor=2, dilationHFactor=3)
    yield Case("CONV_2D", [f(1, 9, 8, 3), w(4, 3, 3, 3), w(4)], "Conv2D", options, title="dilated")
    options = same_or_valid("VALID", 1)
    yield Case("CONV_2D", [f(1, 5, 5, 4), w(6, 3, 3, 2), w(6)], "Conv2D", options, title="groups")
    shape = ints(1, 9, 10, 4)
    options = same_or_valid("VALID", 2)
    operands = [shape, w(4, 2, 3, 3), f(1, 4, 4, 3), w(4)]
    yield Case("TRANSPOSE_CONV", operands, "TransposeConv", options, title="bias")
    deep = dict(same_or_valid("VALID", 2), strideD=2)
    shape = ints(1, 5, 5, 7, 3)
    operands = [shape, w(3, 3, 3, 3, 2), f(1, 2, 2, 3, 2)]
    yield Case("CONV_3D_TRANSPOSE", operands, "Conv3D", deep)
    yield Case("FULLY_CONNECTED", [f(2, 5), w(3, 5), w(3)], "FullyConnected")
    yield Case("FULLY_CONNECTED", [f(2, 3, 5), w(3, 5), None], "FullyConnected", title="flat")
    options = {"keepNumDims": True, "fusedActivationFunction": act("RELU")}
    yield Case("FULLY_CONNECTED", [f(2, 4, 5), w(3, 5), w(3)], "FullyConnected", options, title="rank3")
    yield Case("BATCH_MATMUL", [f(2, 3, 4), f(2, 4, 5)], "BatchMatMul")
    options = {"adjX": True, "adjY": True}
    yield Case("BATCH_MATMUL", [f(2, 4, 3), f(2, 5, 4)], "BatchMatMul", options, title="adjoint")
    for align, half in ((False, False), (True, False), (False, True)):
        options = {"alignCorners": align, "halfPixelCenters": half}
        title = "align" if align else "half" if half else "plain"
        yield Case("RESIZE_BILINEAR", [f(1, 4, 5, 2), ints(7, 9)], "ResizeBilinear", options, title=title)
        yield Case(
            "RESIZE_NEAREST_NEIGHBOR",
            [f(1, 4, 5, 2), ints(7, 9)],
            "ResizeNearestNeighbor",
            options,
            title=title,
        )
    options = {"halfPixelCenters": True}
    yield Case("RESIZE_BILINEAR", [f(1, 8, 9, 2), ints(3, 4)], "ResizeBilinear", options, title="down")


def moves() -> Iterator[Case]:
    """Shapes and orders."""
    yield Case("RESHAPE", [f(2, 6), ints(3, -1)], "Reshape", {"newShape": [3, -1]})
    yield Case("RESHAPE", [f(2, 6)], "Reshape", {"newShape": [4, 3]}, title="option")
    yield Case("SQUEEZE", [f(1, 3, 1)], "Squeeze", {"squeezeDims": [0]})
    yield Case("SQUEEZE", [f(1, 3, 1)], "Squeeze", {"squeezeDims": []}, title="all")
    yield Case("EXPAND_DIMS", [f(2, 3), ints(-1)], "ExpandDims")
    yield Case("TRANSPOSE", [f(2, 3, 4), ints(2, 0, 1)], "Transpose")
    yield Case("CONCATENATION", [f(2, 3), f(2, 1)], "Concatenation", {"axis": -1})
    yield Case("PACK", [f(2, 3), f(2, 3)], "Pack", {"axis": 1, "valuesCount": 2})
    yield Case("UNPACK", [f(2, 3)], "Unpack", {"axis": 1, "num": 3}, [Y(), Y(), Y()])
    yield Case("SPLIT", [ints(np.array(1)), f(2, 6)], "Split", {"numSplits": 2}, [Y(), Y()])
    yield Case("SPLIT_V", [f(2, 6), ints(1, 2, -1), ints(np.array(1))], "SplitV", {"numSplits": 3}, [Y()] * 3)
    yield Case("SLICE", [f(4, 5), ints(1, 2), ints(2, -1)], "Slice")
    yield Case("PAD", [f(2, 3), ints([[1, 0], [2, 1]])], "Pad")
    yield Case("PADV2", [f(2, 3), ints([[1, 0], [2, 1]]), C(np.array([1.5], np.float32))], "PadV2")
    for mode in ("REFLECT", "SYMMETRIC"):
        options = {"mode": getattr(schema().MirrorPadMode, mode)}
        yield Case("MIRROR_PAD", [f(3, 4), ints([[2, 1], [0, 2]])], "MirrorPad", options, title=mode.lower())
    yield Case("TILE", [f(2, 3), ints(2, 3)], "Tile")
    yield Case("BROADCAST_TO", [f(3, 1), ints(2, 3, 4)], "BroadcastTo")
    yield Case("REVERSE_V2", [f(2, 3, 2), ints([1])], "ReverseV2")
    yield Case("REVERSE_SEQUENCE", [f(3, 5), ints(2, 5, 1)], "ReverseSequence", {"seqDim": 1, "batchDim": 0})
    yield Case("DEPTH_TO_SPACE", [f(1, 2, 3, 8)], "DepthToSpace", {"blockSize": 2})
    yield Case("SPACE_TO_DEPTH", [f(1, 4, 6, 3)], "SpaceToDepth", {"blockSize": 2})
    operands = [f(1, 3, 4, 2), ints(2, 3), ints([[1, 0], [1, 1]])]
    yield Case("SPACE_TO_BATCH_ND", operands, "SpaceToBatchND")
    operands = [f(6, 2, 2, 2), ints(2, 3), ints([[1, 0], [1, 1]])]
    yield Case("BATCH_TO_SPACE_ND", operands, "BatchToSpaceND")
    yield from _strided_slices()


def _strided_slices() -> Iterator[Case]:
    for title, begin, end, steps, masks in (
        ("plain", [1, 0, 1], [3, 3, 4], [1, 2, 1], {}),
        ("back", [-1, 2, 4], [0, -4, 0], [-1, -1, -2], {"endMask": 2}),
        ("masks", [1, 1, 1], [2, 2, 2], [1, 1, 1], {"beginMask": 1, "endMask": 4}),
        ("shrink", [1, -1, 0], [2, 0, 9], [1, 1, 1], {"shrinkAxisMask": 3}),
        ("clamped", [-9, 1, 2], [9, 99, 1], [1, 1, 1], {}),
    ):
        operands = [f(4, 3, 5), ints(begin), ints(end), ints(steps)]
        yield Case("STRIDED_SLICE", operands, "StridedSlice", masks, title=title)
    operands = [f(4, 3, 5), ints([0, 1]), ints([0, 3]), ints([1, 1])]
    yield Case("STRIDED_SLICE", operands, "StridedSlice", {"ellipsisMask": 1}, title="ellipsis")
    operands = [f(4, 3), ints([0, 1]), ints([0, 3]), ints([1, 1])]
    yield Case("STRIDED_SLICE", operands, "StridedSlice", {"newAxisMask": 1}, title="new-axis")


def reductions() -> Iterator[Case]:
    """Reductions and positions."""
    for name in ("MEAN", "SUM", "REDUCE_MAX", "REDUCE_MIN", "REDUCE_PROD"):
        yield Case(name, [f(2, 3, 4), ints(0, -1)], "Reducer", {"keepDims": True})
        yield Case(name, [f(2, 3, 4), ints([1])], "Reducer", {"keepDims": False}, title="drop")
    for name in ("REDUCE_ANY", "REDUCE_ALL"):
        yield Case(name, [X([3, 2], "bool"), ints([1])], "Reducer", {"keepDims": False}, [_BOOL])
    yield Case("ARG_MAX", [f(3, 5), ints(np.array(1))], "ArgMax", {"outputType": element("INT32")}, [_I32])
    yield Case("ARG_MIN", [f(3, 5), ints(np.array(0))], "ArgMin", {"outputType": element("INT64")}, [_I64])
    yield Case("TOPK_V2", [f(3, 5), ints(np.array(2))], "TopKV2", results=[Y(), _I32])
    yield Case("CUMSUM", [f(3, 5), ints(np.array(1))], "Cumsum")
    options = {"exclusive": True, "reverse": True}
    yield Case("CUMSUM", [f(3, 5), ints(np.array(0))], "Cumsum", options, title="back")
    yield Case("SEGMENT_SUM", [f(5, 2), ints(0, 0, 1, 2, 2)], "SegmentSum")
    for kind in ("SUM", "PROD", "MAX", "MIN"):
        name, table = f"UNSORTED_SEGMENT_{kind}", f"UnsortedSegment{kind.capitalize()}"
        yield Case(name, [f(5, 2), ints(2, 0, 0, -1, 2), ints(np.array(3))], table)


def indexing() -> Iterator[Case]:
    """Elements at positions."""
    yield Case("GATHER", [f(4, 3), n(2, 2, low=0, high=3)], "Gather", {"axis": 0})
    yield Case("GATHER", [f(4, 3), n(2, low=0, high=2)], "Gather", {"axis": 1}, title="axis1")
    options = {"axis": 1, "batchDims": 1}
    yield Case("GATHER", [f(4, 3), n(4, 2, low=0, high=2)], "Gather", options, title="batch")
    yield Case("GATHER_ND", [f(4, 3, 2), n(5, 2, low=0, high=2)], "GatherNd")
    yield Case("EMBEDDING_LOOKUP", [n(5, low=0, high=3), f(4, 3)])
    on, off = C(np.array(2.5, np.float32)), C(np.array(-1, np.float32))
    yield Case("ONE_HOT", [n(5, low=0, high=4), ints(np.array(4)), on, off], "OneHot", {"axis": -1})
    yield Case(
        "ONE_HOT", [n(5, low=0, high=4), ints(np.array(4)), on, off], "OneHot", {"axis": 0}, title="first"
    )
    yield Case("SCATTER_ND", [n(4, 1, low=0, high=5), f(4, 2), ints(6, 2)], "ScatterNd")
    operands = [ints([[0, 1], [2, 0]]), ints(3, 4), f(2), C(np.array(-1, np.float32))]
    yield Case("SPARSE_TO_DENSE", operands, "SparseToDense")
    yield Case("DYNAMIC_UPDATE_SLICE", [f(4, 5), f(2, 3), n(2, low=-1, high=4)], "DynamicUpdateSlice")


def sizes() -> Iterator[Case]:
    """Shapes as values."""
    yield Case("SHAPE", [f(2, 3)], "Shape", {"outType": element("INT32")}, [_I32])
    yield Case("RANK", [f(2, 3)], "Rank", results=[_I32])
    yield Case("FILL", [ints(2, 3), X([], "float32")], "Fill")
    yield Case(
        "RANGE",
        [C(np.array(1.0, np.float32)), C(np.array(3, np.float32)), C(np.array(0.5, np.float32))],
        "Range",
    )
    yield Case("BROADCAST_ARGS", [ints(3, 1), ints(2, 1, 4)], results=[_I32])


def quantized_layers() -> Iterator[Case]:
    """Layers of bytes."""
    weights = wq(4, 3, 3, 3)
    for activation, scale, zero in (("NONE", 0.1, 5), ("RELU", 0.05, -128), ("RELU6", 0.1, -100)):
        options = same_or_valid("SAME", 1, fusedActivationFunction=act(activation))
        operands = [q(1, 6, 6, 3), weights, bq(weights)]
        title = f"i8-{activation.lower()}"
        yield Case("CONV_2D", operands, "Conv2D", options, [yq(scale, zero)], title=title)
    whole = wq(4, 3, 3, 3, per_axis=False)
    options = same_or_valid("VALID", 2)
    yield Case("CONV_2D", [q(1, 7, 7, 3), whole, bq(whole)], "Conv2D", options, [yq(0.1)], title="i8-tensor")
    depthwise = wq(1, 3, 3, 6, axis=3)
    options = same_or_valid("SAME", 1, depthMultiplier=2)
    operands = [q(1, 6, 6, 3), depthwise, bq(depthwise)]
    yield Case("DEPTHWISE_CONV_2D", operands, "DepthwiseConv2D", options, [yq(0.1)], title="i8")
    dense = wq(4, 10, per_axis=False)
    yield Case(
        "FULLY_CONNECTED", [q(2, 10), dense, bq(dense)], "FullyConnected", results=[yq(0.1)], title="i8"
    )
    short = bq(weights, 0.001, "int64")
    codes = q(1, 6, 6, 3, scale=0.001, zero=0, dtype="int16")
    options = same_or_valid("SAME", 1)
    yield Case("CONV_2D", [codes, weights, short], "Conv2D", options, [yq(0.003, 0, "int16")], title="i16")
    turned = wq(4, 3, 3, 3)
    operands = [ints(1, 8, 8, 4), turned, q(1, 4, 4, 3)]
    options = same_or_valid("SAME", 2)
    yield Case("TRANSPOSE_CONV", operands, "TransposeConv", options, [yq(0.1)], title="i8")
    yield Case(
        "BATCH_MATMUL", [q(2, 3, 4), q(2, 4, 5, scale=0.02)], "BatchMatMul", results=[yq(0.1)], title="i8"
    )


def quantized_ops() -> Iterator[Case]:
    """Other operators on bytes."""
    for name, table in (("ADD", "Add"), ("SUB", "Sub"), ("MUL", "Mul")):
        operands = [q(2, 3, 4), q(2, 3, 4, scale=0.03, zero=-7)]
        yield Case(name, operands, table, results=[yq(0.08)], title="i8")
    operands = [q(9, dtype="uint8", zero=120), q(9, dtype="uint8", zero=130)]
    yield Case("ADD", operands, "Add", results=[yq(0.08, 128, "uint8")], title="u8")
    for name in ("LOGISTIC", "TANH"):
        scale, zero = (1 / 256, -128) if name == "LOGISTIC" else (1 / 128, 0)
        yield Case(name, [q(40)], results=[yq(scale, zero)], title="i8")
    yield Case("RELU6", [q(40)], results=[yq()], title="i8")
    yield Case("HARD_SWISH", [q(40)], "HardSwish", results=[yq(0.06)], title="i8")
    yield Case("LEAKY_RELU", [q(40)], "LeakyRelu", {"alpha": 0.2}, [yq(0.06)], title="i8")
    yield Case("SOFTMAX", [q(3, 7)], "Softmax", {"beta": 1.0}, [yq(1 / 256, -128)], title="i8")
    yield Case("L2_NORMALIZATION", [q(3, 7)], "L2Norm", results=[yq(1 / 128, 0)], title="i8")
    yield Case("QUANTIZE", [f(40, low=-9.0, high=9.0)], "Quantize", results=[yq(0.05)])
    yield Case("QUANTIZE", [q(40)], "Quantize", results=[yq(0.1, -4)], title="i8")
    yield Case("DEQUANTIZE", [q(40)], "Dequantize")
    yield Case("DEQUANTIZE", [X([9], "float16")], "Dequantize", title="f16")
    pool = same_or_valid("SAME", 2, filterWidth=3, filterHeight=3)
    for name in ("AVERAGE_POOL_2D", "MAX_POOL_2D"):
        yield Case(name, [q(1, 7, 7, 3)], "Pool2D", pool, [yq()], title="i8")
        fused = pool | {"fusedActivationFunction": act("RELU6")}
        yield Case(name, [q(1, 7, 7, 3)], "Pool2D", fused, [yq()], title="i8-relu6")
    yield Case("RESHAPE", [q(2, 6), ints(3, 4)], "Reshape", {"newShape": [3, 4]}, [yq()], title="i8")
    yield Case("TRANSPOSE", [q(2, 3), ints(1, 0)], "Transpose", results=[yq()], title="i8")
    yield Case("PAD", [q(2, 3), ints([[1, 0], [2, 1]])], "Pad", results=[yq()], title="i8")
    operands = [q(2, 3), q(2, 4)]
    yield Case("CONCATENATION", operands, "Concatenation", {"axis": 1}, [yq()], title="i8")
    yield Case("MEAN", [q(2, 4, 3), ints([1])], "Reducer", {"keepDims": True}, [yq(0.03)], title="i8")
    yield Case("REDUCE_MAX", [q(2, 4, 3), ints([1])], "Reducer", {"keepDims": True}, [yq()], title="i8")
    yield Case(
        "ARG_MAX",
        [q(3, 5), ints(np.array(1))],
        "ArgMax",
        {"outputType": element("INT32")},
        [_I32],
        title="i8",
    )
    yield Case("MAXIMUM", [q(3, 5), q(5)], "MaximumMinimum", results=[yq()], title="i8")
    yield Case("GREATER", [q(3, 5), q(5, scale=0.03)], "Greater", results=[_BOOL], title="i8")
    yield Case("GATHER", [q(4, 3), n(2, low=0, high=3)], "Gather", {"axis": 0}, [yq()], title="i8")
    options = {"halfPixelCenters": True}
    yield Case("RESIZE_BILINEAR", [q(1, 4, 5, 2), ints(7, 9)], "ResizeBilinear", options, [yq()], title="i8")
    slope = C(np.array([[[10, -20, 30]]], np.int8), Quantized(0.01, 0))
    yield Case("PRELU", [q(1, 2, 2, 3), slope], results=[yq()], title="i8")
    yield Case("SPACE_TO_DEPTH", [q(1, 4, 6, 3)], "SpaceToDepth", {"blockSize": 2}, [yq()], title="i8")
