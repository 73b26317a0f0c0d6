"""Contractions, windows and recurrent layers of ONNX, converted to `graph`, against ONNX Runtime."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from onnx import helper

from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.lowering.onnx_to_graph import ConvertOnnxToGraphPass
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from tests.graph_ops import run_module
from tests.support.onnx_runtime import reference_session

RNG = np.random.default_rng(3)

Options: TypeAlias = dict[str, Any]


def floats(*shape: int) -> npt.NDArray[np.float32]:
    """Random numbers, neither symmetric nor centred."""
    return RNG.uniform(-1, 1.5, shape).astype(np.float32)


def expect_close(actual: Any, expected: Any, rtol: float) -> None:
    """Compare with a relative and an absolute tolerance."""
    np.testing.assert_allclose(actual, expected, rtol=rtol, atol=rtol)


def model(
    op_type: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[str] = ("y",),
    *,
    opset: int = 22,
    dims: Mapping[int, Sequence[str | int]] | None = None,
    **attributes: Any,
) -> onnx.ModelProto:
    """A model of one node; `dims` names the dimensions of some inputs."""
    names = ["" if x is None else f"x{i}" for i, x in enumerate(inputs)]
    node = helper.make_node(op_type, names, list(outputs), **attributes)
    infos = [
        helper.make_tensor_value_info(
            name, helper.np_dtype_to_tensor_dtype(x.dtype), (dims or {}).get(i, x.shape)
        )
        for i, (name, x) in enumerate(zip(names, inputs, strict=True))
        if x is not None
    ]
    graph = helper.make_graph([node], "g", infos, [onnx.ValueInfoProto(name=o) for o in outputs if o])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


def converted(proto: onnx.ModelProto, inputs: Sequence[Array | None]) -> list[Array]:
    """What the converted model computes."""
    ctx = StepwellContext()
    module = import_onnx(proto, ctx)
    ConvertOnnxToGraphPass().apply(ctx, module)
    module.verify()
    return run_module(module, [x for x in inputs if x is not None], ctx.weights)


def compare(
    op_type: str,
    inputs: Sequence[Array | None],
    outputs: Sequence[str] = ("y",),
    rtol: float = 1e-5,
    **options: Any,
) -> None:
    """Hold a converted node against ONNX Runtime."""
    proto = model(op_type, inputs, outputs, **options)
    feed = {f"x{i}": x for i, x in enumerate(inputs) if x is not None}
    expected = reference_session(proto).run(None, feed)
    for mine, theirs in zip(converted(proto, inputs), expected, strict=True):
        expect_close(mine, theirs, rtol)


@pytest.mark.parametrize("auto_pad", ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("strides", [[1, 1], [2, 3]])
def test_conv_pads(auto_pad: str, strides: Sequence[int]) -> None:
    pads: Options = {"pads": [1, 0, 2, 1]} if auto_pad == "NOTSET" else {}
    compare("Conv", [floats(2, 3, 8, 7), floats(4, 3, 3, 2)], auto_pad=auto_pad, strides=strides, **pads)


def test_conv_bias_and_groups() -> None:
    compare("Conv", [floats(1, 4, 8), floats(6, 2, 3), floats(6)], group=2, dilations=[2], pads=[1, 1])


def test_conv_same_of_unknown_size() -> None:
    inputs = [floats(1, 3, 8, 7), floats(4, 3, 3, 2)]
    dims = {0: ["N", 3, "H", "W"]}
    compare("Conv", inputs, dims=dims, auto_pad="SAME_UPPER", strides=[2, 3])


@pytest.mark.parametrize("size", [(5, 13), (4, 4), (1, 3)])
def test_pointwise_conv_of_unknown_size(size: tuple[int, int]) -> None:
    """Its pixels are one loop of open length: some vectors, and a rest."""
    dims = {0: ["N", 3, "H", "W"]}
    compare("Conv", [floats(2, 3, *size), floats(20, 3, 1, 1), floats(20)], dims=dims)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("dims", [{}, {0: ["N", 3, "H", "W"]}], ids=["static", "open"])
def test_same_with_strides_longer_than_the_kernel(dims: Options, auto_pad: str) -> None:
    """Windows that leave pixels out, where nothing is left to pad; ONNX Runtime refuses such pools."""
    x = floats(2, 3, 8, 11)
    options: Options = {"auto_pad": auto_pad, "strides": [3, 4], "dims": dims}
    compare("Conv", [x, floats(4, 3, 1, 2)], **options)
    (found,) = converted(model("MaxPool", [x], kernel_shape=[1, 2], **options), [x])
    np.testing.assert_array_equal(found, np.maximum(x[:, :, ::3, :9:4], x[:, :, ::3, 1:10:4]))


@pytest.mark.parametrize(
    "options",
    [
        {"strides": [2, 2], "pads": [1, 0, 1, 1], "output_padding": [1, 1]},
        {"strides": [2, 2], "output_shape": [9, 11]},
        {"strides": [2, 2], "auto_pad": "SAME_UPPER"},
        {"strides": [2, 3], "auto_pad": "SAME_LOWER"},
        {"dilations": [2, 1], "group": 2},
    ],
)
def test_conv_transpose(options: Mapping[str, Any]) -> None:
    width = 3 if "group" in options else 6
    compare("ConvTranspose", [floats(1, 4, 4, 5), floats(4, width, 3, 3), floats(6)], **options)


def test_conv_transpose_beyond_the_products_gets_the_bias_only() -> None:
    x, w, b = np.ones((1, 1, 2), np.float32), np.ones((1, 1, 2), np.float32), np.array([5], np.float32)
    (y,) = converted(model("ConvTranspose", [x, w, b], output_shape=[5]), [x, w, b])
    np.testing.assert_array_equal(y, np.array([[[6, 7, 6, 5, 5]]], np.float32))


@pytest.mark.parametrize(
    ("shapes", "options"),
    [
        ([(3, 4), (4, 5)], {}),
        ([(4, 3), (5, 4), (5,)], {"transA": 1, "transB": 1}),
        ([(3, 4), (4, 5), (3, 1)], {"alpha": 0.5, "beta": 2.0}),
        ([(3, 4), (4, 5), ()], {"beta": 0.25}),
    ],
)
def test_gemm(shapes: Sequence[tuple[int, ...]], options: Mapping[str, Any]) -> None:
    compare("Gemm", [floats(*shape) for shape in shapes], **options)


def test_gemm_with_beta_zero_reads_nothing_of_c() -> None:
    inputs = [floats(3, 4), floats(4, 5), np.full(5, np.nan, np.float32)]
    (y,) = converted(model("Gemm", inputs, beta=0.0), inputs)
    assert not np.isnan(np.asarray(y, np.float32)).any()


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("bij,bjk->bik", [(2, 3, 4), (2, 4, 5)]),
        ("bij, bjk", [(2, 3, 4), (2, 4, 5)]),
        ("...ij,...jk->...ik", [(6, 2, 3, 4), (1, 2, 4, 5)]),
        ("ij->ji", [(3, 4)]),
        ("ij->", [(3, 4)]),
        ("ii->i", [(4, 4)]),
        ("...ii", [(2, 4, 4)]),
        ("i,j->ij", [(3,), (4,)]),
        ("ab,bc,cd->ad", [(2, 3), (3, 4), (4, 5)]),
        ("bhqd,bkhd->bhqk", [(2, 3, 4, 5), (2, 6, 3, 5)]),
    ],
)
def test_einsum(equation: str, shapes: Sequence[tuple[int, ...]]) -> None:
    compare("Einsum", [floats(*shape) for shape in shapes], equation=equation)


def test_einsum_that_does_not_fit() -> None:
    x = floats(3, 4)
    with pytest.raises(StepwellError, match=r"'ij,jk' does not fit operands of ranks \[2\]"):
        converted(model("Einsum", [x], equation="ij,jk"), [x])


def integers(dtype: Any, *shape: int) -> Array:
    """Random numbers over the whole range of an integer type."""
    info = np.iinfo(dtype)
    return RNG.integers(info.min, info.max, shape, endpoint=True).astype(dtype)


@pytest.mark.parametrize("types", [(np.uint8, np.int8), (np.int8, np.int8), (np.uint8, np.uint8)])
def test_matmul_integer(types: tuple[npt.DTypeLike, npt.DTypeLike]) -> None:
    a, b = integers(types[0], 2, 3, 40), integers(types[1], 40, 5)
    if types == (np.uint8, np.int8):
        b = np.floor_divide(
            b, 2, dtype=np.int8
        )  # sums of two products fit 16 bits: ONNX Runtime, without VNNI, is exact for these alone
    zero_points = [integers(types[0]), integers(types[1], 5)]
    compare("MatMulInteger", [a, b])
    compare("MatMulInteger", [a, b, *zero_points])
    compare("MatMulInteger", [a, b, None, zero_points[1]])


def test_matmul_integer_zero_point_per_row() -> None:
    a, b, point = integers(np.uint8, 3, 4), integers(np.uint8, 4, 5), integers(np.uint8, 3)
    (y,) = converted(model("MatMulInteger", [a, b, point]), [a, b, point])
    expected = (a.astype(np.int32) - point.astype(np.int32)[:, None]) @ b.astype(np.int32)
    np.testing.assert_array_equal(y, expected)


def test_conv_integer() -> None:
    x, w = integers(np.uint8, 1, 2, 6, 5), integers(np.uint8, 3, 2, 3, 2)
    compare("ConvInteger", [x, w, integers(np.uint8), integers(np.uint8)], pads=[1, 0, 1, 1], strides=[2, 1])


def test_conv_integer_zero_point_per_filter() -> None:
    x, w, point = integers(np.uint8, 1, 2, 5), integers(np.int8, 3, 2, 3), integers(np.int8, 3)
    (y,) = converted(model("ConvInteger", [x, w, None, point]), [x, w, None, point])
    centred = (w.astype(np.int32) - point.astype(np.int32)[:, None, None]).astype(np.float32)
    (expected,) = converted(model("Conv", [x.astype(np.float32), centred]), [x.astype(np.float32), centred])
    np.testing.assert_array_equal(y, expected.astype(np.int32))


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("auto_pad", ["NOTSET", "VALID", "SAME_UPPER", "SAME_LOWER"])
def test_pool(op_type: str, auto_pad: str) -> None:
    pads: Options = {"pads": [1, 0, 1, 1]} if auto_pad == "NOTSET" else {}
    compare(op_type, [floats(2, 3, 8, 7)], kernel_shape=[3, 2], strides=[2, 1], auto_pad=auto_pad, **pads)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool"])
def test_pool_ceil_and_dilation(op_type: str) -> None:
    options: Options = {
        "kernel_shape": [3, 2],
        "strides": [2, 2],
        "dilations": [2, 1],
        "ceil_mode": 1,
        "pads": [1, 0, 1, 1],
    }
    compare(op_type, [floats(1, 2, 8, 7)], **options)


def test_max_pool_indices() -> None:
    compare("MaxPool", [floats(2, 3, 6, 6)], ["y", "i"], kernel_shape=[2, 2], strides=[2, 2], storage_order=1)


@pytest.mark.parametrize("op_type", ["GlobalAveragePool", "GlobalMaxPool", "GlobalLpPool"])
def test_global_pool(op_type: str) -> None:
    options: Options = {"p": 3} if op_type == "GlobalLpPool" else {}
    compare(op_type, [floats(2, 3, 4, 5)], opset=18, **options)


@pytest.mark.parametrize("op_type", ["MaxPool", "AveragePool", "LpPool"])
@pytest.mark.parametrize("options", [{"auto_pad": "SAME_UPPER"}, {"auto_pad": "SAME_LOWER"}])
def test_pool_same_of_unknown_size(op_type: str, options: Options) -> None:
    open_sizes: Options = {"dims": {0: ["N", 3, "H", 7]}, "kernel_shape": [3, 2], "strides": [2, 2]}
    counted: list[Options] = [{}, {"count_include_pad": 1}] if op_type == "AveragePool" else [{}]
    for more in counted:
        compare(op_type, [floats(1, 3, 8, 7)], **options, **open_sizes, **more)


@pytest.mark.parametrize("auto_pad", ["SAME_UPPER", "SAME_LOWER"])
@pytest.mark.parametrize("storage_order", [0, 1])
def test_indices_of_a_pool_same_of_unknown_size(auto_pad: str, storage_order: int) -> None:
    """They count the cells of the image, not of the padded one, as with sizes that are known."""
    x = floats(2, 3, 8, 7)
    x[1] = -np.inf  # as low as the border
    options: Options = {"kernel_shape": [3, 2], "strides": [2, 2], "storage_order": storage_order}
    found = [
        converted(model("MaxPool", [x], ["y", "i"], auto_pad=auto_pad, dims=dims, **options), [x])
        for dims in ({0: ["N", 3, "H", "W"]}, {})
    ]
    for open_size, known in zip(*found, strict=True):
        np.testing.assert_array_equal(open_size, known)


HIDDEN, WIDTH, STEPS, BATCH = 4, 3, 5, 2
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


def layer(op_type: str, directions: int, *, lengths: bool = False, states: bool = True) -> list[Array | None]:
    """Random inputs of a recurrent layer."""
    gates = GATES[op_type]
    inputs: list[Array | None] = [
        floats(STEPS, BATCH, WIDTH),
        floats(directions, gates * HIDDEN, WIDTH),
        floats(directions, gates * HIDDEN, HIDDEN),
        floats(directions, 2 * gates * HIDDEN),
        np.array([3, 5], np.int32) if lengths else None,
        floats(directions, BATCH, HIDDEN) if states else None,
    ]
    if op_type == "LSTM":
        inputs += [floats(directions, BATCH, HIDDEN) if states else None, floats(directions, 3 * HIDDEN)]
    return inputs


def scaled(inputs: Sequence[Array | None], factor: float) -> list[Array | None]:
    """The inputs, those of floats times a factor."""
    return [
        np.multiply(x, np.float32(factor)) if x is not None and x.dtype == np.float32 else x for x in inputs
    ]


def outputs_of(op_type: str) -> list[str]:
    """Names for all outputs of a recurrent layer."""
    return ["y", "h", "c"] if op_type == "LSTM" else ["y", "h"]


@pytest.mark.parametrize("op_type", list(GATES))
@pytest.mark.parametrize("direction", ["forward", "reverse", "bidirectional"])
@pytest.mark.parametrize("lengths", [False, True])
def test_recurrent(op_type: str, direction: str, lengths: bool) -> None:
    inputs = layer(op_type, 2 if direction == "bidirectional" else 1, lengths=lengths)
    compare(op_type, inputs, outputs_of(op_type), hidden_size=HIDDEN, direction=direction)


@pytest.mark.parametrize("op_type", list(GATES))
def test_recurrent_clip(op_type: str) -> None:
    compare(op_type, layer(op_type, 1), outputs_of(op_type), hidden_size=HIDDEN, clip=0.4)


def test_gru_linear_before_reset() -> None:
    compare("GRU", layer("GRU", 1), ["y", "h"], hidden_size=HIDDEN, linear_before_reset=1)


def test_lstm_input_forget() -> None:
    compare("LSTM", layer("LSTM", 1), ["y", "h", "c"], hidden_size=HIDDEN, input_forget=1)


def test_recurrent_activations_take_parameters_in_order() -> None:
    names = ["HardSigmoid", "Tanh", "ScaledTanh"]
    compare(
        "LSTM",
        layer("LSTM", 1),
        ["y", "h", "c"],
        hidden_size=HIDDEN,
        activations=names,
        activation_alpha=[0.3, 0.7],
        activation_beta=[0.4, 0.9],
    )


@pytest.mark.parametrize(
    "name", ["Relu", "Affine", "LeakyRelu", "ThresholdedRelu", "Elu", "Softsign", "Softplus", "Sigmoid"]
)
def test_rnn_activation(name: str) -> None:
    options: Options = {"activation_alpha": [0.6], "activation_beta": [0.2]}
    # Small inputs: ONNX Runtime's Softplus overflows above 88, which a layer can reach within its steps.
    compare(
        "RNN", scaled(layer("RNN", 1), 0.5), ["y", "h"], hidden_size=HIDDEN, activations=[name], **options
    )


def test_softplus_of_a_layer_that_grows_is_finite() -> None:
    inputs = scaled(layer("RNN", 1), 2)
    y, _ = converted(model("RNN", inputs, ["y", "h"], hidden_size=HIDDEN, activations=["Softplus"]), inputs)
    assert y.max() > 200 and np.isfinite(y).all()


def test_recurrent_batch_first_is_transposed() -> None:
    inputs = layer("GRU", 1)
    expected = converted(model("GRU", inputs, ["y", "h"], hidden_size=HIDDEN), inputs)
    batch_first = [x.swapaxes(0, 1) if x is not None and i in (0, 5) else x for i, x in enumerate(inputs)]
    y, h = converted(model("GRU", batch_first, ["y", "h"], hidden_size=HIDDEN, layout=1), batch_first)
    np.testing.assert_array_equal(y, expected[0].transpose(2, 0, 1, 3))
    np.testing.assert_array_equal(h, expected[1].swapaxes(0, 1))


def test_recurrent_keeps_only_the_outputs_that_are_named() -> None:
    inputs = layer("LSTM", 1, states=False)
    compare("LSTM", inputs, ["", "h"], hidden_size=HIDDEN)


ERRORS: list[tuple[str, list[tuple[int, ...]], Options, str]] = [
    ("Conv", [(1, 3, 8), (4, 3, 3)], {"kernel_shape": [5]}, r"kernel_shape is \[5\], the filters are"),
    ("Conv", [(1, 3, 8), (4, 3, 3)], {"group": 0}, "group must be positive, found 0"),
    ("Conv", [(1, 3, 8), (4, 3, 3)], {"strides": [1, 1]}, "strides must have 1 numbers, found 2"),
    ("Conv", [(1, 3, 8), (4, 3, 3)], {"pads": [1]}, "pads must have 2 numbers, found 1"),
    ("Conv", [(1, 3, 8), (4, 2, 3)], {}, "weight expects 2 input channels"),
    ("Conv", [(3, 8), (4, 3)], {}, "needs batch, channels and spatial axes"),
    ("Conv", [(1,) * 8, (1,) * 8], {}, "at most 5 spatial axes, found 6"),
    ("Conv", [(1, 3, 8), (4, 3, 3)], {"auto_pad": "SAME"}, "auto_pad must be NOTSET"),
    ("Conv", [(1, 3, 8), (4, 3, 3), (1,)], {}, r"bias must have shape \(4\)"),
    ("MatMul", [(3, 4), (5, 6)], {}, "contracted dimensions must be equal"),
    ("RNN", [(5, 2, 3), (1, 4, 3), (1, 4, 4)], {"direction": "sideways"}, "no direction 'sideways'"),
    ("RNN", [(5, 2, 3), (1, 4, 3), (1, 4, 4)], {"activations": ["Cosine"]}, "no activation 'cosine'"),
    (
        "GRU",
        [(5, 2, 3), (1, 12, 3), (1, 12, 4)],
        {"activations": ["Tanh"]},
        "expected 2 activations, found 1",
    ),
]


@pytest.mark.parametrize(("op_type", "shapes", "options", "message"), ERRORS)
def test_errors(op_type: str, shapes: list[tuple[int, ...]], options: Options, message: str) -> None:
    inputs = [floats(*shape) for shape in shapes]
    outputs = ["y", "h"] if op_type in GATES else ["y"]
    with pytest.raises(StepwellError, match=message):
        converted(model(op_type, inputs, outputs, **options), inputs)


def test_kernel_of_unknown_shape() -> None:
    compare("Conv", [floats(1, 3, 8), floats(4, 3, 3)], dims={1: [4, 3, "K"]})


def test_output_shape_of_unknown_size() -> None:
    compare("ConvTranspose", [floats(1, 3, 8), floats(3, 4, 3)], dims={0: [1, 3, "W"]}, output_shape=[10])
