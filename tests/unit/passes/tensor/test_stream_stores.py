"""Stores that pass the caches by, in machine code."""

from __future__ import annotations

import numpy as np
import pytest

from stepwell.runtime.machine.target import target_from
from stepwell.runtime.memory import aligned_empty
from tests.support.native_code import RUNNABLE, Native, kernel

_NUMBER = 1 << 20
_DOUBLE = kernel(
    "",
    {"x": f"memref<{_NUMBER}xf32>", "out": f"memref<{_NUMBER}xf32>"},
    f"""
  %zero = arith.constant 0.0 : f32
  %step = arith.constant 16 : index
  %n = arith.constant {_NUMBER} : index
  "scf.parallel"(%c0, %n, %step) <{{operandSegmentSizes = array<i32: 1, 1, 1, 0>}}> ({{
  ^bb0(%i: index):
    %v = vector.transfer_read %x[%i], %zero {{in_bounds = [true]}} : memref<{_NUMBER}xf32>, vector<16xf32>
    %r = arith.addf %v, %v : vector<16xf32>
    vector.transfer_write %r, %out[%i] {{in_bounds = [true]}} : vector<16xf32>, memref<{_NUMBER}xf32>
    scf.reduce
  }}) : (index, index, index) -> ()""",
)


@pytest.mark.parametrize("mcpu", [m for m in RUNNABLE if target_from(m).l3_bytes <= 8 * _NUMBER])
def test_results_are_whole_wherever_they_start(mcpu: str) -> None:
    """On a cache line they are streamed, elsewhere not: such stores fault on other addresses."""
    native = Native(_DOUBLE, mcpu, pipeline="stream-stores,convert-loops-to-llvm")
    assert native.text.count("!nontemporal") == 1
    x = np.arange(_NUMBER, dtype=np.float32)
    memory = aligned_empty(4 * _NUMBER + 64)
    for start in (0, 16, 4):
        out = memory[start : start + 4 * _NUMBER].view(np.float32)
        out[:] = -1
        assert native("k", [x, out]) == 0
        np.testing.assert_array_equal(out, x + x)
