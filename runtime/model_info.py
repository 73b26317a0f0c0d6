"""A compiled model's description for its users: inputs, outputs, target, kernels, times."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Literal, NamedTuple, Self, cast

import numpy as np

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import ModelImage, Variant
from stepwell.runtime.interface import Array, Interface, TensorSpec

if TYPE_CHECKING:
    from stepwell.runtime.benchmark import Times
    from stepwell.runtime.machine.target import TargetDescription
    from stepwell.runtime.model_source import Kernel, ModelSource, Profile

DEFAULT_PROFILED_RUNS = 10


class TensorInfo(NamedTuple):
    """An input or output of a model: name, shape, element type."""

    name: str
    shape: tuple[int | str, ...] | None
    """Sizes; an open dimension is a name or an expression. None where the shape is not known, or is none."""
    dtype: np.dtype[np.generic] | None
    """`object` for strings, lists and maps; None where it is not known."""
    type: str
    """Element type and shape as text, such as `float32[N, 8]`."""

    def __str__(self) -> str:
        return f"{self.name}: {self.type}"

    @staticmethod
    def of(spec: TensorSpec) -> TensorInfo:
        """The description of a value of an interface."""
        shape = tuple(dim.value if dim.is_static else str(dim) for dim in spec.dims)
        return TensorInfo(spec.name, None if spec.type else shape, spec.dtype, str(spec))


class ModelInfo(ABC):
    """The part of a compiled model that describes and measures it."""

    image: ModelImage
    """The container that `save` writes."""
    variant: Variant
    """The code that runs here, of those in the image."""
    interface: Interface
    source: ModelSource | None = None
    """The program that it was compiled from; None for an artifact."""
    host_seconds: tuple[float, ...] = ()
    """The time of each host call of the image (`image.main.callees`) in the last call of the model."""

    @property
    @abstractmethod
    def threads(self) -> int:
        """The number of threads that kernels may use."""

    @abstractmethod
    def in_order(self, arrays: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        """Inputs in the model's order. Raises: StepwellError `extra-input`, `missing-input`."""

    @abstractmethod
    def __call__(self, *arrays: object) -> Array | tuple[Array, ...]:
        """Run the model."""

    @property
    def stage(self) -> Literal["first", "full"]:
        """`full`; `first` for a model of `start="now"` as long as it answers without compiled code."""
        return "full"

    @property
    def failure(self) -> StepwellError | None:
        """Why the full code of a model of `start="now"` is not coming; None as long as it may, and then."""
        return None

    def wait(self, timeout: float | None = None) -> bool:
        """
        Wait for the full code of a model of `start="now"`; every other model has it.

        Args: `timeout` is the longest time to wait in seconds (default: as long as it takes).
        Returns: whether the code is there.
        Raises: StepwellError `bad-option`; `background-failed`, or the error of the compilation, where the
        code is not coming.
        """
        checked_timeout(timeout)
        return True

    def close(self) -> None:  # noqa: B027  # nothing is under way, but in a subclass
        """End the compilation of the full code, where it is under way; the model goes on as it is."""

    def on(self, device: str) -> Self:
        """
        The same model, whose device parts run on another device: `webgpu:1`, `gpu-interpreter`.

        Raises: StepwellError `no-device`, `wrong-device`.
        """
        from stepwell.runtime.devices.moved import image_on

        made = cast("Callable[..., Self]", type(self))  # each kind of model is made of an image
        return made(image_on(self.image, device), threads=self.threads)

    @property
    def inputs(self) -> list[TensorInfo]:
        """The inputs: name, shape and dtype."""
        return [TensorInfo.of(spec) for spec in self.interface.inputs]

    @property
    def outputs(self) -> list[TensorInfo]:
        """The outputs: name, shape and dtype."""
        return [TensorInfo.of(spec) for spec in self.interface.outputs]

    @property
    def target(self) -> TargetDescription:
        """The target of the code: triple and CPU features."""
        from stepwell.runtime.machine.target import described  # which loading does not need

        return described(self.variant.triple, self.variant.features)

    @property
    def kernels(self) -> Mapping[str, Kernel]:
        """
        The kernels by name, as `stepwell compile --emit linalg` names them.

        Raises: StepwellError `no-source` for an artifact.
        """
        return self._source("a list of kernels").kernels

    def summary(self) -> str:
        """Inputs, outputs, target, and facts of the compilation, as text."""
        lines = ["inputs:", *(f"  {info}" for info in self.inputs)]
        lines += ["outputs:", *(f"  {info}" for info in self.outputs)]
        lines += [f"target: {self.target}", f"threads: {self.threads}"]
        return "\n".join([*lines, *(f"{name}: {value}" for name, value in self.image.summary.items())])

    def _repr_html_(self) -> str:
        """The facts of `summary` as a table, for notebooks."""
        from html import escape

        rows = [(f"input {info.name}", info.type) for info in self.inputs]
        rows += [(f"output {info.name}", info.type) for info in self.outputs]
        facts = {"target": self.target, "threads": self.threads, **self.image.summary}
        cells = [(escape(str(name)), escape(str(value))) for name, value in [*rows, *facts.items()]]
        return "".join(["<table>", *(f"<tr><th>{a}</th><td>{b}</td></tr>" for a, b in cells), "</table>"])

    def profile(self, *arrays: object, runs: int = DEFAULT_PROFILED_RUNS, **named: object) -> Profile:
        """
        The time of each part of a call, as `stepwell run --profile`: print it, or go over its rows.

        Args: inputs as in a call, or one dictionary of them; `runs` is the number of calls.
        Raises: StepwellError `no-source` for an artifact; as calling does.
        """
        source = self._source("a profile")
        return source.profile(self._inputs(arrays, named), self.threads, checked_runs(runs))

    def benchmark(self, *arrays: object, runs: int | None = None, **named: object) -> Times:
        """
        The times of calls, after some for warming up: print them, or use `min`, `median`, `seconds`.

        Args: inputs as in a call, or one dictionary of them; `runs` is the number of calls (default: as many
        as fit into a second, at least 10).
        Raises: StepwellError `bad-option`; as calling does.
        """
        from stepwell.runtime.benchmark import timed

        inputs = self._inputs(arrays, named)
        self.wait()
        return timed(lambda: self(*inputs), self.threads, None if runs is None else checked_runs(runs))

    def _inputs(self, arrays: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        if len(arrays) == 1 and isinstance(arrays[0], Mapping) and not named:
            return self.in_order((), cast("Mapping[str, object]", arrays[0]))
        return self.in_order(arrays, named)

    def _source(self, wanted: str) -> ModelSource:
        if self.source is None:
            message = f"{wanted} needs the program that the model was compiled from, which is not known"
            help = "compile the model's own file; an artifact contains code, and no program"
            raise StepwellError("no-source", None, message, help=help)
        return self.source


def run_arguments(
    arguments: Sequence[object], names: Sequence[str]
) -> tuple[list[str] | None, Mapping[str, object]]:
    """
    The outputs that `run` shall return as a list (None: all by name), and the inputs.

    Args: `names` are those of all outputs.
    Raises: StepwellError `type-mismatch`, `bad-option`.
    """
    *first, feeds = arguments if 1 <= len(arguments) <= 2 else (None,)
    if not isinstance(feeds, Mapping):
        is_swapped = len(first) == 1 and isinstance(first[0], Mapping)
        found = " and ".join(type(value).__name__ for value in arguments) or "nothing"
        message = f"`run` takes a dictionary of arrays by input name, found {found}"
        help = "outputs come first: run(None, {...})" if is_swapped else "call the model itself with arrays"
        raise StepwellError("type-mismatch", None, message, help=help)
    inputs = cast("Mapping[str, object]", feeds)
    if not first:
        return None, inputs
    if first[0] is None or first[0] == []:
        return list(names), inputs
    if isinstance(first[0], str) or not isinstance(first[0], Sequence):
        message = f"the outputs to return must be a list of names or None, found {first[0]!r}"
        raise StepwellError("type-mismatch", None, message)
    wanted = list(cast("Sequence[str]", first[0]))
    if unknown := [name for name in wanted if name not in names]:
        help = f"the outputs are {', '.join(names)}"
        raise StepwellError("bad-option", None, f"the model has no output {unknown[0]!r}", help=help)
    return wanted, inputs


def checked_timeout(timeout: object) -> float | None:
    """A time to wait in seconds, or None. Raises: StepwellError `bad-option`."""
    if timeout is None or (isinstance(timeout, int | float) and timeout >= 0):
        return timeout
    raise StepwellError("bad-option", None, f"timeout must be at least 0 seconds, found {timeout!r}")


def checked_runs(runs: object) -> int:
    if type(runs) is not int or runs < 1:
        raise StepwellError("bad-option", None, f"runs must be a number from 1 on, found {runs!r}")
    return runs
