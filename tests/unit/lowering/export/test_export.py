"""`stepwell.export`, `stepwell compile -o`, and exported libraries in Python again."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.export.ffi import IMPORTS
from stepwell.runtime.errors import StepwellError
from stepwell.tools import cli
from tests.support.components import needs_program

MODEL = """
<ir_version: 8, opset_import: ["" : 17]>
m (float[N, 4] x, float[M, 4] z) => (float[N, 3] y) <float[4, 3] w = {1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}>
{ s = Add (x, z) y = MatMul (s, w) }
"""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    path = tmp_path / "m.onnx"
    onnx.save(onnx.parser.parse_model(MODEL), path)
    return path


def arrays() -> tuple[np.ndarray, np.ndarray]:
    x = np.arange(8, dtype=np.float32).reshape(2, 4)
    return x, x[::-1].copy()


def test_the_same_bytes_from_model_artifact_and_command(model: Path, tmp_path: Path) -> None:
    compiled = stepwell.compile(model)
    compiled.save(tmp_path / "m.stepwell")
    folders = [tmp_path / name for name in "abcd"]
    for folder in folders:
        folder.mkdir()
    stepwell.export(model, folders[0] / "m.so")
    stepwell.export(compiled, folders[1] / "m.so")
    stepwell.export(tmp_path / "m.stepwell", folders[2] / "m.so")
    assert cli.main(["compile", str(model), "-o", str(folders[3] / "m.so")]) == 0
    names = sorted(path.name for path in folders[0].iterdir())
    assert names == ["m.h", "m.so", "stepwell_threads.h"]
    for name in names:
        assert len({(folder / name).read_bytes() for folder in folders}) == 1, name
    assert str(tmp_path).encode() not in (folders[0] / "m.so").read_bytes()


def test_a_library_needs_nothing_and_shows_its_functions_only(model: Path, tmp_path: Path) -> None:
    needs_program("nm")
    done = stepwell.export(model, tmp_path / "m.so")
    listed = subprocess.run(
        ["nm", "-D", tmp_path / "m.so"], capture_output=True, text=True, check=True, timeout=60
    )
    rows = [line.split() for line in listed.stdout.splitlines()]
    names = {row[-1] for row in rows if row[-2] != "w"}
    assert names == set(done.symbols)
    assert all(name.startswith(("m_", "stepwell_1_pool_", "__tvm_ffi_m")) for name in names)
    # Weak ones, which a program need not have, are of functions for other languages alone.
    assert " U " not in listed.stdout and {row[-1] for row in rows if row[-2] == "w"} == set(IMPORTS)
    stepwell.export(model, tmp_path / "m.a")
    members = subprocess.run(["nm", "-s", tmp_path / "m.a"], capture_output=True, text=True, check=True)
    assert "m_run in m.o" in members.stdout and " U " not in members.stdout


def test_an_exported_library_in_python_computes_and_fails_as_the_model(model: Path, tmp_path: Path) -> None:
    compiled = stepwell.compile(model)
    for weights in ("embed", "file"):
        stepwell.export(compiled, tmp_path / f"{weights}.so", weights=weights)
        loaded = stepwell.load(tmp_path / f"{weights}.so")
        assert np.array_equal(loaded(*arrays()), compiled(*arrays()))
        x, z = arrays()
        for call in (loaded, compiled):
            with pytest.raises(StepwellError, match="shape-mismatch"):
                call(x, z[:, :3])
        loaded.save(tmp_path / "again.stepwell")
        assert np.array_equal(
            stepwell.load(tmp_path / "again.stepwell", threads=1)(*arrays()), compiled(*arrays())
        )


def test_a_library_that_is_written_anew_is_loaded_anew(model: Path, tmp_path: Path) -> None:
    stepwell.export(model, tmp_path / "m.so")
    first = stepwell.load(tmp_path / "m.so")
    before = first(*arrays())
    proto = onnx.parser.parse_model(MODEL.replace("Add", "Sub"))
    stepwell.export(proto, tmp_path / "m.so")
    second = stepwell.load(tmp_path / "m.so")
    assert np.array_equal(second(*arrays()), stepwell.compile(proto)(*arrays()))
    assert np.array_equal(first(*arrays()), before) and not np.array_equal(second(*arrays()), before)


@pytest.mark.parametrize("cut", [0, 3, 64, 5000, -1])
def test_a_damaged_library_is_not_opened(model: Path, tmp_path: Path, cut: int) -> None:
    stepwell.export(model, tmp_path / "m.so")
    data = (tmp_path / "m.so").read_bytes()
    (tmp_path / "m.so").write_bytes(data[:cut])
    with pytest.raises(StepwellError, match="bad-artifact"):
        stepwell.load(tmp_path / "m.so")


def test_random_bytes_are_no_library(tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    for number in range(200):
        head = b"\x7fELF\x02\x01\x01" if number % 2 else b""
        (tmp_path / "m.so").write_bytes(head + generator.bytes(int(generator.integers(0, 300))))
        with pytest.raises(StepwellError, match="bad-artifact"):
            stepwell.load(tmp_path / "m.so")


def test_inspect_reads_a_library_without_running_it(
    model: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stepwell.export(model, tmp_path / "m.so")
    assert cli.main(["inspect", str(tmp_path / "m.so")]) == 0
    shown = capsys.readouterr().out
    assert "x: float32[N, 4]" in shown and "  y: float32[" in shown and "in 1 functions" in shown


@pytest.mark.parametrize(
    ("arguments", "code"),
    [
        (["-o", "m.exe"], "bad-option"),
        (["-o", "m"], "bad-option"),
        (["-o", "m.so", "--name", "2nd"], "bad-name"),
        (["-o", "m.so", "--name", "while"], "bad-name"),
        (["-o", "m.so", "--name", "stepwell_m"], "bad-name"),
        (["-o", "m.stepwell", "--weights", "file"], "bad-option"),
        (["-o", "m.so", "--print-pipeline"], "bad-option"),
        (["-o", "none/m.so"], "cannot-write"),
    ],
)
def test_bad_input_is_an_error_and_nothing_is_written(
    model: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    arguments: list[str],
    code: str,
) -> None:
    monkeypatch.chdir(model.parent)
    assert cli.main(["compile", "m.onnx", *arguments]) == 1
    assert f"error[{code}]" in capsys.readouterr().err
    assert [path.name for path in model.parent.iterdir()] == ["m.onnx"]


def test_nothing_is_left_where_one_of_the_files_cannot_be_written(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "m.h").mkdir()
    with pytest.raises(StepwellError, match="cannot-write"):
        stepwell.export(model, tmp_path / "out" / "m.so")
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["m.h"]


def test_names_are_identifiers_of_c(tmp_path: Path) -> None:
    proto = onnx.parser.parse_model(MODEL)
    proto.graph.input[0].name = proto.graph.node[0].input[0] = "a.b/*c"
    proto.graph.input[1].name = proto.graph.node[0].input[1] = "int"
    proto.graph.output[0].name = proto.graph.node[1].output[0] = "2nd"
    stepwell.export(proto, tmp_path / "stepwell-1.so")
    header = (tmp_path / "stepwell-1.h").read_text()
    assert "const float *a_b__c; /* f32[N, 4], a.b/ *c */" in header
    assert "const float *int_;" in header and "float *_2nd;" in header
    assert "model_stepwell_1_run(" in header
