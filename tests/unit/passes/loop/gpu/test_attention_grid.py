"""Attention as one grid: right, without races, on the `gpu` level and as PTX; no tile exceeds its target."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.rewriter import Rewriter

from stepwell import Target
from stepwell.dialects import gpu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.gpu.limits import fits_attention
from stepwell.dialects.gpu.tensor_cores import TF32
from stepwell.dialects.schedule_device import SHUFFLE
from stepwell.lowering.interpret import CHECKS, interpret
from stepwell.passes.loop.gpu.attention_tiles import AttentionTile, attention_tile
from stepwell.passes.loop.gpu.tile_choices import Limits
from stepwell.runtime.errors import StepwellError
from tests.support.devices.gpu_kernels import run
from tests.support.devices.grid_ops import AttentionCase, in_ptx
from tests.support.samples import examples

TILES = [
    AttentionTile(8, 8, 1),
    AttentionTile(16, 8, 2),
    AttentionTile(16, 16, 2, SHUFFLE),
    AttentionTile(16, 16, 2, TF32),
    AttentionTile(32, 8, 2, TF32),
]


@pytest.mark.sample(4)
@examples(12)
@given(
    st.tuples(*[st.integers(1, most) for most in (2, 40, 40, 20, 20)]),
    st.sampled_from(TILES),
    st.sampled_from(["", "k", "qk", "bQk", "bqK", "bqk"]),
    st.booleans(),
    st.booleans(),
)
def test_attention(sizes: Any, tile: AttentionTile, mask: str, zero_masked: bool, is_open: bool) -> None:
    case = AttentionCase(sizes, tile, mask, zero_masked, is_open)
    module, inputs = case.module(), case.inputs()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    found = run(module, inputs)
    case.check(found, inputs)
    np.testing.assert_array_equal(in_ptx(module, inputs), found)


@pytest.mark.sample(2)
@pytest.mark.parametrize("tile", TILES[1:4], ids=str)
@pytest.mark.parametrize(("depth", "columns"), [(40, 36), (33, 64)])
def test_rows_that_are_no_multiple_of_a_warp(tile: AttentionTile, depth: int, columns: int) -> None:
    case = AttentionCase((1, 20, 20, depth, columns), tile, "k")
    module, inputs = case.module(), case.inputs()
    found = run(module, inputs)
    case.check(found, inputs)
    np.testing.assert_array_equal(in_ptx(module, inputs), found)


@pytest.mark.parametrize("tile", TILES, ids=str)
def test_causal_masks_and_queries_without_keys(tile: AttentionTile) -> None:
    """A query sees keys up to its own; the first one sees none, and whole steps of others have -inf alone."""
    for zero_masked in (False, True):
        case = AttentionCase((1, 20, 20, 8, 8), tile, "qk", zero_masked)
        inputs = case.inputs()
        inputs[3] = np.where(np.tri(20, k=-1, dtype=bool), np.float32(0), np.float32(-np.inf))
        found = run(case.module(), inputs)
        case.check(found, inputs)
        assert (found[0, 0] == 0).all() if zero_masked else np.isnan(found[0, 0]).all()
        assert np.isfinite(found[0, 1:]).all()


@pytest.mark.parametrize("tile", TILES[1:4], ids=str)
def test_large_scores_and_numbers_that_are_not_finite(tile: AttentionTile) -> None:
    case = AttentionCase((1, 18, 24, 8, 8), tile)
    inputs = case.inputs()
    inputs[0][0, :4] *= 1000  # powers of all keys but one are 0
    inputs[0][0, 5, 0], inputs[2][0, 3, 1] = np.nan, np.inf
    found, expected = run(case.module(), inputs), case.expected(inputs)
    assert np.isnan(found[0, 5]).all()
    assert not np.isfinite(found[0, 6:, 1]).any()
    rest = np.delete(found, 5, axis=1)[..., [0, *range(2, 8)]]
    wanted = np.delete(expected, 5, axis=1)[..., [0, *range(2, 8)]]
    np.testing.assert_allclose(rest, wanted, rtol=3e-3, atol=5e-6)


@pytest.mark.parametrize("exchange", ["", SHUFFLE])
def test_threads_of_a_warp_access_different_banks(exchange: str) -> None:
    case = AttentionCase((1, 32, 32, 32, 32), AttentionTile(32, 32, 4, exchange))
    inputs = case.inputs()
    checks = (*CHECKS, "banks")
    case.check(interpret(case.module(), StepwellContext(), "main", inputs, checks=checks)[-1], inputs)


def test_a_step_has_two_barriers() -> None:
    """The first is between copies and scores, the second between powers and the sums of values."""
    module = AttentionCase((1, 64, 64, 32, 32), AttentionTile(32, 32, 4, SHUFFLE)).module()
    assert sum(op.name == "gpu.barrier" for op in module.walk()) == 2


@pytest.mark.parametrize("tile", [TILES[1], *TILES[3:]], ids=str)
def test_each_barrier_is_needed(tile: AttentionTile) -> None:
    case = AttentionCase((1, 40, 40, 8, 8), tile, "k")
    module = case.module()
    count = sum(isinstance(op, gpu.BarrierOp) for op in module.walk())
    assert count == (2 if tile.exchange else 4)  # maxima through memory of the block need two more
    for number in range(count):
        without = module.clone()
        Rewriter.erase_op([op for op in without.walk() if isinstance(op, gpu.BarrierOp)][number])
        with pytest.raises(StepwellError) as error:
            run(without, case.inputs())
        assert error.value.code == "data-race"


def test_fewer_digits_of_tensor_cores() -> None:
    case = AttentionCase((1, 16, 64, 64, 16), TILES[3], products=1)
    inputs = case.inputs()
    error = np.abs(run(case.module(), inputs) - case.expected(inputs)).max()
    assert 1e-5 < error < 1e-2


GPUS = [tag for tag in Target.tags() if "gpu" in Target(tag).keys] + ["webgpu", "opencl", "metal", "rocm"]


@examples(300)
@given(
    st.integers(1, 128),
    st.integers(1, 128),
    st.one_of(st.none(), st.integers(1, 5000)),
    st.sampled_from(GPUS),
)
def test_no_tile_exceeds_its_target(depth: int, columns: int, queries: int | None, tag: str) -> None:
    target = Target(tag)
    assert fits_attention(target)
    tile = attention_tile(depth, columns, queries, Limits.of(target))
    assert tile is not None
    attrs: Any = target.attrs
    assert tile.threads <= attrs["max-threads"]
    assert tile.shared_bytes(depth, columns) <= attrs["shared-memory"]
    assert tile.registers(columns) <= (attrs["registers"] or 255)


def test_targets_without_room_for_tiles() -> None:
    assert not fits_attention(Target("webgpu{shared-memory=8KiB}"))
    assert not fits_attention(Target("opencl{max-threads=32}"))
