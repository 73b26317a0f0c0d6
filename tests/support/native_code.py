"""Compilation of IR of levels 3 and 4 for a target of this machine, and calls of its kernels with arrays."""

from __future__ import annotations

import ctypes
from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.verify import verify_module
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool_code import pool_of
from stepwell.passes import run_pipeline
from stepwell.runtime.abi import CTX_BYTES, WORD_BYTES
from stepwell.runtime.machine.demands import missing_features
from stepwell.runtime.machine.loader import load_objects
from stepwell.runtime.machine.pool import Pool, get_pool
from stepwell.runtime.machine.target import host_target, target_from

Array: TypeAlias = npt.NDArray[np.generic]

# The feature levels whose code runs here.
RUNNABLE = [
    mcpu
    for mcpu in ("host", "x86-64-v2", "x86-64-v3", "x86-64-v4")
    if not missing_features(target_from(mcpu).triple, target_from(mcpu).features)
]

_KERNEL = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)


_PIPELINE = "expand-math,convert-loops-to-llvm"


def llvm_text(text: str, mcpu: str = "host", pipeline: str = _PIPELINE) -> str:
    """LLVM IR of a module at level 3."""
    ctx = StepwellContext()
    ctx.target = target_from(mcpu)
    module = parse_module(ctx, text)
    run_pipeline(module, pipeline, ctx)
    verify_module(module)
    return emit_llvm(module)


def kernel(
    symbols: str, arguments: Mapping[str, str], body: str, *, name: str = "k", kind: str = "kernel"
) -> str:
    """
    A function with the kernel interface, at level 3.

    Args: `symbols` by name, `"N K"`: the values `%N` and `%K`; `arguments` by name, each as element and
    dimensions (`"f32[N, 2 * K]"`), or a type as it is; `body` may use `%c0` and `%c1`.
    """
    names = symbols.split()
    parts = [f"%{key}: {_argument(text)}" for key, text in arguments.items()]
    parts += [f"%{symbol}: index" for symbol in names]
    listed = ", ".join(f'"{symbol}"' for symbol in names)
    interface = f"sched.kernel = #sched.kernel<inputs = {len(arguments)}, outputs = 0, symbols = [{listed}]>"
    counts = f"inputs = {len(arguments) - 1}, outputs = 0, symbols = [{listed}]"
    program = f'sched.program = #sched.program<{counts}, arena = "64", slots = 2>'
    return f"""
func.func @{name}({", ".join(parts)}) attributes {{{interface if kind == "kernel" else program}}} {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  {body}
  func.return
}}
"""


def _argument(text: str) -> str:
    element, bracket, rest = text.partition("[")
    if not bracket:
        return text
    dims, _, notes = rest.partition("]")
    extents = [d.strip() for d in dims.split(",")]
    shape = "".join(f"{d}x" if d.isdigit() else "?x" for d in extents)
    encoded = ", ".join(d if d.isdigit() else f'"{d}"' for d in extents)
    return f"memref<{shape}{element}> {{graph.dims = #graph.dims<[{encoded}]>{notes}}}"


def host_pool(threads: int, *, records: bool = False) -> Pool:
    """The pool of this process for a number of threads, started; `records`: one that records chunks."""
    pool = get_pool(pool_of(host_target(), records=records), threads)
    pool.start()
    return pool


class Native:
    """A compiled module, by default one at level 3."""

    def __init__(self, text: str, mcpu: str = "host", *, optimize: bool = False, pipeline: str = _PIPELINE):
        self.text = llvm_text(text, mcpu, pipeline)
        self._library = load_objects([compile_to_object(self.text, target_from(mcpu), optimize=optimize)])

    def __call__(
        self, name: str, arrays: Sequence[Array], dims: Sequence[int] = (), ctx: Array | None = None
    ) -> int:
        """Call a kernel as the runtime does; returns its status."""
        args = np.array([a.ctypes.data for a in arrays] or [0], np.uint64)
        sizes = np.array(list(dims) or [0], np.int64)
        context = np.zeros(CTX_BYTES // WORD_BYTES, np.uint64) if ctx is None else ctx
        return _KERNEL(self._library.address(name))(args.ctypes.data, sizes.ctypes.data, context.ctypes.data)
