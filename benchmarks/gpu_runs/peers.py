"""Peers of `benchmarks.gpu`: ONNX Runtime on the same model, torch on twins, where these are installed."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any, TypeAlias

from benchmarks.gpu_runs.twins import TWINS

Call: TypeAlias = Callable[[], object]
"""A call that ends when its results are there."""
_CPU, _CUDA = "CPUExecutionProvider", "CUDAExecutionProvider"


def missing(device: str) -> list[str]:
    """A line for each peer that cannot be measured beside a device, with the reason."""
    lines = [f"onnxruntime: {_runtime_reason(device)}", f"torch: {_torch_reason(device)}"]
    return [line for line in lines if not line.endswith(": ")]


def _runtime_reason(device: str) -> str:
    if find_spec("onnxruntime") is None:
        return "not installed (pip install onnxruntime-gpu)"
    provider = _provider(device)
    known = import_module("onnxruntime").get_available_providers()
    return "" if provider in known else f"without {provider}, it has {', '.join(known)}"


def _torch_reason(device: str) -> str:
    if find_spec("torch") is None:
        return "not installed"
    if device == "cpu" or import_module("torch").cuda.is_available():
        return ""
    return "it sees no CUDA device"


def _provider(device: str) -> str:
    return _CPU if device == "cpu" else _CUDA


def runtime_calls(model: Path, feeds: Mapping[str, Any], device: str) -> Iterator[tuple[str, Call]]:
    """
    ONNX Runtime on a model, without and with TF32.

    Args: `device` is `cpu`, or one of CUDA.
    """
    if _runtime_reason(device):
        return
    ort: Any = import_module("onnxruntime")
    number = int(device.partition(":")[2] or 0)
    for tf32 in (0, 1)[: 1 if device == "cpu" else 2]:
        about = {} if device == "cpu" else {"device_id": number, "use_tf32": tf32}
        session = ort.InferenceSession(str(model), providers=[(_provider(device), about)])
        if _provider(device) not in session.get_providers():
            return  # it went to the CPU by itself
        yield f"onnxruntime tf32={tf32}", _session_call(session, feeds)


def _session_call(session: Any, feeds: Mapping[str, Any]) -> Call:
    return lambda: session.run(None, dict(feeds))


def torch_calls(
    name: str, batch: int, precision: str, device: str, modes: Sequence[str] = ("eager", "compiled")
) -> Iterator[tuple[str, Call]]:
    """
    The twin of a model in torch: the same architecture with random weights, eager and compiled.

    Products in f32 are measured without TF32, and with it; in bf16 the whole twin is.
    """
    if name not in TWINS or _torch_reason(device):
        return
    torch: Any = import_module("torch")
    made = TWINS[name](batch)
    if made is None:
        return
    network, inputs = made
    kind = torch.bfloat16 if precision == "bf16" else torch.float32
    network = network.eval().to(device, kind)
    given = [each.to(device, kind) if each.is_floating_point() else each.to(device) for each in inputs]
    for tf32 in (False, True)[: 1 if precision == "bf16" or device == "cpu" else 2]:
        for mode in modes:
            run = network if mode == "eager" else torch.compile(network, mode="max-autotune")
            yield (
                f"torch {mode} {precision if not tf32 else 'tf32'}",
                _torch_call(torch, run, given, tf32, device),
            )


def _torch_call(torch: Any, run: Any, inputs: Sequence[Any], tf32: bool, device: str) -> Call:
    def call() -> object:
        torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = tf32
        with torch.inference_mode():
            found = run(*inputs)
        if device != "cpu":
            torch.cuda.synchronize()
        return found

    return call
