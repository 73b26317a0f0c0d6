"""Transposed convolutions with constant filters, compiled, against sums over kernel points in float64."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
import pytest
from onnx import TensorProto, helper, numpy_helper

import stepwell

Floats: TypeAlias = npt.NDArray[np.floating[Any]]

# (image, filters [in, out, kernel…], strides, pads, output padding, groups)
CASES = {
    "3 by 2": ((2, 5, 4, 6), (5, 16, 3, 3), (2, 2), (1, 1, 1, 1), (1, 1), 1),
    "3 by 2, last stride cut": ((1, 5, 4, 6), (5, 3, 3, 3), (2, 2), (1, 1, 1, 1), (0, 0), 1),
    "5 by 2, groups": ((1, 4, 5, 3), (4, 8, 5, 5), (2, 2), (2, 2, 2, 2), (1, 1), 2),
    "5 by 3, pads differ": ((1, 3, 5, 4), (3, 2, 5, 5), (3, 3), (0, 2, 1, 0), (2, 1), 1),
    "one axis": ((1, 3, 7), (3, 4, 7), (4,), (1, 2), (1,), 1),
    "4 by 2": ((1, 3, 4, 4), (3, 4, 4, 4), (2, 2), (1, 1, 1, 1), (0, 0), 1),
    "kernel below stride": ((1, 3, 4, 4), (3, 4, 1, 3), (2, 2), (0, 1, 0, 0), (1, 0), 1),
    "no strides": ((1, 3, 4, 6), (3, 4, 3, 3), (1, 1), (1, 1, 0, 2), (0, 0), 1),
    "an empty result": ((1, 3, 6, 1), (3, 4, 2, 2), (1, 1), (1, 1, 1, 1), (0, 0), 1),
    "pads beyond the kernel": ((1, 3, 6, 6), (3, 4, 2, 2), (1, 1), (2, 2, 1, 1), (0, 0), 1),
}


@pytest.mark.sample(6)
@pytest.mark.parametrize("name", CASES)
def test_transposed(name: str) -> None:
    image, filters, strides, pads, extra, groups = CASES[name]
    rng = np.random.default_rng(7)
    x, w = (rng.uniform(-1, 1, shape).astype(np.float32) for shape in (image, filters))
    node = helper.make_node(
        "ConvTranspose", ["x", "w"], ["y"], strides=strides, pads=pads, output_padding=extra, group=groups
    )
    graph = helper.make_graph(
        [node],
        "transposed",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, image)],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, None)],
        [numpy_helper.from_array(w, "w")],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 22)], ir_version=10)
    wanted = _transposed(x, w, strides, pads, extra, groups)
    result = np.asarray(stepwell.compile(model)(x), np.float64)
    np.testing.assert_allclose(result, wanted, rtol=1e-4, atol=1e-5)


def _transposed(
    x: Floats, w: Floats, strides: Sequence[int], pads: Sequence[int], extra: Sequence[int], groups: int
) -> Floats:
    batch, depth, *sizes = x.shape
    width, *kernel = w.shape[1:]
    apart = x.reshape(batch, groups, depth // groups, *sizes).astype(np.float64)
    filters = w.reshape(groups, depth // groups, width, *kernel)
    wide = [(n - 1) * s + k + e for n, s, k, e in zip(sizes, strides, kernel, extra, strict=True)]
    y = np.zeros((batch, groups, width, *wide))
    for point in np.ndindex(*kernel):
        reached = (slice(p, p + (n - 1) * s + 1, s) for p, n, s in zip(point, sizes, strides, strict=True))
        y[(..., *reached)] += np.einsum("bgc...,gco->bgo...", apart, filters[(..., *point)])
    rank = len(sizes)
    kept = (slice(b, n - e) for b, n, e in zip(pads[:rank], wide, pads[rank:], strict=True))
    return y.reshape(batch, groups * width, *wide)[(..., *kept)]
