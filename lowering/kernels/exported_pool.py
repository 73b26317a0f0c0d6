"""
The thread pool of an exported file: that of a process, but for the system, which the caller's hooks replace.

The caller's memory for it is a handle, to which a context points (the address of the state, the number of
workers), and the state. Its functions are weak, so that files with the same pool fit into one program.
"""

from __future__ import annotations

from stepwell.lowering.kernels.pool_code import UNRECORDED, pool_text
from stepwell.runtime.abi import PARALLEL_FOR
from stepwell.runtime.machine.pool import MAX_THREADS
from stepwell.runtime.machine.pool_state import HANDLE_BYTES, STATE_BYTES, WORKER_SPINS, StateField
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.targets.triples import has_threads

POOL_PREFIX = PARALLEL_FOR.removesuffix("parallel_for")
"""The beginning of the link names of a pool."""
POOL_BYTES = HANDLE_BYTES + STATE_BYTES
POOL_FUNCTIONS = tuple(f"{POOL_PREFIX}pool_{name}" for name in ("init", "hooks", "worker", "stop"))
"""The link names of the functions that the caller's threads call."""

_STATE_OF_POOL = f"  %state = getelementptr i8, ptr %pool, i64 {HANDLE_BYTES}\n"
_PARTS = {
    "state": "ptr %state, ",
    "linkage": "weak",
    "parallel_for": PARALLEL_FOR,
    "worker": f"{POOL_PREFIX}pool_worker",
    "worker_argument": "%pool",
    "load_state": _STATE_OF_POOL,
    "stop": f"{POOL_PREFIX}pool_stop",
    "stopped": "%pool",
    "stopped_state": _STATE_OF_POOL,
    "yield": f"""\
  %hook.slot = getelementptr i8, ptr %state, i64 {StateField.YIELD:d}
  %hook = load ptr, ptr %hook.slot, align 8
  %absent = icmp eq ptr %hook, null
  br i1 %absent, label %done, label %call
call:
  call void %hook()""",
    "yield_declaration": "",
}
_HOOK = """
define internal void @{name}(ptr %state, ptr %word, i32 %value) {{
entry:
  %slot = getelementptr i8, ptr %state, i64 {offset}
  %hook = load ptr, ptr %slot, align 8
  %absent = icmp eq ptr %hook, null
  br i1 %absent, label %done, label %call
call:
  call void %hook(ptr %word, i32 %value)
  br label %done
done:
  ret void
}}
"""
_WAITING = _HOOK.format(name="sleep_while", offset=int(StateField.WAIT)) + _HOOK.format(
    name="wake", offset=int(StateField.WAKE)
)
# Instructions of WebAssembly wait and wake in a shared memory: no hook of the caller's is needed.
_WAITING_IN_MEMORY = """
define internal void @sleep_while(ptr %state, ptr %word, i32 %value) {
  %why = call i32 @llvm.wasm.memory.atomic.wait32(ptr %word, i32 %value, i64 -1)
  ret void
}
define internal void @wake(ptr %state, ptr %word, i32 %count) {
  %woken = call i32 @llvm.wasm.memory.atomic.notify(ptr %word, i32 %count)
  ret void
}
declare i32 @llvm.wasm.memory.atomic.wait32(ptr, i32, i64)
declare i32 @llvm.wasm.memory.atomic.notify(ptr, i32)
"""


def _setup(pointer_bytes: int) -> str:
    """The functions that make a pool of memory, and set its hooks."""
    clearing = "".join(
        f"  %w{i} = getelementptr i8, ptr %memory, i64 {i}\n  store i64 0, ptr %w{i}, align 8\n"
        for i in range(0, POOL_BYTES, 8)
    )
    hooks = "".join(
        f"  %s{i} = getelementptr i8, ptr %pool, i64 {HANDLE_BYTES + field}\n"
        f"  store ptr %{name}, ptr %s{i}, align 8\n"
        for i, (name, field) in enumerate(
            (("wait", StateField.WAIT), ("wake", StateField.WAKE), ("yield", StateField.YIELD))
        )
    )
    size = f"i{8 * pointer_bytes}"
    return f"""
define weak ptr @{POOL_PREFIX}pool_init(ptr %memory, {size} %bytes, i32 %threads) {{
entry:
  %address = ptrtoint ptr %memory to {size}
  %low = and {size} %address, 7
  %misaligned = icmp ne {size} %low, 0
  %none = icmp eq ptr %memory, null
  %small = icmp ult {size} %bytes, {POOL_BYTES}
  %few = icmp slt i32 %threads, 1
  %or1 = or i1 %misaligned, %none
  %or2 = or i1 %or1, %small
  %bad = or i1 %or2, %few
  br i1 %bad, label %refuse, label %make
refuse:
  ret ptr null
make:
{clearing}  %state = getelementptr i8, ptr %memory, i64 {HANDLE_BYTES}
  store ptr %state, ptr %memory, align 8
  %wanted = sub i32 %threads, 1
  %too.many = icmp sgt i32 %wanted, {MAX_THREADS - 1}
  %workers = select i1 %too.many, i32 {MAX_THREADS - 1}, i32 %wanted
  %wide = sext i32 %workers to i64
  %limit = getelementptr i8, ptr %memory, i64 8
  store i64 %wide, ptr %limit, align 8
  %patience = getelementptr i8, ptr %state, i64 {StateField.WORKER_SPINS:d}
  store i64 {WORKER_SPINS}, ptr %patience, align 8
  ret ptr %memory
}}

define weak void @{POOL_PREFIX}pool_hooks(ptr %pool, ptr %wait, ptr %wake, ptr %yield) {{
{hooks}  ret void
}}
"""


def exported_pool_code(target: TargetDescription) -> str:
    """The IR for a target; where it has no threads, `parallel_for` alone."""
    if not has_threads(target.arch):
        return pool_text(target.arch, _PARTS)
    waiting = _WAITING_IN_MEMORY if "atomics" in target.features else _WAITING
    return waiting + pool_text(target.arch, {**UNRECORDED, **_PARTS}) + _setup(target.pointer_bytes)
