"""Mistakes in calls of the API: each is an error that says what was expected."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.external_data_helper import convert_model_to_external_data
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, StringAttr
from xdsl.passes import ModulePass

import stepwell as sw
from stepwell.passes.instruments import module_text
from stepwell.patterns import is_op
from tests.onnx_models import onnx_model
from tests.unit.tools.api.programs import SMALL, TEXT, weighted_file

Call = Callable[[Any], object]
untyped: Any = sw

SWAPPED_AND_WRONG: dict[str, tuple[Call, str, str]] = {
    "no program": (lambda m: untyped.Module("x"), "type-mismatch", "op must be a ModuleOp"),
    "a module twice": (lambda m: untyped.Module(m), "type-mismatch", "op must be a ModuleOp"),
    "xDSL's context": (
        lambda m: untyped.Module(m.op, context=Context()),
        "type-mismatch",
        "stepwell.Context",
    ),
    "no weights": (lambda m: untyped.Module(m.op, weights="none.weights"), "no-file", "read the weights"),
    "text as a file": (lambda m: untyped.read(TEXT), "unknown-file-type", ".keras, .pb, .mlir"),
    "bytes as a file": (lambda m: untyped.read(b"x"), "invalid-model", "is no ONNX model"),
    "an artifact": (lambda m: untyped.read("m.stepwell"), "unknown-file-type", "stepwell.load"),
    "no file": (lambda m: untyped.read("m.onnx"), "no-file", "m.onnx"),
    "a path as text": (lambda m: untyped.parse(Path("m.mlir")), "type-mismatch", "stepwell.read takes"),
    "no text": (lambda m: untyped.parse("fnuc.func"), "syntax", "<text>:1:1"),
    "broken text": (
        lambda m: untyped.parse(TEXT.replace("-> tensor<4xf32> {", "-> tensor<5xf32> {")),
        "invalid-ir",
        "func.return",
    ),
    "no model": (lambda m: untyped.import_onnx(42), "bad-model", "found int"),
    "a module to import": (lambda m: untyped.import_onnx(m), "bad-model", "found Module"),
    "no pass": (lambda m: m.run(42), "type-mismatch", "expected passes or their names, found 42"),
    "a dialect as a pass": (lambda m: m.run(sw.graph.ReluOp), "type-mismatch", "expected passes"),
    "a misspelt pass": (lambda m: m.run("simplify-exp"), "unknown-pass", "did you mean simplify-expr?"),
    "a misspelt option": (lambda m: m.run("fuse-ops{max-op=1}"), "bad-option", "max-op"),
    "an instrument's class": (
        lambda m: m.run("cse", instruments=[sw.Timing]),
        "type-mismatch",
        "instruments such as stepwell.Timing()",
    ),
    "one instrument": (
        lambda m: m.run("cse", instruments=sw.Timing()),
        "type-mismatch",
        "a list of instruments",
    ),
    "a pass that needs options": (lambda m: m.run(NeedsOptionPass), "bad-option", "give an object"),
    "no level": (lambda m: m.to("machine"), "bad-option", "the levels are"),
    "a misspelt level": (lambda m: m.to("vectr"), "bad-option", "did you mean vector?"),
    "a level above": (lambda m: m.to("linalg").to("graph"), "bad-option", "nothing leads back up"),
    "a misspelt keyword": (lambda m: m.to("graph", opt_levl=1), "bad-option", "did you mean opt_level?"),
    "a level of the CPU": (lambda m: m.compile(target="x86-64-v9"), "unknown-target", "mean x86-64-v4?"),
    "a misspelt mcpu": (lambda m: m.compile(mcpu="x86_64-v3"), "unknown-target", "mean x86-64-v3?"),
    "two levels": (lambda m: m.compile(target="x86-64-v3", mcpu="x86-64-v2"), "bad-option", "leave one"),
    "a class of targets": (lambda m: setattr(m, "target", 3), "bad-option", "target must be"),
    "no function": (lambda m: m["mian"], "unknown-function", "did you mean main?"),
    "a name to walk": (lambda m: m.walk("graph.relu"), "type-mismatch", "a class of ops"),
    "no pattern": (lambda m: m.match("graph.relu"), "type-mismatch", "stepwell.patterns.from_text"),
    "no place": (lambda m: m.explain(is_op("graph.add"), "99"), "bad-option", "no op has the location '99'"),
    "a suffix": (lambda m: m.save("m.txt"), "unknown-file-type", ".mlir, .onnx"),
    "no folder": (lambda m: m.save("no/folder/m.mlir"), "cannot-write", "no/folder"),
    "options as a dictionary": (
        lambda m: untyped.compile(m, {"opt_level": 1}),
        "bad-option",
        "as keywords: opt_level=1",
    ),
    "options first": (lambda m: untyped.compile(sw.CompileOptions(), m), "bad-option", "options must be"),
    "a misspelt option of compile": (
        lambda m: untyped.compile(m, thread=1),
        "bad-option",
        "did you mean threads?",
    ),
    "a pass of another level": (
        lambda m: m.compile(disabled_passes=["choose-schedules"]),
        "bad-option",
        "the pipeline of level 1 has no choose-schedules",
    ),
    "to interpret": (
        lambda m: m.to("llvm").interpret(np.zeros(4, np.float32)),
        "unsupported",
        "on a level from graph to loops",
    ),
    "threads": (lambda m: m.compile(threads=0), "bad-option", "threads must be a number from 1"),
    "a target of a pipeline": (lambda m: untyped.pipelines.graph("x86"), "unknown-target", "x86"),
    "a level of a pipeline": (lambda m: untyped.pipelines.graph(opt_level=7), "bad-option", "opt_level"),
}


class NeedsOptionPass(ModulePass):
    """A pass that cannot be made without an argument."""

    name = "needs-option"

    def __init__(self, option: int):
        self.option = option

    def apply(self, ctx: Context, op: ModuleOp) -> None: ...


@pytest.mark.parametrize(("call", "code", "text"), SWAPPED_AND_WRONG.values(), ids=SWAPPED_AND_WRONG)
def test_mistakes_are_errors(
    call: Call, code: str, text: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    m = sw.parse(TEXT)
    with pytest.raises(sw.StepwellError) as failed:
        call(m)
    assert failed.value.code == code and text in str(failed.value)


class HalfPass(ModulePass):
    """A pass that changes everything, and then fails."""

    name = "half"

    def __init__(self, error: BaseException):
        self.error = error

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        op.attributes["half"] = StringAttr("done")
        for inner in list(op.body.block.ops)[1:]:
            inner.detach()
        next(iter(op.walk(reverse=True))).attributes["half"] = StringAttr("done")
        raise self.error


ERRORS: dict[str, tuple[BaseException, type[BaseException], str]] = {
    "an error of ours": (sw.StepwellError("unsupported", None, "no"), sw.StepwellError, "in pass half"),
    "a mistake in the pass": (
        ZeroDivisionError("by zero"),
        sw.StepwellError,
        "raised at .*test_bad_input.py:",
    ),
    "an interruption": (KeyboardInterrupt("^C"), KeyboardInterrupt, "C"),
}


@pytest.mark.parametrize(("error", "kind", "text"), ERRORS.values(), ids=ERRORS)
def test_a_pass_that_fails_half_way_changes_nothing(
    error: BaseException, kind: type[BaseException], text: str, tmp_path: Path
) -> None:
    m = sw.read(weighted_file(tmp_path))
    op, target, before = m.op, m.target, module_text(m.op)
    with pytest.raises(kind, match=text) as failed:
        m.run("convert-onnx-to-graph,fuse-ops", HalfPass(error))
    assert getattr(failed.value, "code", "plugin-failed") in ("unsupported", "plugin-failed")
    assert m.op is op and module_text(op) == before and m.target is target
    assert m.verify().run("convert-onnx-to-graph").level == "graph"
    x = np.ones((2, 64), np.float32)
    np.testing.assert_array_equal(m.compile()(x), x)


def test_a_level_that_cannot_be_reached_changes_nothing() -> None:
    model = '<ir_version: 8, opset_import: ["" : 18, "acme" : 1]> g (float[4] x) => (float[4] y)'
    m = sw.import_onnx(onnx.parser.parse_model(f"{model} {{ y = acme.Cube(x) }}"))
    before, target = str(m), m.target
    with pytest.raises(sw.StepwellError):
        m.to("vector", target="x86-64-v2")
    assert str(m) == before and m.target == target


@pytest.mark.parametrize("external", [False, True], ids=["in the model", "in a file of its own"])
def test_weights_that_changed_in_their_file(external: bool, tmp_path: Path) -> None:
    path = weighted_file(tmp_path)
    changed = path
    if external:
        model = onnx.load(path)
        convert_model_to_external_data(model, location="w.bin", size_threshold=0)
        onnx.save(model, path)
        changed = tmp_path / "w.bin"
    m = sw.read(path)
    f = m.compile()
    with changed.open("r+b") as file:
        file.truncate(changed.stat().st_size - 1)
    for use in (
        lambda: m.run("cse"),
        lambda: m.to("graph"),
        lambda: m.compile(),
        lambda: sw.compile(m),
        lambda: m.clone().run("cse"),
        lambda: m.to_onnx(),
        lambda: m.save(tmp_path / "f.mlir"),
        lambda: f.kernels,
    ):
        with pytest.raises(sw.StepwellError, match="file-changed") as failed:
            use()
        assert failed.value.where == str(changed) and "bytes, and has" in failed.value.notes[0]
    assert m.level == "onnx" and str(m)


def test_weights_of_text_that_changed_in_their_file(tmp_path: Path) -> None:
    sw.read(weighted_file(tmp_path)).to("graph").save(tmp_path / "f.mlir")
    m = sw.read(tmp_path / "f.mlir")
    (tmp_path / "f.weights").write_bytes(bytes(1000))
    with pytest.raises(sw.StepwellError, match="file-changed"):
        m.compile()


@pytest.mark.parametrize("replaced", [False, True])
def test_a_file_that_is_deleted_or_replaced_goes_on_working(replaced: bool, tmp_path: Path) -> None:
    path = weighted_file(tmp_path)
    m = sw.read(path)
    if replaced:
        onnx.save(onnx_model(SMALL), tmp_path / "other.onnx")
        (tmp_path / "other.onnx").replace(path)
    else:
        path.unlink()
    x = np.ones((2, 64), np.float32)
    f = m.to("graph").compile()
    np.testing.assert_array_equal(f(x), x)
    assert f.kernels


class WaitPass(ModulePass):
    """A pass that waits in the middle of its work."""

    name = "wait"

    def __init__(self) -> None:
        self.begun, self.may_end = Event(), Event()

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        self.begun.set()
        self.may_end.wait(60)


def test_a_module_is_for_one_thread_at_a_time() -> None:
    m, step = sw.parse(TEXT), WaitPass()
    thread = Thread(target=m.run, args=(step,))
    thread.start()
    try:
        assert step.begun.wait(60)
        pattern = is_op("graph.relu")
        for use in (
            lambda: m.run("cse"),
            lambda: m.to("graph"),
            lambda: m.compile(),
            lambda: sw.compile(m),
            lambda: m.clone(),
            lambda: m.verify(),
            lambda: str(m),
            lambda: m.match(pattern),
            lambda: m.explain(pattern),
            lambda: m.to_onnx(),
            lambda: m.save("f.mlir"),
        ):
            with pytest.raises(sw.StepwellError, match="busy"):
                use()
    finally:
        step.may_end.set()
        thread.join()
    assert m.run("cse") is m


def test_modules_in_two_threads_take_turns(tmp_path: Path) -> None:
    """Also clones, which share arrays; each result is as if it was alone."""
    first = sw.read(weighted_file(tmp_path))
    expected = str(first.clone().to("vector"))
    copies = [first.clone() for _ in range(4)]
    threads = [Thread(target=copy.to, args=("vector",)) for copy in copies]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [str(copy) for copy in copies] == [expected] * 4


@pytest.mark.parametrize(
    "how", [{"mcpu": "aarch64"}, {"target": "aarch64-linux-gnu"}, {"target": "x86_64-pc-windows-msvc"}]
)
@pytest.mark.parametrize("of_a_module", [False, True])
@pytest.mark.filterwarnings("ignore::stepwell.runtime.machine.target.TargetWarning")
def test_code_for_a_foreign_target_is_refused_when_it_is_called(
    of_a_module: bool, how: dict[str, str], tmp_path: Path
) -> None:
    model = sw.import_onnx(onnx_model(SMALL)) if of_a_module else onnx_model(SMALL)
    compiled = untyped.compile(model, **how)
    for foreign in (compiled, pickle.loads(pickle.dumps(compiled))):
        inputs = [np.zeros([2] * len(spec.shape), np.float32) for spec in foreign.inputs]
        with pytest.raises(sw.StepwellError, match="wrong-cpu.*which this machine lacks") as caught:
            foreign(*inputs)
        assert "stepwell.export(model, FILE)" in (caught.value.help or "")
    compiled.save(tmp_path / "m.stepwell")
    with pytest.raises(sw.StepwellError, match="wrong-cpu"):
        sw.load(tmp_path / "m.stepwell")
    with pytest.raises(sw.StepwellError, match="bad-option"):
        compiled.threads = 2
