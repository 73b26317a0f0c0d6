"""The backends that a compilation asks for, and those of them that are installed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import cast

from stepwell.lowering.backends import Backend
from stepwell.passes.context import remark
from stepwell.runtime.backends import find_backend
from stepwell.runtime.errors import StepwellError
from stepwell.tools.driver.options import CompileOptions


def available_backends(options: CompileOptions) -> Sequence[str]:
    """
    The backends that a compilation uses: those that are asked for.

    Raises: StepwellError `unknown-backend`, `missing-package`; with `--fallback` a missing one is left out,
    and a remark says so.
    """
    missing = expect_backends(options)
    for error in missing.values():
        remark(None, f"goes on without a backend: {error.message}")
    return [name for name in options.backends if name not in missing]


def expect_backends(options: CompileOptions) -> Mapping[str, StepwellError]:
    """
    Require that the backends which are asked for can be had.

    Returns: with `--fallback`, those that are not installed, and why.
    Raises: StepwellError `unknown-backend`, `missing-package`.
    """
    missing: dict[str, StepwellError] = {}
    for name in options.backends:
        try:
            cast(Backend, find_backend(name)).require()
        except StepwellError as error:
            if not options.fallback or error.code != "missing-package":
                raise
            missing[name] = error
    return missing
