"""`run --profile --roofline F.svg`: where kernels are in the graphic, and under which lines."""

from __future__ import annotations

import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from stepwell.runtime.model_source import ProfileRow
from stepwell.tools import cli
from stepwell.tools.measure import calibrate
from stepwell.tools.measure.calibrate import MachineLimits
from stepwell.tools.measure.roofline import roofline_svg
from tests.commands import written
from tests.onnx_models import onnx_model

LIMITS = MachineLimits({1: 100.0}, {1: 10.0}, {1: 40.0})
_SVG = "{http://www.w3.org/2000/svg}"


def kernel(name: str, gflops: float, gigabytes: float, share: float = 30.0) -> ProfileRow:
    return ProfileRow("kernel", name, "k_1", ("<a> & b",), 5.0, share, gflops, gigabytes)


def places(svg: str) -> dict[str, tuple[float, float]]:
    circles = ElementTree.fromstring(svg).iter(f"{_SVG}circle")
    return {c.attrib["data-kernel"]: (float(c.attrib["cx"]), float(c.attrib["cy"])) for c in circles}


def test_kernels_are_by_intensity_and_speed() -> None:
    rows = [kernel("k0", 90, 9), kernel("k1", 9, 9), kernel("k2", 0, 5), kernel("k3", 90, 0.9)]
    rows.append(ProfileRow("outside", "", "", (), 1.0, 10.0))
    found = places(roofline_svg("m.onnx", rows, LIMITS, 1))
    assert set(found) == {"k0", "k1", "k3"}  # the others compute nothing
    assert found["k1"][0] < found["k0"][0] < found["k3"][0]
    assert found["k0"][1] == found["k3"][1] < found["k1"][1]
    decade = found["k0"][0] - found["k1"][0]
    assert found["k3"][0] - found["k0"][0] == pytest.approx(decade, abs=0.3)


def test_a_kernel_at_a_limit_is_on_its_line() -> None:
    rows = [kernel("memory", 20, 10), kernel("peak", 100, 1)]
    svg = roofline_svg("m.onnx", rows, LIMITS, 1)
    (path,) = (
        p.attrib["d"]
        for p in ElementTree.fromstring(svg).iter(f"{_SVG}path")
        if p.get("class") == "roof memory"
    )
    corners = [tuple(map(float, corner.split())) for corner in re.split("[ML]", path) if corner.strip()]
    (left, low), (ridge, high), (_, end) = corners
    x, y = places(svg)["memory"]
    assert y - low == pytest.approx((high - low) * (x - left) / (ridge - left), abs=1)
    assert places(svg)["peak"][1] == high == end


def test_names_are_text() -> None:
    svg = roofline_svg("<m>.onnx", [kernel('k"0', 1, 1)], LIMITS, 1)
    root = ElementTree.fromstring(svg)
    assert 'k"0' in places(svg) and any(
        "<a> & b" in (title.text or "") for title in root.iter(f"{_SVG}title")
    )


def test_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("STEPWELL_CACHE", str(tmp_path))
    monkeypatch.setattr(calibrate, "_measure", lambda: LIMITS)
    text = "g (float[64, 64] x) => (float[64, 64] y) { h = MatMul(x, x) y = Softmax(h) }"
    path, svg = written(tmp_path / "m.onnx", onnx_model(text)), tmp_path / "r.svg"
    assert cli.main(["run", str(path), "--profile", "--roofline", str(svg)]) == 0
    assert set(places(svg.read_text())) == {"k0", "k1"}
    assert cli.main(["run", str(path), "--roofline", str(svg)]) == 2
    assert "error[bad-usage]: --roofline draws what --profile measures" in capsys.readouterr().err
