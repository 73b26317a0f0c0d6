"""Kernels that a plugin brings as text compute what their ops mean, and are refused where they do not fit."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell
import stepwell.plugin as sw
from stepwell.passes.graph.kernels.registered import KERNELS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.plugins import UNKEYED

TEMPLATE = Path(__file__).parents[4] / "filecheck" / "graph" / "kernels" / "blocked.mlir"
MODEL = """
func.func @main(%x: tensor<19x24xf32>, %w: tensor<24x32xf32>, %u: tensor<32x8xf32>) -> tensor<19x8xf32> {
  %y = graph.matmul %x, %w : (tensor<19x24xf32>, tensor<24x32xf32>) -> tensor<19x32xf32>
  %z = graph.relu %y : tensor<19x32xf32> -> tensor<19x32xf32>
  %r = graph.matmul %z, %u : (tensor<19x32xf32>, tensor<32x8xf32>) -> tensor<19x8xf32>
  func.return %r : tensor<19x8xf32>
}
"""


@pytest.fixture(autouse=True)
def registered() -> Iterator[None]:
    """Kernels of a test, forgotten after it."""
    before, unkeyed = KERNELS.snapshot(), set(UNKEYED)
    yield
    KERNELS.restore(before)
    UNKEYED.clear()
    UNKEYED.update(unkeyed)


def _run(text: str = MODEL) -> tuple[np.ndarray, np.ndarray, str]:
    """What a program computes compiled, what it means, and the schedules of its first kernel."""
    rng = np.random.default_rng(0)
    x, w, u = (rng.standard_normal(shape, np.float32) for shape in ((19, 24), (24, 32), (32, 8)))
    model = _compiled(text)
    return np.asarray(model(x, w, u)), np.maximum(x @ w, 0) @ u, model.kernels["k0"].schedule


def _compiled(text: str) -> stepwell.CompiledModel:
    return stepwell.parse(text, name="m.mlir").compile(target="x86-64-v3", threads=1)


@pytest.mark.sample(3)
@pytest.mark.parametrize(("rows", "columns"), [(4, 16), (1, 8), (7, 3), (64, 32)])
def test_a_kernel_computes_what_its_op_means(rows: int, columns: int) -> None:
    """Sizes that divide the dimensions, that do not, and larger ones; the second product is not wanted."""

    @sw.kernel(str(TEMPLATE))
    def blocked(M: int, K: int, N: int) -> dict[str, int] | None:
        assert (M, K) in ((19, 24), (19, 32))
        return {"rows": rows, "columns": columns} if N == 32 else None

    found, expected, schedule = _run()
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert f"tile = [{rows}, {columns}, 1]" in schedule
    assert blocked(M=19, K=24, N=8) is None


def test_text_with_bound_kernels_is_a_program_of_level_1() -> None:
    """What `--emit graph` prints, or an editor has, compiles to the same."""
    bound = stepwell.parse(MODEL).run(f'bind-kernels{{file="{TEMPLATE}" sizes="rows=4 columns=8"}},fuse-ops')
    assert bound.level == "graph"
    found, expected, schedule = _run(str(bound).replace("tile = [4, 8, 1]", "tile = [2, 16, 1]", 1))
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
    assert "tile = [2, 16, 1]" in schedule


def test_sizes_that_a_plugin_gives_are_checked() -> None:
    given: list[object] = [
        {"rows": 4},
        {"rows": True, "columns": 8},
        {"rows": 4, "columns": 1 << 40},
        1 / 0.5,
    ]

    @sw.kernel(str(TEMPLATE))
    def blocked(M: int, K: int, N: int) -> Any:
        return given[0] if len(given) > 1 else M // 0

    for words in ("needs the size columns", "for rows, found True", "for columns, found 1099511627776"):
        with pytest.raises(StepwellError, match=f"error.bad-schedule.*@blocked.*{words}"):
            _run()
        given.pop(0)
    with pytest.raises(StepwellError, match="plugin-failed.*ZeroDivisionError"):
        _run()
    del blocked


def test_a_kernel_is_not_in_the_cache_of_models(tmp_path: Path) -> None:
    """Its text is in no digest of a plugin."""
    from stepwell.tools.driver.kept_models import kept_model
    from stepwell.tools.driver.options import CompileOptions

    (tmp_path / "m.onnx").write_bytes(b"model")
    UNKEYED.clear()
    assert kept_model(tmp_path / "m.onnx", CompileOptions()) is not None
    sw.kernel(str(TEMPLATE))(lambda **dimensions: None)
    assert kept_model(tmp_path / "m.onnx", CompileOptions()) is None


def test_a_program_that_names_no_function_or_another_one() -> None:
    bound = """
func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %y = graph.fused (%a = %x : tensor<4xf32>) -> (tensor<4xf32>) attributes {graph.kernel = @own} {
    %b = graph.relu %a : tensor<4xf32> -> tensor<4xf32>
    graph.yield %b : tensor<4xf32>
  }
  func.return %y : tensor<4xf32>
}
"""
    own = "func.func private @own(%x: tensor<4xf32>) -> tensor<{0}> {{ {1} func.return %y : tensor<{0}> }}"
    for more in ("", own.format("2xf32", "%y = tensor.empty() : tensor<2xf32>")):
        with pytest.raises(StepwellError, match=r"invalid-ir.*expected a function @own of type"):
            _compiled(bound + more)
