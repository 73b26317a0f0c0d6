"""
`stepwell.pipelines`: the pipelines of the compiler as text, each to the level of its name from the one above.

`Module.run` and `stepwell-opt -p` take such text. `graph` is the level's own pipeline, after
`convert-onnx-to-graph`. Below `vector`, `Module.to` also records the interface, which `compile` needs.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from stepwell.passes import PassContext
from stepwell.passes.pipelines import (
    LLVM_PIPELINE,
    PROGRAM_LOOP_PIPELINE,
    PROGRAM_SCHEDULE_PIPELINE,
    TO_KERNELS,
    text_of,
)
from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.api.building import described_target
from stepwell.tools.driver.levels import steps_of
from stepwell.tools.driver.options import CompileOptions


def graph(
    target: TargetDescription | str | None = None,
    *,
    opt_level: int = 2,
    winograd: Literal["auto", "fast", "off"] = "auto",
    activations: Literal["auto", "f32", "int8"] = "auto",
    precision: Literal["f32", "tf32", "bf16", "f16"] = "f32",
    keep_f32: str | Sequence[str] = (),
    memory: Literal["normal", "low"] = "normal",
    backends: str | Sequence[str] = (),
    disabled_passes: Sequence[str] = (),
    required_passes: Sequence[str] = (),
) -> str:
    """
    The passes of level 1, up to and including `fuse-ops`.

    Args: `target` is a module's, a CPU level or a triple (default: this machine); the others are those of
    `stepwell.compile`.
    Raises: StepwellError `bad-option`, `unknown-target`, `unknown-pass`, `unknown-backend`.
    """
    options = CompileOptions(
        opt_level=opt_level,
        winograd=winograd,
        activations=activations,
        precision=precision,
        keep_f32=keep_f32,
        memory=memory,
        backends=backends,
        disabled_passes=disabled_passes,
        required_passes=required_passes,
    )
    context = PassContext.current().choosing(options.required_passes, options.disabled_passes)
    return text_of(steps_of(options, described_target(target), context))


def linalg() -> str:
    """The conversion of kernels of graph ops to functions on tensors."""
    return TO_KERNELS


def vector() -> str:
    """The passes that join kernels, choose schedules, and build tiled loops on vectors."""
    return PROGRAM_SCHEDULE_PIPELINE


def loops() -> str:
    """The passes from tensors to loops on buffers in planned memory."""
    return PROGRAM_LOOP_PIPELINE


def llvm() -> str:
    """The passes from loops to the `llvm` dialect."""
    return LLVM_PIPELINE
