"""`golden.json`: data that change with their keys alone; `python -m tests.explore.golden` writes them."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.explore.collect import collect
from tests.commands import written
from tests.onnx_models import onnx_model

GOLDEN = Path(__file__).with_name("golden.json")
MODEL = (
    "g (float[2,4] x, float[4,3] w) => (float[2,3] y) { a = MatMul(x, w) b = Relu(a) y = Softmax<axis=1>(b) }"
)


def golden_data() -> Any:
    """The data of the golden model as this version collects it."""
    with TemporaryDirectory() as folder:
        path = written(Path(folder) / "golden.onnx", onnx_model(MODEL))
        options = CompileOptions(profile=True, mcpu="x86-64-v3")
        data = collect(path, options, command="stepwell explore golden.onnx", run=False)
    data["overlays"] = [{"name": "error", "unit": "", "values": {"MatMul_0": 0.5}}]
    return json.loads(json.dumps(data))


def form(value: Any) -> Any:
    """The keys of JSON values at any depth, and what kinds of values the rest are."""
    if isinstance(value, dict):
        return {key: form(each) for key, each in value.items()}
    if isinstance(value, list):
        kinds = {json.dumps(form(each), sort_keys=True) for each in value}
        return sorted(kinds)
    return (
        "number" if isinstance(value, int | float) and not isinstance(value, bool) else type(value).__name__
    )


def main() -> None:
    """Write the file."""
    GOLDEN.write_text(json.dumps(golden_data(), separators=(",", ":"), sort_keys=True) + "\n")


if __name__ == "__main__":
    main()
