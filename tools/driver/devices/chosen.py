"""The device that the options of a compilation choose."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects.dev.devices import DeviceOp, device_names
from stepwell.dialects.dev.on_host import ON_HOST
from stepwell.dialects.target import SpecAttr
from stepwell.runtime.devices.table import PART_BACKENDS, expect_device_name
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.text import CPU
from stepwell.tools.driver.options import CompileOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

GPU0 = "gpu0"
"""The name of the only device in the program."""
_INTERPRETER = "gpu-interpreter"
_TARGET_OF: Mapping[str, str] = {_INTERPRETER: "cuda", "ptx-interpreter": "cuda"}
"""The targets that devices stand for where no target is given: one with all types of numbers."""


def device_target(options: CompileOptions) -> Target | None:
    """The target of the device, with its host; None where the CPU computes all. Raises: StepwellError."""
    target = None if options.target is None else Target(options.target)
    if target is not None and target.kind != CPU:
        return target
    if options.device is None:
        return None
    kind = options.device.partition(":")[0]
    expect_device_name(options.device)
    made = Target(_TARGET_OF.get(kind, kind))
    return made if target is None else made.with_host(target)


def device_formats(options: CompileOptions, target: Target) -> list[str]:
    """The formats of code: text of the gpu level alone for its interpreter where no target is asked for."""
    from stepwell.lowering.device_part import GPU, code_formats

    is_only_interpreted = options.target is None and (options.device or "").partition(":")[0] == _INTERPRETER
    return [GPU] if is_only_interpreted else code_formats(target)


def device_name(options: CompileOptions, target: Target) -> str:
    """The device that runs the code. Raises: StepwellError `no-device` for an unknown name."""
    return target.kind if options.device is None else expect_device_name(options.device)


def backend_of_device(options: CompileOptions) -> str | None:
    """The backend that compiles the parts of the device; None for a device with kernels, and without one."""
    target = device_target(options)
    return None if target is None or target.kind not in PART_BACKENDS else target.kind


def runs_kernels(options: CompileOptions) -> bool:
    """Whether the device is a GPU, whose kernels are ours."""
    return device_target(options) is not None and backend_of_device(options) is None


def ops_on_host(module: ModuleOp) -> list[str]:
    """The ops that the host computes in place of the device, which the module forgets."""
    found = cast("ArrayAttr[StringAttr] | None", module.attributes.pop(ON_HOST, None))
    return [] if found is None else [line.data for line in found]


def declare_devices(module: ModuleOp, options: CompileOptions) -> None:
    """Declare the device of the options in a module."""
    target = device_target(options)
    if target is None or not runs_kernels(options) or GPU0 in device_names(module):
        return
    if options.backends:
        message = "backends and a device both take parts of a model"
        raise StepwellError("bad-option", None, message, help="leave --backend or the device out")
    op = DeviceOp(GPU0, SpecAttr.of(target.with_host(None)))
    Rewriter.insert_op(op, InsertPoint.at_start(module.body.block))
