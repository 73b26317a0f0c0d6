"""If, Loop and Scan: what is imported gives what ONNX's reference gives, in the shapes that the text says."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from onnx import GraphProto, ModelProto, NodeProto, TensorProto, helper, numpy_helper

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.verify import verify_module
from stepwell.frontend import import_onnx
from stepwell.lowering.interpret import interpret
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import LOOP_PIPELINE, SCHEDULE_PIPELINE
from stepwell.runtime.errors import StepwellError

Array = npt.NDArray[Any]
F, I64, B = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
X = np.arange(1, 5, dtype=np.float32)


def value(name: str, kind: int = F, shape: Sequence[int | str] | None = None):
    return helper.make_tensor_value_info(name, kind, shape)


def const(name: str, array: object) -> NodeProto:
    return helper.make_node("Constant", [], [name], value=numpy_helper.from_array(np.asarray(array)))


def graph(nodes: list[NodeProto], inputs: Sequence[object], outputs: Sequence[object]) -> GraphProto:
    return helper.make_graph(nodes, "g", inputs, outputs)  # pyright: ignore[reportArgumentType]


def model(
    nodes: list[NodeProto], inputs: Sequence[object], outputs: list[str], opset: int = 17
) -> ModelProto:
    return helper.make_model(
        graph(nodes, inputs, [value(name) for name in outputs]),
        opset_imports=[helper.make_opsetid("", opset)],
        ir_version=8,
    )


def run(proto: ModelProto, *inputs: object) -> list[Array]:
    """What the interpreter gives for level 1; the compiled model gives the same, call after call."""
    ctx = StepwellContext()
    module = import_onnx(proto, ctx)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    verify_module(module)
    arrays = [np.asarray(x) for x in inputs]
    expected = interpret(module, ctx, inputs=arrays)
    names = [info.name for info in proto.graph.input]
    compiled = stepwell.compile(proto)
    for _ in range(2):
        found = list(compiled.run(dict(zip(names, arrays, strict=True))).values())
        for a, b in zip(found, expected, strict=True):
            assert a.shape == np.shape(b)
            np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=1e-6)
    return expected


def branches(then: NodeProto, otherwise: NodeProto) -> NodeProto:
    first, second = (graph([node], [], [value(node.output[0])]) for node in (then, otherwise))
    return helper.make_node("If", ["c"], ["y"], then_branch=first, else_branch=second)


@pytest.mark.parametrize("shape", [[], [1]])
@pytest.mark.parametrize("taken", [True, False])
def test_branches_may_differ_in_size(taken: bool, shape: list[int]) -> None:
    node = branches(
        helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Concat", ["x", "x"], ["b"], axis=0)
    )
    last = helper.make_node("Exp", ["y"], ["z"])
    proto = model([node, last], [value("x", F, ["N"]), value("c", B, shape)], ["z"])
    expected = np.exp(-X if taken else np.concatenate([X, X]))
    np.testing.assert_allclose(run(proto, X, np.full(shape, taken))[0], expected)


def test_a_known_condition_takes_its_branch_whatever_the_other_is() -> None:
    node = branches(helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Mystery", ["x"], ["b"]))
    proto = model([const("c", True), node], [value("x", F, [4])], ["y"])
    np.testing.assert_array_equal(run(proto, X)[0], -X)


def test_branches_give_as_many_results_as_the_operator() -> None:
    node = branches(helper.make_node("Neg", ["x"], ["a"]), helper.make_node("Exp", ["x"], ["b"]))
    node.attribute[0].g.output.append(node.attribute[0].g.output[0])
    proto = model([node], [value("x", F, [4]), value("c", B, [])], ["y"])
    with pytest.raises(StepwellError, match="each branch must give 1 result, found 2 and 1"):
        stepwell.compile(proto)


def test_branches_of_other_ranks_hold_the_call_to_one() -> None:
    nodes = [
        helper.make_node("Shape", ["x"], ["s"]),
        const("four", [4]),
        helper.make_node("Equal", ["s", "four"], ["c"]),
        branches(helper.make_node("Unsqueeze", ["x", "zero"], ["a"]), helper.make_node("Neg", ["x"], ["b"])),
    ]
    proto = model([const("zero", [0]), *nodes], [value("x", F, ["N"])], ["y"])
    np.testing.assert_array_equal(run(proto, X)[0], X[None])
    with pytest.raises(StepwellError, match="other branch gives results of another rank"):
        run(proto, X[:3])


def test_branches_of_other_ranks_need_a_condition_on_sizes() -> None:
    node = branches(
        helper.make_node("Unsqueeze", ["x", "zero"], ["a"]), helper.make_node("Neg", ["x"], ["b"])
    )
    proto = model([const("zero", [0]), node], [value("x", F, ["N"]), value("c", B, [])], ["y"])
    with pytest.raises(StepwellError, match="no common type"):
        run(proto, X, True)


def loop(m: str, cond: str, nodes: list[NodeProto], outputs: list[str], states: int = 1) -> NodeProto:
    """A Loop whose body takes `i`, `k`, `v`…, and yields `ko` and what `outputs` names."""
    inputs = [value("i", I64, []), value("k", B, []), *[value("v", F)][:states]]
    body = graph(nodes, inputs, [value("ko", B, []), *[value(name) for name in outputs]])
    results = ["y", "s", "t"][: len(outputs)] if states else ["s", "t"][: len(outputs)]
    return helper.make_node("Loop", [m, cond, *["x"][:states]], results, body=body)


ALWAYS = const("ko", True)
PASS_ON = helper.make_node("Identity", ["k"], ["ko"])
GROW = helper.make_node("Concat", ["v", "x"], ["w"], axis=0)
DOUBLE = helper.make_node("Add", ["v", "v"], ["w"])
SMALL = [
    helper.make_node("ReduceMax", ["w"], ["max"], keepdims=0),
    helper.make_node("Less", ["max", "limit"], ["ko"]),
]


@pytest.mark.sample(3)
@pytest.mark.parametrize("ends", [ALWAYS, PASS_ON], ids=["always", "passed-on"])
@pytest.mark.parametrize("count", [0, 1, 3])
@pytest.mark.parametrize("constant", [True, False])
def test_a_trip_count_is_a_for(count: int, constant: bool, ends: NodeProto) -> None:
    node = loop("m", "", [DOUBLE, ends, helper.make_node("Neg", ["w"], ["n"])], ["w", "n"])
    given = [] if constant else [value("m", I64, [])]
    proto = model([*[const("m", count)][: int(constant)], node], [value("x", F, [4]), *given], ["y", "s"])
    last, rows = run(proto, X, *[np.array(count)][int(constant) :])
    np.testing.assert_array_equal(last, X * 2**count)
    expected = np.array([-X * 2 ** (i + 1) for i in range(count)], np.float32).reshape(count, 4)
    np.testing.assert_array_equal(rows, expected)


@pytest.mark.sample(6)
@pytest.mark.parametrize("limit", [0.0, 5.0, 50.0])
@pytest.mark.parametrize("count", [None, 3, 2**63 - 1])
@pytest.mark.parametrize("start", [None, True, False])
def test_a_condition_is_a_while(count: int | None, limit: float, start: bool | None) -> None:
    node = loop(
        "" if count is None else "m",
        "" if start is None else "c",
        [DOUBLE, *SMALL, helper.make_node("Neg", ["w"], ["n"])],
        ["w", "n"],
    )
    given = [] if start is None else [value("c", B, [1])]
    nodes = [const("limit", np.float32(limit)), const("m", 0 if count is None else count), node]
    proto = model(nodes, [value("x", F, ["N"]), *given], ["y", "s"])
    last, rows, going, times = X, [], start is not False, 0
    while going and (count is None or times < count):
        last, times = last * 2, times + 1
        rows.append(-last)
        going = bool(last.max() < limit)
    found = run(proto, X, *([] if start is None else [np.array([start])]))
    np.testing.assert_array_equal(found[0], last)
    np.testing.assert_array_equal(found[1], np.array(rows, np.float32).reshape(times, 4))


@pytest.mark.parametrize("count", [0, 1, 4])
def test_a_value_grows(count: int) -> None:
    proto = model([loop("m", "", [GROW, ALWAYS], ["w"])], [value("x", F, ["N"]), value("m", I64, [1])], ["y"])
    np.testing.assert_array_equal(run(proto, X, [count])[0], np.tile(X, count + 1))


def test_nothing_ends_a_loop() -> None:
    proto = model([loop("", "", [DOUBLE, ALWAYS], ["w"])], [value("x", F, [4])], ["y"])
    with pytest.raises(StepwellError, match="neither a trip count nor a condition ends it"):
        run(proto, X)


def test_a_rank_may_not_change() -> None:
    node = loop(
        "m", "", [const("zero", [0]), helper.make_node("Unsqueeze", ["v", "zero"], ["w"]), ALWAYS], ["w"]
    )
    proto = model([node], [value("x", F, [4]), value("m", I64, [])], ["y"])
    with pytest.raises(StepwellError, match="carried value 0 changes from tensor<4xf32> to tensor<1x4xf32>"):
        run(proto, X, 1)


def test_the_iteration_has_the_shape_that_the_body_declares() -> None:
    cast = helper.make_node("Cast", ["i"], ["f"], to=F)
    body = graph(
        [cast, helper.make_node("Add", ["v", "f"], ["w"]), helper.make_node("Identity", ["k"], ["ko"])],
        [value("i", I64, [1]), value("k", B, [1]), value("v", F)],
        [value("ko", B, [1]), value("w")],
    )
    node = helper.make_node("Loop", ["m", "", "x"], ["y"], body=body)
    np.testing.assert_array_equal(run(model([const("m", 4), node], [value("x", F, [4])], ["y"]), X)[0], X + 6)


@pytest.mark.sample(3)
@pytest.mark.parametrize("backward", [0, 1])
@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("length", ["L", 5])
def test_scan_takes_slices(axis: int, backward: int, length: int | str) -> None:
    nodes = [helper.make_node("Add", ["s", "e"], ["t"]), helper.make_node("Neg", ["t"], ["o"])]
    body = graph(nodes, [value("s", F, [3]), value("e", F, [3])], [value("t"), value("o")])
    node = helper.make_node(
        "Scan",
        ["s0", "x"],
        ["last", "all"],
        body=body,
        num_scan_inputs=1,
        scan_input_axes=[axis],
        scan_input_directions=[backward],
        scan_output_axes=[axis],
        scan_output_directions=[backward],
    )
    shape = [length, 3] if axis == 0 else [3, length]
    proto = model([node], [value("s0", F, [3]), value("x", F, shape)], ["last", "all"])
    x = np.arange(15, dtype=np.float32).reshape(5, 3)
    steps = x[::-1] if backward else x
    sums = -np.cumsum(steps, axis=0)
    sums = sums[::-1] if backward else sums
    last, rows = run(proto, np.zeros(3, np.float32), x if axis == 0 else np.ascontiguousarray(x.T))
    np.testing.assert_allclose(last, x.sum(0))
    np.testing.assert_allclose(rows, sums if axis == 0 else sums.T)


@pytest.mark.parametrize("scanned", [0, 2, 1 << 62])
def test_scan_takes_one_input_at_least(scanned: int) -> None:
    body = graph([helper.make_node("Neg", ["e"], ["o"])], [value("e", F, [3])], [value("o")])
    node = helper.make_node("Scan", ["x"], ["all"], body=body, num_scan_inputs=scanned)
    with pytest.raises(StepwellError, match=rf"num_scan_inputs must be in 1..1, found {scanned}"):
        run(model([node], [value("x", F, [5, 3])], ["all"]), np.ones((5, 3), np.float32))


LEVEL_2 = "convert-onnx-to-graph,fuse-ops,convert-graph-to-linalg"
LEVEL_3 = f"{LEVEL_2},{SCHEDULE_PIPELINE},{LOOP_PIPELINE},plan-memory"


@pytest.mark.parametrize("ends", [[ALWAYS], SMALL], ids=["for", "while"])
@pytest.mark.parametrize("pipeline", [LEVEL_2, LEVEL_3], ids=["tensors", "buffers"])
def test_levels_agree(pipeline: str, ends: list[NodeProto]) -> None:
    node = loop("m", "", [DOUBLE, *ends], ["w"])
    choice = branches(helper.make_node("Neg", ["y"], ["a"]), helper.make_node("Add", ["y", "x"], ["b"]))
    expected = {True: -8 * X, False: 9 * X}
    check_level(model([*loop_numbers(100), node, named(choice, "z")], XC, ["z"]), pipeline, expected)


@pytest.mark.parametrize("ends", [[ALWAYS], SMALL], ids=["for", "while"])
def test_levels_agree_on_sizes(ends: list[NodeProto]) -> None:
    node = loop("m", "", [GROW, *ends], ["w"])
    choice = branches(
        helper.make_node("Neg", ["y"], ["a"]), helper.make_node("Concat", ["y", "x"], ["b"], axis=0)
    )
    expected = {True: -np.tile(X, 4), False: np.tile(X, 5)}
    check_level(model([*loop_numbers(9), node, named(choice, "z")], XC, ["z"]), LEVEL_2, expected)


XC = [value("x", F, [4]), value("c", B, [])]


def loop_numbers(limit: float) -> list[NodeProto]:
    return [const("limit", np.float32(limit)), const("m", 3)]


def named(node: NodeProto, output: str) -> NodeProto:
    node.output[0] = output
    return node


def check_level(proto: ModelProto, pipeline: str, expected: dict[bool, Array]) -> None:
    for taken, result in expected.items():
        ctx = StepwellContext()
        module = import_onnx(proto, ctx)
        run_pipeline(module, pipeline, ctx)
        verify_module(module)
        np.testing.assert_array_equal(interpret(module, ctx, inputs=[X, np.array(taken)])[0], result)


def test_every_op_has_a_location() -> None:
    node = loop("m", "", [DOUBLE, ALWAYS, helper.make_node("Neg", ["w"], ["n"])], ["w", "n"])
    ctx = StepwellContext()
    module = import_onnx(model([node], [value("x", F, [4]), value("m", I64, [])], ["y", "s"]), ctx)
    run_pipeline(module, "convert-onnx-to-graph", ctx)
    assert not [
        op.name for op in module.walk() if op.name.startswith("graph.") and "unknown" in str(op.location)
    ]


def test_carried_values_may_change_places() -> None:
    body = graph(
        [PASS_ON, helper.make_node("Identity", ["b"], ["p"]), helper.make_node("Add", ["a", "x"], ["q"])],
        [value("i", I64, []), value("k", B, []), value("a"), value("b")],
        [value("ko", B, []), value("p"), value("q"), value("a")],
    )
    node = helper.make_node("Loop", ["m", "", "x", "z"], ["r", "s", "all"], body=body)
    inputs = [value("x", F, [4]), value("z", F, [4]), value("m", I64, [])]
    z, a, b, seen = -X, X, -X, []
    for _ in range(5):
        seen.append(a)
        a, b = b, a + X
    r, s, all_ = run(model([node], inputs, ["r", "s", "all"]), X, z, 5)
    np.testing.assert_array_equal(r, a)
    np.testing.assert_array_equal(s, b)
    np.testing.assert_array_equal(all_, np.array(seen))


def test_what_is_collected_may_have_a_size_that_is_data() -> None:
    nodes = [
        PASS_ON,
        helper.make_node("Compress", ["x", "keep"], ["n"], axis=0),
        helper.make_node("Add", ["v", "v"], ["w"]),
    ]
    proto = model(
        [loop("m", "", nodes, ["w", "n"])],
        [value("x", F, [4]), value("m", I64, []), value("keep", B, [4])],
        ["y", "s"],
    )
    keep = np.array([True, False, True, True])
    np.testing.assert_array_equal(run(proto, X, 3, keep)[1], np.tile(X[keep], (3, 1)))
    assert run(proto, X, 0, keep)[1].shape == (0, 0)


def test_a_loop_in_a_branch_in_a_loop() -> None:
    inner_body = graph(
        [helper.make_node("Identity", ["k2"], ["ko2"]), helper.make_node("Add", ["u", "f"], ["u2"])],
        [value("j", I64, []), value("k2", B, []), value("u")],
        [value("ko2", B, []), value("u2")],
    )
    inner = helper.make_node("Loop", ["i", "", "v"], ["t"], body=inner_body)
    choice = helper.make_node(
        "If",
        ["odd"],
        ["w"],
        then_branch=graph([inner], [], [value("t")]),
        else_branch=graph([helper.make_node("Neg", ["v"], ["e"])], [], [value("e")]),
    )
    nodes = [
        PASS_ON,
        const("two", 2),
        helper.make_node("Cast", ["i"], ["f"], to=F),
        helper.make_node("Mod", ["i", "two"], ["rest"]),
        helper.make_node("Cast", ["rest"], ["odd"], to=B),
        choice,
    ]
    expected = X
    for i in range(6):
        expected = expected + np.float32(i * i) if i % 2 else -expected
    proto = model([loop("m", "", nodes, ["w"])], [value("x", F, [4]), value("m", I64, [])], ["y"])
    np.testing.assert_array_equal(run(proto, X, 6)[0], expected)
