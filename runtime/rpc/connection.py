"""Connections: a session as its client sees it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from os import PathLike
from pathlib import Path
from typing import NamedTuple, Self, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_bytes, load_image
from stepwell.runtime.files.whole_files import write_bytes
from stepwell.runtime.frames import Frame
from stepwell.runtime.interface import Array
from stepwell.runtime.json_values import as_int, as_list, as_mapping, as_text
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.machine.tile_rates import TileRates
from stepwell.runtime.model import CompiledModel, checked_threads
from stepwell.runtime.rpc.interleaved import Latency, Ratio, ratio
from stepwell.runtime.rpc.messages import expect_success, packed_arrays, unpacked_arrays
from stepwell.runtime.rpc.remote_model import RemoteModel

Ask = Callable[[Mapping[str, object], bytes], Frame]
"""The answer to a request."""


class Timing(NamedTuple):
    """Times of calls in seconds, each the mean of `number` calls; and of the kernels in the last call."""

    seconds: tuple[float, ...]
    kernels: tuple[float, ...] | None
    """None for a model that was compiled without `profile=True`."""

    @property
    def median(self) -> float:
        """The median time of a call."""
        return float(np.median(self.seconds))


class Connection:
    """A session on another machine or in another process; a `with` block closes it."""

    def __init__(self, ask: Ask, close: Callable[[], None]):
        """Args: `ask` answers requests, `close` ends the session."""
        self._asked = ask
        self._to_close = [close]
        self._ended: StepwellError | None = None
        self.seconds: float | None = None
        """The longest time that a request may take; None for the session's own limit."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the session."""
        self._ended = self._ended or StepwellError("session-died", None, "the connection was closed here")
        self._end()

    def close_after(self, close: Callable[[], None]) -> None:
        """Call a function when the session ends."""
        self._to_close.append(close)

    def _end(self) -> None:
        while self._to_close:
            self._to_close.pop(0)()

    def _ask(self, head: Mapping[str, object], body: bytes = b"") -> Frame:
        if self._ended is not None:
            raise self._ended
        timed = head if self.seconds is None else {**head, "seconds": self.seconds}
        try:
            return expect_success(self._asked(timed, body))
        except StepwellError as error:
            if error.code in ("session-died", "session-timeout"):
                self._ended = error
                self._end()
            raise

    def target(self) -> Target:
        """The target of the machine there, for `stepwell.compile`."""
        return Target(as_mapping(self._ask({"op": "target"}).head["target"]))

    def machine(self) -> tuple[str, TargetDescription]:
        """The server's machine: its name in tuning records, and its CPU as a target description."""
        head = self._ask({"op": "target"}).head
        return as_text(head["machine"]), TargetDescription.from_json(as_mapping(head["host"]))

    def trial(self, request: Mapping[str, object], body: bytes, seconds: float) -> Frame:
        """The answer to a request about candidates of kernels. Raises: StepwellError, of the session too."""
        return self._ask({"op": "trial", "request": request, "seconds": seconds}, body)

    def tile_rates(
        self, objects: Sequence[bytes], names: Mapping[tuple[int, int], str], seconds: int
    ) -> TileRates:
        """The speeds of compiled loops there, of one tile each; `stepwell calibrate --on` makes them."""
        tiles = [[m, v, name, len(data)] for ((m, v), name), data in zip(names.items(), objects, strict=True)]
        answer = self._ask({"op": "tiles", "tiles": tiles, "most_seconds": seconds}, b"".join(objects))
        found: TileRates = {}
        for length, rows in as_mapping(answer.head["rates"]).items():
            triples = (as_list(row, 3) for row in as_list(rows))
            found[length] = {(as_int(m), as_int(v)): float(cast(float, rate)) for m, v, rate in triples}
        return found

    def load(
        self, model: CompiledModel | str | PathLike[str], *, threads: int | None = None, name: str = ""
    ) -> RemoteModel:
        """
        A model of the session; its artifact is uploaded unless the server has it.

        Args: `model` is a compiled model, or the path of an artifact; `threads` (default: all cores there);
        `name` is the model's name in error messages.
        Raises: StepwellError `wrong-cpu`, `unsupported-interface`, `too-large`, `bad-artifact`.
        """
        if isinstance(model, CompiledModel):
            image, data = model.image, image_bytes(model.image)
        else:
            image, data = load_image(model), Path(model).read_bytes()
            name = name or Path(model).stem
        if threads is not None:
            checked_threads(threads)
        digest = sha256(data).hexdigest()
        if not self._ask({"op": "has", "sha256": digest}).head["has"]:
            self._ask({"op": "put"}, data)
        head = {"op": "load", "sha256": digest, "name": name or digest[:12], "threads": threads}
        answer = self._ask(head).head
        return RemoteModel(image, self.run, self, as_int(answer["model"]), as_int(answer["threads"]))

    def run(self, number: int, arrays: Sequence[Array]) -> list[Array]:
        """The outputs of a call of a loaded model on checked arrays."""
        rows, body = packed_arrays(arrays)
        answer = self._ask({"op": "run", "model": number, "arrays": rows}, body)
        return [array.copy() for array in unpacked_arrays(answer.head["arrays"], answer.body)]

    def time(
        self,
        model: RemoteModel,
        inputs: Sequence[object],
        *,
        number: int = 10,
        repeat: int = 5,
        warmup: int = 2,
        cooldown_ms: int = 0,
    ) -> Timing:
        """
        The times of calls there, without the way to it.

        Args: `repeat` times of `number` calls each, with a pause of `cooldown_ms` before each, after `warmup`
        calls.
        """
        rows, body = packed_arrays(self._own(model).measured_inputs(inputs))
        counts = {"number": number, "repeat": repeat, "warmup": warmup, "cooldown_ms": cooldown_ms}
        answer = self._ask({"op": "time", "model": model.number, "arrays": rows, **counts}, body).head
        kernels = answer["kernels"]
        return Timing(_floats(answer["seconds"]), None if kernels is None else _floats(kernels))

    def compare(
        self, model: RemoteModel, base: RemoteModel, inputs: Sequence[object], *, rounds: int = 21
    ) -> Ratio:
        """
        The time of `base` divided by the time of `model`, measured alternately there: above 1, `model` is
        faster.
        """
        rows, body = packed_arrays(self._own(model).measured_inputs(inputs))
        head = {"op": "compare", "model": model.number, "base": self._own(base).number, "rounds": rounds}
        answer = self._ask({**head, "arrays": rows}, body).head
        return ratio(Latency(_floats(answer["base"])), Latency(_floats(answer["model"])))

    def _own(self, model: RemoteModel) -> RemoteModel:
        if model.owner is not self:
            raise StepwellError("bad-option", None, "the model was loaded in another session")
        return model

    def call(self, function: str, *arrays: object) -> Array | tuple[Array, ...]:
        """
        The result of a Python function there on arrays.

        Args: `function` is `MODULE.NAME`, of a module that is installed there or was uploaded.
        Raises: StepwellError `unknown-function`, `host-failed` with the function's own message.
        """
        rows, body = packed_arrays([np.asarray(array) for array in arrays])
        answer = self._ask({"op": "call", "function": function, "arrays": rows}, body)
        results = tuple(array.copy() for array in unpacked_arrays(answer.head["arrays"], answer.body))
        return results if answer.head["tuple"] else results[0]

    def upload(self, path: str | PathLike[str], name: str | None = None) -> None:
        """Copy a file into the session's folder. Raises: StepwellError `bad-name`, `too-large`."""
        self._ask({"op": "upload", "name": name or Path(path).name}, Path(path).read_bytes())

    def download(self, name: str, path: str | PathLike[str] | None = None) -> bytes:
        """The bytes of a file of the session's folder, written to `path` too if given."""
        data = self._ask({"op": "download", "name": name}).body
        if path is not None:
            write_bytes(Path(path), data)
        return data

    def log(self) -> str:
        """The end of what the session's process has printed."""
        return as_text(self._ask({"op": "log"}).head["log"])


def _floats(values: object) -> tuple[float, ...]:
    return tuple(float(cast(float, value)) for value in as_list(values))
