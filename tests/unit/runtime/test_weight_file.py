"""The file of weights beside text: the layout, which other versions read too, and its limits."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weight_file import MAGIC, read_weights, write_weights


def test_arrays_begin_at_multiples_of_64_bytes(tmp_path: Path) -> None:
    arrays = {
        "a": np.arange(20, dtype=np.int32),
        "b": np.arange(3, dtype=np.float16),
        "c": np.zeros(0, np.int8),
    }
    write_weights(tmp_path / "w", arrays)
    data = (tmp_path / "w").read_bytes()
    size = int.from_bytes(data[len(MAGIC) : len(MAGIC) + 8], "little")
    header = json.loads(data[len(MAGIC) + 8 : len(MAGIC) + 8 + size])
    assert [entry["begin"] for entry in header.values()] == [0, 128, 192]
    start = -(-(len(MAGIC) + 8 + size) // 64) * 64
    assert data[start : start + 80] == arrays["a"].tobytes() and len(data) == start + 192
    found = read_weights(tmp_path / "w")
    assert all(np.array_equal(found[name], array) for name, array in arrays.items())


def test_a_header_may_be_all_that_a_file_has(tmp_path: Path) -> None:
    (tmp_path / "w").write_bytes(MAGIC + (2).to_bytes(8, "little") + b"{}")
    assert read_weights(tmp_path / "w") == {}
    (tmp_path / "w").write_bytes(MAGIC + (3).to_bytes(8, "little") + b"{}")
    with pytest.raises(StepwellError, match="a header of 3 bytes does not fit"):
        read_weights(tmp_path / "w")
