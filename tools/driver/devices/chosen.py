"""The devices that the options of a compilation choose."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xdsl.dialects.builtin import ModuleOp
from xdsl.rewriter import InsertPoint, Rewriter

from stepwell.dialects.dev.devices import DeviceOp, device_names
from stepwell.dialects.dev.on_host import ON_HOST
from stepwell.dialects.target import SpecAttr
from stepwell.runtime.devices.table import PART_BACKENDS, expect_device_name
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.machine.named_target import Target
from stepwell.runtime.targets.several import is_several, several
from stepwell.runtime.targets.text import CPU
from stepwell.tools.driver.options import CompileOptions

if TYPE_CHECKING:
    from xdsl.dialects.builtin import ArrayAttr, StringAttr

_ONLY, _ONLY_NPU = "gpu0", "npu0"
"""The names of the device in the program where the options name none."""
_INTERPRETER = "gpu-interpreter"
_TARGET_OF: Mapping[str, str] = {_INTERPRETER: "cuda", "ptx-interpreter": "cuda"}
"""The targets that devices stand for where no target is given: one with all types of numbers."""


@dataclass(frozen=True)
class ChosenDevice:
    """A device of a program: name, target of the code, and the device that runs the code."""

    name: str
    target: Target
    runs_on: str
    is_only_interpreted: bool = False
    """Whether text of the gpu level is all the code, since no target was asked for."""

    @property
    def is_experimental(self) -> bool:
        """Whether the code is for a device on which no test has run any: not so for an interpreter."""
        return self.target.experimental and self.runs_on.partition(":")[0] == self.target.kind

    @property
    def backend(self) -> str | None:
        """The backend that compiles the parts of the device; None for a device with kernels of ours."""
        return self.target.kind if self.target.kind in PART_BACKENDS else None

    @property
    def formats(self) -> list[str]:
        """The formats of the code of kernels."""
        from stepwell.lowering.device_part import GPU, code_formats

        return [GPU] if self.is_only_interpreted else code_formats(self.target)


def chosen_devices(options: CompileOptions) -> Sequence[ChosenDevice]:
    """
    The devices beside the CPU, in the order of the options.

    Raises: StepwellError `bad-target`, `unknown-target`; `no-device` for a name that is none.
    """
    if options.target is not None and is_several(options.target):
        return _named(several(options.target), options.device)
    target = device_target(options)
    if target is None:
        return []
    name = _ONLY if target.kind not in PART_BACKENDS else _ONLY_NPU
    runs_on = target.kind if options.device is None else expect_device_name(options.device)
    is_interpreted = options.target is None and runs_on.partition(":")[0] == _INTERPRETER
    return [ChosenDevice(name, target, runs_on, is_interpreted)]


def _named(targets: Mapping[str, str], device: str | None) -> list[ChosenDevice]:
    """Devices by name. Raises: StepwellError `bad-target`, `no-device`."""
    each_on: Mapping[str, str] = {}
    if device is not None and is_several(device):
        each_on = several(device, "device")
    for name in each_on:
        if name not in targets:
            help = f"{did_you_mean(name, list(targets))}there are: {', '.join(targets)}"
            raise StepwellError("no-device", None, f"no target is named {name}", help=help)
    found: list[ChosenDevice] = []
    for name, text in targets.items():
        target = Target(text)
        if target.kind == CPU:
            message = f"{name} is {text}, a CPU, and the only one of a program is @host"
            help = "the host's target comes after that of a device: cuda on cpu"
            raise StepwellError("bad-target", None, message, help=help)
        has_kernels = target.kind not in PART_BACKENDS
        for_all = device if device is not None and not each_on and has_kernels else target.kind
        found.append(ChosenDevice(name, target, expect_device_name(each_on.get(name, for_all))))
    return found


def device_target(options: CompileOptions) -> Target | None:
    """
    The target of the only device, with its host; None where the CPU computes all, or devices have names.

    Raises: StepwellError `bad-target`, `unknown-target`, `no-device`.
    """
    if options.target is not None and is_several(options.target):
        return None
    target = None if options.target is None else Target(options.target)
    if target is not None and target.kind != CPU:
        return target
    if options.device is None:
        return None
    kind = options.device.partition(":")[0]
    expect_device_name(options.device)
    made = Target(_TARGET_OF.get(kind, kind))
    return made if target is None else made.with_host(target)


def device_named(options: CompileOptions, name: str) -> ChosenDevice:
    """The device of a name in the program."""
    return next(each for each in chosen_devices(options) if each.name == name)


def backend_of_device(options: CompileOptions) -> str | None:
    """The backend of the only device, which takes its part as backends do; None for all others."""
    devices = chosen_devices(options)
    return None if not devices or places_ops(options) else devices[0].backend


def places_ops(options: CompileOptions) -> bool:
    """Whether ops are placed on devices: on a GPU, on several devices, or by rules."""
    devices = chosen_devices(options)
    if not devices:
        return False
    is_named = options.target is not None and is_several(options.target)
    return is_named or options.place is not None or devices[0].backend is None


def default_device(options: CompileOptions) -> str:
    """The device of what nothing else decides: the first with kernels, or the host; `""` without devices."""
    if not places_ops(options):
        return ""
    return next((each.name for each in chosen_devices(options) if each.backend is None), "host")


def ops_on_host(module: ModuleOp) -> list[str]:
    """The ops that the host computes in place of the device, which the module forgets."""
    found = cast("ArrayAttr[StringAttr] | None", module.attributes.pop(ON_HOST, None))
    return [] if found is None else [line.data for line in found]


def declare_devices(module: ModuleOp, options: CompileOptions) -> None:
    """Declare the devices of the options in a module. Raises: StepwellError `bad-option`."""
    if options.place is not None and not chosen_devices(options):
        message = "rules of placement are for devices, and there is only the CPU"
        raise StepwellError("bad-option", None, message, help="--target gpu0=webgpu,npu0=npu, or --device")
    if not places_ops(options):
        return
    if options.backends:
        message = "backends and a device both take parts of a model"
        raise StepwellError("bad-option", None, message, help="leave --backend or the device out")
    known = device_names(module)
    for each in reversed(chosen_devices(options)):
        if each.name not in known:
            op = DeviceOp(each.name, SpecAttr.of(each.target.with_host(None)))
            Rewriter.insert_op(op, InsertPoint.at_start(module.body.block))
