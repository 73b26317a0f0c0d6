"""`stepwell calibrate --device`, and what `run --profile` says of it."""

import json
from pathlib import Path
from typing import Any

import pytest

from stepwell.runtime.devices.arrays import DeviceInfo
from stepwell.runtime.devices.profiling import DeviceTimes
from stepwell.tools import cli
from stepwell.tools.measure import device_limits
from stepwell.tools.measure.device_limits import DeviceLimits, kept_limits
from stepwell.tools.measure.device_profile import device_profile_json, device_profile_text

GPU = DeviceInfo("opencl:0", "opencl", "a GPU, driver 1")


@pytest.fixture(autouse=True)
def kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of a device that was measured and is here."""
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    monkeypatch.setattr(device_limits, "devices", lambda: ([GPU], {}))
    path = tmp_path / "devices.json"
    path.write_text(json.dumps({"opencl:0": {"about": GPU.about, "copy_gbps": 200.0, "gflops": 5000.0}}))
    return path


def test_limits_are_those_of_the_device_that_was_measured(
    kept: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert kept_limits("opencl") == kept_limits("opencl:0") == DeviceLimits(GPU.about, 200.0, 5000.0)
    assert kept_limits("opencl:1") is None
    monkeypatch.setattr(device_limits, "devices", lambda: ([GPU._replace(about="driver 2")], {}))
    assert kept_limits("opencl") is None
    for text in ("", "[]", "{", '{"opencl:0": 1}', '{"opencl:0": {"about": "driver 2", "gflops": "fast"}}'):
        kept.write_text(text)
        assert kept_limits("opencl") is None


def test_an_interpreter_has_no_limits(monkeypatch: pytest.MonkeyPatch, capsys: Any) -> None:
    here = DeviceInfo("gpu-interpreter:0", "gpu-interpreter", "in numpy", is_software=True)
    monkeypatch.setattr(device_limits, "devices", lambda: ([here], {}))
    assert cli.main(["calibrate", "--device", "gpu-interpreter"]) == 1
    assert "error[bad-option]: gpu-interpreter:0 is no device to measure" in capsys.readouterr().err


def test_what_was_measured_is_shown(kept: Path, capsys: Any) -> None:
    assert cli.main(["calibrate", "--device", "opencl", "--show"]) == 0
    said = capsys.readouterr().out
    assert "a GPU, driver 1" in said and "200.0 GB/s read and written, 5000.0 GFLOP/s" in said
    kept.unlink()
    assert cli.main(["calibrate", "--device", "opencl", "--show"]) == 1
    assert cli.main(["calibrate", "--device", "opencl", "--mcpu", "x86-64-v3"]) == 1


def test_a_profile_has_rates_and_their_share(kept: Path) -> None:
    times = DeviceTimes()
    for name, seconds, nbytes in (("@a", 0.002, 10**8), ("@b", 0.001, 10**8), ("@b", 0.001, 10**8)):
        times.add(name, seconds)
        times.add_arrays(name, nbytes, "opencl")
    lines = [line.split() for line in device_profile_text(times).splitlines()]
    assert lines[1] == ["@a", "1", "2.000", "50%", "50.00", "25%"]
    assert lines[2] == ["@b", "2", "2.000", "50%", "100.00", "50%"]
    first: Any = device_profile_json(times)["device kernels"]
    assert [each["array bytes"] for each in first] == [10**8, 2 * 10**8]
    times.add_operations("@b", 10**9)  # a part of an earlier version has no count of @a
    lines = [line.split() for line in device_profile_text(times).splitlines()]
    assert lines[0][-8:] == ["GB/s", "of", "the", "device's", "GFLOP/s", "of", "the", "device's"]
    assert lines[1][4:] == ["50.00", "25%"] and lines[2][4:] == ["100.00", "50%", "500.00", "10%"]
    rows: Any = device_profile_json(times)["device kernels"]
    assert [each["operations"] for each in rows] == [None, 10**9]
    kept.unlink()
    lines = [line.split() for line in device_profile_text(times).splitlines()]
    assert [line[4:] for line in lines[1:3]] == [["50.00"], ["100.00", "500.00"]]
