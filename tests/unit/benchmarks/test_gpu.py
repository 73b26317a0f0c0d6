"""`benchmarks.gpu`: prepared here, run on the PTX interpreter in place of a GPU; a wrong output is found."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks.gpu_runs.cases import Case, largest_error
from benchmarks.gpu_runs.command import main
from tests.support.imports import ROOT
from tests.support.samples import whole


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example."""
    out = tmp_path_factory.mktemp("gpu")
    assert main(["prepare", "--out", str(out), "--models", "digits", "--arch", "sm_80", "--batch", "1"]) == 0
    return out


@whole
def test_what_is_prepared_runs_and_goes_on(prepared: Path, tmp_path: Path) -> None:
    rows = tmp_path / "gpu.json"
    first = ["run", str(prepared), "--device", "ptx-interpreter", "--json", str(rows)]
    assert main([*first, "--only", "correctness"]) == 0
    (row,) = json.loads(rows.read_text())
    assert row["correctness"] == "right" and "latency" not in row
    assert main([*first, "--resume", str(rows), "--minutes", "0.02"]) == 0
    (row,) = json.loads(rows.read_text())
    assert row["latency"] == "measured" and row["launches"] > 0 and row["call ms"] > 0


def test_a_wrong_output_is_found(prepared: Path) -> None:
    (case,) = Case.read_all(prepared)
    with np.load(prepared / case.expected) as found:
        samples = dict(found)
    other = {name: each + (name == "sample0") * np.float32(0.01) for name, each in samples.items()}
    assert largest_error(samples, samples) == 0
    assert largest_error(samples, other) > 1e-3
    assert largest_error(samples, {**samples, "shape0": samples["shape0"] + 1}) == np.inf


def test_a_missing_gpu_is_a_row_and_an_exit_code(prepared: Path, tmp_path: Path) -> None:
    rows = tmp_path / "gpu.json"
    assert main(["run", str(prepared), "--device", "cuda:9", "--json", str(rows)]) == 1
    assert "no-device" in json.loads(rows.read_text())[0]["error"]


RUN = """
import sys
from benchmarks.gpu_runs.command import main
main(["run", sys.argv[1], "--device", "cuda:9"])
print(sorted({name.partition(".")[0] for name in sys.modules} & {"xdsl", "onnx"}))
"""


def test_a_run_needs_the_runtime_alone(prepared: Path) -> None:
    line = [sys.executable, "-c", RUN, str(prepared)]
    done = subprocess.run(line, capture_output=True, text=True, cwd=ROOT, timeout=60, check=True)
    assert done.stdout.splitlines()[-1] == "[]"
