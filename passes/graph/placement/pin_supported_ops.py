"""`pin-supported-ops`: each op is pinned to a device that can compute it, or else to the host."""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr, TensorType
from xdsl.ir import Operation
from xdsl.traits import is_side_effect_free

from stepwell.dialects import graph
from stepwell.dialects.dev.devices import (
    HOST,
    ON,
    DeviceOp,
    device_names,
    expect_device,
    on_attribute,
    pinned,
)
from stepwell.dialects.dev.on_host import ON_HOST, refusal_of
from stepwell.dialects.graph.base import GraphOp, Kind
from stepwell.dialects.locations import node_names
from stepwell.dialects.target import SpecAttr
from stepwell.dialects.types import DimsAttr, dims_of, dtype_of
from stepwell.passes.base import Pass, functions_of
from stepwell.passes.context import count, remark
from stepwell.patterns.groups import blocks_of
from stepwell.runtime.devices.table import PART_BACKENDS
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.machine.stored_types import stores

_INDEXED = (graph.GatherOp, graph.GatherElementsOp, graph.GatherNdOp)
_MOST_LISTED = 20


@dataclass(frozen=True)
class PinSupportedOpsPass(Pass):
    """
    Give each op that computes the attribute `dev.on`: the device, or the host for what the device has not.

    ```mlir
    dev.device @gpu0 #target.spec<"webgpu", {}>
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    %z = graph.cast %y to f64 saturate true round "nearest" : tensor<4xf32> -> tensor<4xf64>
    // ->
    dev.device @gpu0 #target.spec<"webgpu", {}>
    %y = graph.relu %x {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
    %z = graph.cast %y to f64 saturate true round "nearest" {dev.on = @host} : tensor<4xf32> -> tensor<4xf64>
    ```
    The host computes ops with an element type that buffers of the device cannot have, with effects, with
    sizes that depend on data, and with indices that have to be checked. An op that has a pin keeps it, if
    that device can compute it. A remark names each op on the host, with the reason.

    With `strict` such ops are an error that lists all of them. Class: exact.
    """

    name = "pin-supported-ops"

    device: str = HOST
    """The device: one of the module's."""
    strict: bool = False
    """Whether an op that the device cannot compute is an error."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        names = device_names(op)
        expect_device(self.device, names, None)
        targets = _targets_of(op)
        refused: list[tuple[Operation, str]] = []
        for function in functions_of(op):
            for block in blocks_of(function):
                for each in block.ops:
                    if not _computes(each):
                        continue
                    device, *others = pinned(each.attributes.get(ON), names, each) or [self.device]
                    if others or device not in targets:
                        each.attributes.setdefault(ON, on_attribute([device]))
                        continue
                    reason = refusal_of(each) or _problem(each, targets[device])
                    each.attributes[ON] = on_attribute([device if reason is None else HOST])
                    if reason is not None:
                        count("ops on the host")
                        remark(each, f"{each.name} is on the host: {reason}")
                        refused.append((each, reason))
        if refused and self.strict:
            raise _not_on_device(refused, self.device)
        if refused:
            lines = _lines(refused, _MOST_LISTED)
            op.attributes[ON_HOST] = ArrayAttr([StringAttr(line) for line in lines])


def _not_on_device(refused: list[tuple[Operation, str]], device: str) -> StepwellError:
    """The error of ops that a device cannot compute, with their nodes."""
    message = f"{len(refused)} ops cannot be on {device}: {'; '.join(_lines(refused, len(refused)))}"
    return StepwellError("not-on-device", refused[0][0], message, help="leave --strict-device out")


def _lines(refused: list[tuple[Operation, str]], most: int) -> list[str]:
    """Ops that a device cannot compute, each with its nodes and the reason, and the number of the others."""
    lines: list[str] = []
    for op, reason in refused[:most]:
        nodes = ", ".join(f'"{name}"' for name in node_names(op.location))
        lines.append(f"{op.name} of {nodes or 'no node'}: {reason}")
    return lines + ([f"and {len(refused) - most} more"] if len(refused) > most else [])


def _targets_of(module: ModuleOp) -> dict[str, Target]:
    """The targets of devices by name, without the host."""
    devices = [op for op in module.ops if isinstance(op, DeviceOp)]
    return {op.sym_name.data: op.target.target() for op in devices if isinstance(op.target, SpecAttr)}


def _computes(op: Operation) -> bool:
    """Whether an op computes tensors, and is no structure of the program."""
    if isinstance(op, graph.CompositeOp):
        return True
    return isinstance(op, GraphOp) and op.KIND is not Kind.STRUCTURE


def _problem(op: Operation, target: Target) -> str | None:
    """The reason why a device cannot compute an op, or None."""
    if not is_side_effect_free(op):
        return "it has an effect"
    if target.kind in PART_BACKENDS:
        return None if isinstance(op, graph.CompositeOp) else f"{target.kind} has no program for it"
    for value in (*op.operands, *op.results):
        type = value.type
        if not isinstance(type, TensorType):
            return f"it has a value of {type}"
        if not stores(target, dtype_of(type.element_type).name):  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
            return f"buffers of {target.kind} have no elements of {type.element_type}"  # pyright: ignore[reportUnknownMemberType]
        if any(dim.is_unknown for dim in dims_of(type)):  # pyright: ignore[reportUnknownArgumentType]
            return "a size depends on data"
    for given in op.properties.values():
        if isinstance(given, DimsAttr) and any(dim.is_unknown for dim in given.get()):
            return "an offset depends on data"
    if isinstance(op, _INDEXED) and not isinstance(op.indices.owner, graph.ConstantOp):
        return "its indices are checked"
    return None
