"""Weights of 2 and 4 bits an element share bytes in the artifact, and give what they gave."""

from __future__ import annotations

from pathlib import Path

import ml_dtypes
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell
from stepwell.passes.graph.layout.pack_narrow_weights import packed_parts

RNG = np.random.default_rng(43)
K, N, BLOCK = 256, 96, 32


def model(
    dtype: type, bits: int
) -> tuple[onnx.ModelProto, np.ndarray[tuple[int, int], np.dtype[np.float32]]]:
    """A product with a matrix that is dequantized by blocks of rows, and the numbers of that matrix."""
    low = 0 if dtype in (ml_dtypes.uint4, ml_dtypes.uint2) else -(1 << (bits - 1))
    codes = RNG.integers(low, low + (1 << bits), (K, N)).astype(np.float32).astype(dtype)
    scales = RNG.uniform(0.01, 0.1, (K // BLOCK, N)).astype(np.float32)
    nodes = [
        helper.make_node("DequantizeLinear", ["w", "s"], ["d"], axis=0, block_size=BLOCK),
        helper.make_node("MatMul", ["x", "d"], ["y"]),
    ]
    ends = [helper.make_tensor_value_info(*told) for told in (("x", TensorProto.FLOAT, ["M", K]),)]
    result = helper.make_tensor_value_info("y", TensorProto.FLOAT, ["M", N])
    weights = [numpy_helper.from_array(codes, "w"), numpy_helper.from_array(scales, "s")]
    graph = helper.make_graph(nodes, "g", ends, [result], weights)
    made = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 25)], ir_version=13)
    return made, codes.astype(np.float32) * scales.repeat(BLOCK, 0)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("dtype", "bits"),
    [
        (ml_dtypes.int4, 4),
        (ml_dtypes.uint4, 4),
        (ml_dtypes.int2, 2),
        (ml_dtypes.uint2, 2),
        (ml_dtypes.float4_e2m1fn, 4),
    ],
)
def test_artifact_holds_packed_weights(dtype: type, bits: int, tmp_path: Path) -> None:
    made, weights = model(dtype, bits)
    x = RNG.uniform(-1, 1, (3, K)).astype(np.float32)
    paths = [tmp_path / "packed.stepwell", tmp_path / "plain.stepwell"]
    for path, disabled in zip(paths, [("pack-nbits",), ("pack-nbits", "pack-narrow-weights")], strict=True):
        stepwell.compile(made, disabled_passes=disabled).save(path)
    packed, plain = (path.stat().st_size for path in paths)
    assert plain - packed > 0.9 * K * N * (1 - bits / 8) - 4096  # the code takes a page more at most
    assert np.allclose(stepwell.load(paths[0])(x), x @ weights, rtol=1e-4, atol=1e-4)


@pytest.mark.sample(3)
@pytest.mark.parametrize("rows", [1, 3, 4, 7])
@pytest.mark.parametrize("mcpu", ["host", "x86-64-v2"])
def test_few_rows_compute_weights_as_they_read_them(rows: int, mcpu: str) -> None:
    made, weights = model(ml_dtypes.int4, 4)
    x = RNG.uniform(-1, 1, (rows, K)).astype(np.float32)
    x[0, 5] = np.inf
    with np.errstate(invalid="ignore"):
        expected = x.astype(np.float64) @ weights
    compiled = stepwell.compile(made, mcpu=mcpu, input_shapes={"x": (rows, K)})
    assert np.allclose(compiled(x), expected, rtol=1e-4, atol=1e-4, equal_nan=True)


def test_parts_stand_one_behind_the_other() -> None:
    codes = np.array([1, -5, 6, -6, -5]).astype(ml_dtypes.int4)
    assert packed_parts(codes, 4).tolist() == [1 | 10 << 4, 11 | 11 << 4, 6]
