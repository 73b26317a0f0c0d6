"""Case: a model file with bytes or fields changed: an error or a right answer, in bounds."""

from __future__ import annotations

import re
import resource
import warnings
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from time import process_time
from typing import Any, cast

import numpy as np
from google.protobuf.message import DecodeError, Message
from onnx import ModelProto, TensorProto

import stepwell
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools.check.reference import reference_evaluator
from stepwell.tools.inputs import made_up_inputs
from tests.fuzz.builder import Value
from tests.fuzz.generate import random_program
from tests.fuzz.models import departs

SECONDS = 10.0
BYTES = 1 << 30
_MODELS = Path(__file__).parents[1] / "models"
_NUMBERS = (0, 1, -1, 2, 7, 16, 255, 1 << 31, (1 << 31) - 1, -(1 << 31), (1 << 63) - 1, -(1 << 63))
_MOST_ELEMS = 1 << 20


def mutated(seed: int) -> bytes:
    """A random model, every fourth one of the real ones, with one to four changes of bytes or of fields."""
    rng = np.random.default_rng(seed)
    if seed % 4 == 3:
        data = (_MODELS / str(rng.choice(["gru_seq.onnx", "silero_seq.onnx"]))).read_bytes()
    else:
        data = random_program(int(rng.integers(1000)), (3, 12)).model.SerializeToString()
    changes = int(rng.integers(1, 5))
    if seed % 2:
        for _ in range(changes):
            data = change_bytes(data, rng)
        return data
    model = ModelProto.FromString(data)
    for _ in range(changes):
        _change_field(model, rng)
    return model.SerializeToString()


def change_bytes(data: bytes, rng: np.random.Generator) -> bytes:
    """One change near an end of a file."""
    # Most bytes are weights: the ends are where the structure is.
    near = min(len(data), 4000)
    at = int(rng.integers(near)) if rng.random() < 0.5 else len(data) - 1 - int(rng.integers(near))
    length = int(rng.integers(1, 9))
    match int(rng.integers(5)):
        case 0:
            return data[:at] + bytes([data[at] ^ (1 << int(rng.integers(8)))]) + data[at + 1 :]
        case 1:
            return data[:at] + rng.bytes(length) + data[at + length :]
        case 2:
            return data[:at] + data[at + length :]
        case 3:
            return data[:at] + data[at : at + length] + data[at:]
        case _:
            return data[:at] if rng.random() < 0.3 else data[:at] + b"\xff" * length + data[at + length :]


def _change_field(model: ModelProto, rng: np.random.Generator) -> None:
    messages = list(_messages(model))
    message = messages[int(rng.integers(len(messages)))]
    fields = message.ListFields()
    if not fields:
        return
    field, value = fields[int(rng.integers(len(fields)))]
    if field.is_repeated and len(value) and rng.random() < 0.7:
        at = int(rng.integers(len(value)))
        match int(rng.integers(3)):
            case 0:
                del value[at]
            case 1 if field.message_type is None:
                value.append(value[at])
            case 1:
                value.add().CopyFrom(value[at])
            case _ if field.message_type is None:
                value[at] = _other(value[at], model, rng)
            case _:
                value[at].Clear()
    elif field.is_repeated or field.message_type is not None or rng.random() < 0.3:
        message.ClearField(field.name)
    else:
        try:
            setattr(message, field.name, _other(value, model, rng))
        except (ValueError, TypeError):
            message.ClearField(field.name)


def _messages(message: Message) -> Iterator[Message]:
    yield message
    for field, value in message.ListFields():
        if field.message_type is not None:
            for inner in value if field.is_repeated else [value]:
                yield from _messages(inner)


def _other(value: Any, model: ModelProto, rng: np.random.Generator) -> Any:
    """Another value of the same kind: a name that others have, a number at a border."""
    if isinstance(value, str):
        names = [name for node in model.graph.node for name in (*node.input, *node.output, node.op_type)]
        return str(rng.choice([*names, "", "other"]))
    if isinstance(value, bytes):
        return value[: len(value) // 2] if rng.random() < 0.5 else value + b"\0" * 4
    if isinstance(value, float):
        return float(rng.choice([0.0, -1.0, np.inf, np.nan, 1e30]))
    return int(rng.choice(_NUMBERS)) if rng.random() < 0.5 else int(value) + int(rng.choice([-1, 1]))


def check_file(seed: int) -> tuple[str, str]:
    """Status and reason for one mutated file."""
    data = mutated(seed)
    return bounded(lambda: _checked(data))


def bounded(use: Callable[[], object], limit_s: float = SECONDS, limit_bytes: int = BYTES) -> tuple[str, str]:
    """
    Status and reason of something that must end well or with an error that has a name, in bounds.

    What `use` returns is either of no interest or a status and a reason, for instance of a wrong answer.
    """
    memory = _peak_bytes(reset=True)
    start = process_time()  # other processes on the machine do not count
    status, reason = _outcome(use)
    seconds = process_time() - start
    more = _peak_bytes() - memory
    if status in ("native", "error") and seconds > limit_s:
        return "timeout", f"{seconds:.1f} s; {status} {reason}"
    if status in ("native", "error") and more > limit_bytes:
        return "wrong", f"took {more >> 20} MiB; {status} {reason}"
    return status, reason


def _peak_bytes(reset: bool = False) -> int:
    """The most memory that the process has had, on Linux since the last reset."""
    status = Path("/proc/self/status")
    if not status.exists():
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if reset:
        Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text())
    assert found is not None
    return int(found[1]) * 1024


def _outcome(use: Callable[[], object]) -> tuple[str, str]:
    try:
        found = use()
    except InternalError as error:
        return "internal", f"{error.code}: {error.message}"[:300]
    except StepwellError as error:
        return "error", error.code
    except Exception as error:  # whatever it is, it is to be reported
        return "internal", f"{type(error).__name__}: {error}"[:300]
    return cast("tuple[str, str]", found) if isinstance(found, tuple) else ("native", "")


def _checked(data: bytes) -> tuple[str, str]:
    model = stepwell.compile(data, use_cache=False, processes=1, threads=2)
    feeds = feeds_of(model)
    if feeds is None:
        return "native", "too large to run"
    return _against_reference(data, feeds, model.run(feeds))


def feeds_of(model: CompiledModel) -> dict[str, Any] | None:
    """Inputs for a compiled model; None when it asks for more than a test should hold."""
    specs = (*model.interface.inputs, *model.interface.outputs)
    sizes = [np.prod([float(d.evaluate(dict.fromkeys(d.symbols(), 1))) for d in s.dims]) for s in specs]
    return made_up_inputs(model.interface, "random", 0) if max(sizes, default=0) <= _MOST_ELEMS else None


def _against_reference(data: bytes, feeds: dict[str, Any], found: Mapping[str, Any]) -> tuple[str, str]:
    """Right, wrong, or not to be judged: the reference takes less than it should, and more."""
    try:
        model = ModelProto.FromString(data)
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected = reference_evaluator(model).run(None, feeds)
    except (DecodeError, Exception) as error:  # the reference is not held to anything here
        return "native", f"no reference: {type(error).__name__}"
    arrays = [np.asarray(value) for value in expected]
    if not all(array.dtype.kind in "biuf" and np.isfinite(array).all() for array in arrays):
        return "native", "no finite reference"
    names = [output.name for output in model.graph.output]  # one may stand there twice
    precision = "float16" if _has_float16(model) else "float32"
    values = [Value(name, array, False, precision) for name, array in zip(names, arrays, strict=True)]
    text = departs(values, [found[name] for name in names], len(model.graph.node))
    return ("native", "") if text is None else ("wrong", text)


def _has_float16(model: ModelProto) -> bool:
    """Whether a value that is declared, given or made by a Cast is of that type."""
    types = (getattr(m, "elem_type", 0) or getattr(m, "data_type", 0) for m in _messages(model))
    made = (a.i for node in model.graph.node for a in node.attribute if a.name == "to")
    return TensorProto.FLOAT16 in (*types, *made)
