"""TFLite files that lie: an error or the right answer, in little time and memory."""

from __future__ import annotations

import random
import struct
import time
import zipfile
from pathlib import Path

import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.flatbuffer.reader import FlatBuffer
from stepwell.frontend.tflite.read import read_tflite
from stepwell.frontend.tflite.schema import schema
from tests.support.imports import ROOT
from tests.unit.frontend.damaged import mutated, survives

SAMPLES = ROOT / "tests" / "models" / "tflite"
WHOLE = (SAMPLES / "classifier.tflite").read_bytes()
PROGRAMS = zipfile.ZipFile(SAMPLES / "programs.zip")
PROGRAM = PROGRAMS.read("counter.tflite")
MUTATIONS = 1000


def refused(data: bytes, folder: Path) -> stepwell.StepwellError:
    path = folder / "m.tflite"
    path.write_bytes(data)
    with pytest.raises(stepwell.StepwellError) as caught:
        read_tflite(path, StepwellContext())
    return caught.value


@pytest.mark.parametrize(
    "shard", [pytest.param(i, marks=[] if i == 0 else pytest.mark.slow) for i in range(20)]
)
def test_damaged_files_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    rng, begin = random.Random(shard), time.perf_counter()
    samples = [WHOLE, (SAMPLES / "quantized.tflite").read_bytes(), PROGRAM, PROGRAMS.read("nested.tflite")]
    for _ in range(MUTATIONS // 20):
        path = tmp_path / "m.tflite"
        path.write_bytes(mutated(rng.choice(samples), rng, 8))
        survives(read_tflite, "tflite", path)
    assert time.perf_counter() - begin < 60  # 10 s for each file, at the very most


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "the file is empty"),
        (b"nothing of this kind", "bytes 4 to 7 are not TFL3"),
        (b"\xff\xff\xff\x7fTFL3", "byte 2147483647, for `Model`, is outside of the file of 8 bytes"),
        (WHOLE[:200], "is outside of the file of 200 bytes"),
        (WHOLE[:-40], "for `Model.operator_codes`"),
    ],
)
def test_files_of_another_kind_and_cut_ones(data: bytes, message: str, tmp_path: Path) -> None:
    error = refused(data, tmp_path)
    assert error.code == "invalid-model" and message in error.message


def test_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(stepwell.StepwellError) as caught:
        stepwell.compile(tmp_path / "none.tflite")
    assert caught.value.code == "no-file"


def test_a_vector_that_is_longer_than_the_file(tmp_path: Path) -> None:
    table = FlatBuffer(memoryview(WHOLE), "m", schema()).root("Model")
    position = table.buffer.offset(table._position("subgraphs"), "subgraphs")  # pyright: ignore[reportPrivateUsage]
    data = bytearray(WHOLE)
    data[position : position + 4] = struct.pack("<I", 0x7FFFFFFF)
    assert "`Model.subgraphs` has 2147483647 items" in refused(bytes(data), tmp_path).message
    data[position : position + 4] = struct.pack("<I", 100_000)
    assert "for `Model.subgraphs`, is outside of the file" in refused(bytes(data), tmp_path).message


def test_many_offsets_to_one_table_are_counted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("stepwell.frontend.flatbuffer.reader.MAX_TABLES", 20)
    assert "more than 20 tables" in refused(WHOLE, tmp_path).message


@pytest.mark.parametrize(
    ("number", "message"),
    [(0, "subgraph 0 calls itself"), (9, "subgraph 9 does not exist"), (-1, "subgraph -1 does not exist")],
)
def test_calls_of_other_graphs(
    number: int, message: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("stepwell.frontend.tflite.control._number", lambda *_: number)
    for name in ("branches", "powers", "counter"):
        error = refused(PROGRAMS.read(f"{name}.tflite"), tmp_path)
        assert error.code == "invalid-model" and message in error.message


def test_graphs_that_do_not_fit_their_calls(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("stepwell.frontend.tflite.control._number", lambda *_: 1)
    error = refused(PROGRAMS.read("powers.tflite"), tmp_path)  # the graph of the condition for both
    assert error.where == 'm.tflite: node "count"'
    assert error.message == "while has 3 results, its subgraph 1"


def test_operators_are_counted_where_graphs_are_called(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr("stepwell.frontend.tflite.body.MAX_OPERATORS", 3)
    error = refused(PROGRAMS.read("nested.tflite"), tmp_path)
    assert error.code == "too-large" and "more than 3 operators" in error.message
