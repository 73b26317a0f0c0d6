"""`place-devices`: each op gets a device, and values are copied to the devices of their users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import cast

from xdsl.context import Context
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, ModuleOp
from xdsl.dialects.func import FuncOp
from xdsl.ir import Block, Operation, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects import dev, graph
from stepwell.dialects.dev.devices import HOST, ON, device_names, expect_device, on_attribute, pinned
from stepwell.dialects.graph.control_flow import ControlFlowOp
from stepwell.dialects.graph.loops import LoopOp
from stepwell.passes.base import Pass
from stepwell.passes.context import count
from stepwell.passes.graph.placement.domains import Domain
from stepwell.passes.graph.placement.uses import Devices, PlacedUse, is_placed
from stepwell.runtime.errors import StepwellError

IO = ("host", "device")


@dataclass(frozen=True)
class PlaceDevicesPass(Pass):
    """
    Give each op a device by the attribute `dev.on`, and insert `dev.copy` where a value is needed on another.

    ```mlir
    %t = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %y = graph.relu %t : tensor<4xf32> -> tensor<4xf32>
    // ->
    %t = graph.add %a, %b {dev.on = @host} : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
    %c = dev.copy %t from @host to @gpu0 : tensor<4xf32>
    %y = graph.relu %c {dev.on = @gpu0} : tensor<4xf32> -> tensor<4xf32>
    ```
    A value is on the device of its op, and the operands of an op are there too. So a pinned op takes with it
    the ops that compute its operands, but not its users: values of pinned ops, of copies and of pinned
    parameters may be used on other devices. Pins count in the order of the text; where two devices would
    meet, the later use gets a copy. Ops that nothing decides are on `default`. There is one copy for each
    value and device, as late as possible; a value from outside a loop is not copied inside it.

    The host reads conditions, numbers of iterations, sizes and offsets, and computes the few integers that
    only they need; function values, lists, cells and data of types are on the host too. A constant is made on
    each device that reads it, never copied. Run again, the pass changes nothing.

    Class: exact. Source: Relay's PlanDevices.
    """

    name = "place-devices"

    default: str = HOST
    """The device of all that nothing decides: one of the module's."""
    io: str = "host"
    """Where parameters and results of `@main` are: on the `host`, or where the `device` needs them."""

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        expect_device(self.default, device_names(op), None)
        if self.io not in IO:
            raise StepwellError(
                "bad-option", None, f"io of place-devices is host or device, found {self.io!r}"
            )
        devices = Devices(op, default=self.default, host_io=self.io == "host")
        for use in devices.uses:
            value = devices.of_value(use.value)
            if not use.is_boundary and value is not None:
                value.join(use.domain)
        _note(devices)
        positions = {each: number for number, each in enumerate(op.walk())}
        for (value, device), uses in _uses_elsewhere(devices).items():
            place = _place_of_copy(value, [use.op for use in uses], positions)
            made = dev.CopyOp(value, devices.name_of(devices.of_value(value)), device)
            Rewriter.insert_op(made, InsertPoint.before(place))
            _read(uses, made.result)
            count("copies between devices")
        for op_of_constant, uses in _constant_uses(devices).items():
            _materialize(op_of_constant, uses, devices)


def _note(devices: Devices) -> None:
    """Write the devices as attributes of ops, parameters and results."""
    for op, domain in devices.op_domains.items():
        op.attributes[ON] = on_attribute([devices.name_of(domain)])
    for function in devices.functions:
        for op in function.body.walk():
            if isinstance(op, ControlFlowOp | graph.CallOp) and op not in devices.op_domains:
                found = [domain for result in op.results if (domain := devices.of_value(result)) is not None]
                if found:
                    op.attributes[ON] = on_attribute([devices.name_of(domain) for domain in found])
        types = function.function_type
        arguments = [devices.of_value(argument) for argument in function.body.block.args]
        results = zip(devices.results_of(function), types.outputs.data, strict=True)
        _note_signature(function, "arg_attrs", devices, arguments)
        _note_signature(
            function, "res_attrs", devices, [d if is_placed(type) else None for d, type in results]
        )


def _note_signature(function: FuncOp, key: str, devices: Devices, domains: Sequence[Domain | None]) -> None:
    """Write the devices of parameters or results into `arg_attrs` or `res_attrs`."""
    given = function.properties.get(key)
    none = [DictionaryAttr({})] * len(domains)
    known = cast("ArrayAttr[DictionaryAttr]", given).data if isinstance(given, ArrayAttr) else none
    found: list[DictionaryAttr] = []
    for attributes, domain in zip(known, domains, strict=True):
        on = {} if domain is None else {ON: on_attribute([devices.name_of(domain)])}
        found.append(DictionaryAttr({**attributes.data, **on}))
    if any(attributes.data for attributes in found):
        function.properties[key] = ArrayAttr(found)


def _uses_elsewhere(devices: Devices) -> dict[tuple[SSAValue, str], list[PlacedUse]]:
    """The uses of values on another device than their own, by value and device, in the order of the text."""
    found: dict[tuple[SSAValue, str], list[PlacedUse]] = {}
    for use in devices.uses:
        value, wanted = devices.of_value(use.value), devices.name_of(use.domain)
        if value is not None and devices.name_of(value) != wanted:
            found.setdefault((use.value, wanted), []).append(use)
    return found


def _constant_uses(devices: Devices) -> dict[graph.ConstantOp, dict[str, list[PlacedUse]]]:
    """The uses of constants by device, in the order of the text."""
    found: dict[graph.ConstantOp, dict[str, list[PlacedUse]]] = {}
    for use in devices.uses:
        if isinstance(made := use.value.owner, graph.ConstantOp):
            found.setdefault(made, {}).setdefault(devices.name_of(use.domain), []).append(use)
    return found


def _materialize(
    constant: graph.ConstantOp, uses: Mapping[str, Sequence[PlacedUse]], devices: Devices
) -> None:
    """Copy a constant to each further device with users."""
    own = next(iter(pinned(constant.attributes.get(ON), devices.names, constant)), next(iter(uses)))
    constant.attributes[ON] = on_attribute([own])
    for device, there in uses.items():
        if device == own:
            continue
        copy = constant.clone()
        copy.attributes[ON] = on_attribute([device])
        copy.result.name_hint = constant.result.name_hint
        Rewriter.insert_op(copy, InsertPoint.after(constant))
        _read(there, copy.result)


def _read(uses: Sequence[PlacedUse], value: SSAValue) -> None:
    for use in uses:
        use.op.operands[use.index] = value


def _place_of_copy(
    value: SSAValue, users: Sequence[Operation], positions: Mapping[Operation, int]
) -> Operation:
    """
    The place of a copy: as late as all users allow, and outside of loops with nothing but uses.

    Args: `positions` are those of the module's ops in the text.
    """
    home = value.owner if isinstance(value.owner, Block) else value.owner.parent
    assert home is not None
    paths = [_path(user, home) for user in users]
    depth = 0
    while all(len(path) > depth + 1 for path in paths) and len({path[depth] for path in paths}) == 1:
        if isinstance(paths[0][depth], LoopOp):
            break
        if len({path[depth + 1].parent for path in paths}) != 1:
            break  # in different branches
        depth += 1
    return min((path[depth] for path in paths), key=positions.__getitem__)


def _path(op: Operation, home: Block) -> list[Operation]:
    """The ops around an op, and itself, from the one in a block inwards."""
    found = [op]
    while found[-1].parent is not home:
        parent = found[-1].parent_op()
        assert parent is not None
        found.append(parent)
    return found[::-1]
