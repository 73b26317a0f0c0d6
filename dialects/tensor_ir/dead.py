"""Dead code elimination on level 2, whose ops are pure except for calls and checks."""

from __future__ import annotations

from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

_PURE = ("arith.", "math.", "tensor.", "vector.", "linalg.", "affine.")


def erase_dead(func: FuncOp) -> None:
    """Erase the ops of a function on tensors whose results nothing uses, users before producers."""
    for op in reversed(list(func.body.walk())):
        for result in op.results:  # a loop: `any` makes a generator for each op of each pass
            if result.first_use is not None:
                break
        else:
            if op.results and _is_pure(op):
                op.detach()
                op.erase()


def _is_pure(op: Operation) -> bool:
    if op.name == "scf.for":
        return all(inner.name == "scf.yield" or _is_pure(inner) for inner in op.walk() if inner is not op)
    return op.name.startswith(_PURE) and op.name not in ("linalg.yield", "tensor.yield")
