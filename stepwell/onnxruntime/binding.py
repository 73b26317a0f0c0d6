"""Inputs and outputs bound to memory, for `run_with_iobinding`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from stepwell.onnxruntime.errors import BindingError
from stepwell.onnxruntime.values import OrtValue, array_at, expect_cpu
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from stepwell.onnxruntime.session import InferenceSession


class IOBinding:
    """The inputs and wanted outputs of calls, in memory of the program's where it gives some."""

    def __init__(self, session: InferenceSession):
        signature = session.signature
        self._inputs = {arg.name for arg in (*signature.inputs, *signature.overridable)}
        self._outputs = {arg.name for arg in signature.outputs}
        self.feeds: dict[str, object] = {}
        """The bound inputs."""
        self.buffers: dict[str, Array | None] = {}
        """The memory of each wanted output; None where a call makes it."""
        self._results: list[OrtValue] = []

    def bind_cpu_input(self, name: str, arr_on_cpu: object) -> None:
        """Bind an input to an array without a copy: a call reads its present contents."""
        _expect(name, self._inputs)
        self.feeds[name] = arr_on_cpu

    def bind_input(
        self,
        name: str,
        device_type: str,
        device_id: int,
        element_type: object,
        shape: Sequence[int],
        buffer_ptr: int,
    ) -> None:
        """Bind an input to memory at an address."""
        expect_cpu(device_type)
        self.bind_cpu_input(name, array_at(buffer_ptr, element_type, shape))

    def bind_ortvalue_input(self, name: str, ortvalue: OrtValue) -> None:
        """Bind an input to a value."""
        self.bind_cpu_input(name, ortvalue.value)

    def bind_output(
        self,
        name: str,
        device_type: str = "cpu",
        device_id: int = 0,
        element_type: object = None,
        shape: Sequence[int] | None = None,
        buffer_ptr: int | None = None,
    ) -> None:
        """Want an output; with an address, in the memory there. Raises: BindingError, ValueError."""
        expect_cpu(device_type)
        _expect(name, self._outputs)
        if buffer_ptr is None:
            self.buffers[name] = None
            return
        if element_type is None or shape is None:
            raise ValueError("`element_type` and `shape` are to be provided with the memory of an output")
        self.buffers[name] = array_at(buffer_ptr, element_type, shape)

    def bind_ortvalue_output(self, name: str, ortvalue: OrtValue) -> None:
        """Want an output in the memory of a value."""
        _expect(name, self._outputs)
        self.buffers[name] = ortvalue.numpy()

    def synchronize_inputs(self) -> None:
        """Do nothing: all memory is the CPU's."""

    def synchronize_outputs(self) -> None:
        """Nothing to do: all memory is that of the CPU."""

    def set_results(self, values: Sequence[object]) -> None:
        """Set the outputs of the last call, in the order in which they were bound."""
        self._results = [OrtValue(value) for value in values]

    def get_outputs(self) -> list[OrtValue]:
        """The outputs of the last call, in the order in which they were bound."""
        return list(self._results)

    def copy_outputs_to_cpu(self) -> list[object]:
        """The outputs of the last call as arrays."""
        return [value.value for value in self._results]

    def clear_binding_inputs(self) -> None:
        """Forget the inputs."""
        self.feeds.clear()

    def clear_binding_outputs(self) -> None:
        """Forget the outputs."""
        self.buffers.clear()
        self._results = []


def _expect(name: str, known: set[str]) -> None:
    """Require a name of the model. Raises: BindingError."""
    if name not in known:
        help = f"the model has {', '.join(sorted(known)) or 'none'}"
        raise BindingError("extra-input", None, f"the model has nothing named {name!r} to bind", help=help)
