"""Compiled models for the API: programs compiled, with what makes their kernels again."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from stepwell.runtime.machine.target import TargetDescription
from stepwell.tools.api.source import ProgramSource
from stepwell.tools.driver.compile import compile as compile_model
from stepwell.tools.driver.options import CompileOptions

if TYPE_CHECKING:
    from stepwell.runtime.model import CompiledModel
    from stepwell.tools.driver.image import Progress
    from stepwell.tools.driver.options import Model


def built(
    again: Callable[[], Model], options: CompileOptions, threads: int | None, progress: Progress | None
) -> CompiledModel:
    """
    A compiled model, which knows its source.

    Args: `again` returns the model to compile; later too, when profiles or kernels are asked for.
    Raises: as `stepwell.compile`.
    """
    compiled = compile_model(again(), options, threads=threads, progress=progress)
    compiled.source = ProgramSource(again, options)
    return compiled


def described_target(target: str | TargetDescription | None) -> TargetDescription:
    """
    A target that is given by CPU level, by triple or by description; None is this machine.

    Raises: StepwellError `unknown-target`, `bad-option`.
    """
    return target if isinstance(target, TargetDescription) else target_of(CompileOptions(target=target))


def target_of(options: CompileOptions) -> TargetDescription:
    """The target that options name. Raises: StepwellError `unknown-target`, `bad-option`."""
    return options.description()
