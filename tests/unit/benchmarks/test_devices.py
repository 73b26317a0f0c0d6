"""Times of devices that need no GPU: an interpreter is a device, and no kind of a target."""

from benchmarks.devices import ROOT, measured


def test_an_interpreter_is_measured() -> None:
    found = measured(ROOT / "examples/digits.onnx", "ptx-interpreter", 1)
    assert found["device"] == "ptx-interpreter" and found["launches"] and found["copied bytes"]
