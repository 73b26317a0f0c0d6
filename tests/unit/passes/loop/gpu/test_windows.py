"""Depthwise convolutions and pools by threads with neighbouring outputs: right, as few loads as can be."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from xdsl.dialects.builtin import ModuleOp

from stepwell import Target
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.interpret import interpret
from stepwell.lowering.interpret.ptx import ptx_launcher
from stepwell.passes.loop.gpu.tile_choices import window_outputs
from stepwell.passes.manager import run_pipeline
from tests.support.devices.gpu_kernels import PASSES, run
from tests.support.samples import examples

_MAPS = """[
      affine_map<(n, c, h, w, p, q) -> (n, c, h * {stride} + p * {dilation}, w * {stride} + q * {dilation})>,
      affine_map<(n, c, h, w, p, q) -> ({filters})>, affine_map<(n, c, h, w, p, q) -> (n, c, h, w)>]"""
_KINDS = '["parallel", "parallel", "parallel", "parallel", "reduction", "reduction"]'


@dataclass(frozen=True)
class WindowCase:
    """The ReLU of a depthwise convolution, or of a pool: outputs, windows, outputs of a thread."""

    output: tuple[int, int, int, int]
    window: tuple[int, int] = (3, 3)
    stride: int = 1
    dilation: int = 1
    outputs: int = 4
    threads: int = 32
    is_pool: bool = False
    is_open: bool = False
    """Whether the batch is known at the launch alone."""

    def module(self) -> ModuleOp:
        """The program after the passes, one kernel."""
        n, c, h, w = self.output
        batch = "?" if self.is_open else n
        rows, columns = self.input_size()
        x, z = f"memref<{batch}x{c}x{rows}x{columns}xf32>", f"memref<{batch}x{c}x{h}x{w}xf32>"
        filters, shape = ("p, q", self.window) if self.is_pool else ("c, p, q", (c, *self.window))
        maps = _MAPS.format(stride=self.stride, dilation=self.dilation, filters=filters)
        f = f"memref<{'x'.join(map(str, shape))}xf32>"
        outer, inner = (f"[0, 0, 0, {tile}, 0, 0]" for tile in (self.threads * self.outputs, self.outputs))
        levels = f'<tile = {outer}, bind = "block">, <tile = {inner}, bind = "thread">'
        body = """%s = arith.maximumf %a, %sum : f32
    linalg.yield %s : f32"""
        if not self.is_pool:
            body = """%r = arith.mulf %a, %b : f32
    %s = arith.addf %sum, %r : f32
    linalg.yield %s : f32"""
        text = f"""
func.func @main(%x: {x}, %f: {f}, %z: {z}) {{
  %zero = arith.constant 0.0 : f32
  %start = arith.constant -0.25 : f32
  linalg.fill ins(%start : f32) outs(%z : {z})
  linalg.generic {{indexing_maps = {maps}, iterator_types = {_KINDS}}} ins(%x, %f : {x}, {f}) outs(%z : {z})
      attrs = {{sched.schedule = #sched.schedule<levels = [{levels}]>}} {{
  ^bb0(%a: f32, %b: f32, %sum: f32):
    {body}
  }}
  linalg.generic {{indexing_maps = [affine_map<(n, c, h, w) -> (n, c, h, w)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}} outs(%z : {z}) {{
  ^bb0(%p: f32):
    %s = arith.maximumf %p, %zero : f32
    linalg.yield %s : f32
  }}
  func.return
}}"""
        module = parse_module(StepwellContext(), text, "windows.mlir")
        run_pipeline(module, PASSES, StepwellContext())
        module.verify()
        return module

    def input_size(self) -> tuple[int, int]:
        """The rows and columns of the input."""
        rows, columns = (
            (size - 1) * self.stride + (width - 1) * self.dilation + 1
            for size, width in zip(self.output[2:], self.window, strict=True)
        )
        return rows, columns

    def inputs(self) -> list[Any]:
        """The operands, and an output that nothing has written; NaN as what a pool must not read."""
        rng = np.random.default_rng(sum(self.output))
        x = rng.standard_normal((*self.output[:2], *self.input_size()), np.float32)
        shape = self.window if self.is_pool else (self.output[1], *self.window)
        f = np.full(shape, np.nan, np.float32) if self.is_pool else rng.standard_normal(shape, np.float32)
        return [x, f, np.full(self.output, np.nan, np.float32)]

    def check(self, found: Any, inputs: Any) -> None:
        """Compare a result with numpy's."""
        x, f, _ = inputs
        expected = np.full(self.output, -0.25)
        for p in range(self.window[0]):
            for q in range(self.window[1]):
                begin = p * self.dilation, q * self.dilation
                ends = (b + (n - 1) * self.stride + 1 for b, n in zip(begin, self.output[2:], strict=True))
                rows, columns = (slice(b, end, self.stride) for b, end in zip(begin, ends, strict=True))
                part = x[:, :, rows, columns].astype(np.float64)
                if self.is_pool:
                    expected = np.maximum(expected, part)
                else:
                    expected += part * f[:, p, q].reshape(1, -1, 1, 1)
        np.testing.assert_allclose(found, np.maximum(expected, 0), rtol=1e-5, atol=1e-5)


@examples(30)
@given(
    st.builds(
        WindowCase,
        st.tuples(st.integers(1, 2), st.integers(1, 3), st.integers(1, 5), st.integers(1, 13)),
        st.tuples(st.integers(1, 3), st.integers(2, 5)),
        st.integers(1, 3),
        st.integers(1, 2),
        st.integers(1, 4),
        st.sampled_from([1, 8, 32]),
        st.booleans(),
        st.booleans(),
    )
)
def test_windows(case: WindowCase) -> None:
    """A single kernel; on the gpu level and as PTX the bits are the same."""
    module, inputs = case.module(), case.inputs()
    assert sum(op.name == "gpu.launch_func" for op in module.walk()) == 1
    found = run(module, inputs)
    case.check(found, inputs)
    launcher = ptx_launcher(module, Target("cuda"))
    again = interpret(module, StepwellContext(), "main", inputs, launcher=launcher)[-1]
    np.testing.assert_array_equal(again, found)


@pytest.mark.parametrize("row", [1, 3])
def test_rows_shorter_than_the_outputs_of_a_thread(row: int) -> None:
    """Nothing before the row, nor after it, is read or written."""
    case = WindowCase((2, 2, 4, row))
    module, inputs = case.module(), case.inputs()
    case.check(run(module, inputs), inputs)


@pytest.mark.parametrize(
    ("case", "loads", "conditions"),
    [
        # 6 elements of a row of 4 windows of 3, and 3 of the filter; 32 threads have 128 outputs.
        (WindowCase((2, 2, 4, 8)), 9, 0),
        (WindowCase((2, 2, 4, 8), stride=2), 12, 0),
        (WindowCase((2, 2, 4, 8), outputs=1), 6, 0),
        (WindowCase((2, 2, 4, 8), is_pool=True), 6, 0),
        # The last of rows of 10 are computed with two before them, which are not stored twice.
        (WindowCase((1, 2, 16, 10), threads=8), 9, 4),
    ],
)
def test_elements_of_a_row_are_loaded_once(case: WindowCase, loads: int, conditions: int) -> None:
    ops = [op.name for op in case.module().walk()]
    assert (ops.count("memref.load"), ops.count("scf.if")) == (loads, conditions)


@pytest.mark.parametrize(
    ("row", "width", "stride", "outputs"),
    [(112, 3, 1, 4), (7, 7, 1, 4), (6, 3, 1, 3), (3, 3, 1, 3), (1, 3, 1, 1), (112, 2, 2, 4), (5, 3, 4, 1)],
)
def test_as_many_outputs_as_save_loads(row: int, width: int, stride: int, outputs: int) -> None:
    """Windows of 2 in steps of 2 share nothing: the most outputs are as good as one."""

    def loads(count: int) -> int:
        return len({stride * output + k for output in range(count) for k in range(width)})

    assert window_outputs(row, loads) == outputs
