"""The function that the passes of training work on."""

from __future__ import annotations

from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

from stepwell.runtime.errors import StepwellError


def main_function(module: ModuleOp) -> FuncOp:
    """`@main` with its only block. Raises: StepwellError `no-main`."""
    for op in module.ops:
        if isinstance(op, FuncOp) and op.sym_name.data == "main" and len(op.body.blocks) == 1:
            return op
    raise StepwellError(
        "no-main", module, "training needs a function @main of one block, and the module has none"
    )
