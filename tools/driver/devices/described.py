"""The parts of a model on devices as the summary has them: nodes, and what a call copies."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from math import prod

from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute

from stepwell.dialects import graph
from stepwell.dialects.locations import node_names
from stepwell.dialects.types import Tensor, dims_of, dtype_of
from stepwell.runtime.dims import Dim
from stepwell.tools.driver.devices.chosen import chosen_devices, places_ops
from stepwell.tools.driver.options import CompileOptions


def described_parts(
    calls: Mapping[graph.HostCallOp, str], options: CompileOptions
) -> list[Mapping[str, object]]:
    """
    The calls of parts of devices, each with device, nodes of the model, bytes copied from and to the host,
    and reason.
    """
    known = {name: each for each in chosen_devices(options) for name in (each.name, each.backend) if name}
    reasons = {each.name: _reason(each.backend, options) for each in known.values()}
    described: list[Mapping[str, object]] = []
    for call, name in calls.items():
        if (device := known.get(name)) is None:
            continue  # of a backend that no option chose as a device
        sizes = [*_bytes(value.type for value in (*call.arguments, *call.values))]
        is_copy = call.callee.data.startswith(f"{device.name}_copy")
        nodes = [] if is_copy else list(dict.fromkeys(node_names(call.location)))
        described.append(
            {
                "device": device.name,
                "on": device.runs_on,
                "experimental": device.is_experimental,
                "part": call.callee.data,
                "nodes": nodes,
                "copies": len(sizes),
                "bytes": str(sum(sizes, Dim.of(0))),
                "because": reasons[device.name],
            }
        )
    return described


def _reason(backend: str | None, options: CompileOptions) -> str:
    if places_ops(options) and options.place is not None:
        return "by rules, or all that it can compute" if backend is None else "by rules"
    return "all that it can compute" if backend is None else f"layers in the table of {backend}"


def _bytes(types: Iterable[Attribute]) -> Iterable[Dim]:
    """The sizes of the tensors of the host among types."""
    for type in types:
        if type.name == TensorType.name:
            tensor: Tensor = type  # pyright: ignore[reportAssignmentType]  # by its name
            yield prod(dims_of(tensor), start=Dim.of(dtype_of(tensor.element_type).itemsize))
