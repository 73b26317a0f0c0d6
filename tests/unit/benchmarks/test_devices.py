"""Times of devices that need no GPU: an interpreter is a device, and no kind of a target."""

import pytest

from benchmarks import devices
from benchmarks.devices import ROOT, lane_operations, measured


def test_an_interpreter_is_measured() -> None:
    found = measured(ROOT / "examples/digits.onnx", "ptx-interpreter", 1)
    assert found["device"] == "ptx-interpreter" and found["launches"] and found["copied bytes"]


def test_operations_of_lanes_are_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in (("_BLOCKS", 2), ("_RUNS", 1)):
        monkeypatch.setattr(devices, name, value)
    gpu, ptx = lane_operations()
    assert gpu["operations of a step"] == 6  # five and the yield
    assert ptx["operations of a step"] in (11, 12)  # indices of small buffers have 32 bits
    assert all(float(str(row["M lane-operations/CPU-s"])) > 0 for row in (gpu, ptx))
