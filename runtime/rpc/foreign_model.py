"""Compiled models without code of this machine: for an export, or for a session on another machine."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NoReturn

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes
from stepwell.runtime.image import ModelImage
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.cpu_features import process_triple
from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.machine.native_segment import NativeSegment
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.states import Targets


class ForeignModel(CompiledModel):
    """A compiled model for another machine: `save`, `stepwell.export` and a session take it; no call does."""

    def __init__(self, image: ModelImage, threads: int = 1):
        """Args: `threads` is the number of threads on the machine where it runs."""
        self._describe(image, image.main.variants[0])
        self.interface = self._whole.public
        self._input_names = tuple(spec.name for spec in self.interface.inputs)
        self._output_names = tuple(spec.name for spec in self.interface.outputs)
        self.kernel_times = None
        self._threads = threads

    @property
    def threads(self) -> int:
        """The number of threads that kernels use where the model runs."""
        return self._threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        message = "threads are set where the model runs: `load(model, threads=N)`"
        raise StepwellError("bad-option", None, message)

    def __reduce__(self) -> tuple[Callable[[bytes, int], CompiledModel], tuple[bytes, int]]:
        """Copies and pickles contain the bytes of an artifact."""
        return _of_bytes, (image_bytes(self.image), self.threads)

    def _invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        self._refuse()

    def _refuse(self) -> NoReturn:
        triple, features = self.variant.triple, self.variant.features
        missing = ", ".join(missing_features(triple, features)) or "another system"
        message = f"code for {triple} needs {missing}, which this machine lacks"
        help = "`save` it for Stepwell there, `stepwell.export(model, FILE)` for other programs, "
        help += "or run it there: `stepwell.rpc.connect(URL).load(model)`"
        raise StepwellError("wrong-cpu", None, message, note=f"this machine is {process_triple()}", help=help)

    def fixed_call(self) -> None:
        """None: there is no code here."""
        return None

    def native_segment(self) -> NativeSegment | None:
        """None: there is no code here."""
        return None

    def loop_bodies(self) -> Mapping[int, str]:
        """Nothing: there is no code here."""
        return {}

    def take_chunks(self) -> list[list[object]]:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Nothing: chunks are not recorded there."""
        return []


def _of_bytes(data: bytes, threads: int) -> CompiledModel:
    return ForeignModel(image_of_bytes(data, "a pickled model"), threads)
