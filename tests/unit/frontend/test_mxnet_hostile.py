"""Symbols of MXNet that lie: an error or the right answer, in little time and memory."""

from __future__ import annotations

import json
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend.mxnet.parameters import Parameters
from stepwell.frontend.mxnet.read import read_mxnet
from tests.support.imports import ROOT
from tests.unit.frontend.damaged import try_damaged

SAMPLES = ROOT / "tests" / "models" / "mxnet"


def copied(folder: Path) -> Path:
    shutil.copy(SAMPLES / "mobile-0000.params", folder / "m-0000.params")
    return Path(shutil.copy(SAMPLES / "mobile-symbol.json", folder / "m-symbol.json"))


def refused(path: Path) -> stepwell.StepwellError:
    with pytest.raises(stepwell.StepwellError) as caught:
        read_mxnet(path, StepwellContext())
    return caught.value


def changed(path: Path, change: Any) -> stepwell.StepwellError:
    """The error for a symbol after a change of its nodes."""
    symbol = json.loads(path.read_text())
    change(symbol["nodes"])
    path.write_text(json.dumps(symbol))
    return refused(path)


@pytest.mark.parametrize(
    "shard", [pytest.param(i, marks=[] if i == 0 else pytest.mark.slow) for i in range(20)]
)
def test_damaged_symbols_are_models_or_errors(shard: int, tmp_path: Path) -> None:
    path = copied(tmp_path)
    try_damaged(read_mxnet, "mxnet", path, [path, tmp_path / "m-0000.params"], 25, shard)


@pytest.mark.parametrize("text", ["", "[]", "{}", "[" * 5000, '{"nodes": [{}], "heads": []}', "\ud800"])
def test_files_of_another_kind(text: str, tmp_path: Path) -> None:
    path = tmp_path / "m-symbol.json"
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    error = refused(path)
    assert error.code == "invalid-model" and "no symbol of MXNet" in error.message


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("kernel", "__import__('os')", "`kernel` must be whole numbers"),
        ("kernel", "(3, " * 100, "`kernel` has more than 256 characters"),
        ("no_bias", "maybe", "`no_bias` must be True or False"),
        ("num_filter", "many", "invalid literal"),
        ("color", "red", "Convolution has no argument `color`"),
    ],
)
def test_attributes_are_text_of_a_form(name: str, text: str, message: str, tmp_path: Path) -> None:
    def change(nodes: Any) -> None:
        next(node for node in nodes if node["op"] == "Convolution")["attrs"][name] = text

    error = changed(copied(tmp_path), change)
    assert error.code == "invalid-model" and message in error.message


def test_inputs_come_before_their_node(tmp_path: Path) -> None:
    def change(nodes: Any) -> None:
        next(node for node in nodes if node["op"] == "Convolution")["inputs"][1] = [len(nodes) - 1, 0, 0]

    assert changed(copied(tmp_path), change).code == "undefined-value"


def test_parameters_lie_inside_of_their_file(tmp_path: Path) -> None:
    path = copied(tmp_path)
    parameters = tmp_path / "m-0000.params"
    whole = parameters.read_bytes()
    for data, message in (
        (whole[:-1], "a part of it ends at byte"),
        (b"\0" * 24, "the file begins with 0x0"),
        (struct.pack("<QQQ", 0x112, 0, 1 << 40) + whole[24:], "arrays do not fit"),
        (whole[:28] + struct.pack("<i", 1) + whole[32:], "is sparse"),
        (whole[:32] + struct.pack("<I", 1000) + whole[36:], "has rank 1000"),
        (b"", "the file has 0 bytes"),
    ):
        parameters.write_bytes(data)
        error = refused(path)
        assert error.code == "invalid-weights" and message in error.message


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_arrays_of_all_versions(version: int, tmp_path: Path) -> None:
    marks = {1: 0xF993FAC8, 2: 0xF993FAC9, 3: 0xF993FACA}
    storage = struct.pack("<i", 0) if version > 1 else b""
    head = struct.pack("<I", marks[version]) + storage if version else b""
    shape = struct.pack("<Iqq", 2, 1, 3) if version else struct.pack("<III", 2, 1, 3)
    array = head + shape + struct.pack("<iii", 1, 0, 4) + struct.pack("<iii", 5, -6, 7)
    name = b"arg:w"
    path = tmp_path / "m-0000.params"
    path.write_bytes(struct.pack("<QQQ", 0x112, 0, 1) + array + struct.pack("<QQ", 1, len(name)) + name)
    assert Parameters(path).arrays["w"].tolist() == [[5, -6, 7]]


def test_the_parameters_of_the_last_epoch_are_read(tmp_path: Path) -> None:
    path = copied(tmp_path)
    (tmp_path / "m-0001.params").write_bytes(b"")
    assert refused(path).code == "invalid-weights"
    (tmp_path / "m-0001.params").rename(tmp_path / "m-more-0001.params")
    read_mxnet(path, StepwellContext())


def test_a_missing_symbol(tmp_path: Path) -> None:
    assert refused(tmp_path / "none-symbol.json").code == "no-file"
