"""Networks and products in int8 and bf16 against other engines and f32."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
import onnx

from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.low_precision.measuring import Measuring, is_installed, means, ratios
from benchmarks.low_precision.products import f32_model
from benchmarks.zoo import F32_MODELS, model_path
from stepwell.runtime.interface import Array
from stepwell.runtime.rpc.interleaved import Runner
from stepwell.tools.api.quantize import quantize
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.calibrate import machine_limits
from stepwell.tools.measure.peers import engine_named

_INT8 = ("resnet18", "mobilenet_v2", "bert_mini_dyn")
_BF16 = ("resnet18", "bert_base_128")
_SIZES = (512, 1024, 2048)
_SAMPLES = 8
_PEERS = ("onnxruntime", "openvino")

Feeds = list[dict[str, Array]]


def _by_onnxruntime(source: Path, target: Path, feeds: Feeds) -> None:
    """The model with pairs of quantize and dequantize, as ONNX Runtime's tools write it."""
    tool: Any = import_module("onnxruntime.quantization")
    prepared = target.with_suffix(".prepared.onnx")
    runtime: Any = import_module("onnxruntime")
    options = runtime.SessionOptions()
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_BASIC  # folds normalizations
    options.optimized_model_filepath = str(prepared)
    onnx.save(onnx.load(str(source)), str(target))  # with its weights inside, which the tools want
    runtime.InferenceSession(str(target), options, providers=["CPUExecutionProvider"])

    class Reader(tool.CalibrationDataReader):
        """Gives one feed after the other."""

        def __init__(self) -> None:
            self._rest = iter(feeds)

        def get_next(self) -> dict[str, Array] | None:
            """The next feed."""
            return next(self._rest, None)

    settings = {"quant_format": tool.QuantFormat.QDQ, "per_channel": True}
    tool.quantize_static(str(prepared), str(target), Reader(), **settings)


def _by_nncf(source: Path, target: Path, feeds: Feeds) -> None:
    """The same by NNCF."""
    nncf: Any = import_module("nncf")
    made = nncf.quantize(onnx.load(str(source)), nncf.Dataset(feeds), subset_size=len(feeds))
    onnx.save(made, str(target))


def _by_us(source: Path, target: Path, feeds: Feeds) -> None:
    """The same by `stepwell.quantize`."""
    quantize(source, feeds, threads=1).save(target)


_TOOLS: Mapping[str, tuple[str, Callable[[Path, Path, Feeds], None]]] = {
    "ONNX Runtime's tool": ("onnxruntime", _by_onnxruntime),
    "NNCF": ("nncf", _by_nncf),
    "stepwell.quantize": ("stepwell", _by_us),
}


def int8_figures(how: Measuring) -> Iterator[Figure]:
    """Networks that three tools quantize, against the faster peer."""
    peers = [name for name in _PEERS if is_installed(name)]
    for tool, (package, write) in _TOOLS.items():
        what = f"int8 by {tool}: " + ", ".join(_INT8)
        if missing := _missing(_INT8, package, "onnxruntime"):
            yield skipped(what, missing, "mean >= 1.1, each >= 1.0 of the better peer")
            continue
        found: list[float] = []
        for name in _INT8:
            source, target = model_path(name), how.folder / f"{name}.int8.onnx"
            assert source is not None
            write(source, target, [F32_MODELS[name].feeds(seed) for seed in range(_SAMPLES)])
            least = _times(how, target, F32_MODELS[name].feeds(), peers)
            found.append(min(least[peer] for peer in peers) / least["stepwell"])
        yield means(f"{what} ({_texts(found)})", found, 1.1, 1.0, " and ".join(peers))


def _texts(found: list[float]) -> str:
    return " ".join(f"{ratio:.2f}" for ratio in found)


def _missing(models: tuple[str, ...], *packages: str) -> str | None:
    """The reason why models are not measured here."""
    for package in packages:
        if not is_installed(package):
            return f"{package} is not installed"
    absent = [name for name in models if model_path(name) is None]
    return f"STEPWELL_MODELS names no folder with {', '.join(absent)}" if absent else None


def _times(how: Measuring, path: Path, feeds: Mapping[str, Array], engines: list[str]) -> dict[str, float]:
    """The seconds of a file in engines and here, in turns."""
    runners: dict[str, Runner] = {name: engine_named(name).load(path, how.threads, feeds) for name in engines}
    runners["stepwell"] = engine_named("stepwell").load(path, how.threads, feeds)
    return how.least(runners)


def bf16_figures(how: Measuring) -> Iterator[Figure]:
    """Products as a share of the peak, and networks against f32 and OpenVINO."""
    shares: dict[str, float] = {}
    peak = 2 * machine_limits().flops(1)
    for size in _SIZES:
        x = np.random.default_rng(1).standard_normal((size, size)).astype(np.float32)
        model = compile(f32_model(size, size), threads=1, precision="bf16")
        seconds = how.least({"stepwell": partial(model, x)})["stepwell"]
        shares[f"{size}"] = 2 * size**3 / seconds / peak
    text = " ".join(f"{name} {share:.0%}" for name, share in shares.items())
    yield judged("bf16 products", text, ">= 75% of twice the peak of f32", min(shares.values()) >= 0.75)
    if missing := _missing(_BF16):
        yield skipped("networks in bf16", missing, ">= 1.4 of f32, >= 1.0 of OpenVINO")
        return
    has_peer, of = is_installed("openvino"), "OpenVINO in bf16"
    found: dict[str, dict[str, float]] = {"f32": {}, of: {}}
    for name in _BF16:
        least = _bf16_times(how, name, with_openvino=has_peer)
        for peer in found if has_peer else ["f32"]:
            found[peer][name] = least[peer] / least["bf16"]
    yield ratios("networks in bf16", found["f32"], 1.4, "our f32")
    if has_peer:
        yield ratios("networks in bf16", found[of], 1.0, of)
    else:
        yield skipped("networks in bf16", "openvino is not installed", f">= 1.0 of {of}")


def _bf16_times(how: Measuring, name: str, *, with_openvino: bool) -> dict[str, float]:
    """The seconds of a network in f32 and bf16, and in OpenVINO."""
    path, feeds = model_path(name), F32_MODELS[name].feeds()
    assert path is not None
    runners: dict[str, Runner] = {}
    for precision in ("f32", "bf16"):
        model = compile(path, threads=how.threads, precision=precision)
        runners[precision] = partial(model.run, feeds)
    if with_openvino:
        core: Any = import_module("openvino").Core()
        network = core.read_model(str(path))
        network.reshape({entry: list(array.shape) for entry, array in feeds.items()})
        settings = {
            "INFERENCE_NUM_THREADS": how.threads,
            "INFERENCE_PRECISION_HINT": "bf16",
            "PERFORMANCE_HINT": "LATENCY",
        }
        request = core.compile_model(network, "CPU", settings).create_infer_request()
        runners["OpenVINO in bf16"] = partial(request.infer, dict(feeds))
    return how.least(runners)
