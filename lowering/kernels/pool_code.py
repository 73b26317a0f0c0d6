"""
The thread pool's native side as LLVM IR: `parallel_for`, the loop of workers, and waiting in both.

    state = epoch << 32 | open << 31 | active
    run:    write the job; taken = 0; state = (epoch + 1, open, 0); wake sleepers
            take chunks until none is left; clear `open`; wait until active == 0
    worker: sees a new epoch -> where it is open, active + 1 (checks in); takes chunks; active - 1
            no news for a while -> sleepers + 1, looks again, sleeps until the epoch changes

The caller waits only for workers that checked in, so one that is descheduled, parked or lost in a fork costs
time and never hangs. The caller takes chunks from the front and workers take them from the back. So most
elements that a thread reads in one loop are those that it wrote in the loop before, still in its own cache
(shufflenet on two threads: 2.7 to 2.4 ms). Each field that several threads write has a cache line of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cache
from string import Template
from time import CLOCK_MONOTONIC

from stepwell.dialects.costs.kernels import THREADS
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.abi import WORD_BYTES, CtxField
from stepwell.runtime.link.code import Code
from stepwell.runtime.machine.loader import linked
from stepwell.runtime.machine.pool_state import (
    RECORD_BYTES,
    RECORDING_WORKER,
    RING_RECORDS,
    WORKER,
    RecordField,
    RingField,
    StateField,
)
from stepwell.runtime.machine.target import TargetDescription
from stepwell.runtime.targets.triples import has_threads

_LINUX_FUTEX = {"x86_64": 202, "aarch64": 98, "riscv64": 98}

_SLEEP_LINUX = """
declare i64 @syscall(i64, ...)
define internal void @sleep_while(ptr %word, i32 %value) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 128, i32 %value, ptr null)
  ret void
}
define internal void @wake(ptr %word, i32 %count) {
  %r = call i64 (i64, ...) @syscall(i64 $futex, ptr %word, i32 129, i32 %count)
  ret void
}
"""
# On systems without a futex that we know, sleepers look again every 50 us.
_SLEEP_PORTABLE = """
declare i32 @usleep(i32)
define internal void @sleep_while(ptr %word, i32 %value) {
  %r = call i32 @usleep(i32 50)
  ret void
}
define internal void @wake(ptr %word, i32 %count) {
  ret void
}
"""
# RISC-V has an instruction for it with an extension only, WebAssembly has none.
_PAUSE = {
    "x86_64": "call void @llvm.x86.sse2.pause()",
    "aarch64": "call void @llvm.aarch64.hint(i32 1)",
    "armv7": "call void @llvm.arm.hint(i32 1)",
    "riscv64": "",
    "wasm32": "",
}
_PAUSE_DECLARATION = {
    "armv7": "declare void @llvm.arm.hint(i32)",
    "riscv64": "",
    "wasm32": "",
    "x86_64": "declare void @llvm.x86.sse2.pause()",
    "aarch64": "declare void @llvm.aarch64.hint(i32)",
}

_CODE = Template("""
$yield_declaration
define internal void @pause(${state}i64 %spins) {
entry:
  $pause
  %since = urem i64 %spins, $spins_a_yield
  %due = icmp eq i64 %since, $last_spin
  br i1 %due, label %yield, label %done
yield:
$yield
  br label %done
done:
  ret void
}

define internal void @take_chunks(ptr %state, ptr %body, ptr %arg, i64 %chunks, i64 %one$ring_parameter) {
entry:
  %taken.slot = getelementptr i8, ptr %state, i64 $TAKEN
  %from.front = icmp eq i64 %one, 1
  br label %take
take:
  %taken = atomicrmw add ptr %taken.slot, i64 %one acq_rel
  %front = and i64 %taken, 4294967295
  %behind = lshr i64 %taken, 32
  %both = add i64 %front, %behind
  %left = icmp slt i64 %both, %chunks
  br i1 %left, label %run, label %done
run:
  %last = sub i64 %chunks, 1
  %back = sub i64 %last, %behind
  %chunk = select i1 %from.front, i64 %front, i64 %back
  %end = add i64 %chunk, 1
$begin_record  call void %body(ptr %arg, i64 %chunk, i64 %end)
$end_record  br label %take
done:
  ret void
}

define $linkage void @$parallel_for(ptr %ctx, ptr %body, ptr %arg, i64 %chunks) {
entry:
  %slot = getelementptr i8, ptr %ctx, i64 $POOL
  %handle = load ptr, ptr %slot, align 8
  %none = icmp eq ptr %handle, null
  %few = icmp slt i64 %chunks, 2
  %alone = or i1 %none, %few
  br i1 %alone, label %serial, label %claim
claim:
  %state = load ptr, ptr %handle, align 8
  %limit.slot = getelementptr i8, ptr %handle, i64 8
  %limit = load i64, ptr %limit.slot, align 8
  %busy = getelementptr i8, ptr %state, i64 $BUSY
  %try = cmpxchg ptr %busy, i32 0, i32 1 acquire monotonic
  %owned = extractvalue { i32, i1 } %try, 1
  br i1 %owned, label %publish, label %serial
serial:
  call void %body(ptr %arg, i64 0, i64 %chunks)
  ret void
publish:
  %body.slot = getelementptr i8, ptr %state, i64 $BODY
  store ptr %body, ptr %body.slot, align 8
  %arg.slot = getelementptr i8, ptr %state, i64 $ARG
  store ptr %arg, ptr %arg.slot, align 8
  %chunks.slot = getelementptr i8, ptr %state, i64 $CHUNKS
  store i64 %chunks, ptr %chunks.slot, align 8
  %job.limit = getelementptr i8, ptr %state, i64 $LIMIT
  store i64 %limit, ptr %job.limit, align 8
  %taken = getelementptr i8, ptr %state, i64 $TAKEN
  store i64 0, ptr %taken, align 8
  %old = load atomic i64, ptr %state monotonic, align 8
  %old.epoch = lshr i64 %old, 32
  %new.epoch = add i64 %old.epoch, 1
  %shifted = shl i64 %new.epoch, 32
  %opened = or i64 %shifted, $OPEN
  %ignored = atomicrmw xchg ptr %state, i64 %opened seq_cst
  %sleepers = getelementptr i8, ptr %state, i64 $SLEEPERS
  %asleep = load atomic i32, ptr %sleepers seq_cst, align 4
  %any = icmp sgt i32 %asleep, 0
  br i1 %any, label %rouse, label %work
rouse:
  %epoch.word = getelementptr i8, ptr %state, i64 $EPOCH
  %count = trunc i64 %limit to i32
  call void @wake(${state}ptr %epoch.word, i32 %count)
  br label %work
work:
$load_ring  call void @take_chunks(ptr %state, ptr %body, ptr %arg, i64 %chunks, i64 1$ring)
  %closed = atomicrmw and ptr %state, i64 $NOT_OPEN seq_cst
  br label %wait
wait:
  %spins = phi i64 [ 0, %work ], [ %spins.next, %spin ], [ 0, %slept ]
  %now = load atomic i64, ptr %state acquire, align 8
  %active = and i64 %now, $ACTIVE
  %idle = icmp eq i64 %active, 0
  br i1 %idle, label %done, label %spin
spin:
  call void @pause(${state}i64 %spins)
  %spins.next = add i64 %spins, 1
  %patient = icmp ult i64 %spins.next, $caller_spins
  br i1 %patient, label %wait, label %doze
doze:
  %waiting = getelementptr i8, ptr %state, i64 $WAITING
  store atomic i32 1, ptr %waiting seq_cst, align 4
  %then = load atomic i64, ptr %state seq_cst, align 8
  %low = trunc i64 %then to i32
  %still = icmp ne i32 %low, 0
  br i1 %still, label %sleep, label %slept
sleep:
  call void @sleep_while(${state}ptr %state, i32 %low)
  br label %slept
slept:
  store atomic i32 0, ptr %waiting seq_cst, align 4
  br label %wait
done:
  store atomic i32 0, ptr %busy release, align 4
  ret void
}

define $linkage void @$worker(ptr $worker_argument) {
entry:
$load_state  %stop.slot = getelementptr i8, ptr %state, i64 $STOP
  %epoch.word = getelementptr i8, ptr %state, i64 $EPOCH
  %sleepers = getelementptr i8, ptr %state, i64 $SLEEPERS
  %spins.slot = getelementptr i8, ptr %state, i64 $WORKER_SPINS_SLOT
  %body.slot = getelementptr i8, ptr %state, i64 $BODY
  %arg.slot = getelementptr i8, ptr %state, i64 $ARG
  %chunks.slot = getelementptr i8, ptr %state, i64 $CHUNKS
  %limit.slot = getelementptr i8, ptr %state, i64 $LIMIT
  %waiting = getelementptr i8, ptr %state, i64 $WAITING
  br label %look
look:
  %seen = phi i32 [ 0, %entry ], [ %seen, %spin ], [ %seen, %woken ], [ %epoch, %missed ], [ %epoch, %left ]
  %spins = phi i64 [ 0, %entry ], [ %spins.next, %spin ], [ 0, %woken ], [ 0, %missed ], [ 0, %left ]
  %stop = load atomic i32, ptr %stop.slot acquire, align 4
  %stopped = icmp ne i32 %stop, 0
  br i1 %stopped, label %end, label %check
check:
  %word = load atomic i64, ptr %state acquire, align 8
  %high = lshr i64 %word, 32
  %epoch = trunc i64 %high to i32
  %news = icmp ne i32 %epoch, %seen
  br i1 %news, label %arrive, label %spin_or_sleep
spin_or_sleep:
  %spins.next = add i64 %spins, 1
  %patience = load i64, ptr %spins.slot, align 8
  %patient = icmp ult i64 %spins.next, %patience
  br i1 %patient, label %spin, label %doze
spin:
  call void @pause(${state}i64 %spins)
  br label %look
doze:
  %more = atomicrmw add ptr %sleepers, i32 1 seq_cst
  %again = load atomic i32, ptr %epoch.word seq_cst, align 4
  %quiet = icmp eq i32 %again, %seen
  br i1 %quiet, label %sleep, label %woken
sleep:
  call void @sleep_while(${state}ptr %epoch.word, i32 %seen)
  br label %woken
woken:
  %fewer = atomicrmw sub ptr %sleepers, i32 1 seq_cst
  br label %look
arrive:
  %current = phi i64 [ %word, %check ], [ %observed, %retry ]
  %open = and i64 %current, $OPEN
  %is.open = icmp ne i64 %open, 0
  br i1 %is.open, label %room, label %missed
room:
  %limit = load atomic i64, ptr %limit.slot monotonic, align 8
  %inside = and i64 %current, $ACTIVE
  %free = icmp slt i64 %inside, %limit
  br i1 %free, label %enter, label %missed
enter:
  %wanted = add i64 %current, 1
  %try = cmpxchg ptr %state, i64 %current, i64 %wanted acq_rel acquire
  %observed = extractvalue { i64, i1 } %try, 0
  %entered = extractvalue { i64, i1 } %try, 1
  br i1 %entered, label %work, label %retry
retry:
  %observed.high = lshr i64 %observed, 32
  %observed.epoch = trunc i64 %observed.high to i32
  %same = icmp eq i32 %observed.epoch, %epoch
  br i1 %same, label %arrive, label %missed
missed:
  br label %look
work:
  %body = load ptr, ptr %body.slot, align 8
  %arg = load ptr, ptr %arg.slot, align 8
  %chunks = load i64, ptr %chunks.slot, align 8
  call void @take_chunks(ptr %state, ptr %body, ptr %arg, i64 %chunks, i64 4294967296$ring)
  %before = atomicrmw sub ptr %state, i64 1 seq_cst
  %others = and i64 %before, $ACTIVE
  %last = icmp eq i64 %others, 1
  br i1 %last, label %notify, label %left
notify:
  %caller = load atomic i32, ptr %waiting seq_cst, align 4
  %sleeping = icmp ne i32 %caller, 0
  br i1 %sleeping, label %call, label %left
call:
  call void @wake(${state}ptr %state, i32 1)
  br label %left
left:
  br label %look
end:
  ret void
}

define $linkage void @$stop(ptr $stopped) {
$stopped_state  %stop.slot = getelementptr i8, ptr %state, i64 $STOP
  store atomic i32 1, ptr %stop.slot seq_cst, align 4
  %bumped = atomicrmw add ptr %state, i64 4294967296 seq_cst
  %epoch.word = getelementptr i8, ptr %state, i64 $EPOCH
  call void @wake(${state}ptr %epoch.word, i32 2147483647)
  ret void
}
$pause_declaration
""")

# The same function for machines with one thread: the caller takes all chunks.
_ALONE = Template("""
define $linkage void @$parallel_for(ptr %ctx, ptr %body, ptr %arg, i64 %chunks) {
  call void %body(ptr %arg, i64 0, i64 %chunks)
  ret void
}
""")

# What records the begin and end of each chunk in the ring of its thread, and the code that does not.
UNRECORDED: Mapping[str, str] = dict.fromkeys(
    ("ring_parameter", "ring", "load_ring", "begin_record", "end_record", "load_state"), ""
) | {"worker": WORKER, "worker_argument": "%state"}
"""The parts of a pool that does not record the times of chunks."""
_OF_THE_SYSTEM = {
    "state": "",
    "linkage": "",
    "parallel_for": "stepwell_parallel_for",
    "stop": "stepwell_stop",
    "stopped": "%state",
    "stopped_state": "",
    "yield": "  %ignored = call i32 @sched_yield()",
    "yield_declaration": "declare i32 @sched_yield()",
}
_RECORDED = {
    "ring_parameter": ", ptr %ring",
    "ring": ", ptr %ring",
    "worker": RECORDING_WORKER,
    "worker_argument": "%ring",
    "load_state": "  %state = load ptr, ptr %ring, align 8\n",
    "load_ring": f"""\
  %ring.slot = getelementptr i8, ptr %state, i64 {StateField.CHUNK_TIMES:d}
  %ring = load ptr, ptr %ring.slot, align 8
""",
    "begin_record": f"""\
  %count.slot = getelementptr i8, ptr %ring, i64 {RingField.COUNT:d}
  %count = load i64, ptr %count.slot, align 8
  %index = urem i64 %count, {RING_RECORDS}
  %offset = mul i64 %index, {RECORD_BYTES}
  %records = getelementptr i8, ptr %ring, i64 {RingField.RECORDS:d}
  %record = getelementptr i8, ptr %records, i64 %offset
  store ptr %body, ptr %record, align 8
  %chunk.slot = getelementptr i8, ptr %record, i64 {RecordField.CHUNK:d}
  store i64 %chunk, ptr %chunk.slot, align 8
  %clock.slot = getelementptr i8, ptr %ring, i64 {RingField.CLOCK:d}
  %clock = load ptr, ptr %clock.slot, align 8
  %begin.slot = getelementptr i8, ptr %record, i64 {RecordField.BEGIN:d}
  %begun = call i32 %clock(i32 {CLOCK_MONOTONIC}, ptr %begin.slot)
""",
    "end_record": f"""\
  %end.slot = getelementptr i8, ptr %record, i64 {RecordField.END:d}
  %ended = call i32 %clock(i32 {CLOCK_MONOTONIC}, ptr %end.slot)
  %more = add i64 %count, 1
  store i64 %more, ptr %count.slot, align 8
""",
}


def pool_code(arch: str, is_linux: bool, records: bool = False) -> str:
    """
    The IR for an architecture.

    Args: `records`: whether threads record the begin and end of each chunk.
    """
    if not has_threads(arch):
        return pool_text(arch, _OF_THE_SYSTEM)
    futex = _LINUX_FUTEX.get(arch) if is_linux else None
    sleep = _SLEEP_PORTABLE if futex is None else Template(_SLEEP_LINUX).substitute(futex=futex)
    return sleep + pool_text(arch, {**_OF_THE_SYSTEM, **(_RECORDED if records else UNRECORDED)})


def pool_text(arch: str, parts: Mapping[str, str]) -> str:
    """
    The IR for an architecture without the functions by which threads sleep and wake.

    Args: `parts` are the names of its functions, and what differs between the pools of a process and of an
    exported file. Without threads there is `parallel_for` alone.
    """
    if not has_threads(arch):
        return _ALONE.substitute(parts)
    fields = {field.name: field.value for field in StateField if field is not StateField.WORKER_SPINS}
    return _CODE.substitute(
        {**fields, **parts},
        WORKER_SPINS_SLOT=int(StateField.WORKER_SPINS),
        POOL=CtxField.POOL * WORD_BYTES,
        OPEN=1 << 31,
        NOT_OPEN=~(1 << 31),
        ACTIVE=(1 << 31) - 1,
        caller_spins=THREADS.caller_spins,
        spins_a_yield=THREADS.spins_a_yield,
        last_spin=THREADS.spins_a_yield - 1,
        pause=_PAUSE[arch],
        pause_declaration=_PAUSE_DECLARATION[arch],
    )


def pool_of(target: TargetDescription, *, records: bool = False) -> Code:
    """
    The thread pool's machine code for the system of a target.

    It is the same for all CPUs of an architecture: models for different ones share the pool of a process.
    Args: `records`: whether threads record the begin and end of each chunk, which they do on Linux only.
    """
    is_linux = "linux" in target.triple
    text = pool_code(target.arch, is_linux, records and is_linux)
    return _compiled(text, replace(target, features=()))


@cache
def _compiled(text: str, target: TargetDescription) -> Code:
    return linked([compile_to_object(text, target, optimize=False)])
