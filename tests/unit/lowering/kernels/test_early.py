"""The process that gets ready for kernels while the model is read: same objects, and nothing left behind."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from typing import Any

import pytest
from xdsl.dialects.func import FuncOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.costs.table import overridden
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels import early
from stepwell.lowering.kernels.all_kernels import compile_kernels
from stepwell.lowering.kernels.early import Started, early_process
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.lowering.kernels.kernel_object import Kernels, canonical_text
from stepwell.lowering.kernels.main_code import main_object
from stepwell.lowering.kernels.packed import NotPacked
from stepwell.lowering.kernels.pool_code import pool_of
from stepwell.lowering.kernels.sample import SAMPLE
from stepwell.passes import run_pipeline
from stepwell.passes.context import PassContext
from stepwell.passes.elsewhere import other_process, run_on_copies
from stepwell.passes.instruments import Instrument
from stepwell.passes.pipelines import MAIN_PIPELINE
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.target import target_from
from tests.support.forks import Result, forked

pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks on Linux only")

KERNEL = """
func.func @k0(%x: tensor<64xf32>) -> tensor<64xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %v = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : tensor<64xf32>, vector<64xf32>
  %s = arith.addf %v, %v : vector<64xf32>
  %e = tensor.empty() : tensor<64xf32>
  %y = vector.transfer_write %s, %e[%c0] {in_bounds = [true]} : vector<64xf32>, tensor<64xf32>
  func.return %y : tensor<64xf32>
}
"""
REFUSED = """
func.func @k0(%x: memref<?xf32>) -> index attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %d = memref.dim %x, %c0 : memref<?xf32>
  func.return %d : index
}
"""
MAIN = """
func.func @main(%x: tensor<64xf32>) -> tensor<64xf32> {
  %a = func.call @k0(%x) : (tensor<64xf32>) -> tensor<64xf32>
  %y = func.call @k0(%a) : (tensor<64xf32>) -> tensor<64xf32>
  func.return %y : tensor<64xf32>
}
func.func private @k0(tensor<64xf32>) -> tensor<64xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>}
"""
TARGET = target_from("x86-64-v3")


def kernels_of(**texts: str) -> Kernels:
    """Kernels by name."""
    found: dict[str, tuple[FuncOp, str]] = {}
    for name, text in texts.items():
        func = next(op for op in parse_module(StepwellContext(), text).ops if isinstance(op, FuncOp))
        found[name] = func, canonical_text(func)
    return found


KERNELS = {"a": KERNEL, "b": KERNEL.replace("addf", "mulf"), "c": KERNEL.replace("addf", "subf")}


def in_early_process(act: Callable[[Started], str], program: str | None = None) -> str:
    """What is found with an early process, in a fork of this one, which has no threads; all have ended."""

    def run() -> Result:
        with pytest.MonkeyPatch.context() as patch, overridden(COMPILER, early_cores=1, fork_pays=0):
            patch.setattr(early, "can_fork", lambda: True)
            patch.setattr(early, "is_ready", lambda: False)
            patch.setattr(early, "EARLY_PROGRAM", program or early.EARLY_PROGRAM)
            with early_process(2, lambda: TARGET) as process:
                found = act(Started(early=process))
        with pytest.raises(ChildProcessError):  # none is left
            os.waitpid(-1, os.WNOHANG)
        return 0, found, ""

    status, found, errors = forked(run)
    assert status == 0, errors
    return found


def code_of(started: Started | None, processes: int = 2) -> dict[str, str]:
    """The objects of the kernels."""
    made: list[int] = []
    objects, _ = compile_kernels(
        kernels_of(**KERNELS),
        TARGET,
        None,
        processes=processes,
        started=started,
        progress=lambda done, total: made.append(done),
    )
    assert made == [1, 2, 3] and list(objects) == list(KERNELS)
    return {name: kernel.code.hex() for name, kernel in objects.items()}


@pytest.mark.parametrize("processes", [1, 2])
def test_kernels_are_those_of_this_process(processes: int) -> None:
    def act(started: Started) -> str:
        assert started.early is not None
        compile_kernels(kernels_of(), TARGET, None, started=started)  # nothing to do
        with pytest.MonkeyPatch.context() as patch:  # nothing here
            patch.setitem(sys.modules, "stepwell.lowering.kernels.pool", None)
            found = code_of(started, processes)
        assert started.early.thread_pool(TARGET, records=False) == pool_of(TARGET)
        assert started.early.thread_pool(TARGET, records=False) is None  # it has ended
        assert code_of(started, processes) == found  # here
        return str([*found.values()])

    assert in_early_process(act) == str([*code_of(None, 1).values()])


def test_main_is_compiled_beside_other_work() -> None:
    """Also where the other process has died: then there is no code, and the work is done."""
    module, ctx = parse_module(StepwellContext(), MAIN), StepwellContext()
    ctx.target = TARGET
    run_pipeline(module, MAIN_PIPELINE, ctx)

    def act(started: Started) -> str:
        done: list[str] = []
        assert started.early is not None
        code = started.early.main_object(module, TARGET, [lambda: done.append("done")])
        return f"{done} {None if code is None else code.hex()}"

    assert in_early_process(act, "tests.support.children:die") == "['done'] None"
    assert in_early_process(act) == f"['done'] {main_object(module, ctx).hex()}"


def test_passes_on_copies_are_divided() -> None:
    """Also after the process has died: then this one runs them all."""
    functions = [function for function, _ in kernels_of(**KERNELS).values()]
    ctx, pipeline = StepwellContext(), "unroll-vectors"
    ctx.target = TARGET

    def act(started: Started) -> str:
        assert started.early is not None
        asked: list[int] = []

        def begin(*arguments: Any) -> Callable[[], Sequence[FuncOp] | None]:
            asked.append(len(arguments[0]))
            assert started.early is not None
            return started.early.begin_passes(*arguments)

        with overridden(COMPILER, least_divided=2), other_process(begin):
            made = run_on_copies(functions, pipeline, ctx)
        assert asked == [1]
        return "".join(map(str, made))

    found = "".join(map(str, run_on_copies(functions, pipeline, ctx)))
    assert "vector<8xf32>" in found
    assert in_early_process(act) == found == in_early_process(act, "tests.support.children:die")


def test_kernels_go_as_text_where_there_is_no_other_way() -> None:
    def act(started: Started) -> str:
        def refuse(functions: Sequence[FuncOp]) -> bytes:
            raise NotPacked("a class without a name")

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(early, "packed", refuse)
            return str([*code_of(started, 1).values()])

    assert in_early_process(act) == str([*code_of(None, 1).values()])


def test_a_kernel_that_is_refused_is_the_same_error() -> None:
    def message(started: Started | None) -> str:
        with pytest.raises(StepwellError) as error:
            compile_kernels(kernels_of(a=REFUSED), TARGET, None, processes=1, started=started)
        return f"{error.value.code} {error.value.notes} {error.value.help}"

    assert in_early_process(message) == message(None)


def test_this_process_goes_on_where_the_other_has_ended() -> None:
    def act(started: Started) -> str:
        return str([*code_of(started, 1).values()])

    assert in_early_process(act, "tests.support.children:die") == str([*code_of(None, 1).values()])


def test_a_fault_of_the_other_process_would_be_one_of_this() -> None:
    def act(started: Started) -> str:
        with pytest.raises(InternalError, match="SIGABRT"):
            code_of(started)
        return "as it should"

    assert in_early_process(act, "tests.support.children:crash") == "as it should"


def test_none_is_left_after_an_exception() -> None:
    def act(started: Started) -> str:
        def interrupt() -> None:
            raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            compile_kernels(kernels_of(**KERNELS), TARGET, None, started=started.with_work(interrupt))
        return "interrupted"

    assert in_early_process(act) == "interrupted"


def test_none_starts_where_it_is_of_no_use(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(early, "can_fork", lambda: True)

    def found(ready: bool, processes: int, instruments: Sequence[Instrument] = ()) -> bool:
        monkeypatch.setattr(early, "is_ready", lambda: ready)
        with overridden(COMPILER, early_cores=1), PassContext(instruments=[*instruments]):
            monkeypatch.setattr(early, "Child", lambda *_, **__: _NoChild())
            with early_process(processes, lambda: TARGET) as process:
                return process is not None

    assert found(ready=False, processes=2)
    assert not found(ready=True, processes=2)
    assert not found(ready=False, processes=1)
    assert not found(ready=False, processes=2, instruments=[Instrument()])


class _NoChild:
    is_fork = True

    def kill(self) -> None:
        pass


@pytest.mark.parametrize("mcpu", ["x86-64-v2", "x86-64-v4"])
def test_the_sample_is_compiled(mcpu: str) -> None:
    ctx = StepwellContext()
    assert compile_kernel(lambda: parse_module(ctx, SAMPLE), ctx, target_from(mcpu)).code
