"""The iterations of loops of a thread, by what a launch passes."""

import pytest

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.emit_source import emit_kernels
from stepwell.runtime.dims import Dim

HEAD = """
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c3 = arith.constant 3 : index
    %c8 = arith.constant 8 : index
    %c100 = arith.constant 100 : index
    %t = gpu.thread_id x
    %size = memref.dim %x, %c1 : memref<4x?xf32>"""
STORE = """
        %v = arith.constant 1.0 : f32
        memref.store %v, %x[%c0, %c0] : memref<4x?xf32>"""


def loop(name: str, lower: str, upper: str, step: str, body: str = STORE) -> str:
    """A loop around a body."""
    return f"""
      scf.for %{name} = %{lower} to %{upper} step %{step} {{{body}
      }}"""


@pytest.mark.parametrize(
    ("body", "iterations"),
    [
        ("", "0"),
        (loop("i", "c0", "c100", "c1"), "100"),
        (loop("i", "c3", "c100", "c8"), "13"),
        (loop("i", "t", "c100", "c8"), "13"),  # of the first thread
        (loop("i", "c0", "c100", "c1", loop("j", "c0", "c8", "c1")), "900"),
        (loop("i", "c0", "c8", "c1") + loop("j", "c0", "c3", "c1"), "11"),
        (loop("i", "c0", "n", "c1", loop("j", "c0", "size", "c1")), "n0 * n1 + n0"),
        (loop("i", "c0", "t", "c1", loop("j", "c0", "c8", "c1")), "8"),  # of no known end
        (loop("i", "c0", "n", "size"), "0"),
        ("    %m = arith.minui %n, %c8 : index" + loop("i", "c0", "m", "c1"), "n0 min 8"),
        ("    %m = arith.minui %t, %c8 : index" + loop("i", "c0", "m", "c1"), "8"),
        ("    %m = arith.muli %n, %c8 : index" + loop("i", "c0", "m", "c3"), "8 * n0 ceildiv 3"),
        ("    %m = arith.remui %n, %c8 : index" + loop("i", "c0", "m", "c3"), "0"),
        ("    %b = arith.cmpi ult, %t, %c8 : index scf.if %b {" + loop("i", "c0", "c8", "c1") + "}", "8"),
        (
            """    "scf.parallel"(%c0, %c0, %c3, %c8, %c1, %c1)
        <{operandSegmentSizes = array<i32: 2, 2, 2, 0>}> ({
    ^bb0(%p: index, %q: index):"""
            + loop("i", "c0", "c100", "c1")
            + " scf.reduce }) : (index, index, index, index, index, index) -> ()",
            str(3 * (8 * 101 + 1)),
        ),
    ],
)
def test_iterations(body: str, iterations: str) -> None:
    size = "attributes {gpu.known_block_size = array<i32: 64, 1, 1>}"
    text = f"""
gpu.module @m {{
  gpu.func @k(%n: index, %x: memref<4x?xf32>) kernel {size} {{{HEAD}
{body}
    gpu.return
  }}
}}"""
    module = parse_module(StepwellContext(), text, "k.mlir")
    module.verify()
    (kernel,) = emit_kernels(module, Target("webgpu"))
    names = [(scalar.argument, scalar.dim) for scalar in kernel.scalars]
    assert names == [(0, None), (1, 1)]
    expected = Dim.of(8).minimum(Dim.symbol("n0")) if "min" in iterations else Dim.of(iterations)
    assert kernel.iterations.proves_equal(expected)
