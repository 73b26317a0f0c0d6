"""A loop that lacks iterations, in a kernel so large that the interpreter samples its loops."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import onnx
from onnx import numpy_helper

from tests.onnx_models import onnx_model
from tests.support.forks import found_in
from tests.support.samples import whole

PLUGIN = """
from xdsl.dialects import arith, scf
from xdsl.dialects.builtin import IndexType, IntegerAttr

from stepwell.passes.registry import load_pass
from stepwell.patterns import register_predicate

Faulty = load_pass("tile-and-fuse")
plain = Faulty.apply
register_predicate("sampled.any")(lambda value: True)

def apply(self, ctx, op):
    plain(self, ctx, op)
    for outer in op.walk():
        if isinstance(outer, scf.ForOp):
            low, size, step = (getattr(x.owner, "value", None) for x in (outer.lb, outer.ub, outer.step))
            if None not in (low, size, step) and size.value.data - 15 * step.value.data > low.value.data:
                break
    else:
        return
    size, step = size.value.data, step.value.data
    less = arith.ConstantOp(IntegerAttr(size - step, IndexType()))
    outer.parent.insert_op_before(less, outer)
    outer.operands[1] = less.result

Faulty.apply = apply
"""


@whole
def test_a_loop_that_lacks_iterations_is_found_where_loops_are_sampled(tmp_path: Path) -> None:
    """The iterations that are left out by the sample and by the fault look the same."""
    text = """g (float[1, 3, 17, 19] x, float[16, 3, 3, 3] w, float[16, 16, 3, 3] v)
        => (float[1, 16, 5, 5] y) {
      c = Conv <pads = [1, 1, 1, 1]> (x, w)
      r = HardSwish (c)
      m = MaxPool <kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]> (r)
      y = Conv <pads = [1, 1, 1, 1], strides = [2, 2]> (m, v)
    }"""
    model = onnx_model(text)
    for name, shape in (("w", (16, 3, 3, 3)), ("v", (16, 16, 3, 3))):
        values = np.sin(np.arange(np.prod(shape), dtype=np.float32)).reshape(shape)
        model.graph.initializer.append(numpy_helper.from_array(values, name))
        del model.graph.input[1]
    onnx.save(model, tmp_path / "net.onnx")
    (tmp_path / "lacking.py").write_text(PLUGIN)
    x = np.linspace(1, 2, 3 * 17 * 19, dtype=np.float32).reshape(1, 3, 17, 19)
    np.savez(tmp_path / "x.npz", x=x)
    status, found = found_in(tmp_path, "bisect", "net.onnx", "--load", "lacking.py", "--inputs", "x.npz")
    assert (status, found["level"], found["pass"]) == (1, "tensor", "tile-and-fuse")
