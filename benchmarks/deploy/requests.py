"""Requests a second of a server, and the gain of batches."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path

import onnx
import onnx.parser

from benchmarks import serving
from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.zoo import model_path

_WIDTH = 4096


def requests(folder: Path) -> Iterator[Figure]:
    """Requests of a model of one operator: its answers take as long as the protocol does."""
    what, bound = "requests, one operator", "2,000 requests/s of a core: 0.5 ms"
    if find_spec("uvicorn") is None:
        yield skipped(what, "uvicorn is not installed", bound)
        return
    onnx.save(onnx.parser.parse_model(serving.ONE), folder / "one.onnx")
    one = serving.served(folder / "one.onnx", serving.BINARY)
    found = f"{one.rate:.0f} requests/s, {one.cpu_ms:.2f} ms of the core each"
    yield judged(what, found, bound, one.cpu_ms <= 0.5)


def batches(folder: Path) -> Iterator[Figure]:
    """Requests of 16 clients in batches against single calls: where weights are the cost, and where not."""
    if find_spec("uvicorn") is None:
        yield skipped("batches", "uvicorn is not installed", "3 x, 1.0 x")
        return
    serving.mlp(folder / "mlp.onnx", _WIDTH)
    tensors = {"x0": ("FP32", (1, _WIDTH))}
    yield _gain(f"batches of an MLP of three {_WIDTH}x{_WIDTH}", folder / "mlp.onnx", tensors, 3.0)
    what = "batches of bert_mini_dyn, 64 tokens"
    if (path := model_path("bert_mini_dyn")) is None:
        yield skipped(what, "not available here", "1.0 x")
    else:
        yield _gain(what, path, {"ids": ("INT64", (1, 64)), "mask": ("INT64", (1, 64))}, 1.0)


def _gain(what: str, path: Path, tensors: serving.Tensors, bound: float) -> Figure:
    """The processor time of a request alone, over that of one in a batch."""
    # Four instances: as many requests may wait as there are clients.
    single = serving.served(path, tensors, "--max-batch", "1", "--instances", "4")
    batched = serving.served(path, tensors, "--max-batch", "16")
    ratio, rates = single.cpu_ms / batched.cpu_ms, batched.rate / single.rate
    found = f"{ratio:.2f} x by processor time, {rates:.2f} x by rate ({batched.rate:.0f} requests/s)"
    return judged(what, found, f"{bound} x single calls", max(ratio, rates) >= bound)
