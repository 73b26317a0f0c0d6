"""Operators of ONNX Runtime's own domain, compiled, against ONNX Runtime."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.meaning import Array
from stepwell.tools.onnx_support import BODY, HOST, MISSING, NATIVE, support_of_model
from tests.contrib_models import agree, expected_of, floats, model_of

RNG = np.random.default_rng(37)

Case = tuple[str, list[Array | None], list[int], dict[str, Any]]
X, ROW = floats(2, 5, 8), floats(8)
IMAGE, FILTERS = floats(2, 4, 7, 6), floats(6, 2, 3, 3)
CONV = {"group": 2, "strides": [2, 1], "pads": [1, 0, 1, 2]}
IDS = RNG.integers(0, 9, (2, 5)).astype(np.int32)
TABLES: list[Array | None] = [floats(9, 8), floats(6, 8), floats(3, 8), ROW, floats(8)]
KEPT = np.array([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]], np.int32)

SQUARES = (RNG.uniform(-1, 1, (2, 4, 4)) + 3 * np.eye(4)).astype(np.float32)
BYTES = RNG.integers(0, 256, (2, 7, 6, 4)).astype(np.uint8)

CASES: list[Case] = [
    # The operator, its inputs, which of them are weights, its attributes.
    ("Gelu", [X], [], {}),
    ("QuickGelu", [X], [], {}),
    ("QuickGelu", [X], [], {"alpha": 1.0}),
    ("FastGelu", [X], [], {}),
    ("FastGelu", [X, ROW], [1], {}),
    ("BiasGelu", [X, ROW], [1], {}),
    ("FusedMatMul", [X, floats(3, 8)], [1], {"transB": 1, "alpha": 0.5}),
    ("FusedMatMul", [floats(5, 2, 8), floats(2, 5, 3)], [], {"transBatchA": 1, "transA": 1}),
    ("FusedMatMul", [floats(2, 5, 8), floats(8, 2, 3)], [], {"transBatchB": 1}),
    ("FusedMatMul", [floats(8), floats(8, 3)], [], {"transA": 1}),
    (
        "FusedGemm",
        [floats(8, 5), floats(3, 8), floats(3)],
        [1],
        {"transA": 1, "transB": 1, "activation": "Relu"},
    ),
    ("FusedGemm", [floats(5, 8), floats(8, 3)], [], {"activation": "LeakyRelu", "activation_alpha": 0.2}),
    ("FusedConv", [IMAGE, FILTERS, floats(6)], [1, 2], {**CONV, "activation": "Relu"}),
    ("FusedConv", [IMAGE, FILTERS, floats(6), floats(2, 6, 4, 6)], [1], {**CONV, "activation": "Relu"}),
    ("FusedConv", [IMAGE, FILTERS], [1], {"group": 2, "activation": "LeakyRelu", "activation_params": [0.3]}),
    (
        "FusedConv",
        [IMAGE, FILTERS],
        [1],
        {"group": 2, "activation": "Clip", "activation_params": [-0.2, 0.4]},
    ),
    ("SkipLayerNormalization", [X, floats(2, 5, 8), ROW, floats(8), floats(8)], [2, 3], {"epsilon": 1e-5}),
    ("SkipLayerNormalization", [X, floats(5, 8), ROW], [2], {}),
    ("SkipSimplifiedLayerNormalization", [X, floats(2, 5, 8), ROW, floats(8)], [2], {"epsilon": 1e-6}),
    ("SimplifiedLayerNormalization", [X, ROW], [1], {"axis": -1, "epsilon": 1e-6, "stash_type": 1}),
    ("EmbedLayerNormalization", [IDS, IDS % 3, *TABLES, KEPT], [2, 3, 4, 5, 6], {"epsilon": 1e-6}),
    ("EmbedLayerNormalization", [IDS, None, TABLES[0], TABLES[1], None, *TABLES[3:]], [2, 3], {}),
    ("Trilu", [floats(3, 5), np.array(1, np.int64)], [], {"upper": 0}),
    ("ExpandDims", [X, np.array(-2, np.int32)], [1], {}),
    ("Range", [np.array(1, np.float32), np.array(9, np.float32)], [0, 1], {}),
    ("GatherND", [X, np.array([[0, 1], [1, 4]], np.int64)], [], {}),
    ("Pad", [floats(3, 5), np.array([1, 0, 0, 2], np.int64), np.array(7, np.float32)], [1, 2], {}),
    ("Inverse", [SQUARES], [], {}),
    ("NhwcMaxPool", [BYTES], [], {"kernel_shape": [2, 3], "strides": [2, 1], "pads": [0, 1, 1, 0]}),
]
OUTPUTS = {
    "EmbedLayerNormalization": "yms",
    "SimplifiedLayerNormalization": "yd",
    "SkipLayerNormalization": "y  s",
    "SkipSimplifiedLayerNormalization": "y  s",
}


@pytest.mark.sample(6)
@pytest.mark.parametrize(("op_type", "inputs", "constants", "attributes"), CASES)
def test_operator(
    op_type: str, inputs: list[Array | None], constants: list[int], attributes: dict[str, Any]
) -> None:
    domain = "" if op_type == "SimplifiedLayerNormalization" else "com.microsoft"
    outputs = OUTPUTS.get(op_type, "y")
    agree(model_of(op_type, inputs, constants, outputs, domain, **attributes), inputs)


def packed_weights(rows: int, columns: int, bits: int, block: int, points: str) -> list[Array | None]:
    """Inputs 1 to 3 of `MatMulNBits`: packed weights, scales, and zero points as bytes, floats or none."""
    blocks = -(-columns // block)
    codes = RNG.integers(0, 256, (rows, blocks, block * bits // 8)).astype(np.uint8)
    scales = RNG.uniform(0.01, 0.1, (rows, blocks)).astype(np.float32)
    match points:
        case "bytes":
            zero = RNG.integers(0, 256, (rows, -(-blocks * bits // 8))).astype(np.uint8)
        case "floats":
            zero = RNG.uniform(3, 9, (rows, blocks)).astype(np.float32)
        case _:
            zero = None
    return [codes, scales, zero]


@pytest.mark.parametrize(
    ("bits", "points", "columns", "has_bias"),
    [
        (4, "", 64, False),
        (4, "bytes", 80, True),
        (4, "floats", 64, False),
        (8, "bytes", 64, False),
        (8, "", 40, True),
        (2, "bytes", 64, False),
    ],
)
def test_matmul_of_packed_weights(bits: int, points: str, columns: int, has_bias: bool) -> None:
    rows, block = 48, 32  # whole panels of columns
    weights = packed_weights(rows, columns, bits, block, points)
    inputs = [floats(3, columns), *weights, None, floats(rows) if has_bias else None]
    sizes = {"K": columns, "N": rows, "bits": bits, "block_size": block}
    model = model_of("MatMulNBits", inputs, range(1, 6), "y", "com.microsoft", accuracy_level=1, **sizes)
    agree(model, inputs, 1e-4)


@pytest.mark.parametrize(("bits", "has_points"), [(4, True), (4, False), (8, True)])
def test_rows_of_packed_weights(bits: int, has_points: bool) -> None:
    codes, scales, zero = packed_weights(24, 64, bits, 32, "bytes")
    assert codes is not None
    ids = np.array([[3, 0, 23], [7, 7, 1]], np.int64)
    inputs = [codes.reshape(24, -1), ids, scales, zero if has_points else None]
    attributes = {"bits": bits, "block_size": 32, "quantize_axis": 1}
    agree(model_of("GatherBlockQuantized", inputs, [0, 2, 3], "y", "com.microsoft", **attributes), inputs)


def test_support_is_reported_inside_functions_too() -> None:
    domains = [helper.make_opsetid(domain, 1) for domain in ("com.microsoft", "com.acme")]
    inner = [
        helper.make_node("Gelu", ["x"], ["t"], domain="com.microsoft"),
        helper.make_node("Mix", ["t"], ["y"], domain="com.acme"),
    ]
    function = helper.make_function("local", "Twice", ["x"], ["y"], inner, domains)
    nodes = [
        helper.make_node("Twice", ["x"], ["a"], domain="local"),
        helper.make_node("Inverse", ["a"], ["b"], domain="com.microsoft"),
        helper.make_node("BeamSearch", ["b"], ["y"], domain="com.microsoft"),
    ]
    x = helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [2, 3])
    made = helper.make_graph(nodes, "g", [x], [onnx.ValueInfoProto(name="y")])
    opsets = [helper.make_opsetid("", 18), *domains, helper.make_opsetid("local", 1)]
    model = helper.make_model(made, functions=[function], opset_imports=opsets, ir_version=9)
    assert dict(support_of_model(model)) == {
        "local.Twice": BODY,
        "Gelu": NATIVE,
        "com.acme.Mix": MISSING,
        "Inverse": HOST,
        "BeamSearch": MISSING,
    }
    # All operators that nothing converts stand in one error, also those behind others.
    with pytest.raises(StepwellError, match=r"com\.acme\.Mix, com\.microsoft\.BeamSearch"):
        stepwell.compile(model)


@pytest.mark.parametrize(
    "options",
    [
        {"tokenexp": "[a-z0-9]+", "mincharnum": 2},
        {"separators": [" ", ",+"], "mark": 1},
        {"separators": [""], "mark": 1},
    ],
)
def test_tokenizer(options: dict[str, Any]) -> None:
    texts = np.array([["a quick, brown,,fox"], ["on 12 été"]], object)
    attributes: dict[str, Any] = {"mark": 0, "mincharnum": 1, "pad_value": "#", **options}
    model = model_of("Tokenizer", [texts], [], **attributes)
    (expected,) = expected_of(model, [texts]).values()
    (found,) = stepwell.compile(model).run({"x0": texts}).values()
    np.testing.assert_array_equal(np.asarray(found), expected)
