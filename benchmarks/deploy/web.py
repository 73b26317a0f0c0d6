"""Models for WebAssembly in Node against onnxruntime-web."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import geometric_mean

from benchmarks import web as models
from benchmarks.deploy.figures import Figure, judged, skipped


def web(folder: Path) -> Iterator[Figure]:
    """Times of calls and of first results, and their geometric means."""
    what, bound = "wasm against onnxruntime-web, Node, one thread", "1.3 x, first result 3 x sooner"
    folders = os.environ.get("NODE_PATH", "").split(os.pathsep)
    if shutil.which("node") is None or not any(Path(each, "onnxruntime-web").is_dir() for each in folders):
        yield skipped(what, "node or onnxruntime-web (NODE_PATH) is not here", bound)
        return
    ratios: list[models.Compared] = []
    for name in models.MODELS:
        with tempfile.TemporaryDirectory(dir=folder) as own:
            found = models.compared(name, Path(own), [])
        if found is None:
            yield skipped(f"wasm: {name}", "not available here", bound)
            continue
        ratios.append(found)
        yield Figure(f"wasm: {name}", found.shown, "none")
    if ratios:
        calls = geometric_mean(each.call for each in ratios)
        firsts = geometric_mean(each.first for each in ratios)
        yield judged(f"{what}: calls", f"{calls:.2f} x (geometric mean)", "1.3 x", calls >= 1.3)
        yield judged(f"{what}: first results", f"{firsts:.2f} x sooner", "3 x", firsts >= 3)
