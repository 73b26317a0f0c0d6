"""Packages of Core ML that lie: an error or the right answer, in little time and memory."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.coreml.read import read_coreml
from stepwell.frontend.coreml.schema import SCHEMA
from stepwell.frontend.protobuf import read_message
from tests.support.imports import ROOT
from tests.unit.frontend.damaged import try_damaged

SAMPLES = ROOT / "tests" / "models" / "coreml"
PROGRAM, WEIGHTS = (
    Path("Data") / "com.apple.CoreML" / name for name in ("model.mlmodel", Path("weights") / "weight.bin")
)


def copied(name: str, folder: Path) -> Path:
    return Path(shutil.copytree(SAMPLES / f"{name}.mlpackage", folder / "m.mlpackage"))


def refused(path: Path) -> stepwell.StepwellError:
    with pytest.raises(stepwell.StepwellError) as caught:
        read_coreml(path, StepwellContext())
    return caught.value


def field(number: int, payload: bytes) -> bytes:
    """A field of bytes, of at most 127 of them below the number 16, else of at most 16,383."""
    tag = number << 3 | 2
    head = bytes([tag]) if tag < 128 else bytes([tag & 0x7F | 0x80, tag >> 7])
    size = len(payload)
    return head + (bytes([size]) if size < 128 else bytes([size & 0x7F | 0x80, size >> 7])) + payload


@pytest.mark.parametrize(
    "shard", [pytest.param(i, marks=[] if i == 0 else pytest.mark.slow) for i in range(10)]
)
def test_damaged_packages_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    path = copied("mobile" if shard % 2 else "transformer", tmp_path)
    try_damaged(read_coreml, "coreml", path, [path / PROGRAM, path / "Manifest.json"], 25, shard)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"\x08", "`Model` ends within a number"),
        (b"nothing of this kind", "field 13 of `Model` has wire type 6"),
        (b"", "the file has no ML program, and is no model of Core ML"),
        (field(502, b""), "the program has no function 'main', found: "),
        (field(500, b""), "a model of kind neuralNetwork is not supported"),
        (b"\xb2\x1f\xff\xff\xff\xff\x0f", "field 502 of `Model` ends after its message"),
    ],
)
def test_files_of_another_kind_and_cut_ones(data: bytes, message: str, tmp_path: Path) -> None:
    path = tmp_path / "m.mlmodel"
    path.write_bytes(data)
    assert message in refused(path).message


def test_messages_in_each_other_end_at_a_bound() -> None:
    data = b""
    for _ in range(80):
        data = field(4, field(3, data))  # blocks of operations of blocks
    with pytest.raises(stepwell.StepwellError, match="nested more than 64 deep"):
        read_message(memoryview(field(3, data)), SCHEMA, "Block", "m")


def test_fields_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("stepwell.frontend.protobuf.MAX_FIELDS", 20)
    assert refused(SAMPLES / "mobile.mlpackage").code == "too-large"


def test_blobs_lie_inside_of_their_file(tmp_path: Path) -> None:
    path = copied("mobile", tmp_path)
    whole = (path / WEIGHTS).read_bytes()
    (path / WEIGHTS).write_bytes(whole[:200])
    assert "of the weight file" in refused(path).message or "are outside of the 200" in refused(path).message
    (path / WEIGHTS).write_bytes(bytes(len(whole)))
    assert "no blob begins at byte 64" in refused(path).message


@pytest.mark.parametrize("place", ["../../../m", "/etc/hosts", "\u0000", ""])
def test_the_manifest_names_a_file_inside(place: str, tmp_path: Path) -> None:
    path = copied("mobile", tmp_path)
    manifest = json.loads((path / "Manifest.json").read_text())
    manifest["itemInfoEntries"][manifest["rootModelIdentifier"]]["path"] = place
    (path / "Manifest.json").write_text(json.dumps(manifest))
    assert refused(path).code in ("external-data", "invalid-model")


def test_a_manifest_of_another_form(tmp_path: Path) -> None:
    path = copied("mobile", tmp_path)
    for text in ("[]", "{", "[" * 5000, '{"rootModelIdentifier": 1, "itemInfoEntries": []}'):
        (path / "Manifest.json").write_text(text)
        assert "Manifest.json names no program" in refused(path).message


def test_a_missing_package(tmp_path: Path) -> None:
    assert refused(tmp_path / "none.mlpackage").code == "no-file"
