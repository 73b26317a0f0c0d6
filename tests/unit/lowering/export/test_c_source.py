"""Models as C source: built with warnings as errors, run under sanitizers, against the model in Python."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.support.c_sources import SANITIZED, STRICT, run_source
from tests.support.components import needs_program

DIGITS = Path(__file__).parents[4] / "examples" / "digits.onnx"


def test_the_digit_classifier_as_c_gives_the_results_of_the_model(tmp_path: Path) -> None:
    needs_program("gcc")
    x = np.random.default_rng(0).standard_normal((7, 64)).astype(np.float32)
    (found,) = run_source(DIGITS, [x], tmp_path, *SANITIZED)
    np.testing.assert_allclose(found, stepwell.compile(DIGITS)(x), rtol=1e-5, atol=1e-6)
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
