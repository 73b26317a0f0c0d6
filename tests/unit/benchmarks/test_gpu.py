"""`benchmarks.gpu`: prepared here, run on the PTX interpreter in place of a GPU; a wrong output is found."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from benchmarks.gpu_runs import seeded
from benchmarks.gpu_runs.cases import Case, largest_error, sampled
from benchmarks.gpu_runs.command import main
from benchmarks.gpu_runs.draws import Draw
from benchmarks.gpu_runs.peers import missing, runtime_calls, torch_calls
from benchmarks.gpu_runs.run import best_cases
from benchmarks.gpu_runs.seeded import Restored, WrongDigest, restore, store
from tests.support.imports import ROOT
from tests.support.samples import whole

PREPARE = ["--models", "digits", "--arch", "sm_80", "--batch", "1", "--precision", "f32"]


@pytest.fixture(scope="module")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the example."""
    out = tmp_path_factory.mktemp("gpu")
    assert main(["prepare", "--out", str(out), *PREPARE]) == 0
    return out


@whole
def test_what_is_prepared_runs_and_goes_on(prepared: Path, tmp_path: Path) -> None:
    rows = tmp_path / "gpu.json"
    first = ["run", str(prepared), "--device", "ptx-interpreter", "--json", str(rows)]
    assert main([*first, "--only", "correctness"]) == 0
    _, row = json.loads(rows.read_text())
    assert row["correctness"] == "right" and "latency" not in row
    assert main([*first, "--resume", str(rows), "--minutes", "0.02"]) == 0
    _, row = json.loads(rows.read_text())
    assert row["latency"] == "measured" and row["launches"] > 0 and row["ours ms"] > 0
    assert row["GFLOP/s of kernels"] > 0 and row["ours resident ms"] > 0


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
    assert "no-device" in json.loads(rows.read_text())[1]["error"]


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


def test_the_weights_are_seeds(prepared: Path, tmp_path: Path) -> None:
    (case,) = Case.read_all(prepared)
    stored = prepared / case.artifact
    file = restore(stored, tmp_path / "m.stepwell")
    assert file.stat().st_size == case.nbytes
    with np.load(stored) as arrays:
        rest, about = arrays["rest"], json.loads(arrays["about"].tobytes())
    drawn = sum(4 * int(np.prod(draw["shape"])) for _, draw, _, _ in about["pieces"])
    assert drawn >= 1 << 14 and rest.size + drawn == case.nbytes
    # Another seed is found, and leaves no file.
    about["pieces"][0][1]["seed"] += 1
    np.savez(
        changed := tmp_path / "changed.npz", rest=rest, about=np.frombuffer(json.dumps(about).encode(), "u1")
    )
    with pytest.raises(WrongDigest):
        restore(changed, tmp_path / "changed.stepwell")
    assert not (tmp_path / "changed.stepwell").exists()


def test_files_are_made_once_while_there_is_space(
    prepared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (case,) = Case.read_all(prepared)
    files = Restored(prepared, tmp_path)
    monkeypatch.setattr(seeded, "_LEAST_FREE_BYTES", 0)
    made = files.file(case.artifact, ".stepwell")
    files.make_room()
    first = made.stat().st_mtime_ns
    assert made.stat().st_size == case.nbytes
    assert files.file(case.artifact, ".stepwell").stat().st_mtime_ns == first
    monkeypatch.setattr(seeded, "_LEAST_FREE_BYTES", 1 << 80)
    files.make_room()
    assert not list(tmp_path.iterdir())
    assert files.file(case.artifact, ".stepwell").stat().st_size == case.nbytes


def test_what_is_prepared_is_not_prepared_again(prepared: Path) -> None:
    times = {file.name: file.stat().st_mtime_ns for file in prepared.iterdir()}
    assert main(["prepare", "--out", str(prepared), *PREPARE]) == 0
    assert times == {file.name: file.stat().st_mtime_ns for file in prepared.iterdir()}


GOLDEN = [[100, -7, 61], [3, 40, 65]]
"""Numbers of PCG64, the same since numpy 1.17."""


def test_draws_are_the_same_for_each_numpy() -> None:
    np.testing.assert_array_equal(Draw(1, [2, 3], "int8", offset=-128, count=256).array(), GOLDEN)
    values = Draw.normalized(3, [100, 1000], 0.25, 2.0).array()
    assert values.dtype == np.float32 and abs(values.mean() - 0.25) < 0.02 and abs(values.std() - 2) < 0.02
    assert (Draw(3, [4, 2], "int64", offset=1).array() == 1).all()
    assert {*Draw(4, [1000], "uint8", offset=3, count=2).array().tolist()} == {3, 4}
    long = Draw.normalized(5, [(1 << 22) + 5]).array()  # in two parts
    np.testing.assert_array_equal(long[:8], Draw.normalized(5, [8]).array())
    few = Draw(6, [3], "int8", count=9)
    np.testing.assert_array_equal(Draw.of_json(few.to_json()).array(), few.array())


def test_drawn_arrays_are_found_in_the_forms_of_compilers(tmp_path: Path) -> None:
    import ml_dtypes

    a, b, c, d = (Draw.normalized(seed, [16, 24]) for seed in range(4))
    forms = [a.array(), np.ascontiguousarray(b.array().T), c.array().astype(ml_dtypes.bfloat16)]
    pieces = [
        b"head",
        forms[2].tobytes(),
        forms[0].tobytes(),
        b"between",
        forms[1].tobytes(),
        d.array()[:-1].tobytes(),
    ]
    (file := tmp_path / "f").write_bytes(b"".join(pieces))
    store(file, [a, b, c, d], tmp_path / "f.npz")
    with np.load(tmp_path / "f.npz") as arrays:
        assert arrays["rest"].size == 4 + 7 + 4 * 15 * 24  # the last array lacks a row
    assert restore(tmp_path / "f.npz", tmp_path / "again").read_bytes() == file.read_bytes()


def test_samples_are_of_all_places() -> None:
    (places,) = [each for name, each in sampled([np.arange(1 << 20)]).items() if name == "sample0"]
    assert places.size == 2048 and places.min() < 4096 and places.max() > (1 << 20) - 4096
    assert {*(places % 16).tolist()} == {*range(16)}
    assert sampled([np.zeros((0, 3))])["sample0"].size == 0


def test_the_newest_architecture_is_run() -> None:
    cases = [Case("m", 1, arch, "f32", []) for arch in ("sm_80", "sm_90", "sm_100")]
    assert [case.arch for case in best_cases(cases, "ptx-interpreter")] == ["sm_100"]


def test_onnxruntime_runs_the_same_model(prepared: Path, tmp_path: Path) -> None:
    pytest.importorskip("onnxruntime")
    (case,) = Case.read_all(prepared)
    model = restore(prepared / case.onnx, tmp_path / "m.onnx")
    ((name, call),) = runtime_calls(model, dict(zip(case.names, case.arrays(), strict=True)), "cpu")
    found: Any = call()
    with np.load(prepared / case.expected) as expected:
        assert name == "onnxruntime tf32=0" and largest_error(sampled(found), dict(expected)) < 1e-4


def test_peers_that_are_not_here_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("benchmarks.gpu_runs.peers.find_spec", lambda name: None)
    assert missing("cuda:0") == [
        "onnxruntime: not installed (pip install onnxruntime-gpu)", "torch: not installed",
    ]  # fmt: skip
    assert [*torch_calls("resnet18", 1, "f32", "cuda:0")] == []


@whole
@pytest.mark.parametrize(("name", "precision"), [("light_squeezenet", "f32"), ("light_shufflenet", "bf16")])
def test_twins_of_vision(name: str, precision: str) -> None:
    pytest.importorskip("torchvision")
    ((label, call),) = torch_calls(name, 1, precision, "cpu", ("eager",))
    found: Any = call()
    assert label == f"torch eager {precision}" and found.shape == (1, 1000)


@whole
def test_twins_of_language() -> None:
    pytest.importorskip("transformers")
    pytest.importorskip("torch")
    ((_, call),) = torch_calls("bert_mini_dyn", 2, "f32", "cpu", ("eager",))
    found: Any = call()
    assert found.last_hidden_state.shape == (2, 64, 256)
