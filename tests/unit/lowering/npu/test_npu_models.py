"""Quantized models on the accelerator: the bytes of the integer ops of level 1, in any order of stages."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

import stepwell as sw
from stepwell.dialects import npu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.backends.npu import Encoded, simulate
from stepwell.lowering.backends.npu.backend import NpuBackend
from stepwell.lowering.backends.npu.convolution import ConvProgram
from stepwell.lowering.backends.npu.layout import packed, packed_channels, packed_weights, unpacked
from stepwell.lowering.backends.npu.tiles import ConvShape, Tile, chosen_tile
from stepwell.passes.graph.quantize.requantize_in_integers import multipliers
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import NPU_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.npu.config import config_of
from tests.support.devices.integers import interpreted

PYNQ = config_of("pynq")


class Quantized:
    """A model of quantized convolutions in the making, with weights by chance."""

    def __init__(self, seed: int = 0) -> None:
        self.rng = np.random.default_rng(seed)
        self.nodes: list[onnx.NodeProto] = []
        self.weights: list[onnx.TensorProto] = []

    def constant(self, name: str, array: Any) -> str:
        self.weights.append(numpy_helper.from_array(np.asarray(array), name))
        return name

    def node(self, kind: str, inputs: list[str], output: str, **attributes: Any) -> str:
        self.nodes.append(helper.make_node(kind, inputs, [output], name=output, **attributes))
        return output

    def quantized(self, value: str, scale: float, point: int) -> str:
        """The bytes of a value, and the numbers that they stand for."""
        constants = [
            self.constant(f"{value}_s", np.float32(scale)),
            self.constant(f"{value}_z", np.uint8(point)),
        ]
        self.node("QuantizeLinear", [value, *constants], f"{value}_q")
        return self.node("DequantizeLinear", [f"{value}_q", *constants], f"{value}_d")

    def conv(self, value: str, name: str, shape: tuple[int, ...], **attributes: Any) -> str:
        """A convolution with quantized weights and a bias."""
        bytes = self.rng.integers(-127, 128, shape).astype(np.int8)
        scales = (self.rng.random(shape[0], np.float32) + 0.5) / 400
        weights = [self.constant(f"{name}_w", bytes), self.constant(f"{name}_ws", scales)]
        zeros = self.constant(f"{name}_wz", np.zeros(shape[0], np.int8))
        w = self.node("DequantizeLinear", [*weights, zeros], f"{name}_wd", axis=0)
        bias = self.constant(f"{name}_b", self.rng.standard_normal(shape[0], np.float32))
        return self.node("Conv", [value, w, bias], name, **attributes)

    def save(self, path: Path, shape: list[Any], output: str, channels: int) -> Path:
        x = helper.make_tensor_value_info("x", TensorProto.FLOAT, shape)
        y = helper.make_tensor_value_info(output, TensorProto.FLOAT, ["N", channels, None, None])
        graph = helper.make_graph(self.nodes, "g", [x], [y], self.weights)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
        onnx.save(model, path)
        return path


def block(path: Path) -> Path:
    """A model of three convolutions, one of which is added to the feature maps before."""
    make = Quantized()
    x = make.quantized("x", 0.02, 120)
    first = make.conv(x, "first", (20, 3, 3, 3), strides=[2, 2], pads=[1, 1, 1, 1])
    a = make.quantized(make.node("Relu", [first], "positive"), 0.05, 0)
    second = make.quantized(make.conv(a, "second", (20, 20, 3, 3), pads=[1, 1, 1, 1]), 0.3, 128)
    added = make.quantized(make.node("Add", [second, a], "added"), 0.31, 125)
    last = make.conv(added, "last", (5, 20, 1, 1), dilations=[1, 1])
    return make.save(path, ["N", 3, 9, 11], make.quantized(last, 0.04, 100), 5)


def test_a_model_has_the_bytes_of_the_reference(tmp_path: Path) -> None:
    path = block(tmp_path / "block.onnx")
    x = np.random.default_rng(1).standard_normal((2, 3, 9, 11), np.float32)
    compiled = sw.compile(path, device="npu", use_cache=False)
    assert [callee.kind for callee in compiled.image.main.callees] == ["npu"]
    found = compiled(x)
    assert isinstance(found, np.ndarray)
    np.testing.assert_array_equal(found, interpreted(path, x))
    by_floats = interpreted(path, x, more="")
    assert (
        np.abs(found - by_floats).max() <= 2 * 0.04 and len(np.unique(found)) > 20
    )  # steps of the last scale


def pooled(path: Path) -> Path:
    """A model of a convolution, maxima over its windows, and another convolution."""
    make = Quantized(3)
    first = make.quantized(make.conv(make.quantized("x", 0.02, 120), "first", (20, 3, 1, 1)), 0.05, 100)
    sizes = {"kernel_shape": [3, 2], "strides": [2, 1], "pads": [1, 1, 1, 0], "dilations": [1, 2]}
    # The maxima have the scale of what they are of: exporters write it again.
    again = make.quantized(make.node("MaxPool", [first], "pool", **sizes), 0.05, 100)
    last = make.conv(again, "last", (5, 20, 1, 1))
    return make.save(path, ["N", 3, 19, 23], make.quantized(last, 0.04, 100), 5)


def test_maxima_have_the_bytes_of_the_reference(tmp_path: Path) -> None:
    path = pooled(tmp_path / "pooled.onnx")
    x = np.random.default_rng(1).standard_normal((2, 3, 19, 23), np.float32)
    compiled = sw.compile(path, device="npu", use_cache=False)
    assert [callee.kind for callee in compiled.image.main.callees] == ["npu"]
    found = compiled(x)
    assert isinstance(found, np.ndarray) and len(np.unique(found)) > 20
    np.testing.assert_array_equal(found, interpreted(path, x))


def row_product(path: Path) -> Path:
    """A model of two products of rows, with zero points and a bias each."""
    make = Quantized(2)
    value = make.quantized("x", 0.02, 110)
    for name, shape in (("first", (40, 37)), ("last", (37, 19))):
        w = make.constant(f"{name}_w", make.rng.integers(-127, 128, shape).astype(np.int8))
        scales = make.constant(f"{name}_ws", (make.rng.random(shape[1], np.float32) + 0.5) / 400)
        zeros = make.constant(f"{name}_wz", np.zeros(shape[1], np.int8))
        weights = make.node("DequantizeLinear", [w, scales, zeros], f"{name}_wd", axis=1)
        bias = make.constant(f"{name}_b", make.rng.standard_normal(shape[1], np.float32))
        product = make.node("Gemm", [value, weights, bias], name)
        value = make.quantized(product, 0.06, 120)
    x = helper.make_tensor_value_info("x", TensorProto.FLOAT, ["N", 40])
    y = helper.make_tensor_value_info(value, TensorProto.FLOAT, ["N", 19])
    graph = helper.make_graph(make.nodes, "g", [x], [y], make.weights)
    onnx.save(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8), path)
    return path


def test_products_of_rows_have_the_bytes_of_the_reference(tmp_path: Path) -> None:
    path = row_product(tmp_path / "rows.onnx")
    x = np.random.default_rng(1).standard_normal((3, 40), np.float32)
    compiled = sw.compile(path, device="npu", use_cache=False)
    assert [callee.kind for callee in compiled.image.main.callees] == ["npu"]
    found = compiled(x)
    assert isinstance(found, np.ndarray) and len(np.unique(found)) > 20
    np.testing.assert_array_equal(found, interpreted(path, x))
    assert np.abs(found - interpreted(path, x, more="")).max() <= 2 * 0.06


def test_artifacts_have_the_programs(tmp_path: Path) -> None:
    compiled = sw.compile(block(tmp_path / "block.onnx"), device="npu", use_cache=False)
    compiled.save(tmp_path / "m.stepwell")
    x = np.zeros((1, 3, 9, 11), np.float32)
    np.testing.assert_array_equal(sw.load(tmp_path / "m.stepwell")(x), compiled(x))  # pyright: ignore[reportArgumentType]
    code = bytes(compiled.image.main.callees[0].code)
    for size in (0, 5, 100, len(code) // 2, len(code) - 1):
        with pytest.raises(StepwellError) as error:
            NpuBackend().load(code[:size])
        assert error.value.code in ("bad-artifact", "bad-npu-program")


def arrays_of(shape: ConvShape, rng: np.random.Generator) -> tuple[Any, list[Any]]:
    """Feature maps, and the arrays of a program."""
    image = rng.integers(0, 256, (shape.blocks_in * 16, shape.height, shape.width)).astype(np.uint8)
    filters = rng.integers(-127, 128, (shape.blocks_out * 16, shape.blocks_in * 16, *shape.kernel))
    factors, shifts = multipliers((rng.random(len(filters)) + 0.5) / 2000)
    rows = (rng.integers(-999, 999, len(filters)), factors, shifts)
    constants = [packed_weights(filters.astype(np.int8), PYNQ), packed_channels(rows, PYNQ)]
    return image, [packed(image, PYNQ), *constants]


SHAPES = [
    ConvShape(2, 4, 7, 9, (3, 3), (1, 2), (2, 1), (2, 0, 1, 1)),
    ConvShape(1, 2, 5, 6, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0)),
]


def scheduled(program: npu.ProgramOp, passes: Sequence[str]) -> npu.ProgramOp:
    """A copy of a program after passes."""
    run_pipeline(module := ModuleOp([program.clone()]), ",".join(passes))
    module.verify()
    (found,) = module.ops
    assert isinstance(found, npu.ProgramOp)
    return found


@pytest.mark.parametrize("shape", SHAPES)
def test_every_order_of_the_stages_is_right(shape: ConvShape) -> None:
    """With merged instructions and two buffers, and without: the numbers of a program that has one tile."""
    _, arrays = arrays_of(shape, np.random.default_rng(3))
    program = ConvProgram(shape, Tile(3, 2, 2), "pynq", 5, -7).program("p")
    result = np.zeros(program.body.block.args[3].type.get_shape(), np.int8)  # pyright: ignore[reportAttributeAccessIssue, reportUnknownMemberType, reportUnknownArgumentType]
    whole = ConvProgram(shape, Tile(6, shape.out(1), shape.blocks_out), "pynq", 5, -7).program("p")
    expected = simulate(scheduled(whole, ["add-npu-waits"]), [*arrays, result])[0][3]
    assert len(np.unique(expected)) > 50
    with pytest.raises(StepwellError, match="may still be"):
        simulate(program, [*arrays, result])
    steps = NPU_PIPELINE.split(",")
    for optional in range(4):
        kept = [step for bit, step in enumerate(steps) if bit > 1 or optional >> bit & 1]
        made = scheduled(program, kept)
        for seed in (None, *range(6)):
            np.testing.assert_array_equal(simulate(made, [*arrays, result], seed)[0][3], expected)


def test_two_buffers_let_loads_go_on() -> None:
    """The loads of a tile wait for the products of the tile before the last one, with fewer instructions."""
    program = ConvProgram(SHAPES[0], Tile(3, 2, 2), "pynq", 5, -7).program("p")
    made = scheduled(program, NPU_PIPELINE.split(","))
    numbers: dict[SSAValue, int] = {op.token: number for number, op in enumerate(made.instructions)}
    products = [n for n, op in enumerate(made.instructions) if isinstance(op, npu.GemmOp) and not op.reset]
    inputs = [op for op in made.instructions if isinstance(op, npu.LoadOp) and op.buffer.data == "inp"]
    waits = [[products.index(numbers[value]) for value in op.after] for op in inputs]
    assert waits == [[], [], *([n] for n in range(len(inputs) - 2))]
    assert len(made.instructions) < len(program.instructions) - len(products)


def test_layouts_and_back() -> None:
    image = np.random.default_rng(0).integers(0, 256, (20, 3, 4)).astype(np.uint8)
    elements = packed(image, PYNQ)
    assert elements.shape == (24, 1, 16) and elements[0, 0, 3] == int(image[3, 0, 0]) - 128
    np.testing.assert_array_equal(unpacked(elements, (20, 3, 4), PYNQ), image)


@pytest.mark.parametrize("config", ["pynq", "ultra96"])
def test_tiles_fit(config: str) -> None:
    sizes = config_of(config)
    rng = np.random.default_rng(7)
    for _ in range(40):
        size, kernel = int(rng.integers(7, 120)), int(rng.choice([1, 3, 5, 7]))
        shape = ConvShape(
            int(rng.integers(1, 9)),
            int(rng.integers(1, 9)),
            size,
            size,
            (kernel, kernel),
            (1, 1),
            (1, 1),
            (0, 0, 0, 0),
        )
        tile = chosen_tile(shape, sizes)
        assert tile is not None and tile.fits(shape, sizes) and shape.out(1) % tile.columns == 0


def test_multipliers_are_the_nearest() -> None:
    ratios = np.array([1.0, 0.5, 3.7e-4, 1 - 2.0**-40, 511.9])
    made: tuple[Any, Any] = multipliers(ratios)
    factors, shifts = made
    assert ((1 << 30 <= factors) & (factors < 1 << 31)).all()
    np.testing.assert_allclose(factors / 2.0**shifts, ratios, rtol=2.0**-31)


def test_programs_of_a_part_are_texts(tmp_path: Path) -> None:
    shape = ConvShape(1, 1, 4, 4, (1, 1), (1, 1), (1, 1), (0, 0, 0, 0))
    text = str(ConvProgram(shape, Tile(4, 4, 1), "pynq", 0, 3).program("p"))
    (program,) = parse_module(StepwellContext(), text, "p").body.block.ops
    program.verify()
    assert "npu.alu mulshift uops [(0, 17, 18)]" in text and "imm 3" in text
    assert isinstance(Encoded, type)
