"""
Steps of training against torch: `python -m benchmarks.training`.

Two networks on batches of 64 inputs of 8 x 8, Adam, one thread: 64-128-10, and two convolutions with pools.
Printed are the median microseconds of a step and its share of torch's time (Adam for each parameter, and
fused), measured in turn, where torch is installed; and the seconds of the first step, which compiles.
"""

from __future__ import annotations

import importlib.util
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np
import numpy.typing as npt
import onnx
from onnx import numpy_helper

import stepwell
from benchmarks.functional.rows import HEAD, Row
from stepwell.runtime.environment import CACHE
from stepwell.runtime.rpc.interleaved import interleave, ratio

Array = npt.NDArray[Any]
BATCH, ROUNDS = 64, 15
FIRST_S = 3.0
SHARE = {
    ("dense", "torch"): 0.5,
    ("dense", "torch fused"): 0.7,
    ("conv", "torch"): 1.0,
    ("conv", "torch fused"): 1.0,
}
"""The most time of a step over the peer's."""
DENSE = """g (float[N, 64] x, float[64, 128] w0, float[128] b0, float[128, 10] w1, float[10] b1)
  => (float[N, 10] y) { h = Gemm(x, w0, b0) r = Relu(h) y = Gemm(r, w1, b1) }"""
CONV = """g (float[N, 1, 8, 8] x, float[8, 1, 3, 3] w0, float[8] b0, float[16, 8, 3, 3] w1, float[16] b1,
  float[64, 10] w2, float[10] b2) => (float[N, 10] y) {
  c = Conv<pads = [1, 1, 1, 1]>(x, w0, b0) d = Relu(c)
  e = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(d)
  f = Conv<pads = [1, 1, 1, 1]>(e, w1, b1) h = Relu(f)
  i = MaxPool<kernel_shape = [2, 2], strides = [2, 2]>(h)
  j = Flatten<axis = 1>(i) y = Gemm(j, w2, b2) }"""


def model_file(path: Path, text: str) -> list[Array]:
    """Write a network with random weights; returns these."""
    model = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["": 17]> {text}')
    rng = np.random.default_rng(0)
    weights: list[Array] = []
    for value in model.graph.input[1:]:
        shape = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        weights.append((0.1 * rng.standard_normal(shape)).astype(np.float32))
        model.graph.initializer.append(numpy_helper.from_array(weights[-1], value.name))
    del model.graph.input[1:]
    onnx.save(model, str(path))
    return weights


def torch_step(weights: list[Array], x: Array, y: Array, *, fused: bool) -> Callable[[], Any]:
    """The same step in torch, eagerly."""
    import torch  # pyright: ignore[reportMissingImports]
    from torch.nn import functional as f  # pyright: ignore[reportMissingImports]

    torch.set_num_threads(1)
    parameters = [torch.tensor(each, requires_grad=True) for each in weights]
    optimizer = torch.optim.Adam(parameters, lr=3e-3, fused=fused)
    pictures, labels = torch.tensor(x), torch.tensor(y)

    def scores() -> Any:
        if len(parameters) == 4:
            w0, b0, w1, b1 = parameters
            return torch.relu(pictures @ w0 + b0) @ w1 + b1
        w0, b0, w1, b1, w2, b2 = parameters
        first = f.max_pool2d(torch.relu(f.conv2d(pictures, w0, b0, padding=1)), 2)
        second = f.max_pool2d(torch.relu(f.conv2d(first, w1, b1, padding=1)), 2)
        return second.flatten(1) @ w2 + b2

    def step() -> Any:
        optimizer.zero_grad()
        loss = f.cross_entropy(scores(), labels)
        loss.backward()
        optimizer.step()
        return [loss.detach().numpy()]

    return step


def training_rows(folder: Path) -> Iterator[Row]:
    """The rows of both networks, with kernels that are compiled anew."""
    rng = np.random.default_rng(2)
    x = rng.random((BATCH, 64), np.float32)
    y = rng.integers(0, 10, BATCH)
    yield from _rows("dense", DENSE, x, y, folder)
    yield from _rows("conv", CONV, x.reshape(-1, 1, 8, 8), y, folder)


def _rows(name: str, text: str, x: Array, y: Array, folder: Path) -> Iterator[Row]:
    path = folder / f"{name}.onnx"
    weights = model_file(path, text)
    begin = perf_counter()
    trainer = stepwell.Trainer(path, loss="cross_entropy", optimizer="adam", lr=3e-3, threads=1)
    trainer.step(x, y)
    first = perf_counter() - begin
    yield Row(f"{name} network, first step", f"{first:.1f} s", f"<= {FIRST_S:.0f} s", first <= FIRST_S)
    runners: dict[str, Callable[[], Any]] = {"stepwell": lambda: [np.asarray(trainer.step(x, y))]}
    if importlib.util.find_spec("torch") is not None:
        runners |= {
            "torch": torch_step(weights, x, y, fused=False),
            "torch fused": torch_step(weights, x, y, fused=True),
        }
    times = interleave(runners, ROUNDS)
    ours = times.pop("stepwell")
    step = f"{1e6 * ours.median:.0f} us a step of {BATCH}"
    for peer, found in times.items():
        share = 1 / ratio(found, ours).median
        theirs = f"{step}, {peer} {1e6 * found.median:.0f}: {share:.2f} x its time"
        bound = SHARE[name, peer]
        yield Row(f"{name} network, a step", theirs, f"<= {bound} x {peer}'s", share <= bound)
    if not times:
        yield Row(f"{name} network, a step", step, "torch is not installed", None)


def main() -> None:
    """Measure both networks."""
    print(HEAD)
    with tempfile.TemporaryDirectory() as folder:
        os.environ[CACHE.name] = folder
        for row in training_rows(Path(folder)):
            print(row, flush=True)


if __name__ == "__main__":
    main()
