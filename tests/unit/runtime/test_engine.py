"""Targets, loading machine code, and the thread pool."""

from __future__ import annotations

import ctypes
import os
import re
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import numpy as np
import pytest

from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.lowering.kernels.pool_code import pool_code
from stepwell.runtime.abi import CTX_BYTES, WORD_BYTES, CtxField
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.demands import check_features, missing_features
from stepwell.runtime.machine.loader import Library, linked, load_objects
from stepwell.runtime.machine.pool import Pool, get_pool
from stepwell.runtime.machine.pool_state import RING_RECORDS, WORKER_SPINS
from stepwell.runtime.machine.target import host_target, target_from
from tests.support.native_code import host_pool
from tests.support.samples import whole

ADD_ONE = """
define void @add_one(ptr %arg, i64 %begin, i64 %end) {
entry:
  br label %loop
loop:
  %i = phi i64 [ %begin, %entry ], [ %next, %loop ]
  %p = getelementptr i64, ptr %arg, i64 %i
  %old = atomicrmw add ptr %p, i64 1 monotonic
  %next = add i64 %i, 1
  %more = icmp slt i64 %next, %end
  br i1 %more, label %loop, label %done
done:
  ret void
}
define void @nested(ptr %arg, i64 %begin, i64 %end) {
  %run = load ptr, ptr %arg
  %counts = getelementptr i64, ptr %arg, i64 8
  call void %run(ptr %arg, ptr @add_one, ptr %counts, i64 5)
  ret void
}
"""


def test_levels_of_features() -> None:
    v2, v3, v4 = (target_from(f"x86-64-{level}") for level in ("v2", "v3", "v4"))
    assert (v2.vector_bytes, v3.vector_bytes, v4.vector_bytes) == (16, 32, 64)
    assert not v2.has_fma and v3.has_fma and v4.vector_registers == 32
    assert set(v2.features) < set(v3.features) < set(v4.features)
    assert v3.lanes(4) == 8 and v3.feature_string.startswith("+avx,")
    arm = target_from("aarch64")
    assert arm.arch == "aarch64" and arm.has_fma and arm.vector_bytes == 16
    assert target_from() == host_target() and host_target().cores >= 1


def test_unknown_target_names_the_known_ones() -> None:
    with pytest.raises(StepwellError, match="unknown-target.*pentium") as caught:
        target_from("pentium")
    assert "x86-64-v3" in (caught.value.help or "")


def test_code_for_another_cpu_is_refused() -> None:
    host = host_target()
    check_features(host.triple, host.features)
    assert missing_features(host.triple, [*host.features, "quantum"]) == ("quantum",)
    with pytest.raises(StepwellError, match="wrong-cpu.*quantum"):
        check_features(host.triple, ["quantum"])
    with pytest.raises(StepwellError, match="wrong-cpu"):
        check_features("riscv64-unknown-linux-gnu", [])


def test_objects_of_one_library_see_each_other() -> None:
    caller = "declare i32 @g(i32)\ndefine i32 @f(i32 %x) {\n%y = call i32 @g(i32 %x)\nret i32 %y }"
    callee = "define i32 @g(i32 %x) {\n%y = add i32 %x, 4\nret i32 %y }"
    objects = [compile_to_object(text, host_target(), optimize=False) for text in (caller, callee)]
    library = load_objects(objects)
    assert ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_int32)(library.address("f"))(3) == 7
    with pytest.raises(InternalError, match="nowhere"):
        library.address("nowhere")
    with pytest.raises(InternalError, match="nothing defines the symbol 'g'"):
        load_objects(objects[:1])


@pytest.mark.parametrize("data", [b"", b"no object at all", b"\x7fELF" + bytes(200)])
def test_damaged_objects_are_errors(data: bytes) -> None:
    with pytest.raises(InternalError, match="could not be (loaded|linked)"):
        load_objects([data]).address("f")


def test_text_that_llvm_refuses_is_an_internal_error() -> None:
    with pytest.raises(InternalError, match="LLVM refuses"):
        compile_to_object("define i32 @f( {", host_target(), optimize=False)


class Runner:
    """Calls parallel loops on counters."""

    def __init__(self, pool: Pool):
        self._library: Library = load_objects([compile_to_object(ADD_ONE, host_target(), optimize=False)])
        signature = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64)
        self._parallel_for = signature(pool.parallel_for_address)
        self.ctx = np.zeros(CTX_BYTES // WORD_BYTES + 16, np.uint64)
        self.ctx[CtxField.PARALLEL_FOR], self.ctx[CtxField.POOL] = (
            pool.parallel_for_address,
            pool.state_address,
        )

    def count(self, chunks: int, rounds: int) -> None:
        """Every chunk runs exactly once in each round."""
        counters = np.zeros(chunks + 4, np.int64)
        for _ in range(rounds):
            self.run("add_one", counters.ctypes.data, chunks)
        np.testing.assert_array_equal(counters, [rounds] * chunks + [0] * 4)

    def run(self, body: str, arg: int, chunks: int) -> None:
        """One parallel loop."""
        self._parallel_for(self.ctx.ctypes.data, self._library.address(body), arg, chunks)


@pytest.fixture(params=[(2, False), (5, False), (5, True)])
def runner(request: pytest.FixtureRequest) -> Iterator[Runner]:
    threads, records = request.param
    yield Runner(host_pool(threads, records=records))


@pytest.mark.parametrize("chunks", [1, 2, 3, 16, 1000])
def test_every_chunk_runs_once(runner: Runner, chunks: int) -> None:
    runner.count(chunks, 200)


def test_workers_that_sleep_are_woken(runner: Runner) -> None:
    for _ in range(5):
        time.sleep(0.02)
        runner.count(16, 3)


def test_workers_look_for_work_as_long_as_their_patience() -> None:
    """Between the parallel kernels of a model they do not sleep; afterwards they do."""
    workers = host_pool(2).workers
    workers.set_patience(1 << 40)
    try:
        runner = Runner(host_pool(2))
        runner.count(16, 3)
        before = workers.asleep  # those of other pools, maybe
        for _ in range(50):
            runner.count(16, 3)
            time.sleep(0.001)
        assert workers.asleep <= before
        workers.set_patience(1)
        waited = time.monotonic()
        while not workers.asleep and time.monotonic() - waited < 30:
            time.sleep(0.001)
        assert workers.asleep
    finally:
        workers.set_patience(WORKER_SPINS)


def test_nested_loops_run_on_their_thread(runner: Runner) -> None:
    runner.run("nested", runner.ctx.ctypes.data, 7)
    np.testing.assert_array_equal(runner.ctx[8:13], [7] * 5)


def test_callers_from_several_threads(runner: Runner) -> None:
    failures: list[BaseException] = []

    def call() -> None:
        try:
            runner.count(16, 500)
        except AssertionError as error:
            failures.append(error)

    threads = [threading.Thread(target=call) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="chunks are recorded on Linux")
def test_chunks_are_recorded_where_they_run() -> None:
    pool = host_pool(3, records=True)
    runner = Runner(pool)
    pool.workers.take_chunks()
    before = time.perf_counter_ns()
    runner.count(100, 5)
    after = time.perf_counter_ns()
    threads = pool.workers.take_chunks()
    found = [chunk for thread in threads for chunk in thread]
    assert sorted(chunk.chunk for chunk in found) == sorted([*range(100)] * 5)
    for thread in threads:
        times = [each for chunk in thread for each in (chunk.begin, chunk.end)]
        assert times == sorted(times) and all(before <= each <= after for each in times)
    assert threads[0] and not any(pool.workers.take_chunks())
    assert not host_pool(3).workers.take_chunks()


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="chunks are recorded on Linux")
def test_a_full_ring_has_the_last_chunks() -> None:
    pool = host_pool(2, records=True)
    runner = Runner(pool)
    pool.workers.take_chunks()
    chunks = 3 * RING_RECORDS
    runner.count(chunks, 1)
    caller, *others = pool.workers.take_chunks()
    (worker,) = [each for each in others if each] or [[]]  # any of those of larger pools, or none in time
    assert RING_RECORDS in (len(caller), len(worker)) and len(caller) + len(worker) <= 2 * RING_RECORDS
    assert [c.chunk for c in caller] == sorted(c.chunk for c in caller)
    assert [c.chunk for c in worker] == sorted((c.chunk for c in worker), reverse=True)


def test_pools_of_other_code_have_workers_of_their_own() -> None:
    target = target_from("x86-64" if host_target().arch == "x86_64" else "aarch64")
    pools = [
        compile_to_object(pool_code(target.arch, is_linux), target, optimize=False)
        for is_linux in (False, True)
    ]
    first, second = (get_pool(linked([pool]), 2) for pool in pools)
    assert first is get_pool(linked([pools[0]]), 2) and first is not second


def test_a_loop_is_closed_by_the_bit_that_opened_it() -> None:
    """It is below the number of the loop, and above the workers that are inside."""
    text = pool_code("x86_64", is_linux=True)
    opened, tested = (
        re.findall(rf"%{name} = {op} i64 %\w+, (-?\d+)", text)
        for name, op in (("opened", "or"), ("open", "and"))
    )
    (closed,) = re.findall(r"%closed = atomicrmw and ptr %state, i64 (-?\d+)", text)
    assert opened == tested == [str(1 << 31)] and int(closed) == ~(1 << 31)


def test_threads_are_bounded() -> None:
    assert host_pool(2) is host_pool(2)
    with pytest.raises(ValueError, match="between 1 and"):
        host_pool(0)
    with pytest.raises(ValueError, match="between 1 and"):
        host_pool(100_000)


@pytest.mark.parametrize("arch", ["x86_64", "aarch64"])
@pytest.mark.parametrize("is_linux", [True, False])
@pytest.mark.parametrize("records", [True, False])
def test_pool_code_compiles_everywhere(arch: str, is_linux: bool, records: bool) -> None:
    target = target_from("x86-64-v2" if arch == "x86_64" else "aarch64")
    code = compile_to_object(pool_code(arch, is_linux, records), target, optimize=False)
    assert code.startswith(b"\x7fELF")


SCRIPT = """
import os, sys, warnings
# From 3.12 on Python warns of every fork with threads around; that the pool survives it is what is tested.
warnings.simplefilter("ignore", DeprecationWarning)
from tests.support.native_code import host_pool
from tests.unit.runtime.test_engine import Runner
runner = Runner(host_pool(3, records=sys.argv[1] == "1"))
runner.count(16, 10)
if hasattr(os, "fork"):
    child = os.fork()
    runner.count(16, 200)
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
print("done")
"""


@pytest.mark.parametrize("records", [pytest.param("0", marks=whole), "1"])
def test_a_process_forks_and_ends_cleanly(records: str) -> None:
    outcome = subprocess.run(
        [sys.executable, "-c", SCRIPT, records],
        capture_output=True,
        text=True,
        timeout=60,
        env=dict(os.environ),
    )
    assert (outcome.returncode, outcome.stdout, outcome.stderr) == (0, "done\n", "")
