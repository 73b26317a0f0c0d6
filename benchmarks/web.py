"""
Models as WebAssembly in Node: `python -m benchmarks.web`, against onnxruntime-web, one thread each.

Both run in processes of their own, in turn; a model's time is the median of the processor's over all rounds,
and the time to the first result, the least of a clock, has loading in it. `NODE_PATH` names the folder with
onnxruntime-web (`npm install onnxruntime-web`). `--relaxed` lets Node use relaxed SIMD, as browsers do.
"""

from __future__ import annotations

import json
import os
import subprocess
import tarfile
import tempfile
from argparse import ArgumentParser
from base64 import b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import geometric_mean, median
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import onnx

import stepwell
from benchmarks.zoo import model_path
from stepwell.runtime.interface import Array
from stepwell.tools.inputs import completed_inputs

MODELS = ("light_squeezenet", "mobilenet_v2", "magika", "bert_mini_dyn")
SHAPES: Mapping[str, Mapping[str, tuple[int, ...]]] = {
    "bert_mini_dyn": {"ids": (1, 64), "mask": (1, 64)},
    "magika": {"bytes": (1, 2048)},
}
_TURNS, _ROUNDS = 5, 15
_SCRIPT = Path(__file__).parent / "cases/web_timing.mjs"
_RELAXED = "--experimental-wasm-relaxed-simd"


def main(argv: Sequence[str] | None = None) -> None:
    """Measure and print."""
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("models", nargs="*", default=MODELS, help="names of the zoo")
    parser.add_argument("--relaxed", action="store_true", help="with relaxed SIMD")
    args = parser.parse_args(argv)
    flags = [_RELAXED] if args.relaxed else []
    ratios: list[Compared] = []
    for model in args.models:
        with tempfile.TemporaryDirectory() as name:
            if (found := compared(model, Path(name), flags)) is not None:
                print(f"{model}: {found.shown}", flush=True)
                ratios.append(found)
    if ratios:
        calls = geometric_mean(each.call for each in ratios)
        firsts = geometric_mean(each.first for each in ratios)
        print(f"all: {calls:.2f} x as fast, first result {firsts:.2f} x sooner (geometric means)")


class Compared(NamedTuple):
    """Times of the other engine as multiples of ours."""

    call: float
    first: float
    shown: str
    """Both times of each, and the distance of the outputs."""


def compared(name: str, folder: Path, flags: Sequence[str]) -> Compared | None:
    """The times of a model in both engines; None where the model is not available."""
    if (path := model_path(name)) is None:
        print(f"{name}: not available here")
        return None
    stepwell.export(path, folder / "m.tgz", target="wasm32")
    with tarfile.open(folder / "m.tgz") as archive:
        archive.extractall(folder, filter="data")
    interface = stepwell.compile(path, threads=1).interface
    feeds = completed_inputs(interface, {}, 0, SHAPES.get(name, {}), "random")
    (folder / "feeds.json").write_text(json.dumps(_encoded(feeds)))
    onnx.save(onnx.load(path), folder / "m.onnx")  # weights in the file, which Node has no other way to find
    files = {"stepwell": folder / "package", "onnxruntime-web": folder / "m.onnx"}
    times: dict[str, list[float]] = {engine: [] for engine in files}
    firsts: dict[str, list[float]] = {engine: [] for engine in files}
    values: dict[str, npt.NDArray[np.float64]] = {}
    for _ in range(_TURNS):
        for engine, file in files.items():
            facts = _timed(
                [*flags, str(_SCRIPT), engine, str(file), str(folder / "feeds.json"), str(_ROUNDS)]
            )
            times[engine] += facts["times"]
            firsts[engine].append(facts["first"])
            values[engine] = np.array(facts["values"], np.float64)
    ours, other = (median(times[engine]) for engine in files)
    our_first, other_first = (min(firsts[engine]) for engine in files)
    apart = float(np.max(np.abs(np.subtract(*values.values()))))
    call = f"{ours:.2f} ms against {other:.2f} ms ({other / ours:.2f} x)"
    first = f"first result {our_first:.0f} ms against {other_first:.0f} ms ({other_first / our_first:.1f} x)"
    shown = f"{call}, {first}, outputs apart by {apart:.1e}"
    return Compared(other / ours, other_first / our_first, shown)


def _encoded(feeds: Mapping[str, Array]) -> dict[str, Any]:
    return {
        name: {"type": x.dtype.name, "dims": list(x.shape), "data": b64encode(x.tobytes()).decode()}
        for name, x in feeds.items()
    }


def _timed(arguments: Sequence[str]) -> Any:
    done = subprocess.run(["node", *arguments], capture_output=True, text=True, env=os.environ, timeout=300)
    if done.returncode:
        raise SystemExit(f"node {' '.join(arguments)} failed: {done.stderr.strip()[-500:]}")
    return json.loads(done.stdout)


if __name__ == "__main__":
    main()
