"""Trees, selections of boxes and calls of the host as ONNX; ops without operator, by name and reason."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import onnx
import pytest
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, FunctionType, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.parser import Parser

import stepwell
from stepwell.dialects import graph
from stepwell.dialects._xdsl import StepwellContext, matched_op_types
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.graph import Graph
from stepwell.dialects.types import element_of, tensor_type
from stepwell.frontend import export_onnx
from stepwell.lowering.graph_to_onnx import GRAPH_TO_ONNX
from stepwell.lowering.graph_to_onnx.elementwise import BINARY, LOGIC, PLAIN_UNARY
from stepwell.lowering.graph_to_onnx.refused import PARTLY, REASONS
from stepwell.lowering.onnx_to_graph.ml.tree_tables import Nodes, tables_of
from stepwell.passes import run_pipeline
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.meaning import Array
from stepwell.tools.api.onnx_model import written_model
from stepwell.tools.driver.program import Program
from tests.graph_ops import run_module
from tests.onnx_models import onnx_model
from tests.support.exported_ops import check, run_model
from tests.support.forests import FEATURES, random_nodes
from tests.support.onnx_runtime import reference_session

RNG = np.random.default_rng(3)
SPECIAL = [-np.inf, -2.0, -1.0, -0.0, 0.0, 1.0, 2.0, np.inf, np.nan]


def _forest_model(
    nodes: Nodes, x: Array, targets: int, aggregate: str
) -> tuple[onnx.ModelProto, list[Array]]:
    """The written model of a forest with random weights, and what the op means."""
    tables = tables_of(nodes, FEATURES)
    weights = RNG.normal(size=(len(tables.leaves), targets)).astype(nodes.dtype)
    ctx = StepwellContext()
    arrays = (tables.nodes, tables.trees, weights, *tables.bit_vectors)
    constants = [graph.ConstantOp(constant_attr(np.asarray(array), "", ctx.weights)) for array in arrays]
    type = tensor_type(element_of(x.dtype), x.shape)
    func = FuncOp("main", ([type], []))
    block = func.body.block
    op = graph.TreeEnsembleOp(
        block.args[0],
        [constant.results[0] for constant in constants],
        aggregate=aggregate,
        flips=tables.flips,
        **tables.facts,
    )
    block.add_ops([*constants, op, ReturnOp(op.result)])
    func.properties["function_type"] = FunctionType.from_lists([type], [op.result.type])
    func.properties["arg_attrs"] = ArrayAttr([DictionaryAttr({"graph.name": StringAttr("x")})])
    module = ModuleOp([func])
    expected = run_module(module, [x], ctx.weights)
    run_pipeline(module, "convert-graph-to-onnx", ctx)
    model = export_onnx(module, ctx)
    onnx.checker.check_model(model, full_check=True)
    return model, expected


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("aggregate", ["sum", "min", "max"])
@pytest.mark.parametrize("shared", [False, True])
def test_trees_say_the_same(dtype: str, aggregate: str, shared: bool) -> None:
    """Thresholds that are met, NaN on both ways, leaves of several nodes, trees of a single leaf."""
    sizes = [1, 2, 5, 9] + [80] * shared
    nodes = random_nodes(RNG, sizes, 8, dtype, shared=shared)
    x = RNG.choice(SPECIAL, (40, FEATURES)).astype(dtype)
    model, expected = _forest_model(nodes, x, 3, aggregate)
    kinds = {node.op_type for node in model.graph.node}
    assert ("TreeEnsemble" if dtype == "float64" else "TreeEnsembleRegressor") in kinds
    assert "Constant" not in kinds  # the tables are gone
    (found,) = run_model(model, [x])
    wanted = expected[0].astype(np.float64)
    np.testing.assert_allclose(found.astype(np.float64), wanted, rtol=1e-5, atol=1e-6)


def _refused(text: str) -> StepwellError:
    """The error of the conversion for the text of a module."""
    ctx = StepwellContext()
    module = Parser(ctx, text).parse_module()
    with pytest.raises(StepwellError, match="no conversion for") as caught:
        run_pipeline(module, "convert-graph-to-onnx", ctx)
    return caught.value


def test_trees_that_are_computed_are_refused() -> None:
    error = _refused(
        """func.func @main(%x: tensor<2x4xf32>, %n: tensor<1x4xi32>, %t: tensor<1x5xi32>,
            %w: tensor<1x1xf32>) -> tensor<2x1xf32> {
          %y = graph.tree_ensemble %x, %n, %t, %w depth 0 leaves 1 largest 0 aggregate "sum"
            : (tensor<2x4xf32>, tensor<1x4xi32>, tensor<1x5xi32>, tensor<1x1xf32>) -> tensor<2x1xf32>
          func.return %y : tensor<2x1xf32>
        }"""
    )
    assert "graph.tree_ensemble" in error.message
    assert "only of constant tables" in error.render()


def test_boxes_of_classes_and_their_numbers() -> None:
    """The results of the op are scattered out of the rows of the operator."""
    boxes = RNG.random((2, 30, 4)).astype(np.float32)
    scores = RNG.random((2, 3, 30)).astype(np.float32)
    limits = [np.array(0.3, np.float32), np.array(0.6, np.float32)]
    for center in (False, True):
        check(
            lambda b, s, o, t, center=center: graph.NonMaxSuppressionOp(b, s, o, t, most=5, center=center),
            boxes,
            scores,
            *limits,
        )


def test_parts_are_joined() -> None:
    parts = RNG.integers(0, 99, (2, 3, 4))
    counts = np.array([[4, 0, 1], [2, 3, 0]])
    check(lambda p, c: graph.JoinPartsOp(p, c, 10), parts, counts)


def test_a_selection_is_the_operator_again() -> None:
    model = onnx_model(
        """g (float[B, N, 4] boxes, float[B, 2, N] scores) => (int64[K, 3] y)
        <int64 most = {3}, float overlap = {0.5}> { y = NonMaxSuppression(boxes, scores, most, overlap) }"""
    )
    written = _written(model)
    assert sum(node.op_type == "ScatterND" for node in written.graph.node) == 0
    feeds = {
        "boxes": RNG.random((2, 9, 4)).astype(np.float32),
        "scores": RNG.random((2, 2, 9)).astype(np.float32),
    }
    found, expected = (reference_session(each).run(None, feeds)[0] for each in (written, model))
    np.testing.assert_array_equal(found, expected)


def _written(model: onnx.ModelProto) -> onnx.ModelProto:
    module = stepwell.read(model)
    written = written_model(Program(module.op, module.context), operators=True)
    onnx.checker.check_model(written, full_check=True)
    return written


HOST = {
    "strings": (
        """g (string[N] x) => (string[N, 2] y, bool[N] z) <string[1] a = {"!"}> {
        c = StringConcat(x, a) one = Constant<value_ints = [1]>() u = Unsqueeze(c, one)
        v = Unsqueeze(x, one) y = Concat<axis = 1>(u, v) z = RegexFullMatch<pattern = "a.*">(x) }""",
        {"x": np.array(["ab", "b"], object)},
    ),
    "lists": (
        """g (float[N, 2] x) => (float[M, 2] y) {
        s = SplitToSequence<axis = 0>(x) p = Constant<value_int = 0>() a = SequenceAt(s, p)
        t = SequenceInsert(s, a) y = ConcatFromSequence<axis = 0>(t) }""",
        {"x": np.arange(6, dtype=np.float32).reshape(3, 2)},
    ),
    "labels": (
        """g (string[N] x) => (int64[N] y) {
        y = ai.onnx.ml.LabelEncoder<keys_strings = ["a", "b"], values_int64s = [4, 5], default_int64 = 9>(x)
        }""",
        {"x": np.array(["b", "c", "a"], object)},
    ),
}


@pytest.mark.parametrize("name", HOST)
def test_calls_of_the_host_are_operators(name: str) -> None:
    text, feeds = HOST[name]
    model = onnx_model(text, 20, header=', "ai.onnx.ml" : 4')
    results = [reference_session(each).run(None, feeds) for each in (_written(model), model)]
    for found, expected in zip(*results, strict=True):
        np.testing.assert_array_equal(found, expected)


def test_a_registered_function_is_its_node_again() -> None:
    model = onnx_model(
        """g (float[N, 4] x) => (float[N, 2] y) {
        y = ai.stepwell.ffi.top2<result = ["f32[N,2]"]>(x) }""",
        header=', "ai.stepwell.ffi" : 1',
    )
    module = stepwell.read(model)
    written = written_model(Program(module.op, module.context), operators=True)
    (node,) = (each for each in written.graph.node if each.domain)
    assert (node.domain, node.op_type) == ("ai.stepwell.ffi", "top2")
    assert [text.decode() for text in node.attribute[0].strings] == ["f32[N,2]"]
    assert ("ai.stepwell.ffi", 1) in {(e.domain, e.version) for e in written.opset_import}


@pytest.mark.parametrize("dtype", [np.int8, np.int32, np.int64])
def test_shifts_of_signed_integers(dtype: type[np.signedinteger]) -> None:
    limits = np.iinfo(dtype)
    value = RNG.integers(limits.min, limits.max, 60, dtype=dtype, endpoint=True)
    count = RNG.integers(-3, limits.bits + 3, 60).astype(dtype)
    check(graph.ShiftLeftOp, value, count)
    check(graph.ShiftRightOp, value, count)


@pytest.mark.parametrize("kind", ["prod", "max", "min"])
@pytest.mark.parametrize("flags", [(False, False), (True, True)])
def test_running_products_and_extrema(kind: str, flags: Sequence[bool]) -> None:
    exclusive, reverse = flags
    x = RNG.integers(-3, 3, (2, 5, 3))
    for array in (x.astype(np.float32), x):
        check(lambda v: graph.ScanOp(v, kind, 1, exclusive=exclusive, reverse=reverse), array)


def test_truth_values_are_chosen() -> None:
    condition, yes, no = (RNG.random(shape) < 0.5 for shape in ((3, 1), (2, 1, 4), (4,)))
    check(graph.WhereOp, condition, yes, no)


def test_operators_without_bf16_compute_in_f32() -> None:
    """ONNX's checker takes the file, which it would not with bf16; products keep the type that they have."""
    written = _written(
        onnx_model(
            """g (bfloat16[N, 4] x, bfloat16[4, 4] w) => (bfloat16[N, 4] y, bfloat16[N, 2] z)
            <int64[1] k = {2}> {
            m = MatMul(x, w) y = Elu(m) z, i = TopK(x, k) }""",
            22,
        )
    )
    casts = [node for node in written.graph.node if node.op_type == "Cast"]
    assert len(casts) == 4
    assert [value.type.tensor_type.elem_type for value in written.graph.output] == [16, 16]


def test_names_are_unique_in_the_whole_model() -> None:
    """A fresh name is neither that of an output nor one of a subgraph."""
    written = _written(
        onnx_model(
            """g (float[4] x, int64 n) => (float[2] output, float[2] output_1, float[4] y) {
            output, output_1 = Split<axis = 0, num_outputs = 2>(x)
            y = Loop(n, , x) <body = b (int64 i, bool t, float[4] a) => (bool u, float[4] c) {
              u = Identity(t) f = Cast<to = 1>(i) d = Add(a, f) c = Sigmoid(d) }>
            }"""
        )
    )
    reference_session(written, optimized=False)
    names = [name for each in _graphs(written.graph) for node in each.node for name in node.output]
    assert len(names) == len(set(names))


def _graphs(graph: onnx.GraphProto) -> list[onnx.GraphProto]:
    inner = [attribute.g for node in graph.node for attribute in node.attribute if attribute.HasField("g")]
    return [graph, *(each for body in inner for each in _graphs(body))]


OPENED = {graph.CompositeOp, graph.FusedOp, graph.GetOp, graph.TupleOp}
"""Ops without a pattern: their contents take their place."""
KEPT = {graph.BindSizesOp, graph.DefineSizesOp, graph.ForOp, graph.IfOp, graph.WhileOp, graph.YieldOp}
"""Ops that are converted after all others."""


def test_every_op_has_a_form_or_a_reason() -> None:
    by_pattern = {op for row in GRAPH_TO_ONNX for op in matched_op_types(row(WeightStore()))}
    written = {*by_pattern, *PLAIN_UNARY, *BINARY, *LOGIC, *OPENED, *KEPT}
    every = set(Graph.operations)
    assert every - written == set(REASONS)
    assert set(PARTLY) <= by_pattern


def test_the_reasons_are_in_the_error() -> None:
    error = _refused(
        """func.func @main(%x: tensor<?x4xf32>) -> (tensor<?x4xi32>, tensor<?x4xf32>) {
          %y = graph.bitcast %x to i32 : tensor<?x4xf32> -> tensor<?x4xi32>
          %z = graph.scan %x kind "prod" axis 1 exclusive false reverse false
            : tensor<?x4xf32> -> tensor<?x4xf32>
          func.return %y, %z : tensor<?x4xi32>, tensor<?x4xf32>
        }"""
    )
    assert REASONS[graph.BitcastOp] in error.render()
    assert PARTLY[graph.ScanOp] in error.render()
