"""Scans as one grid: right, without races, on the `gpu` level and as PTX."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.devices.gpu_kernels import run
from tests.support.devices.grid_ops import ScanCase, in_ptx
from tests.support.samples import examples


def levels(rank: int, loop: int, threads: int, *, has_warps: bool = False) -> str:
    """A schedule of blocks of threads along one loop."""
    outer, inner = [0] * rank, [0] * rank
    outer[loop], inner[loop] = threads, 32 if has_warps else 1
    bind, more = ("warp", ', intrinsic = "shuffle"') if has_warps else ("thread", "")
    tiles = f'<tile = {outer}, bind = "block">, <tile = {inner}, bind = "{bind}">'
    return f"#sched.schedule<levels = [{tiles}]{more}>"


@examples(24)
@given(
    st.tuples(st.integers(1, 3), st.integers(1, 150), st.integers(1, 5)),
    st.integers(0, 2),
    st.sampled_from(["sum", "prod", "max", "min"]),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["columns", "halves", "warps"]),
    st.sampled_from(["f32", "i32", "i64"]),
)
def test_scans(
    shape: tuple[int, int, int], axis: int, kind: str, exclusive: bool, reverse: bool, way: str, element: str
) -> None:
    if way == "columns":
        schedule = levels(3, (axis + 1) % 3, 32)
    else:
        is_exchanged = way == "warps" and element != "i64"
        schedule = levels(3, axis, 64 if is_exchanged else 16, has_warps=is_exchanged)
    case = ScanCase(shape, axis, kind, exclusive, reverse, schedule, element)
    module, inputs = case.module(), case.inputs()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    found = run(module, inputs)
    case.check(found, inputs)
    np.testing.assert_array_equal(in_ptx(module, inputs), found)


@pytest.mark.parametrize("has_warps", [False, True])
def test_nan_and_infinities_reach_what_is_after_them(has_warps: bool) -> None:
    case = ScanCase((200,), 0, "sum", False, False, levels(1, 0, 64, has_warps=has_warps))
    inputs = case.inputs()
    inputs[0][70], inputs[0][90], inputs[0][150] = np.inf, -np.inf, np.nan
    found = run(case.module(), inputs)
    assert np.isfinite(found[:70]).all() and (found[70:90] == np.inf).all() and np.isnan(found[90:]).all()
