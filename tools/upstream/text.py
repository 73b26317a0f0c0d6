"""Programs of levels 2 to 4 as the text of upstream MLIR."""

from __future__ import annotations

import io
from collections.abc import Iterator

import numpy as np
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.printer import Printer

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.tensor_ir.upstream_marks import weight_of
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import PROGRAM_SCHEDULE_PIPELINE
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.tools.api.levels import level_of
from stepwell.tools.driver.partitions import SKIPPED

LEVELS = ("linalg", "vector", "loops", "llvm")
"""The levels that are written for upstream MLIR."""


def upstream_text(
    module: ModuleOp, ctx: StepwellContext, *, keep_info: bool = True, with_weights: bool = True
) -> str:
    """
    A program as the generic form of upstream MLIR, with the bytes of weights after it.

    Args: `keep_info` keeps our attributes as text, from which `from_upstream` makes them again; without
    `with_weights` their bytes are left out, which verifying does not need.
    Raises: StepwellError `bad-option` for a program of level 0 or 1, `unsupported-op`.
    """
    if (level := level_of(module)) not in LEVELS:
        message = f"a program of level {level} has ops that upstream MLIR does not know"
        raise StepwellError(
            "bad-option", None, message, help="lower it first: `stepwell compile --emit linalg`"
        )
    copy = module.clone()
    if level == "linalg":
        _expand_own_ops(copy, ctx)
    run_pipeline(copy, "to-upstream{keep-info=true}" if keep_info else "to-upstream", ctx)
    out = io.StringIO()
    Printer(stream=out, print_generic_format=True).print_op(copy)
    return f"{out.getvalue()}\n{_resources(copy, ctx.weights) if with_weights else ''}"


def expect_level(level: str) -> None:
    """Require a level whose ops upstream MLIR has. Raises: StepwellError `bad-option`."""
    if level not in LEVELS:
        message = f"a program of level {level} has ops that upstream MLIR does not know"
        help = "lower it first: `stepwell compile --emit linalg --upstream`"
        raise StepwellError("bad-option", None, message, help=help)


def _expand_own_ops(module: ModuleOp, ctx: StepwellContext) -> None:
    """
    Schedule the kernels with ops of `linalg_ext`, which upstream does not have: their loops are its ops.

    Other kernels are skipped, and stay ops of `linalg`.
    """
    kernels = [op for op in module.ops if isinstance(op, FuncOp) and op.body.blocks]
    others = [kernel for kernel in kernels if not _has_own_ops(kernel)]
    if len(others) == len(kernels):
        return
    for kernel in others:
        kernel.attributes[SKIPPED] = UnitAttr()
    run_pipeline(module, PROGRAM_SCHEDULE_PIPELINE, ctx)
    for kernel in others:
        del kernel.attributes[SKIPPED]


def _has_own_ops(kernel: FuncOp) -> bool:
    return any(op.name.startswith("linalg_ext.") for op in kernel.walk())


def _resources(module: ModuleOp, weights: WeightStore) -> str:
    """The bytes of the resources that a module names: 4 bytes of alignment, then the elements, in hex."""
    entries = [f'      {name}: "0x{_blob(weights, hash)}"' for name, hash in sorted(_named(module))]
    if not entries:
        return ""
    lines = ",\n".join(entries)
    return f"\n{{-#\n  dialect_resources: {{\n    builtin: {{\n{lines}\n    }}\n  }}\n#-}}\n"


def _named(module: ModuleOp) -> Iterator[tuple[str, str]]:
    """Names of resources and the weights with their bytes, each once."""
    seen: set[str] = set()
    for op in module.walk():
        value = op.properties.get("value")
        if isinstance(value, DenseResourceAttr) and (name := value.resource_handle.data) not in seen:
            seen.add(name)
            if (hash := weight_of(name)) is not None:
                yield name, hash


def _blob(weights: WeightStore, hash: str) -> str:
    array = weights.get(hash)
    alignment = max(4, array.dtype.itemsize)
    return (alignment.to_bytes(4, "little") + np.ascontiguousarray(array).tobytes()).hex().upper()
