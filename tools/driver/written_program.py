"""Programs as their author wrote them: valid, with warnings of what no author means."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation

from stepwell.dialects.verify import verify_module
from stepwell.passes.context import remark
from stepwell.runtime.errors import describe_location
from stepwell.runtime.warned import warn


class ProgramWarning(UserWarning):
    """A part of a program that is valid and has no effect."""


def verify_written(module: ModuleOp) -> None:
    """
    Require a program to be valid; cases that no value reaches are warnings, data without values remarks.

    Raises: StepwellError as `verify_module`.
    Warns: ProgramWarning.
    """
    verify_module(module)
    for op, message in warnings_of(module):
        warn(f"{message}\n  --> {describe_location(op)}", ProgramWarning)


def warnings_of(module: ModuleOp) -> Sequence[tuple[Operation, str]]:
    """The warnings about a valid program: ops, and a message each. Data types without values are remarks."""
    if not any(op.name.startswith("adt.") for op in module.walk()):
        return ()
    from stepwell.dialects.adt.advice import cases_without_values, data_without_values  # models have no data

    for op, message in data_without_values(module):
        remark(op, message)
    return list(cases_without_values(module))
