"""Which kernels whole networks become: one a convolution, and no row or activation that needs two."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import pytest

from benchmarks.zoo import model_path
from stepwell.dialects import graph
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.tools.driver.compilation import main_of
from stepwell.tools.driver.levels import to_level_1
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start

_AVERAGED = ["graph.reduce", "graph.slice", "graph.softmax"]
"""The kernels that end a network without a product."""


def kernels_of_model(name: str, mcpu: str = "host") -> list[list[str]]:
    """The names of the ops in each kernel of a model for a target, constants left out."""
    path = model_path(name)
    if path is None:
        pytest.skip(f"{name}: STEPWELL_MODELS names no folder that has it")
    options = CompileOptions(mcpu=mcpu)
    to_level_1(compilation := start(path, options), options)
    return [
        [op.name for op in fused.body.block.ops if isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE]
        for fused in main_of(compilation.module).body.block.ops
        if isinstance(fused, graph.FusedOp)
    ]


@pytest.mark.parametrize(
    ("name", "counts", "others"),
    [
        ("resnet18", (9, 8, 3), ["graph.matmul graph.bias_add", "graph.pool", "graph.reduce", "graph.slice"]),
        ("light_squeezenet", (26, 0, 0), [*["graph.concat"] * 8, *["graph.pool"] * 3, *_AVERAGED]),
        pytest.param(
            "light_resnet50",
            (33, 16, 4),
            ["graph.matmul graph.bias_add", *["graph.pool"] * 2, "graph.slice", "graph.softmax"],
            marks=pytest.mark.slow,
        ),
    ],
)
def test_a_convolution_is_a_kernel(name: str, counts: Sequence[int], others: Sequence[str]) -> None:
    """
    Bias, addition and relu are inside; `others` are all other kernels: pools, the last product, softmax.

    With vectors of 16 the columns of the product are filled up to whole panels, and cut off in between.
    """
    kernels = kernels_of_model(name, "x86-64-v4")
    convolutions = [ops for ops in kernels if {"graph.conv", "graph.winograd_conv"} & {*ops}]
    # Which of them are Winograd's depends on caches.
    named = Counter(" ".join(ops).replace("winograd_conv", "conv") for ops in convolutions)
    ends = ("graph.relu", "graph.add graph.relu", "")
    expected = {f"graph.conv graph.bias_add {end}".rstrip(): n for end, n in zip(ends, counts, strict=True)}
    assert named == Counter(expected)
    assert sorted(" ".join(ops) for ops in kernels if ops not in convolutions) == sorted(others)


@pytest.mark.sample(3)
@pytest.mark.parametrize(
    ("name", "rows", "gelus"),
    [
        pytest.param("bert_base_128", 37, 12, marks=pytest.mark.slow),
        pytest.param("vit_tiny", 37, 12, marks=pytest.mark.slow),
        ("bert_mini_dyn", 13, 4),
        ("gpt_kv", 19, 6),
    ],
)
def test_transformers(name: str, rows: int, gelus: int) -> None:
    """Attention, a softmax or a layer norm is one kernel; GELU is less, the end of that of its product."""
    kernels = kernels_of_model(name)
    row_ops = {"graph.attention", "graph.softmax", "graph.layer_norm"}
    with_rows = [ops for ops in kernels if row_ops & {*ops}]
    assert len(with_rows) == rows
    assert all(sum(op in row_ops for op in ops) == 1 for ops in with_rows)
    # A decoder's step stays in parts.
    assert any("graph.attention" in ops for ops in kernels) == (name != "gpt_kv")
    with_gelu = [ops for ops in kernels if {"graph.gelu", "graph.erf"} & {*ops}]
    assert len(with_gelu) == gelus
    assert all("graph.matmul" in ops for ops in with_gelu)
    assert all(len(ops) > 1 for ops in kernels if ops[0] in ("graph.add", "graph.multiply", "graph.bias_add"))
