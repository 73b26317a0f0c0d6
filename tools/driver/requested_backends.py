"""The backends requested by the options of a compilation, and the check that they are installed."""

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
    The requested backends that are installed.

    Raises: StepwellError `unknown-backend`, `missing-package`; with `--fallback` a missing one is left out,
    and a remark says so.
    """
    from stepwell.tools.driver.devices.chosen import backend_of_device

    missing = expect_backends(options)
    for error in missing.values():
        remark(None, f"goes on without a backend: {error.message}")
    wanted = [name for name in options.backends if name not in missing]
    return wanted if (own := backend_of_device(options)) is None else [*wanted, own]


def passes_of(backend: str) -> Sequence[str]:
    """The passes of level 1 that a backend wants before its table is matched."""
    return tuple(getattr(find_backend(backend), "passes", ()))


def expect_backends(options: CompileOptions) -> Mapping[str, StepwellError]:
    """
    Require the requested backends to be known and installed.

    Returns: with `--fallback`, the errors of backends that are not installed.
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
