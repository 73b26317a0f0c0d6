"""Stepwell as an `onnx.backend`, the interface that ONNX's own tests and tools call."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

import numpy as np
import numpy.typing as npt
from onnx import ModelProto, NodeProto, TypeProto, ValueInfoProto, defs, helper
from onnx.backend.base import Backend, BackendRep, Device, DeviceType, namedtupledict

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools.api.compile import compile
from stepwell.tools.driver.options import options_with
from stepwell.tools.onnx_support import MISSING, support_of_model

Values = Sequence[object]


class StepwellRep(BackendRep):
    """A compiled model, run on inputs by position or by name."""

    def __init__(self, model: CompiledModel):
        self.model = model
        self._outputs = namedtupledict("Outputs", [spec.name for spec in model.interface.outputs])

    def run(self, inputs: object, **kwargs: object) -> tuple[object, ...]:
        """The outputs in order; a single array as `inputs` means a list of one. Raises: as calling does."""
        if isinstance(inputs, Mapping):
            found = self.model(**cast(Mapping[str, object], inputs))
        elif isinstance(inputs, list | tuple):
            found = self.model(*cast(Values, inputs))
        else:
            found = self.model(inputs)
        return self._outputs(*(found if isinstance(found, tuple) else (found,)))


class StepwellBackend(Backend):
    """The backend class for ONNX's tools; runs on the CPU only, without other engines."""

    @classmethod
    def is_compatible(cls, model: ModelProto, device: str = "CPU", **kwargs: object) -> bool:
        """Whether every operator of a valid model is supported, decided without compiling it."""
        if not cls.supports_device(device):
            return False
        try:
            return all(how != MISSING for _, how in support_of_model(model))
        except StepwellError:
            return False

    @classmethod
    def prepare(cls, model: ModelProto, device: str = "CPU", **kwargs: object) -> StepwellRep:
        """
        Compile a model; keywords are the fields of `CompileOptions`.

        Raises: StepwellError.
        """
        if not cls.supports_device(device):
            raise StepwellError("unsupported", None, f"Stepwell runs on the CPU, not on {device!r}")
        return StepwellRep(compile(model, options_with(None, kwargs)))

    @classmethod
    def run_model(
        cls, model: ModelProto, inputs: object, device: str = "CPU", **kwargs: object
    ) -> tuple[object, ...]:
        """Compile and run once. Raises: StepwellError."""
        return cls.prepare(model, device, **kwargs).run(inputs)

    @classmethod
    def run_node(
        cls,
        node: NodeProto,
        inputs: object,
        device: str = "CPU",
        outputs_info: Sequence[tuple[npt.DTypeLike, tuple[int, ...]]] | None = None,
        **kwargs: object,
    ) -> tuple[object, ...]:
        """
        Run one node on arrays, at opset `opset_version` (default: the newest). Raises: StepwellError.

        The types of its outputs follow from the arrays, so `outputs_info` is not needed.
        """
        version = cast(int, kwargs.pop("opset_version", defs.onnx_opset_version()))
        names = [name for name in node.input if name]
        values = list(cast(Values, inputs)) if isinstance(inputs, list | tuple) else [inputs]
        arrays = [np.asarray(value) for value in values]
        infos = [_info(name, array) for name, array in zip(names, arrays, strict=True)]
        outputs = [ValueInfoProto(name=name, type=TypeProto()) for name in node.output if name]
        graph = helper.make_graph([node], "node", infos, outputs)
        model = helper.make_model(graph, opset_imports=[helper.make_opsetid(node.domain, version)])
        return cls.run_model(model, arrays, device, **kwargs)

    @classmethod
    def supports_device(cls, device: str) -> bool:
        """True for `CPU`, with or without a number."""
        return device.split(":")[0] == "CPU" and Device(device).type == DeviceType.CPU


def _info(name: str, array: npt.NDArray[np.generic]) -> ValueInfoProto:
    return helper.make_tensor_value_info(name, helper.np_dtype_to_tensor_dtype(array.dtype), array.shape)


is_compatible = StepwellBackend.is_compatible
prepare = StepwellBackend.prepare
run_model = StepwellBackend.run_model
run_node = StepwellBackend.run_node
supports_device = StepwellBackend.supports_device
