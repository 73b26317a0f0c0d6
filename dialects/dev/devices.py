"""The devices of a module: `dev.device`, and the attribute `dev.on` that pins ops and functions to them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    ModuleOp,
    StringAttr,
    SymbolNameConstraint,
    SymbolRefAttr,
)
from xdsl.dialects.func import FuncOp
from xdsl.ir import Attribute, Operation
from xdsl.irdl import IRDLOperation, irdl_op_definition, prop_def, traits_def
from xdsl.traits import SymbolOpInterface
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.target import SpecAttr
from stepwell.runtime.errors import StepwellError, did_you_mean

ON = "dev.on"
"""Attribute of an op or a function, and of their arguments and results: the symbol of the device."""
HOST = "host"
"""The name of the device that calls the program; each module has it, without a `dev.device`."""


@irdl_op_definition
class DeviceOp(IRDLOperation):
    """
    A device of the module: a name, and the target of this part of the program.

    ```mlir
    dev.device @gpu0 #target.spec<"cuda", {}>
    ```
    Constraints:
      (C1) the name is not `host`, which every module has.
      (C2) the target is a `#target.spec`.
    """

    name = "dev.device"

    sym_name = prop_def(SymbolNameConstraint())
    target = prop_def()

    traits = traits_def(SymbolOpInterface())
    assembly_format = "$sym_name $target attr-dict"

    def __init__(self, name: str, target: SpecAttr):
        super().__init__(properties={"sym_name": StringAttr(name), "target": target})

    def verify_(self) -> None:
        if self.sym_name.data == HOST:  # (C1)
            raise VerifyException(f"@{HOST} is the device that calls the program: it is not declared")
        if not isinstance(self.target, SpecAttr):  # (C2)
            raise VerifyException(f"the target must be a #target.spec, found {self.target}")


def device_names(module: ModuleOp) -> list[str]:
    """The names of the devices of a module, the host first."""
    return [HOST, *(op.sym_name.data for op in module.ops if isinstance(op, DeviceOp))]


def expect_device(name: str, names: Sequence[str], at: Operation | None) -> str:
    """
    The name of a device of the module.

    Args: `names` are the names of the module's devices, `at` is the op with `name`.
    Raises: StepwellError `bad-device` for another name.
    """
    if name in names:
        return name
    help = f"{did_you_mean(name, names)}there are: {', '.join(f'@{each}' for each in names)}"
    raise StepwellError("bad-device", at, f"the module has no device @{name}", help=help)


def pinned(attribute: Attribute | None, names: Sequence[str], at: Operation, count: int = 1) -> list[str]:
    """
    The devices that an attribute `dev.on` names, one for each of `count` results; empty where it is absent.

    Args: one symbol stands for all results, an array has one for each.
    Raises: StepwellError `bad-device` for anything else, and for an unknown device.
    """
    if attribute is None:
        return []
    is_list = isinstance(attribute, ArrayAttr)
    listed = cast("ArrayAttr[Attribute]", attribute).data if is_list else [attribute] * count
    symbols = [each.string_value() for each in listed if isinstance(each, SymbolRefAttr)]
    if len(listed) != count or len(symbols) != count:
        wanted = "a symbol such as @gpu0" + (f", or a list of {count} symbols" if count != 1 else "")
        raise StepwellError("bad-device", at, f"{ON} must be {wanted}, found {attribute}")
    return [expect_device(name, names, at) for name in symbols]


def on_attribute(devices: Sequence[str]) -> Attribute:
    """`dev.on` for the results of an op: a symbol if all are on the same device, else a list."""
    if len({*devices}) == 1:
        return SymbolRefAttr(devices[0])
    return ArrayAttr([SymbolRefAttr(name) for name in devices])


def signature_pins(function: FuncOp, key: str, names: Sequence[str]) -> list[str | None]:
    """
    The devices of the parameters or results of a function, by `arg_attrs` or `res_attrs` (`key`), or None.

    Raises: StepwellError `bad-device`.
    """
    types = function.function_type.inputs if key == "arg_attrs" else function.function_type.outputs
    if not isinstance(given := function.properties.get(key), ArrayAttr):
        return [None] * len(types)
    attributes = cast("ArrayAttr[DictionaryAttr]", given).data
    found = [pinned(each.data.get(ON), names, function) for each in attributes]
    return [devices[0] if devices else None for devices in found]
