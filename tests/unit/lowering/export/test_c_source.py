"""Models as C source: built with warnings as errors, run under sanitizers, against the model in Python."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import numpy as np
import onnx.parser
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.fuzz.generate import random_program
from tests.fuzz.models import departs
from tests.onnx_models import onnx_model
from tests.support.c_programs import build, run
from tests.support.c_sources import SANITIZED, STRICT, run_source
from tests.support.components import needs_program

DIGITS = Path(__file__).parents[4] / "examples" / "digits.onnx"


def test_the_digit_classifier_as_c_gives_the_results_of_the_model(tmp_path: Path) -> None:
    needs_program("gcc")
    x = np.random.default_rng(0).standard_normal((7, 64)).astype(np.float32)
    (found,) = run_source(DIGITS, [x], tmp_path, *SANITIZED)
    wanted = np.asarray(stepwell.compile(DIGITS)(x), np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=1e-5, atol=1e-6)
    text = (tmp_path / "m.c").read_text()
    assert "/* layer0, relu0 */" in text and "for (ptrdiff_t" in text and "math.h" not in text


def test_the_command_writes_c_and_its_header_that_need_nothing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    needs_program("gcc")
    output = tmp_path / "digits.c"
    assert cli.main(["compile", str(DIGITS), "-o", str(output), "--target", "c"]) == 0
    assert "wrote" in capsys.readouterr().err
    flags = [*STRICT, "-O2", "-ffreestanding", "-nostdlib", "-c", "digits.c"]
    subprocess.run(["gcc", *flags], cwd=tmp_path, check=True)
    shown = subprocess.run(["nm", "-u", "digits.o"], cwd=tmp_path, check=True, capture_output=True, text=True)
    assert shown.stdout.strip() == ""


def test_c_is_for_no_cpu_and_made_of_the_model_alone(tmp_path: Path) -> None:
    with pytest.raises(StepwellError, match="C source is for no CPU"):
        stepwell.export(DIGITS, tmp_path / "m.c", mcpu="x86-64-v2")
    with pytest.raises(StepwellError, match="no machine code is made here"):
        stepwell.export(DIGITS, tmp_path / "m.so", mcpu="c")
    with pytest.raises(StepwellError, match="C is written from its source"):
        stepwell.export(stepwell.compile(DIGITS), tmp_path / "m.c")
    assert list(tmp_path.iterdir()) == []


def test_limits_of_sizes_are_indices_on_machines_of_32_bits_too(tmp_path: Path) -> None:
    """A cast to 32 bits made 0 of them: each size that depends on data was refused."""
    model = onnx_model("g (int64[2] s) => (float[N,M] y) { y = ConstantOfShape(s) }")
    stepwell.export(model, tmp_path / "m.c", mcpu="c")
    text = (tmp_path / "m.c").read_text()
    assert "index_of_i64(INT64_C(70368744177664))" in text and "(ptrdiff_t)INT64_C" not in text
    for name in ("gcc", "arm-none-eabi-gcc"):
        if shutil.which(name) is not None:
            subprocess.run([name, *STRICT, "-c", "m.c"], cwd=tmp_path, check=True)


def _check_random(seed: int, folder: Path, flags: tuple[str, ...]) -> None:
    """A random program as C has the results of the reference, or names what C files do without."""
    program = random_program(seed, (3, 12))
    names = [value.name for value in program.model.graph.input]
    feeds = [np.asarray(program.inputs[name]) for name in names]
    try:
        found = run_source(program.model, feeds, folder, *flags)
    except StepwellError as error:
        assert error.code in ("undefined-symbol", "needs-host")
        pytest.skip(error.message)
    assert departs(program.outputs, found, len(program.model.graph.node)) is None


@pytest.mark.parametrize("seed", [0, 1])
def test_random_programs(seed: int, tmp_path: Path) -> None:
    needs_program("gcc")
    _check_random(seed, tmp_path, SANITIZED)


@pytest.mark.fuzz
@pytest.mark.parametrize("seed", range(100, 200))
def test_more_random_programs(seed: int, tmp_path: Path) -> None:
    needs_program("gcc")
    _check_random(seed, tmp_path, SANITIZED)


GATHER = """
<ir_version: 8, opset_import: ["" : 17]>
g (float[5, 3] x, int64[N] i) => (float[N, 3] y) { y = Gather (x, i) }
"""
FAILING = """
#include "g.h"
#include <stdio.h>
int main(void) {
  static float x[15], y[6];
  static unsigned char memory[4096];
  int64_t i[2] = {1, 9};
  g_inputs in = {x, i};
  g_outputs out = {y};
  g_dims dims = {2};
  g_call call = {0};
  int32_t status;
  call.workspace = memory + (64 - (uintptr_t)memory % 64) % 64;
  call.workspace_bytes = (size_t)g_workspace_bytes(&dims);
  status = g_run(&in, &out, &dims, &call);
  printf("status %d\\nmessage %s\\nvalues %d %d\\n", status, g_message(status), (int)call.values[0],
         (int)call.values[1]);
  i[1] = 4;
  x[14] = 3;
  status = g_run(&in, &out, &dims, &call);
  printf("again %d %g\\n", status, y[5]);
  in.x = NULL;
  printf("null %d\\n", g_run(&in, &out, &dims, &call));
  return 0;
}
"""


def test_a_bad_index_is_a_status_with_its_node_and_the_next_call_works(tmp_path: Path) -> None:
    stepwell.export(onnx.parser.parse_model(GATHER), tmp_path / "g.c")
    program = build(tmp_path, FAILING, ["g.c"], ("gcc", *STRICT, *SANITIZED))
    shown = run(program)
    assert int(shown["status"]) > 0 and shown["values"] == "9 5"
    assert shown["message"].startswith("index-out-of-range") and "Gather" in shown["message"]
    assert shown["again"] == "0 3" and shown["null"] == "-3"


@pytest.mark.parametrize("place", ["file", "extern"])
def test_weights_elsewhere(place: str, tmp_path: Path) -> None:
    needs_program("gcc")
    done = stepwell.export(DIGITS, tmp_path / "digits.c", weights=place)  # pyright: ignore
    text = (tmp_path / "digits.c").read_text()
    assert (
        tmp_path / "digits.weights"
    ).stat().st_size == done.weight_bytes and "const float digits_w0[" not in text
    flags = ["gcc", *STRICT, "-c", "digits.c"]
    subprocess.run(flags, cwd=tmp_path, check=True)
    assert ("digits_check_weights" in done.symbols) == (place == "file")


def test_exporting_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    texts = []
    for folder in ("a", "b"):
        (tmp_path / folder).mkdir()
        stepwell.export(DIGITS, tmp_path / folder / "digits.c")
        texts.append((tmp_path / folder / "digits.c").read_bytes())
    assert texts[0] == texts[1]
