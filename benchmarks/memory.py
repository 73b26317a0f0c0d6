"""The memory of a fresh process that loads and runs a compiled model, less the memory after imports."""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from benchmarks.zoo import F32_MODELS, model_path
from stepwell.tools.driver.compile import compile

# Each prints its peak over the memory after its imports, in KiB. VmHWM is the peak of resident memory.
_PEAK = """
def held(key):
    return next(int(l.split()[1]) for l in open("/proc/self/status") if l.startswith(key))
"""
_OURS = (
    _PEAK
    + """
import sys, numpy as np
import stepwell.runtime.model
feeds = dict(np.load(sys.argv[2]))
before = held("VmRSS")
import stepwell
stepwell.load(sys.argv[1], threads=1).run(feeds)
print(held("VmHWM") - before)
"""
)
_ORT = (
    _PEAK
    + """
import sys, numpy as np, onnxruntime as ort
feeds = dict(np.load(sys.argv[2]))
before = held("VmRSS")
options = ort.SessionOptions()
options.intra_op_num_threads = 1
ort.InferenceSession(sys.argv[1], options, providers=["CPUExecutionProvider"]).run(None, feeds)
print(held("VmHWM") - before)
"""
)


def memory_ratios(names: Sequence[str]) -> str:
    """A table of our memory against ONNX Runtime's, models with at least 20 MB of weights."""
    lines = ["| model | ours, MB | onnxruntime, MB | ours / onnxruntime |", "|---|---|---|---|"]
    for name in dict.fromkeys(names):
        path = model_path(name)
        if path is None:
            continue
        with tempfile.TemporaryDirectory() as folder:
            model = compile(path)
            if sum(w.nbytes for w in model.image.weights) < 20e6:
                continue
            artifact, feeds = Path(folder) / "m.stepwell", Path(folder) / "feeds.npz"
            model.save(artifact)
            np.savez(feeds, allow_pickle=False, **F32_MODELS[name].feeds())
            ours, theirs = _peak(_OURS, artifact, feeds), _peak(_ORT, path, feeds)
        lines.append(f"| {name} | {ours / 1e3:.0f} | {theirs / 1e3:.0f} | {ours / theirs:.2f} |")
    return "\n".join(lines) + "\n"


def _peak(program: str, model: Path, feeds: Path) -> float:
    """Peak memory in KiB, the median of three processes."""
    command = [sys.executable, "-c", program, str(model), str(feeds)]
    runs = [
        float(subprocess.run(command, check=True, capture_output=True, text=True).stdout) for _ in range(3)
    ]
    return float(np.median(runs))
