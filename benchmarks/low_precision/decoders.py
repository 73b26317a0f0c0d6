"""Decoders with weights of 4 bits as onnxruntime-genai exports them: a step, a prompt, a large capacity."""

from __future__ import annotations

import tracemalloc
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, cast

import numpy as np
import numpy.typing as npt
import onnx

from benchmarks.deploy.figures import Figure, judged, skipped
from benchmarks.low_precision.decoder_model import BLOCK, QWEN, VOCABULARY, Shape, decoder
from benchmarks.low_precision.llama_cpp_peer import LlamaCpp, missing_package, write_gguf
from benchmarks.low_precision.measuring import Measuring, is_installed, ratios
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.rpc.interleaved import Runner
from stepwell.runtime.sessions.session import Session
from stepwell.tools.driver.compile import compile
from stepwell.tools.measure.peers import onnxruntime_session

_ORT = "ONNX Runtime (level 4)"
_LLAMA = "llama.cpp Q4_0"
_CACHES = (128, 1500)
_PROMPT = 128
_NOISE = 0.1
"""More than activations of 8 bits, which level 4 has, make of logits."""
_FEW_BYTES = 16 << 10
"""More than Python's own objects of a call; less than any cache or logits."""


def _ours(model: CompiledModel, length: int, ids: npt.NDArray[np.int64], capacity: int) -> Runner:
    """A call on new tokens after `length` others, which are zeros; it is forgotten before the next."""
    session: Session[CompiledModel] = model.session(capacity=capacity, batch=1)
    numbers = [name for name, state in session.state.items() if np.ndim(state) == 0]
    (name,) = numbers
    session.state[name] = length

    def run() -> Sequence[Any]:
        logits = session(ids)
        session.rewind(ids.shape[1])
        return [logits]

    return run


def _theirs(session: Any, shape: Shape, length: int, ids: npt.NDArray[np.int64]) -> Mapping[str, Runner]:
    """The same in ONNX Runtime: with caches that are copied, and with caches written in place."""
    total, size = length + ids.shape[1], shape.size
    feeds = {"input_ids": ids, "attention_mask": np.ones((1, total), np.int64)}
    names = [f"{layer}.{part}" for layer in range(shape.layers) for part in ("key", "value")]
    pasts = {f"past_key_values.{n}": np.zeros((1, shape.shared, length, size), np.float32) for n in names}
    runtime = __import__("onnxruntime")
    binding = session.io_binding()
    for name, array in feeds.items():
        binding.bind_cpu_input(name, array)
    buffers = {n: np.zeros((1, shape.shared, total + BLOCK, size), np.float32) for n in names}
    for name, array in buffers.items():
        shared = runtime.OrtValue.ortvalue_from_numpy(array)
        binding.bind_ortvalue_input(f"past_key_values.{name}", shared)
        binding.bind_ortvalue_output(f"present.{name}", shared)
    binding.bind_output("logits")
    return {
        "copied": partial(session.run, ["logits"], feeds | pasts),
        "shared": partial(session.run_with_iobinding, binding),
    }


def decoder_figures(how: Measuring, shape: Shape) -> Iterator[Figure]:
    """Steps and a prompt of a decoder against ONNX Runtime, the faster of its two ways, and llama.cpp."""
    shape = shape.of(how.layers)
    title = f"{shape.name}, {shape.layers} layers, w4"
    path = how.folder / "decoder.onnx"
    onnx.save(decoder(shape), path)
    engines = _Engines.of(path, shape, how)
    floats = compile(path, threads=how.threads, states="auto", activations="f32")
    steps = [engines.ratios(floats, length, 1) for length in _CACHES]
    by_cache = dict(zip(map(str, _CACHES), steps, strict=True))
    yield engines.figure(f"{title}, f32 activations, a step by cache", by_cache, _ORT, 1.5)
    yield engines.figure(f"{title}, f32 activations, a step by cache", by_cache, _LLAMA, 1.0)
    prompt = {f"{_PROMPT}": engines.ratios(floats, 0, _PROMPT)}
    yield engines.figure(f"{title}, f32 activations, a prompt", prompt, _ORT, 1.6)
    if shape.name == QWEN.name:
        yield from _capacity(how, floats, path)
    permitted = compile(path, threads=how.threads, states="auto")
    prompt = {f"{_PROMPT}": engines.ratios(permitted, 0, _PROMPT)}
    yield engines.figure(f"{title}, activations as the model permits, a prompt", prompt, _ORT, 1.6)
    yield engines.figure(f"{title}, activations as the model permits, a prompt", prompt, _LLAMA, 1.0)


@dataclass(frozen=True)
class _Engines:
    """The peers of a decoder that are installed, each loaded once."""

    how: Measuring
    shape: Shape
    onnxruntime: Any | None
    llama_cpp: LlamaCpp | None

    @staticmethod
    def of(path: Path, shape: Shape, how: Measuring) -> _Engines:
        """The engines of a file."""
        session = onnxruntime_session(path, how.threads) if is_installed("onnxruntime") else None
        llama_cpp = None
        if missing_package() is None:
            file = path.with_suffix(".gguf")
            write_gguf(onnx.load(path), shape, file)
            llama_cpp = LlamaCpp(file, how.threads)
        return _Engines(how, shape, session, llama_cpp)

    def ratios(self, model: CompiledModel, length: int, new: int) -> dict[str, float]:
        """
        The time of each peer over ours for new tokens after others.

        Raises: SystemExit where the logits of a prompt differ. Before a step caches differ: ours are zeros.
        """
        ids = np.random.default_rng(1).integers(0, VOCABULARY, (1, new))
        ours = _ours(model, length, ids, length + new + BLOCK)
        theirs = dict[str, Runner]()
        if self.onnxruntime is not None:
            theirs |= _theirs(self.onnxruntime, self.shape, length, ids)
            _expect_equal(ours, theirs["copied"])
        if self.llama_cpp is not None:
            theirs[_LLAMA] = self.llama_cpp.runner(length, ids)
            if not length:
                _expect_equal(ours, theirs[_LLAMA])
        least = self.how.least({"stepwell": ours, **theirs})
        found = {name: seconds / least["stepwell"] for name, seconds in least.items()}
        if self.onnxruntime is not None:
            found[_ORT] = min(found["copied"], found["shared"])
        return found

    def figure(self, what: str, found: Mapping[str, Mapping[str, float]], peer: str, bound: float) -> Figure:
        """The ratios to one peer by case."""
        if not all(peer in by_peer for by_peer in found.values()):
            missing = "onnxruntime" if peer == _ORT else missing_package()
            return skipped(what, f"{missing} is not installed", f"each >= {bound} of {peer}")
        return ratios(what, {case: by_peer[peer] for case, by_peer in found.items()}, bound, peer)


def _expect_equal(ours: Runner, theirs: Runner) -> None:
    """Require the logits of the last token to be those of a peer but for its rounding of activations."""
    found, wanted = (np.asarray(list(cast("Any", run()))[0])[0, -1] for run in (ours, theirs))
    error = np.linalg.norm(found - wanted) / np.linalg.norm(wanted)
    if error > _NOISE:
        raise SystemExit(f"logits differ by {error:.2f} of their size")


def _capacity(how: Measuring, model: CompiledModel, path: Path) -> Iterator[Figure]:
    """A step at a length with a large capacity, and the memory that it allocates."""
    ids = np.zeros((1, 1), np.int64)
    runners = {f"{size}": _ours(model, _PROMPT, ids, size) for size in (256, 2048)}
    least = how.least(runners)
    ratio = least["2048"] / least["256"]
    what = f"a step at length {_PROMPT}, capacity 2048 against 256"
    yield judged(what, f"{ratio:.3f}", "<= 1.05", ratio <= 1.05)
    yield _allocated(runners["2048"])


def _allocated(run: Runner) -> Figure:
    """The bytes that a call allocates besides its logits, by numpy and Python."""
    run()
    tracemalloc.start()
    run()
    peak = tracemalloc.get_traced_memory()[1] - VOCABULARY * np.float32().nbytes
    tracemalloc.stop()
    what = "bytes allocated in a step, without its logits"
    return judged(what, f"{peak}", f"<= {_FEW_BYTES}: objects of Python", peak <= _FEW_BYTES)
