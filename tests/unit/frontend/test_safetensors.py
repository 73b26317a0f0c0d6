"""Files of safetensors: views of the mapped file; damaged and lying ones are errors."""

from __future__ import annotations

import json
import random
import struct
from pathlib import Path

import numpy as np
import pytest

import stepwell
from stepwell.frontend.safetensors import stored_tensors
from stepwell.runtime.interface import dtype_from_name
from tests.unit.frontend.damaged import mutated

DATA = np.arange(12, dtype=np.float32).tobytes()


def entry(dtype: str, shape: list[int], *offsets: int) -> dict[str, object]:
    return {"dtype": dtype, "shape": shape, "data_offsets": list(offsets)}


GOOD = {
    "__metadata__": {"format": "pt"},
    "a": entry("F32", [2, 3], 0, 24),
    "b": entry("BF16", [12], 24, 48),
    "c": entry("I64", [0, 4], 24, 24),
}


def written(path: Path, header: object, data: bytes = DATA) -> Path:
    text = header.encode() if isinstance(header, str) else json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)
    return path


def test_tensors_are_views_of_the_file(tmp_path: Path) -> None:
    arrays, files = stored_tensors(written(tmp_path / "m.safetensors", GOOD))
    assert list(arrays) == ["a", "b", "c"] and len(files.states) == 1
    assert np.array_equal(arrays["a"], np.arange(6, dtype=np.float32).reshape(2, 3))
    assert arrays["b"].dtype == dtype_from_name("bfloat16") and arrays["c"].shape == (0, 4)
    assert arrays["b"].tobytes() == DATA[24:] and not arrays["a"].flags.owndata


def test_an_index_names_the_files_of_tensors(tmp_path: Path) -> None:
    written(tmp_path / "1.safetensors", {"a": GOOD["a"]})
    written(tmp_path / "2.safetensors", {"b": GOOD["b"]})
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "1.safetensors", "b": "2.safetensors"}}))
    assert sorted(stored_tensors(index)[0]) == ["a", "b"]
    for places, message in (
        ({"a": "2.safetensors"}, "has no tensor 'a'"),
        ({"a": "../1.safetensors"}, "no path inside"),
        ({"a": 1}, "must be text"),
        (None, "must have a weight_map"),
    ):
        index.write_text(json.dumps({"weight_map": places}))
        with pytest.raises(stepwell.StepwellError, match=message):
            stored_tensors(index)


@pytest.mark.parametrize(
    ("header", "message"),
    [
        ({"a": entry("F32", [2, 3], 0, 24), "b": entry("F32", [6], 20, 44)}, "'a' and 'b' overlap"),
        ({"a": entry("F32", [13], 0, 52)}, "takes 52 bytes"),
        ({"a": entry("F32", [2, 3], 0, 20)}, "takes 24 bytes"),
        ({"a": entry("F32", [1 << 40, 1 << 40], 0, 24)}, "takes"),
        ({"a": entry("F32", [-2, -3], 0, 24)}, "cannot be read"),
        ({"a": entry("F99", [6], 0, 24)}, "element type 'F99'"),
        ({"a": entry("F32", [6], 24, 0)}, "takes 24 bytes"),
        ({"a": entry("F32", [6], 0)}, "cannot be read"),
        ({"a": [1]}, "cannot be read"),
        ('{"a": 1, "a": 2}', "occurs twice"),
        ("[" * 100_000, "no JSON"),
        ("[1]", "no object"),
    ],
)
def test_lying_headers(header: object, message: str, tmp_path: Path) -> None:
    with pytest.raises(stepwell.StepwellError, match=message) as caught:
        stored_tensors(written(tmp_path / "m.safetensors", header))
    assert caught.value.code == "invalid-weights"


@pytest.mark.parametrize("size", [1 << 60, (1 << 64) - 1, 200_000_000])
def test_a_header_larger_than_the_file(size: int, tmp_path: Path) -> None:
    path = tmp_path / "m.safetensors"
    path.write_bytes(struct.pack("<Q", size) + b"{}")
    with pytest.raises(stepwell.StepwellError, match=f"the header would take {size} bytes") as caught:
        stored_tensors(path)
    assert caught.value.code == "invalid-weights"
    path.write_bytes(b"abc")
    with pytest.raises(stepwell.StepwellError, match="the file has 3 bytes"):
        stored_tensors(path)


def test_damaged_files_are_tensors_or_errors(tmp_path: Path) -> None:
    data = written(tmp_path / "good.safetensors", GOOD).read_bytes()
    path, errors = tmp_path / "m.safetensors", 0
    for seed in range(500):
        path.write_bytes(mutated(data, random.Random(seed)))
        try:
            stored_tensors(path)
        except stepwell.StepwellError as error:
            assert error.code in ("invalid-weights", "external-data")
            errors += 1
    assert errors > 200
