"""Code of kernels by format: text of the gpu level, or a language of the target."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from typing import TypeAlias, cast

from xdsl.dialects.builtin import ModuleOp

from stepwell.runtime.machine.named_target import Target

Encoder: TypeAlias = Callable[[ModuleOp, Target], bytes]
"""From a module with kernels and a target to what a device's `load` takes."""
GPU = "gpu"
_OURS: Mapping[str, str] = {
    GPU: "stepwell.lowering.device_part.gpu_text:gpu_text",
    "hsaco": "stepwell.lowering.device_part.amdgcn_code:amdgcn_code",
    "msl": "stepwell.lowering.device_part.source_text:source_text",
    "opencl": "stepwell.lowering.device_part.source_text:source_text",
    "ptx": "stepwell.lowering.device_part.ptx_text:ptx_text",
    "wgsl": "stepwell.lowering.device_part.source_text:source_text",
}
"""The encoder of each format, imported when it is needed."""
_OF_KIND: Mapping[str, str] = {
    "cuda": "ptx",
    "metal": "msl",
    "opencl": "opencl",
    "rocm": "hsaco",
    "webgpu": "wgsl",
}
"""The format that each kind of target has beside the text of the gpu level."""
_ADDED: dict[str, Encoder] = {}
_ADDED_TO: dict[str, list[str]] = {}


def register_code(format: str, encoder: Encoder, kinds: Sequence[str] = ()) -> None:
    """Add a format of code, for devices outside of Stepwell; targets of `kinds` have it in each part."""
    _ADDED[format] = encoder
    for kind in kinds:
        _ADDED_TO.setdefault(kind, []).append(format)


def code_formats(target: Target) -> list[str]:
    """The formats that code for a target may have; that of the target's own language first."""
    own = _OF_KIND.get(target.kind)
    return [*([] if own is None else [own]), *_ADDED_TO.get(target.kind, ()), GPU]


def encoded(module: ModuleOp, target: Target, format: str) -> bytes:
    """The kernels of a module in a format. Raises: StepwellError of the encoder."""
    if (encoder := _ADDED.get(format)) is None:
        module_name, _, attribute = _OURS[format].partition(":")
        encoder = cast(Encoder, getattr(import_module(module_name), attribute))
    return encoder(module, target)
