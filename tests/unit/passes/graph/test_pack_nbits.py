"""Products with weights of a few bits, from ONNX to machine code, against numpy in f64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
import pytest
from hypothesis import given
from hypothesis import strategies as st
from onnx import TensorProto, helper, numpy_helper

import stepwell
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import packed_codes
from stepwell.runtime.meaning.packed_codes import first_bit, pack_codes, panels_of, unpack_codes
from tests.support.samples import examples, whole

PREPARE = "convert-onnx-to-graph,fold-constant,pack-nbits"


def test_order_of_codes_in_an_element() -> None:
    """Four codes are in the lowest bits of the bytes, the next four above them."""
    assert [first_bit(k, 4) for k in range(8)] == [0, 8, 16, 24, 4, 12, 20, 28]
    assert [first_bit(k, 8) for k in range(4)] == [0, 8, 16, 24]
    assert [first_bit(k, 2) for k in range(16)][::4] == [0, 2, 4, 6]
    (element,) = pack_codes(np.arange(8)[None], 4, 1, 8).reshape(-1).view(np.uint32)
    assert f"{element:x}" == "73625140"


@examples(40)
@given(data=st.data())
def test_packing_loses_nothing(data: st.DataObject) -> None:
    bits, panel = data.draw(st.sampled_from([2, 4, 8])), data.draw(st.integers(1, 9))
    columns, steps = data.draw(st.integers(1, 20)), data.draw(st.integers(1, 40))
    codes = np.random.default_rng(0).integers(0, 1 << bits, (columns, steps))
    depth = -(-steps // 16) * 16
    elements = pack_codes(codes, bits, panel, depth)
    assert elements.shape == (-(-columns // panel), depth * bits // 32, panel)
    found = unpack_codes(elements, bits)
    assert np.array_equal(found[:columns, :steps], codes)
    assert not found[columns:].any() and not found[:, steps:].any()
    scales = np.arange(1.0, 1 + columns * 2).reshape(columns, 2)
    assert np.array_equal(panels_of(scales, panel).swapaxes(1, 2).reshape(-1, 2)[:columns], scales)


def matmul_nbits(rows: int, steps: int, bits: int, block: int, points: bool) -> tuple[Any, Any]:
    """A model of one MatMulNBits with any number of rows, and its weights in f64."""
    rng, blocks = np.random.default_rng(rows + steps), -(-steps // block)
    codes = rng.integers(0, 1 << bits, (rows, blocks * block)).astype(np.uint8)
    scales = rng.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32)
    zero = rng.integers(0, 1 << bits, (rows, blocks)).astype(np.uint8)
    arrays = [_bytes(codes, bits).reshape(rows, blocks, -1), scales, _bytes(zero, bits)][: 2 + points]
    weights = [numpy_helper.from_array(a, n) for a, n in zip(arrays, "bsz", strict=False)]
    sizes: dict[str, Any] = {"K": steps, "N": rows, "bits": bits, "block_size": block}
    names = ["x", *(w.name for w in weights)]
    node = helper.make_node("MatMulNBits", names, ["y"], "product", domain="com.microsoft", **sizes)
    x, y = (_value(name, ["M", width]) for name, width in (("x", steps), ("y", rows)))
    opsets = [helper.make_opsetid("", 21), helper.make_opsetid("com.microsoft", 1)]
    made = helper.make_graph([node], "g", [x], [y], weights)
    less = np.repeat(zero, block, 1).astype(float) if points else 1 << bits - 1
    meant = (codes.astype(float) - less) * np.repeat(scales, block, 1).astype(float)
    return helper.make_model(made, opset_imports=opsets, ir_version=10), meant[:, :steps]


def _value(name: str, shape: list[str | int]) -> onnx.ValueInfoProto:
    return helper.make_tensor_value_info(name, TensorProto.FLOAT, shape)


def _bytes(codes: np.ndarray[Any, Any], bits: int) -> np.ndarray[Any, Any]:
    """Rows of codes as bytes, the first code in the lowest bits."""
    each = 8 // bits
    whole = np.pad(codes, ((0, 0), (0, -codes.shape[1] % each))).reshape(len(codes), -1, each)
    return np.bitwise_or.reduce(whole << np.arange(0, 8, bits, dtype=np.uint8), axis=-1).astype(np.uint8)


def product_of(proto: onnx.ModelProto) -> graph.MatmulNbitsOp:
    """The product of a model after the pass; smaller weights would be folded to floats before."""
    ctx = StepwellContext()
    module = import_onnx(proto, ctx)
    run_pipeline(module, PREPARE, ctx)
    (product,) = (op for op in module.walk() if isinstance(op, graph.MatmulNbitsOp))
    return product


def expect(found: Any, x: Any, weights: Any) -> None:
    """Require a product in f32: as exact as its sums of magnitudes are large."""
    error = np.abs(found - x.astype(float) @ weights.T)
    assert (error <= 1e-5 * (np.abs(x).astype(float) @ np.abs(weights).T + np.abs(x).sum() * 0.1)).all()


@pytest.mark.sample(40)
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize(("bits", "block", "steps", "rows"), [
    (4, 32, 320, 200), (4, 16, 205, 130), (4, 256, 300, 100), (8, 64, 200, 150), (2, 128, 330, 110)
])  # fmt: skip
def test_any_number_of_rows(bits: int, block: int, steps: int, rows: int, points: bool) -> None:
    proto, weights = matmul_nbits(rows, steps, bits, block, points)
    assert (product_of(proto).zero_points is not None) == points
    model = stepwell.compile(proto, threads=2)
    for count in (1, 4, 5, 9):
        x = np.random.default_rng(count).standard_normal((count, steps)).astype(np.float32)
        expect(model(x), x, weights)


@pytest.mark.sample(3)
@pytest.mark.parametrize("points", [False, True])
@pytest.mark.parametrize(("bits", "block", "steps", "rows"), [
    (4, 32, 320, 200), (4, 128, 205, 130), (8, 64, 200, 150), (2, 16, 330, 110)
])  # fmt: skip
def test_rows_of_bytes(bits: int, block: int, steps: int, rows: int, points: bool) -> None:
    """The product with rows rounded to 127 steps of a block's greatest number, and nothing else rounded."""
    proto, weights = matmul_nbits(rows, steps, bits, block, points)
    model = stepwell.compile(proto, threads=2, activations="int8")
    for count in (1, 5):
        x = np.random.default_rng(count).standard_normal((count, steps)).astype(np.float32)
        x[0, :block] = 0
        parts = np.pad(x, ((0, 0), (0, -steps % block))).reshape(count, -1, block).astype(float)
        scales = np.abs(parts).max(-1, keepdims=True) / 127
        rounded = np.rint(parts / np.where(scales, scales, 1)) * scales
        expect(model(x), rounded.reshape(count, -1)[:, :steps], weights)


@pytest.mark.sample(3)
@pytest.mark.parametrize("executor", ["native", "interpreter"])
def test_accuracy_level_permits_bytes(executor: Any) -> None:
    """With level 4 more than four rows are bytes, unless activations are f32; four rows never are."""
    proto, _ = matmul_nbits(130, 205, 4, 32, True)
    proto.graph.node[0].attribute.append(helper.make_attribute("accuracy_level", 4))
    choices: tuple[Any, ...] = ("auto", "f32", "int8")
    of_level, floats, in_bytes = (
        stepwell.compile(proto, activations=activations, executor=executor) for activations in choices
    )
    for rows in (1, 4, 5, 7):
        x = np.random.default_rng(rows).standard_normal((rows, 205)).astype(np.float32)
        found, exact, rounded = (_floats(model(x)) for model in (of_level, floats, in_bytes))
        wanted = exact if rows <= 4 or executor == "interpreter" else rounded
        np.testing.assert_allclose(found, wanted, atol=1e-5)
        assert executor == "interpreter" or np.abs(exact - rounded).max() > 1e-3


def test_meaning_of_floats_or_bytes() -> None:
    """At most `few` rows are floats, more are bytes; both are given."""
    codes, scales = pack_codes(np.arange(32).reshape(2, 16) % 16, 4, 2, 16), np.ones((1, 1, 2), np.float32)
    x = np.full((3, 16), 2.5, np.float32)
    row_bytes = np.full((3, 16), 5, np.int8).view(np.int32)
    sizes: Any = {"columns": 2, "bits": 4, "block": 16}
    x_scales = np.ones((3, 1), np.float32)
    operands = x, codes, scales, None, x_scales, row_bytes
    as_floats, as_bytes = (_floats(packed_codes.matmul_nbits(*operands, **sizes, few=few)) for few in (3, 2))
    weights = np.arange(32).reshape(2, 16) % 16 - 8
    np.testing.assert_array_equal(as_floats, x @ weights.T)
    np.testing.assert_array_equal(as_bytes, 2 * as_floats)


@pytest.mark.sample(3)
@pytest.mark.parametrize("activations", ["auto", "int8"])
def test_open_batch_and_rows_of_bytes(activations: Any) -> None:
    """Scratch memory for all rows has a size where it is a product of two open ones."""
    proto, _ = matmul_nbits(130, 205, 4, 32, True)
    proto.graph.node[0].attribute.append(helper.make_attribute("accuracy_level", 4))
    flat = stepwell.compile(proto, activations="int8")
    for value, width in ((proto.graph.input[0], 205), (proto.graph.output[0], 130)):
        value.CopyFrom(_value(value.name, ["B", "S", width]))
    x = np.random.default_rng(0).standard_normal((2, 4, 205)).astype(np.float32)
    found = _floats(stepwell.compile(proto, activations=activations)(x))
    np.testing.assert_array_equal(found.reshape(8, 130), _floats(flat(x.reshape(8, 205))))


def test_activations_are_checked() -> None:
    proto, _ = matmul_nbits(130, 205, 4, 32, False)
    with pytest.raises(StepwellError, match="activations") as error:
        stepwell.compile(proto, activations="int4")  # pyright: ignore[reportArgumentType]
    assert error.value.code == "bad-option"


def test_small_and_large_numbers() -> None:
    """Numbers that are scaled by powers of two stay what they are; NaN concerns its own row."""
    proto, weights = matmul_nbits(150, 256, 4, 32, False)
    model = stepwell.compile(proto)
    x = np.random.default_rng(0).standard_normal((2, 256)).astype(np.float32)
    for factor in (np.float32(1e-25), np.float32(1e30)):
        expect(model(x * factor), x * factor, weights)
    x[0, 5] = np.nan
    found: Any = model(x)
    assert np.isnan(found[0]).all()
    expect(found[1:], x[1:], weights)


def _floats(array: object) -> npt.NDArray[np.float64]:
    return np.asarray(array, np.float64)


def quantized_matmul(dtype: Any) -> onnx.ModelProto:
    """DequantizeLinear of constant weights in blocks of 32 before a MatMul."""
    rng = np.random.default_rng(1)
    limits: Any = onnx.helper.tensor_dtype_to_np_dtype(dtype)
    low = -8 if dtype == TensorProto.INT4 else 0
    codes = rng.integers(low, low + 16, (256, 96))
    w = helper.make_tensor("w", dtype, codes.shape, codes.astype(limits))
    scales = numpy_helper.from_array(rng.uniform(0.1, 0.2, (8, 96)).astype(np.float32), "s")
    nodes = [helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=32)]
    nodes.append(helper.make_node("MatMul", ["x", "d"], ["y"], "product"))
    x, y = (_value(name, ["B", "S", width]) for name, width in (("x", 256), ("y", 96)))
    made = helper.make_graph(nodes, "g", [x], [y], [w, scales])
    return helper.make_model(made, opset_imports=[helper.make_opsetid("", 21)], ir_version=10)


@pytest.mark.parametrize("dtype", [TensorProto.INT4, TensorProto.UINT4])
def test_standard_weights_stay_packed(dtype: Any) -> None:
    proto = quantized_matmul(dtype)
    product = product_of(proto)
    assert (product.zero_points is None) == (dtype == TensorProto.INT4)


def test_standard_weights_give_the_numbers_of_floats() -> None:
    proto = quantized_matmul(TensorProto.INT4)
    x = np.random.default_rng(0).standard_normal((2, 3, 256)).astype(np.float32)
    optimized, plain = stepwell.compile(proto), stepwell.compile(proto, opt_level=0)
    found, wanted = (np.asarray(model(x)) for model in (optimized, plain))
    np.testing.assert_allclose(found.astype(float), wanted.astype(float), rtol=1e-4, atol=1e-4)


@whole
def test_open_batch_and_rows_with_steps_in_several_parts() -> None:
    proto, weights = matmul_nbits(100, 1376, 4, 32, False)
    for value, width in ((proto.graph.input[0], 1376), (proto.graph.output[0], 100)):
        value.CopyFrom(_value(value.name, ["B", "S", width]))
    x = np.random.default_rng(0).standard_normal((2, 3, 1376)).astype(np.float32)
    found = np.asarray(stepwell.compile(proto)(x))
    expect(found.reshape(6, 100), x.reshape(6, 1376), weights)


@pytest.mark.sample(3)
@pytest.mark.parametrize("activations", ["f32", "int8"])
def test_products_of_one_input_are_joined(activations: Any) -> None:
    """Codes of queries, keys and values become one matrix; each result is that of its own product."""
    proto, weights = matmul_nbits(120, 320, 4, 32, True)
    for name, first in (("k", 40), ("v", 16)):
        other = matmul_nbits(120, 320, 4, 32, True)[0].graph
        arrays = [numpy_helper.to_array(each)[first:] for each in other.initializer[:2]]
        points = numpy_helper.to_array(other.initializer[2]).reshape(120, -1)[first:].reshape(-1)
        made = [numpy_helper.from_array(a, f"{name}{i}") for i, a in enumerate([*arrays, points])]
        proto.graph.initializer.extend(made)
        sizes: dict[str, Any] = {"K": 320, "N": 120 - first, "bits": 4, "block_size": 32}
        names = ["x", *(each.name for each in made)]
        node = helper.make_node("MatMulNBits", names, [name], name, domain="com.microsoft", **sizes)
        proto.graph.node.append(node)
        proto.graph.output.append(_value(name, ["M", 120 - first]))
    model = stepwell.compile(proto, activations=activations)
    x = np.rint(np.random.default_rng(0).uniform(-127, 127, (3, 320))).astype(np.float32)
    x[:, ::32] = 127  # bytes with the scale 1
    found: Any = model.run({"x": x})
    for name, first in (("y", 0), ("k", 40), ("v", 16)):
        expect(found[name], x, weights[first:])
    assert ["product", "k", "v"] in [list(kernel.nodes) for kernel in model.kernels.values()]
