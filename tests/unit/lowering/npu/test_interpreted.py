"""Programs of the accelerator by the interpreter, which hands them to the simulator."""

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects import npu
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.lowering.backends.npu import encoded, simulate
from stepwell.lowering.interpret import interpret
from stepwell.runtime.errors import StepwellError

ROWS = """
npu.program @rows(%x: memref<2x1x16xi8>, %w: memref<1x16x16xi8>, %y: memref<2x1x16xi8>) config "pynq" {
  %a = npu.load inp %x[0] to 0 size [1, 2] stride 2 : memref<2x1x16xi8>
  %b = npu.load wgt %w[0] to 0 size [1, 1] stride 1 : memref<1x16x16xi8>
  %z = npu.gemm reset uops [(0, 0, 0)] loops [1, 2] dst [0, 1] src [0, 0] wgt [0, 0]
  %g = npu.gemm uops [(0, 0, 0)] loops [1, 2] dst [0, 1] src [0, 1] wgt [0, 0] after(%a, %b)
  %r = npu.alu shr imm 5 uops [(0, 0, 0)] loops [1, 2] dst [0, 1] src [0, 1]
  %s = npu.store %y[0] from 0 size [1, 2] stride 2 after(%r) : memref<2x1x16xi8>
  %f = npu.finish after(%s)
}
"""
BESIDE = "func.func @twice(%x: i32) -> i32 {\n  %y = arith.addi %x, %x : i32\n  func.return %y : i32\n}"


def arrays() -> list[npt.NDArray[Any]]:
    rng = np.random.default_rng(0)
    shapes = ((2, 1, 16), (1, 16, 16))
    x, w = (rng.integers(-128, 128, shape).astype(np.int8) for shape in shapes)
    return [x, w, np.full((2, 1, 16), 7, np.int8)]


def parsed(text: str) -> ModuleOp:
    module = parse_module(StepwellContext(), text)
    module.verify()
    return module


def run(module: ModuleOp, inputs: list[npt.NDArray[Any]], name: str = "rows") -> list[npt.NDArray[Any]]:
    return interpret(module, StepwellContext(), name, inputs)


def test_a_program_has_the_arrays_of_the_simulator() -> None:
    module, given = parsed(BESIDE + ROWS), arrays()
    found = run(module, given)
    (program,) = [op for op in module.ops if isinstance(op, npu.ProgramOp)]
    for own, wanted in zip(found, simulate(program, given)[0], strict=True):
        np.testing.assert_array_equal(own, wanted)
    x, w = (each.astype(np.int64) for each in given[:2])
    np.testing.assert_array_equal(found[2], np.clip((x @ w[0].T) >> 5, -128, 127))
    assert (given[2] == 7).all() and not np.shares_memory(found[2], given[2])
    assert run(module, [np.array(21, np.int32)], "twice") == [42]


def test_bytes_of_a_program_are_the_program() -> None:
    module = parsed(ROWS)
    (program,) = [op for op in module.ops if isinstance(op, npu.ProgramOp)]
    binary = ModuleOp([npu.BinaryOp.of(encoded(program))])
    for own, wanted in zip(run(binary, arrays()), run(module, arrays()), strict=True):
        np.testing.assert_array_equal(own, wanted)


def refused(text: str, inputs: list[npt.NDArray[Any]], name: str = "rows") -> StepwellError:
    with pytest.raises(StepwellError) as caught:
        run(parsed(text), inputs, name)
    return caught.value


@pytest.mark.parametrize("wait", [" after(%a, %b)", " after(%r)"])
def test_a_wait_that_is_missing_is_a_hazard(wait: str) -> None:
    assert refused(ROWS.replace(wait, "", 1), arrays()).code == "npu-hazard"


def test_what_cannot_run_is_refused() -> None:
    assert refused(ROWS, arrays()[:2]).code == "bad-inputs"
    error = refused(BESIDE + ROWS, arrays(), "columns")
    assert error.code == "unknown-function" and error.help == "there are: twice, rows"
