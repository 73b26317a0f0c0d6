"""
Host calls: calls from compiled code to Python functions, by their index in a table of callees.

A model image has a table of callees. When it is loaded, the loader of each callee's kind makes a function of
its bytes: `load(code: bytes) -> callee`, which is then called as `callee(inputs, outputs) -> None`. `inputs`
are read-only arrays (views of the buffers of the memory plan, valid during the call only) or Python objects.
`outputs[i]` is an array to fill, or None where only the callee knows the size or the value is an object: it
puts the result there. An exception ends the call of the model, with the node's location. Several threads that
run the model may call it at the same time.

The kind `numpy` runs functions of `stepwell.runtime.meaning`, `ffi` those that are registered; every other
kind is the name of a backend (`stepwell.runtime.backends`), which loads its own.
"""

from __future__ import annotations

import ctypes
import json
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from time import perf_counter
from typing import TYPE_CHECKING, NamedTuple, TypeAlias, cast

import numpy as np
import numpy.typing as npt

from stepwell.runtime.abi import Status
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.json_values import as_list, as_size, as_text

if TYPE_CHECKING:
    from stepwell.runtime.backends import HostFunction

NUMPY = "numpy"
"""The kind of callees that are functions of Stepwell's."""
FALLBACK = "fallback"
"""The kind of partitions with kernels of Stepwell's as a fallback for a missing backend."""

DEVICE = "device"
"""The kind of parts of a model for a device."""
FFI = "ffi"
"""The kind of functions that this process has registered, by their name."""

PYTHON = "python"
"""The kind of Python functions on arrays that this process has registered, by their name."""

# Built-in kinds; nothing is imported before a model needs it.
BUILT_IN: Mapping[str, str] = {
    NUMPY: "stepwell.runtime.host:load_numpy",
    DEVICE: "stepwell.runtime.devices.run_part:load_part",
    FALLBACK: "stepwell.runtime.fallback:load_with_fallback",
    FFI: "stepwell.runtime.ffi.callees:load_function",
    PYTHON: "stepwell.runtime.ffi.python_functions:load_function",
}

Loader: TypeAlias = "Callable[[bytes | memoryview], HostFunction]"


class HostValue(NamedTuple):
    """An operand or result of a callee, as encoded among the i64 values of a call."""

    dtype: str
    """Name of the element type; empty for a Python object, which is an i64: its index in the call's table."""
    rank: int = 0
    """A tensor is encoded as the address of its elements, then its dimensions."""
    made: bool = False
    """Whether the callee makes the array, and its address and dimensions are written back."""

    @property
    def words(self) -> int:
        """The number of i64 values of the encoding."""
        return 1 + self.rank


class Callee(NamedTuple):
    """A function outside of compiled code, as stored in a model image."""

    kind: str
    name: str
    code: bytes | memoryview
    """Its bytes; for a device part in a mapped file, a view of the file."""
    inputs: tuple[HostValue, ...]
    outputs: tuple[HostValue, ...]
    where: str
    """The node of the model that the callee computes."""

    def to_json(self) -> dict[str, object]:
        """All but the code as plain JSON values, with the size of the code."""
        inputs, outputs = ([[v.dtype, v.rank, v.made] for v in side] for side in (self.inputs, self.outputs))
        about = {"kind": self.kind, "name": self.name, "where": self.where}
        return {**about, "bytes": len(self.code), "inputs": inputs, "outputs": outputs}

    @staticmethod
    def from_json(data: Mapping[str, object], code: bytes | memoryview) -> Callee:
        """The callee that `to_json` described. Raises: ValueError, KeyError or TypeError when it is none."""
        inputs, outputs = (tuple(map(_value, as_list(data[side]))) for side in ("inputs", "outputs"))
        kind, name, where = (as_text(data[key]) for key in ("kind", "name", "where"))
        return Callee(kind, name, code, inputs, outputs, where)


def _value(data: object) -> HostValue:
    dtype, rank, made = as_list(data, 3)
    return HostValue(as_text(dtype), as_size(rank), made is True)


def load_callee(callee: Callee) -> HostFunction:
    """
    Make the function of a callee.

    Raises: StepwellError `unknown-backend` or `missing-package` when no loader of its kind is available,
    `bad-artifact` when its loader refuses the bytes.
    """
    load = _loader(callee)
    try:
        return load(callee.code)
    except StepwellError as error:
        raise error.at(callee.where) from None
    except Exception as error:
        message = f"{callee.kind} cannot load {callee.name!r}: {type(error).__name__}: {error}"
        raise StepwellError("bad-artifact", callee.where, message) from error


def host_failure(callee: Callee, error: Exception) -> Exception:
    """
    The error of a call for an exception of a callee, located at its node.

    An exception of a registered function stays as it is, with the node as a note.
    """
    if callee.kind == FFI and not isinstance(error, StepwellError):
        if (note := f"in {callee.name} of {callee.where}") not in getattr(error, "__notes__", ()):
            error.add_note(note)
        return error
    if isinstance(error, StepwellError):
        return error.at(callee.where)
    return StepwellError("host-failed", callee.where, f"{callee.name}: {type(error).__name__}: {error}")


def _loader(callee: Callee) -> Loader:
    try:
        if (place := BUILT_IN.get(callee.kind)) is None:
            from stepwell.runtime.backends import find_backend

            load = find_backend(callee.kind).load
            return lambda code: load(bytes(code))
    except StepwellError as error:
        raise StepwellError(
            error.code,
            callee.where,
            f"the model needs the backend {callee.kind!r}: {error.message}",
            help=error.help,
        ) from None
    module, attribute = place.split(":")
    return cast("Loader", getattr(import_module(module), attribute))


def load_numpy(code: bytes) -> HostFunction:
    """The callee that runs a function of `stepwell.runtime.meaning`; `code` names it as JSON."""
    from stepwell.runtime.meaning import evaluate

    described = json.loads(code)
    name = str(described["op"])
    attributes = {key: _plain(value) for key, value in described["attributes"].items()}
    absent = set(cast("list[int]", described.get("absent", [])))

    def call(inputs: Sequence[object], outputs: list[object]) -> None:
        given = iter(inputs)
        slots = [None if i in absent else next(given) for i in range(len(inputs) + len(absent))]
        results = evaluate(name, cast("list[Array]", slots), attributes)
        for i, result in enumerate(results[: len(outputs)]):
            outputs[i] = result if outputs[i] is None else _filled(cast(Array, outputs[i]), result)

    return call


def _plain(value: object) -> object:
    """A JSON value as an argument of a function: tuples for lists, dtypes by name."""
    if isinstance(value, list):
        return tuple(_plain(item) for item in cast("list[object]", value))
    if isinstance(value, dict):
        return dtype_from_name(str(cast("dict[str, object]", value)["dtype"]))
    return value


def _filled(output: Array, result: Array) -> Array:
    if output.shape != np.shape(result):
        raise ValueError(f"the result has shape {np.shape(result)}, expected {output.shape}")
    output[...] = result
    return output


class HostFrame:
    """
    The host's state of a running call: objects, arrays and times of callees, the exception that ended it.

    `address` is the value of the context's field HOST; the frame must live as long as it may be called.
    """

    def __init__(self, callees: Sequence[Callee], functions: Sequence[HostFunction], objects: int):
        self.objects: list[object] = [None] * objects
        self.failure: BaseException | None = None
        """What a callee raised."""
        self.seconds = [0.0] * len(callees)
        """The time that each callee has taken."""
        self._callees = callees
        self._functions = functions
        self._made: dict[tuple[int, int], Array] = {}
        self._callback = _HOST_TYPE(self._call)
        self.address = ctypes.cast(self._callback, ctypes.c_void_p).value or 0

    def release(self) -> None:
        """Release the objects and arrays of the last call, and forget its times."""
        self.objects = [None] * len(self.objects)
        self._made.clear()
        self.failure = None
        self.seconds = [0.0] * len(self.seconds)

    def _call(self, context: int, index: int, words_at: int, count: int) -> int:
        try:
            self._run(index, _words(words_at, count))
        except Exception as error:
            self.failure = host_failure(self._callees[index], error)
            if self.failure is not error:
                self.failure.__cause__ = error
            return Status.HOST_FAILED
        except BaseException as error:  # an interrupt by the user is raised unchanged
            self.failure = error
            return Status.HOST_FAILED
        return 0

    def _run(self, index: int, words: npt.NDArray[np.int64]) -> None:
        callee = self._callees[index]
        position = 0
        inputs: list[object] = []
        for value in callee.inputs:
            inputs.append(self._input(value, words[position : position + value.words]))
            position += value.words
        places: list[npt.NDArray[np.int64]] = []
        for value in callee.outputs:
            places.append(words[position : position + value.words])
            position += value.words
        outputs: list[object] = [
            _tensor(value, place) if value.dtype and not value.made else None
            for value, place in zip(callee.outputs, places, strict=True)
        ]
        start = perf_counter()
        self._functions[index](inputs, outputs)
        self.seconds[index] += perf_counter() - start
        for i, (value, place) in enumerate(zip(callee.outputs, places, strict=True)):
            if not value.dtype:
                self.objects[place[0]] = outputs[i]
            elif value.made:
                self._made[index, i] = _returned(value, place, outputs[i], i)

    def _input(self, value: HostValue, words: npt.NDArray[np.int64]) -> object:
        if not value.dtype:
            return self.objects[words[0]]
        array = _tensor(value, words)
        array.flags.writeable = False
        return array


_HOST_TYPE = ctypes.CFUNCTYPE(
    ctypes.c_int32, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64
)


def _words(address: int, count: int) -> npt.NDArray[np.int64]:
    if count == 0:
        return np.empty(0, np.int64)
    return np.ctypeslib.as_array((ctypes.c_int64 * count).from_address(address))


def _tensor(value: HostValue, words: npt.NDArray[np.int64]) -> Array:
    """The array encoded by an address and dimensions."""
    dtype = dtype_from_name(value.dtype)
    shape = tuple(int(n) for n in words[1:])
    size = int(np.prod(shape, dtype=np.int64)) * dtype.itemsize
    if size == 0:
        return np.empty(shape, dtype)
    memory = (ctypes.c_uint8 * size).from_address(int(words[0]))
    return np.ctypeslib.as_array(memory).view(dtype).reshape(shape)


def _returned(value: HostValue, place: npt.NDArray[np.int64], result: object, number: int) -> Array:
    """Check an array made by a callee, and write its address and dimensions back."""
    array = np.asarray(result)
    dtype, known = dtype_from_name(value.dtype), [int(n) for n in place[1:]]
    fits = array.ndim == value.rank and all(n in (-1, m) for n, m in zip(known, array.shape, strict=False))
    if array.dtype != dtype or not fits:
        shape = ", ".join("?" if n < 0 else str(n) for n in known)
        raise ValueError(
            f"result {number} must be {dtype.name}[{shape}], found {array.dtype.name}{list(array.shape)}"
        )
    array = np.ascontiguousarray(array).reshape(array.shape)
    place[0], place[1:] = array.ctypes.data, array.shape
    return array
