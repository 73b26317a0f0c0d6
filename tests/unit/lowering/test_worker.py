"""Kernels that a worker process compiles from text are those that the compiler would compile itself."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from threading import Event
from typing import Any
from weakref import ref

import pytest
from xdsl.dialects.arith import CmpfOp, CmpiOp
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.func import FuncOp

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.costs.kernels import COMPILER
from stepwell.dialects.costs.table import overridden
from stepwell.dialects.parser import parse_module
from stepwell.lowering.kernels import pool
from stepwell.lowering.kernels import worker as worker_module
from stepwell.lowering.kernels.all_kernels import compile_kernels, workers_for
from stepwell.lowering.kernels.early import Started, started
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.lowering.kernels.kernel_object import KernelObject, canonical_text
from stepwell.lowering.kernels.worker import Worker
from stepwell.passes.context import PassContext
from stepwell.passes.instruments import Instrument
from stepwell.passes.registry import load_pass
from stepwell.runtime.child import ChildError
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.machine.target import TargetDescription, target_from
from stepwell.tools.driver import image
from stepwell.tools.driver.plugins import load_plugin
from tests.onnx_models import onnx_model
from tests.support.forks import Result, forked
from tests.support.kernel_workers import compile_kernels_here
from tests.support.samples import whole

KERNEL = """
func.func @k0(%x: tensor<16xf32>) -> tensor<16xf32>
    attributes {sched.kernel = #sched.kernel<inputs = 1, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %lowest = arith.constant dense<0xff800000> : vector<16xf32>
  %v = vector.transfer_read %x[%c0], %zero {in_bounds = [true]} : tensor<16xf32>, vector<16xf32>
  %c = arith.cmpf ogt, %v, %lowest : vector<16xf32>
  %m = arith.select %c, %v, %lowest : vector<16xi1>, vector<16xf32>
  %e = tensor.empty() : tensor<16xf32>
  %y = vector.transfer_write %m, %e[%c0] {in_bounds = [true]} : vector<16xf32>, tensor<16xf32>
  func.return %y : tensor<16xf32>
}
"""

WIDE = KERNEL.replace("16x", "64x").replace("<16", "<64")

REFUSED = """
func.func @k0(%x: memref<?xf32>) -> index attributes {sched.kernel = #sched.kernel<inputs = 0, outputs = 1>} {
  %c0 = arith.constant 0 : index
  %d = memref.dim %x, %c0 : memref<?xf32>
  func.return %d : index
}
"""


@pytest.fixture(scope="module")
def plain_worker() -> Iterator[Worker]:
    """A worker without plugins, in the default pass context."""
    worker = Worker(PassContext())
    yield worker
    worker.close()


def test_infinity_in_all_lanes_reaches_a_worker(plain_worker: Worker) -> None:
    target, ctx = target_from("x86-64-v3"), StepwellContext()
    there = plain_worker.compile("k0", f"builtin.module {{{KERNEL}}}", target)
    here = compile_kernel(lambda: parse_module(ctx, KERNEL), ctx, target)
    assert there.code == here.code


def test_an_error_in_a_worker_is_the_error_of_the_kernel_with_its_help(plain_worker: Worker) -> None:
    target, ctx = target_from("x86-64-v3"), StepwellContext()
    with pytest.raises(StepwellError) as there:
        plain_worker.compile("k0", f"builtin.module {{{REFUSED}}}", target)
    with pytest.raises(StepwellError) as here:
        compile_kernel(lambda: parse_module(ctx, REFUSED), ctx, target)
    assert here.value.help
    assert there.value.help == here.value.help
    assert (there.value.code, there.value.notes) == (here.value.code, here.value.notes)


@pytest.mark.parametrize(("fewest", "is_freed"), [(1, True), (100_000, False)])
def test_the_ir_of_compiled_kernels_is_freed(
    fewest: int, is_freed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From so many objects on, also where the collector is off: a model's kernels would fill the memory."""
    made: list[ref[ModuleOp]] = []

    def compile_one(make: Callable[[], ModuleOp], *_: object) -> KernelObject:
        module = make()
        made.append(ref(module))
        return KernelObject(b"", {})

    monkeypatch.setattr(pool, "compile_kernel", compile_one)
    func = next(op for op in parse_module(StepwellContext(), KERNEL).ops if isinstance(op, FuncOp))
    with collector_paused(), overridden(COMPILER, freed_objects=fewest):
        compile_kernels({"a": (func, "")}, target_from("x86-64-v3"), None, processes=1)
        assert [module() is None for module in made] == [is_freed]


@whole
def test_processes_that_started_early_are_used_or_ended() -> None:
    with overridden(COMPILER, worker_pays=0, nodes_a_worker=20):
        assert (workers_for(39, 8), workers_for(100, 4), workers_for(100, 1)) == (1, 3, 0)
        with PassContext(instruments=[Instrument()]):
            assert workers_for(100, 4) == 0
        func = next(op for op in parse_module(StepwellContext(), KERNEL).ops if isinstance(op, FuncOp))
        kernels = {key: (func, canonical_text(func)) for key in ("a", "b")}
        with started(2) as children:
            unused, used = children
            objects, _ = compile_kernels(
                kernels, target_from("x86-64-v3"), None, processes=2, started=Started(children)
            )
            assert children == [unused] and objects["a"].code == objects["b"].code
    for child in (unused, used):
        with pytest.raises(ChildError):
            child.ask({})


def test_tests_switch_worker_processes_off_for_good() -> None:
    """In a fork, as it lasts to the end of a process: they would start more of them than there are cores."""

    def run() -> Result:
        compile_kernels_here()
        return workers_for(100_000, 8), str(COMPILER.worker_pays == sys.maxsize), ""

    assert forked(run) == (0, "True", "")


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks on Linux only")
def test_forks_share_the_imports_of_passes() -> None:
    """Their parent imports them once for all, when there are kernels: no process starts before that."""
    code = """
import sys
from stepwell.lowering.kernels.early import started
from stepwell.lowering.kernels.worker import forked
with started(2) as children:
    print(len(children), "stepwell.lowering.bufferize.bufferize" in sys.modules)
child = forked({})
print(child.is_fork, "stepwell.lowering.bufferize.bufferize" in sys.modules)
child.close()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["0", "False", "True", "True"]


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="forks on Linux only")
def test_a_fork_compiles_kernels_of_its_parent_without_their_text(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a fork, as the process of the tests has threads; those of models that ran start again in it."""
    monkeypatch.setattr(worker_module, "can_fork", lambda: True)
    target, ctx = target_from("x86-64-v3"), StepwellContext()
    names = {"a": KERNEL, "b": KERNEL.replace("ogt", "olt")}
    functions = {
        k: next(op for op in parse_module(ctx, t).ops if isinstance(op, FuncOp)) for k, t in names.items()
    }
    here = {k: compile_kernel(partial(parse_module, ctx, t), ctx, target).code for k, t in names.items()}

    def run() -> Result:
        worker = Worker(PassContext(), worker_module.forked(functions))
        there = {key: worker.compile(key, "", target).code for key in functions}
        worker.close()
        with overridden(COMPILER, worker_pays=0):
            kernels = {key: (func, canonical_text(func)) for key, func in functions.items()}
            objects, _ = compile_kernels(kernels, target, None, processes=2)
        with pytest.raises(ChildProcessError):  # none is left
            os.waitpid(-1, os.WNOHANG)
        same = there == here == {key: kernel.code for key, kernel in objects.items()}
        return int(worker.has_kernels), str(same), ""

    assert here["a"] != here["b"]
    assert forked(run) == (1, "True", "")


@pytest.mark.parametrize("defect", ["broken_pass", pytest.param("broken_printer", marks=whole)])
def test_a_worker_reports_a_defect_of_ours(defect: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "PROGRAM", f"tests.support.children:{defect}")
    worker = Worker(PassContext())
    errors: list[InternalError] = []
    try:
        for _ in range(2):  # the worker goes on after an error
            with pytest.raises(InternalError, match="KeyError: 'a defect'") as caught:
                worker.compile("k0", f"builtin.module {{{KERNEL}}}", target_from("x86-64-v3"))
            errors.append(caught.value)
    finally:
        worker.close()
    for error in errors:
        assert error.where == "kernel k0" and "please report it" in str(error)
        assert (error.reproducer is not None) == (defect == "broken_pass")


PLUGIN = """
from stepwell.patterns import register_predicate
from stepwell.passes.instruments import Instrument
from stepwell.passes.registry import load_pass
from stepwell.runtime.child import ChildError
print("this is printed to standard output")
register_predicate("{name}.any")(len)
Unroll = load_pass("unroll-vectors")
def fail(self, ctx, op):
    raise ValueError("the pass of the plugin runs")
Unroll.apply = fail
"""


@whole
def test_a_worker_has_the_plugins_of_its_parent(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """A pass that a plugin has changed in this process alone would not be noticed there."""
    (plugin := tmp_path / "worker_plugin.py").write_text(PLUGIN.format(name="worker_plugin"))
    unroll = load_pass("unroll-vectors")
    plain = unroll.apply
    try:
        load_plugin(str(plugin))
    finally:
        unroll.apply = plain
    worker = Worker(PassContext())
    try:
        with pytest.raises(StepwellError, match="ValueError: the pass of the plugin runs"):
            worker.compile("k0", f"builtin.module {{{KERNEL}}}", target_from("x86-64-v3"))
    finally:
        worker.close()
    assert "this is printed" in capfd.readouterr().err
    plugin.write_text("# another one\n" + PLUGIN.format(name="worker_plugin"))
    changed = Worker(PassContext())
    changed.close()
    assert f"it has changed since it was loaded\n  --> {plugin}" in str(changed.refusal)


def test_a_worker_has_the_pass_context_of_its_parent() -> None:
    worker = Worker(PassContext(disabled_pass=["unroll-vectors"], config={"fuse-ops.max-ops": 3}))
    target, ctx = target_from("x86-64-v3"), StepwellContext()
    try:
        there = worker.compile("k0", f"builtin.module {{{WIDE}}}", target)
    finally:
        worker.close()
    assert there.code != compile_kernel(lambda: parse_module(ctx, WIDE), ctx, target).code
    with PassContext(disabled_pass=["unroll-vectors"]):
        assert there.code == compile_kernel(lambda: parse_module(ctx, WIDE), ctx, target).code


def test_a_worker_that_dies_is_named_with_its_last_output(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(worker_module, "PROGRAM", "tests.support.children:die")
    worker = Worker(PassContext())
    assert "it ended with status 3" in str(worker.refusal) and "these are my last output" in str(
        worker.refusal
    )
    with pytest.raises(InternalError, match=r"kernel k0 gave no answer[\s\S]*these are my last output"):
        worker.compile("k0", "", target_from("x86-64-v3"))
    worker.close()


@pytest.mark.usefixtures("kernel_workers")
def test_an_unexpected_exception_in_a_serving_thread_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    class BrokenWorker:
        refusal, has_kernels = None, False

        def __init__(self, *_: object):
            pass

        def compile(self, *_: object) -> KernelObject:
            raise ValueError("no such reply")

        def close(self) -> None:
            broken.set()

    def wait_for_the_worker(*_: object) -> KernelObject:
        assert broken.wait(60)
        return KernelObject(b"", {})

    broken = Event()
    monkeypatch.setattr(pool, "Worker", BrokenWorker)
    monkeypatch.setattr(pool, "compile_kernel", wait_for_the_worker)
    func = next(op for op in parse_module(StepwellContext(), KERNEL).ops if isinstance(op, FuncOp))
    kernels = {key: (func, canonical_text(func)) for key in ("a", "b")}
    with pytest.raises(ValueError, match="no such reply"):
        compile_kernels(kernels, target_from("x86-64-v3"), None, processes=2)


NETWORK = """g (float[N, 3, 8, 8] x, float[16, 3, 3, 3] w, float[16, 24] v) => (float[N, 24] p, int64[N, 1] a)
{
  c = Conv <pads = [1, 1, 1, 1]> (x, w)
  r = Relu(c)
  m = GlobalAveragePool(r)
  f = Flatten(m)
  d = MatMul(f, v)
  p = Softmax(d)
  a = ArgMax <axis = 1> (d)
}"""


@pytest.mark.usefixtures("kernel_workers")
@pytest.mark.parametrize("disabled", [[], pytest.param(["vectorize"], marks=whole)])
def test_workers_compile_the_kernels_of_a_model_as_this_process_does(
    disabled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """All but the largest, with which this process waits for them; in any pass context."""
    found: list[tuple[Mapping[str, KernelObject], Mapping[str, KernelObject]]] = []
    others = Event()

    def wait_for_the_workers(*args: Any) -> KernelObject:
        assert others.wait(60)
        return compile_kernel(*args)

    def compile_twice(kernels: Any, target: TargetDescription, cache: None, **_: object) -> object:
        here = compile_kernels(kernels, target, cache, processes=1)
        monkeypatch.setattr(pool, "compile_kernel", wait_for_the_workers)
        report = lambda done, total: others.set() if done == total - 1 else None  # noqa: E731
        there = compile_kernels(kernels, target, cache, processes=2, progress=report)
        found.append((here[0], there[0]))
        return here

    monkeypatch.setattr(image, "compile_kernels", compile_twice)
    with PassContext(disabled_pass=disabled):
        stepwell.compile(onnx_model(NETWORK), use_cache=False)
    ((here, there),) = found
    assert len(here) >= 4
    assert {k: (kernel.code, kernel.meta) for k, kernel in there.items()} == {
        k: (kernel.code, kernel.meta) for k, kernel in here.items()
    }


def test_a_parsed_comparison_is_the_only_user_of_its_operands() -> None:
    text = """
func.func @f(%a: vector<4xf32>, %b: vector<4xi32>) -> (vector<4xi1>, vector<4xi1>) {
  %c = arith.cmpf ogt, %a, %a : vector<4xf32>
  %d = arith.cmpi slt, %b, %b : vector<4xi32>
  func.return %c, %d : vector<4xi1>, vector<4xi1>
}"""
    module = parse_module(StepwellContext(), text)
    comparisons = [op for op in module.walk() if isinstance(op, CmpfOp | CmpiOp)]
    assert len(comparisons) == 2
    for op in comparisons:
        assert {use.operation for use in op.lhs.uses} == {op}


@whole
def test_a_text_without_names_leaves_the_names() -> None:
    module = parse_module(StepwellContext(), KERNEL)
    func = next(op for op in module.ops if isinstance(op, FuncOp))
    before = str(module)
    text = canonical_text(func)
    assert str(module) == before and "%lowest" in before
    assert "@kernel" in text and "%lowest" not in text and "%0" in text
