"""No schedule that its target cannot run: random shapes for all tags of GPUs."""

from dataclasses import replace
from math import gcd
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest
from hypothesis import given
from hypothesis import strategies as st

from stepwell.dialects import gpu
from stepwell.dialects.gpu.limits import expect_within_limits, shared_bytes
from stepwell.dialects.sched import TARGET
from stepwell.dialects.target import SpecAttr
from stepwell.passes.loop.gpu.tile_choices import (
    Limits,
    Shape,
    elementwise_threads,
    product_tile,
    row_threads,
)
from stepwell.passes.manager import run_pipeline
from stepwell.passes.pipelines import GPU_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target
from stepwell.tools.driver.emit import lower_to
from stepwell.tools.driver.options import CompileOptions
from tests.support.samples import examples

GPUS = [tag for tag in Target.tags() if "gpu" in Target(tag).keys] + [
    "webgpu",
    "webgpu{features=subgroups}",
    "opencl",
    "webgpu{max-threads=64 shared-memory=1KiB}",
    "opencl{max-threads=1 shared-memory=16}",
    "cuda{registers=16}",
]
EXTENTS = st.one_of(st.none(), st.integers(0, 9), st.integers(1, 5000), st.sampled_from([64, 1024, 1 << 20]))


@examples(2000)
@given(
    st.builds(
        Shape,
        *[EXTENTS] * 4,
        *[st.sampled_from([1, 2, 4, 8])] * 2,
        *[st.booleans()] * 3,
        *[st.sampled_from([1, 2, 4, 8, 16])] * 2,
        st.booleans(),
    ),
    st.sampled_from(GPUS),
)
def test_no_schedule_exceeds_its_target(shape: Shape, tag: str) -> None:
    target = Target(tag)
    attrs: Any = target.attrs
    limits = Limits.of(target)
    tile = product_tile(shape, limits)
    columns = attrs["max-block"][0] if isinstance(attrs.get("max-block"), tuple) else attrs["max-threads"]
    if tile is not None:
        assert 1 <= tile.threads <= min(attrs["max-threads"], columns)
        assert tile.shared_bytes(shape) <= attrs["shared-memory"]
        assert tile.registers() <= (attrs["registers"] or 255)
        assert tile.registers() * tile.threads <= 65536 or target.kind != "cuda"
        assert tile.parts >= 1
        assert tile.parts == 1 or tile.parts * tile.blocks(shape) <= attrs["multiprocessors"]
        assert tile.rows % tile.thread_rows == tile.columns % tile.thread_columns == 0
    for threads in (elementwise_threads(limits, [shape.rows]), row_threads(limits, shape.sums)):
        assert 1 <= threads <= min(attrs["max-threads"], columns)


@pytest.mark.sample(4)
@pytest.mark.parametrize("tag", GPUS)
def test_the_kernels_of_a_model_fit_and_their_memory_is_as_estimated(tag: str, tmp_path: Any) -> None:
    rng = np.random.default_rng(GPUS.index(tag))
    m, k, n = (int(extent) for extent in rng.integers(4, 300, 3))
    text = f"(float[{m},{k}] x, float[{k},{n}] y) => (float[{m},{n}] z) {{ p = MatMul(x, y) z = Softmax(p) }}"
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\ng {text}')
    onnx.save(model, path := tmp_path / "m.onnx")
    compilation = lower_to(path, CompileOptions(opt_level=1), "linalg")
    target = Target(tag)
    compilation.module.attributes[TARGET] = SpecAttr.of(target)
    run_pipeline(compilation.module, GPU_PIPELINE, compilation.ctx)
    kernels = [op for op in compilation.module.walk() if isinstance(op, gpu.GPUFuncOp)]
    for kernel in kernels:
        expect_within_limits(kernel, target)
    both = gcd(k, 4), gcd(n, 4)
    shape = Shape(m, n, k, 1, 4, 4, True, False, True, *both)
    tile = product_tile(shape, Limits.of(target))
    if tile is not None:
        estimated = tile.shared_bytes(shape)
        assert any(estimated - 16 <= shared_bytes(kernel, target.kind) <= estimated for kernel in kernels)


@pytest.mark.parametrize(
    ("sums", "neighbours", "tag", "stages"),
    [
        (4096, 4, "cuda", 4),
        (4096, 4, "cuda{arch=sm_86}", 4),
        (4096, 4, "cuda{shared-memory=48KiB}", 3),  # 4 tiles of two blocks would take 56 KiB
        (4096, 1, "cuda", 2),
        (40, 4, "cuda", 3),  # as many steps as there are
        (4096, 4, "cuda{arch=sm_75}", 2),
        (4096, 4, "cuda{shared-memory=20KiB}", 2),
        (4096, 4, "rocm", 2),
        (8, 4, "cuda", 1),
    ],
)
def test_copies_run_ahead_where_memory_and_steps_allow(
    sums: int, neighbours: int, tag: str, stages: int
) -> None:
    shape = Shape(512, 512, sums, 1, 4, 4, True, False, True, neighbours, neighbours)
    tile = product_tile(shape, Limits.of(Target(tag)))
    assert tile is not None and tile.stages == stages and tile.is_wide == (stages > 2)


@pytest.mark.parametrize(
    ("sizes", "tag", "parts"),
    [
        ((32, 64, 4096), "cuda", 13),  # 8 blocks for 108 multiprocessors
        ((32, 64, 4096), "cuda{multiprocessors=20}", 2),
        ((32, 64, 4096), "cuda{arch=sm_90}", 16),
        ((32, 64, 512), "cuda", 2),  # 32 steps, 16 a part
        ((2048, 2048, 4096), "cuda", 1),
        ((None, 64, 4096), "cuda", 1),
        ((32, 64, 4096), "webgpu", 1),  # it says nothing about multiprocessors
    ],
)
def test_few_tiles_of_many_sums_are_split(sizes: tuple[int | None, int, int], tag: str, parts: int) -> None:
    shape = Shape(*sizes, 1, 4, 4, True, False, True, 4, 4, True)
    limits = Limits.of(Target(tag))
    tile = product_tile(shape, limits)
    assert tile is not None and tile.parts == parts
    whole = product_tile(shape._replace(adds_up=False), limits)
    assert whole == replace(tile, parts=1)


def test_code_for_cuda_declares_48_kib_at_most(tmp_path: Any) -> None:
    from stepwell.dialects._xdsl import StepwellContext
    from stepwell.dialects.parser import parse_module

    text = """
gpu.module @m {
  gpu.func @k() workgroup(%s: memref<13000xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}"""
    module = parse_module(StepwellContext(), text, "k.mlir")
    (kernel,) = [op for op in module.walk() if isinstance(op, gpu.GPUFuncOp)]
    with pytest.raises(
        StepwellError, match="declares more bytes of memory of a block: 52000, and .* has 49152"
    ):
        expect_within_limits(kernel, Target("nvidia/h200"))
