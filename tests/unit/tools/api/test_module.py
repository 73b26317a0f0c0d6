"""`stepwell.Module`: what is read, printed, changed and compiled."""

from __future__ import annotations

import io
from copy import copy, deepcopy
from math import prod
from pathlib import Path

import numpy as np
import onnx
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, UnitAttr
from xdsl.dialects.func import FuncOp
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

import stepwell as sw
from stepwell.passes import Pass
from stepwell.patterns import Rule, is_op, wildcard
from stepwell.patterns.rewriting import NodeMap
from stepwell.tools.driver.emit import emit
from tests.onnx_models import onnx_model
from tests.unit.tools.api.programs import SMALL, TEXT, X, Y, small_file, weighted_file

LEVELS = ("graph", "linalg", "vector", "loops", "llvm")


def test_a_model_is_a_module_of_level_0(tmp_path: Path) -> None:
    m = sw.read(small_file(tmp_path))
    assert (m.level, repr(m)) == ("onnx", "<Module onnx, 4 ops>")
    assert [(v.name, v.shape, v.dtype) for v in m.inputs] == [("x", ("N", 8), np.float32)]
    assert [str(v) for v in m.outputs] == ["y: float32[N, 8]"]
    assert str(m).startswith("builtin.module") and not str(m).endswith("\n")


def test_models_come_from_paths_bytes_and_messages(tmp_path: Path) -> None:
    path, model = small_file(tmp_path), onnx_model(SMALL)
    texts = {str(sw.import_onnx(source)) for source in (path, str(path), path.read_bytes(), model)}
    assert len(texts) == 1


def test_text_is_parsed_and_printed() -> None:
    m = sw.parse(TEXT)
    assert (m.level, str(sw.parse(str(m)))) == ("graph", str(m))
    assert isinstance(m["main"], FuncOp)


def test_ops_are_walked_by_class() -> None:
    m = sw.parse(TEXT)
    assert [op.name for op in m.walk()] == ["func.func", "graph.neg", "graph.relu", "func.return"]
    (relu,) = m.walk(sw.graph.ReluOp)
    assert relu.input.name_hint == "a"
    assert len(list(m.walk(sw.graph.ReluOp, sw.graph.NegOp))) == 2


def test_passes_run_in_place_as_text_classes_and_objects() -> None:
    from stepwell.passes.graph.simplify.dead_code_elimination import DeadCodeEliminationPass

    m = sw.parse(TEXT)
    op = m.op
    assert m.run("fuse-ops{max-ops=1}", DeadCodeEliminationPass, [DeadCodeEliminationPass()]) is m
    assert m.op is op
    assert len(list(m.walk(sw.graph.FusedOp))) == 2


def test_the_pipeline_of_a_level_is_text(tmp_path: Path) -> None:
    m = sw.read(small_file(tmp_path))
    m.run("convert-onnx-to-graph", sw.pipelines.graph(m.target))
    assert str(m) == str(sw.read(small_file(tmp_path)).to("graph"))
    m.run(sw.pipelines.linalg(), sw.pipelines.vector())
    assert str(m) == str(sw.read(small_file(tmp_path)).to("vector"))
    m.run(sw.pipelines.loops())
    assert m.level == "loops"
    assert m.run(sw.pipelines.llvm()).level == "llvm"


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", LEVELS)
def test_to_a_level_is_what_emit_prints(level: str, tmp_path: Path) -> None:
    path = small_file(tmp_path)
    m = sw.read(path).to(level, target="x86-64-v3")
    assert str(m) == emit(path, sw.CompileOptions(mcpu="x86-64-v3"), level)
    assert (m.level, str(m.inputs[0]), str(m.outputs[0])) == (level, "x: float32[N, 8]", "y: float32[N, 8]")
    assert m.verify() is m


@pytest.mark.sample(3)
@pytest.mark.parametrize("level", ("onnx", *LEVELS))
def test_each_level_compiles_and_stays(level: str, tmp_path: Path) -> None:
    m = sw.read(small_file(tmp_path))
    if level != "onnx":
        m.to(level)
    before = str(m)
    np.testing.assert_array_equal(m.compile(threads=1)(X), Y)
    np.testing.assert_array_equal(sw.compile(m, threads=1)(X), Y)
    assert str(m) == before


def test_levels_may_be_taken_in_steps() -> None:
    """A second way down adds no checks: not of packed weights, whose panels are no batch, nor of indices."""
    model = onnx_model(
        "net (int64[N, 3] i, float[9, 8] table, float[8, 32] w) => (float[N, 3, 32] y)"
        " { rows = Gather(table, i) y = MatMul(rows, w) }"
    )
    del model.graph.input[1:]
    for name, shape in (("table", (9, 8)), ("w", (8, 32))):
        array = np.linspace(-2, 1, prod(shape), dtype=np.float32).reshape(shape)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, name))
    once, twice = sw.read(model).to("linalg"), sw.read(model).to("graph").to("linalg")
    checks = [
        [op.name for op in each.walk(sw.graph.AssertOp, sw.graph.CheckIndicesOp)] for each in (once, twice)
    ]
    assert checks == [["graph.check_indices"]] * 2
    i = np.array([[0, 8, 4], [1, 1, 2]])
    np.testing.assert_array_equal(np.asarray(twice.compile()(i)), np.asarray(once.compile()(i)))


def test_a_clone_is_independent_and_shares_weights(tmp_path: Path) -> None:
    m = sw.read(weighted_file(tmp_path))
    copy = m.clone().to("graph")
    copy.target = "x86-64-v2"
    assert (m.level, copy.level) == ("onnx", "graph")
    assert list(copy.weights)[: len(m.weights)] == list(m.weights)
    assert all(copy.weights.get(key) is m.weights.get(key) for key in m.weights)
    assert m.target != copy.target


def test_an_op_of_xdsl_is_wrapped(tmp_path: Path) -> None:
    first = sw.read(weighted_file(tmp_path))
    m = sw.Module(first.op.clone(), weights=first.weights, target="x86-64-v3")
    x = np.ones((2, 64), np.float32)
    np.testing.assert_array_equal(m.compile()(x), x)
    assert str(m.target) == f"x86-64-v3 ({m.target.triple})"


def test_an_op_of_xdsl_is_a_model() -> None:
    op, x = sw.parse(TEXT).op, np.linspace(-1, 1, 4, dtype=np.float32)
    wanted = sw.parse(TEXT).compile()(x)
    np.testing.assert_array_equal(sw.compile(op)(x), wanted)
    assert sw.read(op).op is op
    with pytest.raises(sw.StepwellError) as caught:
        sw.compile(ModuleOp([]))
    assert caught.value.code == "no-main"
    with pytest.raises(sw.StepwellError, match="needs no example_inputs"):
        sw.compile(op, example_inputs=(x,))


def test_modules_may_share_a_context(tmp_path: Path) -> None:
    context = sw.Context()
    first = sw.read(weighted_file(tmp_path), context=context)
    second = sw.parse(str(first), context=context)
    assert second.weights is first.weights is context.weights


def test_programs_are_saved_with_their_weights(tmp_path: Path) -> None:
    m = sw.read(weighted_file(tmp_path)).to("graph")
    assert m.save(tmp_path / "f.mlir") is m
    again = sw.read(tmp_path / "f.mlir")
    assert str(again) == str(m)
    x = np.ones((2, 64), np.float32)
    np.testing.assert_array_equal(again.compile()(x), x)


@pytest.mark.parametrize("passes", [(), ("convert-onnx-to-graph",)])
def test_levels_0_and_1_are_models_again(passes: tuple[str, ...], tmp_path: Path) -> None:
    m = sw.read(weighted_file(tmp_path)).run(*passes)
    level = m.level
    model = m.to_onnx()
    assert [node.op_type for node in model.graph.node if node.op_type != "Constant"] == ["MatMul"]
    assert m.level == level
    m.save(tmp_path / "again.onnx")
    onnx.checker.check_model(str(tmp_path / "again.onnx"))


def test_patterns_match_everywhere_and_explain_why_not(tmp_path: Path) -> None:
    m = sw.read(small_file(tmp_path)).run("convert-onnx-to-graph")
    add, relu = is_op("graph.add")(wildcard(), wildcard()), is_op("graph.relu")(wildcard())
    (found,) = m.match(relu)
    assert found.value.owner is next(m.walk(sw.graph.ReluOp))
    assert [match.value.name_hint for match in m.match(add | relu)] == ["s", "y"]
    assert m.explain(relu) is None
    double = is_op("graph.relu")(is_op("graph.relu")(wildcard()))
    assert m.match(double) == []
    explanation = m.explain(double)
    assert explanation is not None
    assert str(explanation).endswith('node "Add#0"): expected graph.relu, found graph.add')
    at_add = m.explain(double, "Add#0")
    assert at_add is not None and at_add.root is explanation.value


def test_rules_rewrite_all_or_nothing() -> None:
    m = sw.parse(TEXT)
    data = wildcard()

    def to_sigmoid(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        return rewriter.insert(sw.graph.SigmoidOp(nodes[data][0])).result

    def to_nothing(pre: SSAValue, post: SSAValue, nodes: NodeMap, rewriter: PatternRewriter) -> SSAValue:
        return None  # pyright: ignore[reportReturnType]

    to = Rule(is_op("graph.relu")(data), to_sigmoid)
    before = str(m)
    with pytest.raises(sw.StepwellError, match="bad-rule"):
        m.rewrite(to, Rule(is_op("graph.neg")(wildcard()), to_nothing))
    assert str(m) == before
    assert m.rewrite(to) == 1
    assert [op.name for op in m.walk()] == ["func.func", "graph.neg", "graph.sigmoid", "func.return"]


@pytest.mark.parametrize("level", ["graph", "linalg", "vector", "loops"])
def test_programs_are_evaluated_without_compiling(level: str, tmp_path: Path) -> None:
    m = sw.read(weighted_file(tmp_path)).to(level)
    x = np.ones((2, 64), np.float32)
    (y,) = m.interpret(x)
    np.testing.assert_array_equal(y, x)
    with pytest.raises(sw.StepwellError, match="unknown-function"):
        m.interpret(x, function="mian")


def test_instruments_print_by_themselves(capsys: pytest.CaptureFixture[str]) -> None:
    seen = io.StringIO()
    m = sw.parse(TEXT)
    m.run("fuse-ops", instruments=[sw.Timing(), sw.Diff(), sw.Diff(stream=seen), sw.VerifyEach()])
    printed = capsys.readouterr().out
    assert "// IR after fuse-ops" in printed and "+    %b = graph.fused" in printed
    assert "percent  pass" in printed and printed.rstrip().endswith("fuse-ops")
    assert seen.getvalue() in printed and seen.getvalue()


def test_instruments_of_a_context_watch_too() -> None:
    outer, inner = sw.OpCounts(), sw.OpCounts()
    with sw.PassContext(instruments=[outer], disabled_pass=["cse"]) as context:
        sw.parse(TEXT).run("cse,fuse-ops", instruments=[inner])
        assert context.instruments == [outer]
    assert [change.pass_name for change in outer.changes] == ["fuse-ops"]
    assert [str(change) for change in inner.changes] == [str(change) for change in outer.changes]


def test_passes_that_are_named_run_whatever_their_level() -> None:
    """Unless a context says otherwise."""

    class LastPass(Pass):
        name = "last"
        opt_level = 3

        def apply(self, ctx: Context, op: ModuleOp) -> None:
            op.attributes["ran"] = UnitAttr()

    m = sw.parse(TEXT)
    with sw.PassContext(opt_level=2):
        assert "ran" not in m.run(LastPass).op.attributes
    assert "ran" in m.run(LastPass).op.attributes


def test_a_saved_program_has_the_weights_that_it_names(tmp_path: Path) -> None:
    """Not those that passes have replaced; and the text of a copy is the same."""
    m = sw.read(weighted_file(tmp_path)).to("graph", target="x86-64-v3")
    assert len(m.weights) == 2  # as in the model, and packed
    m.save(tmp_path / "f.mlir")
    again = sw.read(tmp_path / "f.mlir")
    assert len(again.weights) == 1
    assert str(copy(m)) == str(deepcopy(m)) == str(again)
    assert copy(m).op is not m.op


def test_text_goes_on_with_the_weights_of_a_module(tmp_path: Path) -> None:
    m = sw.read(weighted_file(tmp_path)).to("linalg")
    x = np.ones((2, 64), np.float32)
    np.testing.assert_array_equal(sw.parse(str(m), weights=m.weights).compile()(x), x)
    with pytest.raises(sw.StepwellError, match="missing-weights"):
        sw.parse(str(m)).compile()
