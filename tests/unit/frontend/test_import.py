"""What import makes of a model's details: names, order, optional values, subgraphs, types, documentation."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, TypeProto, helper, numpy_helper
from xdsl.dialects.builtin import DictionaryAttr, IntegerAttr, StringAttr, i64
from xdsl.dialects.func import FuncOp
from xdsl.ir import Operation

import stepwell
from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import array_of
from stepwell.dialects.types import WeightAttr
from stepwell.frontend import ModelWarning, export_onnx, import_onnx
from stepwell.runtime.errors import StepwellError, describe_location
from tests.onnx_models import check, imported, normal_form, onnx_model, ops_named, through_text

GRAPH = "g (float[N, 4] x) => (float[N, 4] y)"


def if_branches(then: str, otherwise: str) -> str:
    """The attributes of an `If` with a node in each branch; the branches use the same names."""
    head = "() => (float[N, 4] r)"
    return f"then_branch = t {head} {{ r = {then} }}, else_branch = e {head} {{ r = {otherwise} }}"


def come_back(model: ModelProto, *, valid: bool = True) -> Operation:
    """Require a model to be the same after import, text and export; returns the module."""
    module, ctx = imported(model)
    exported = export_onnx(through_text(module, ctx), ctx)
    if valid:
        check(exported)
    assert normal_form(exported) == normal_form(model)
    return module


def test_nodes_in_wrong_order_are_sorted() -> None:
    """ONNX Runtime takes them, the checker does not; we do, and say so."""
    with pytest.warns(ModelWarning, match="not in the order of their use"):
        module, _ = imported(onnx_model(f"{GRAPH} {{ y = Tanh(b) b = Neg(a) a = Relu(x) }}"))
    assert [op.name for op in module.walk() if op.name.startswith("onnx.")] == [
        "onnx.Relu",
        "onnx.Neg",
        "onnx.Tanh",
    ]


def _negative_model() -> ModelProto:
    """A model in which sizes that its exporter did not know are negative numbers, in a subgraph too."""
    model = onnx_model(
        "g (float[2, 4] x, float[2, 4] b, bool c) => (float[2, 4] y) <float[2, 4] a> {"
        f" a = Add(x, b) y = If <{if_branches('Neg(a)', 'Abs(a)')}> (c) }}"
    )
    (then, otherwise), main = (a.g for a in model.graph.node[1].attribute), model.graph
    for info in (main.input[0], main.value_info[0], main.output[0], then.output[0]):
        info.type.tensor_type.shape.dim[0].dim_value = -1
    main.input[1].type.tensor_type.shape.dim[0].dim_value = -3
    otherwise.output[0].type.tensor_type.shape.dim[0].dim_param = "M"
    return model


def test_a_negative_dimension_is_unknown() -> None:
    """As PaddlePaddle writes them; one warning lists the values."""
    with pytest.warns(ModelWarning) as found:
        module, _ = imported(_negative_model())
    (message,) = [str(w.message) for w in found]
    assert message == "<model>: negative dimensions are taken as unknown: " + ", ".join(
        f'value "{name}"' for name in "ayxbr"
    )
    (add,) = ops_named(module, "onnx.Add")
    assert [str(value.type) for value in (*add.operands, *add.results)] == ["tensor<?x4xf32>"] * 3


def test_models_with_negative_dimensions_run_at_all_sizes() -> None:
    with pytest.warns(ModelWarning, match="negative dimensions"):
        compiled = stepwell.compile(_negative_model())
    for rows in (1, 5):
        x, b = np.random.default_rng(rows).uniform(-1, 1, (2, rows, 4)).astype(np.float32)
        y = compiled.run({"x": x, "b": b, "c": np.array(True)})["y"]
        np.testing.assert_array_equal(y, -(x + b))


def test_a_subgraph_waits_for_what_it_captures() -> None:
    """Sorting looks into subgraphs: the `If` needs `b`."""
    branches = if_branches("Neg(b)", "Abs(b)")
    with pytest.warns(ModelWarning, match="order"):
        module, _ = imported(
            onnx_model(
                f"g (bool c, float[N, 4] x) => (float[N, 4] y) {{ y = If <{branches}> (c) b = Relu(x) }}"
            )
        )
    assert [op.name for op in ops_named(module, "onnx.Relu", "onnx.If")] == ["onnx.Relu", "onnx.If"]


def test_locations_name_the_file_and_the_node() -> None:
    """A node without name is known by its operator and place."""
    model = onnx_model(f"{GRAPH} {{ a = Relu(x) y = Tanh(a) }}")
    model.graph.node[1].name = "head/tanh"
    module, _ = imported(model)
    relu, tanh = ops_named(module, "onnx.Relu", "onnx.Tanh")
    assert describe_location(relu) == '<model>: node "Relu#0"'
    assert describe_location(tanh) == '<model>: node "head/tanh"'


def test_absent_inputs_are_no_operands() -> None:
    """An empty name in the middle, and inputs left out at the end."""
    module = come_back(onnx_model(f"{GRAPH} <float m = {{6}}> {{ a = Clip(x, , m) y = Clip(a) }}"))
    first, second = ops_named(module, "onnx.Clip")
    assert isinstance(first, onnx.ClipOp) and isinstance(second, onnx.ClipOp)
    assert first.min is None and first.max is not None
    assert len(second.operands) == 1


def test_absent_outputs_are_no_results() -> None:
    """`Y` of an LSTM is not computed when its name is empty."""
    body = (
        "g (float[S, 1, 4] x, float[1, 8, 4] w, float[1, 8, 2] r) => (float[1, 1, 2] h, float[1, 1, 2] c) "
        "{ , h, c = LSTM <hidden_size = 2> (x, w, r) }"
    )
    (lstm,) = ops_named(come_back(onnx_model(body)), "onnx.LSTM")
    assert isinstance(lstm, onnx.LSTMOp)
    assert lstm.Y is None and lstm.Y_h is lstm.results[0] and lstm.Y_c is lstm.results[1]


def test_operands_go_by_the_opset() -> None:
    """Input 1 of Resize is `scales` in opset 10 and `roi` from 11 on."""
    old = "g (float[N, 4] x, float[2] s) => (float[A, B] y) { y = Resize(x, s) }"
    new = "g (float[N, 4] x, float[2] s) => (float[A, B] y) { y = Resize(x, , s) }"
    for body, opset in ((old, 10), (new, 13)):
        (resize,) = ops_named(come_back(onnx_model(body, opset)), "onnx.Resize")
        assert isinstance(resize, onnx.ResizeOp)
        assert resize.roi is None and resize.scales is resize.operands[1]


def test_subgraphs_are_regions() -> None:
    """A loop's body sees its own inputs and outer values; siblings may use a name again."""
    loop = (
        "body = b (int64 i, bool c, float[N, 4] h) => (bool d, float[N, 4] k, float[N, 4] s) "
        "{ d = Identity(c) k = Add(h, x) s = Identity(k) }"
    )
    head = "g (float[N, 4] x, int64 n, bool t) => (float[N, 4] y, float[T, N, 4] z)"
    (op,) = ops_named(come_back(onnx_model(f"{head} {{ y, z = Loop <{loop}> (n, t, x) }}")), "onnx.Loop")
    assert isinstance(op, onnx.LoopOp)
    block = op.body.block
    (add,) = ops_named(op, "onnx.Add")
    main = op.parent_block()
    assert main is not None
    assert add.operands[0] is block.args[2] and add.operands[1] is main.args[0]
    branches = if_branches("Neg(x)", "Abs(x)")
    come_back(onnx_model(f"g (bool c, float[N, 4] x) => (float[N, 4] y) {{ y = If <{branches}> (c) }}"))


def test_small_initializers_are_inline_and_large_ones_weights() -> None:
    """At most 16 elements stand in the text; equal weights are one."""
    large = ", ".join(["1.5"] * 32)
    body = f"{GRAPH} <float[4] s = {{1, 2, 3, 4}}, float[8, 4] a = {{{large}}}, float[8, 4] b = {{{large}}}>"
    model = onnx_model(f"{body} {{ t = Add(x, s) u = Add(t, a) y = Add(u, b) }}")
    come_back(model)
    module, ctx = imported(model)
    values = [op.value for op in module.walk() if isinstance(op, onnx.ConstantOp)]
    assert [isinstance(value, WeightAttr) for value in values] == [False, True, True]
    assert len(ctx.weights) == 1
    assert values[0] is not None and np.array_equal(
        array_of(values[0], ctx.weights), np.arange(1, 5, dtype="f4")
    )


def overridable(ir_version: int) -> ModelProto:
    """A model whose initializer `w` is an input too, the first."""
    body = "g (float[4] w, float[N, 4] x) => (float[N, 4] y) <float[4] w = {1, 2, 3, 4}> { y = Add(x, w) }"
    return onnx_model(body, ir_version=ir_version)


def main_of(module: Operation) -> FuncOp:
    """The main function."""
    return next(op for op in module.walk() if isinstance(op, FuncOp))


@pytest.mark.filterwarnings("error")
def test_initializers_below_ir_version_4_are_constants() -> None:
    """Each initializer had to be listed as an input then."""
    module = come_back(overridable(3))
    assert len(main_of(module).body.block.args) == 1


def test_overridable_initializers_become_constants_and_this_is_said() -> None:
    """From IR version 4 a caller could pass another value."""
    with pytest.warns(ModelWarning, match=r"\(w\) are taken as constants: `import_onnx` keeps them"):
        module = come_back(overridable(8))
    assert len(main_of(module).body.block.args) == 1


@pytest.mark.filterwarnings("error")
def test_overridable_initializers_can_be_kept() -> None:
    """Then they are arguments with a default."""
    ctx = StepwellContext()
    model = overridable(8)
    module = import_onnx(model, ctx, keep_overridable=True)
    attributes = main_of(module).arg_attrs
    assert attributes is not None
    assert ["onnx.default" in about.data for about in attributes] == [True, False]
    assert normal_form(export_onnx(through_text(module, ctx), ctx)) == normal_form(model)


def test_dimension_names_become_symbols_and_come_back() -> None:
    """Names that are no symbols get one of their own; `?` says nothing."""
    module = come_back(onnx_model("g (float[a, 4] x, float[b, ?] z) => (float[a, 4] y) { y = Relu(x) }"))
    model = onnx_model(f"{GRAPH} {{ y = Relu(x) }}")
    for info, names in (
        (model.graph.input[0], ["batch size", "batch-size"]),
        (model.graph.output[0], ["min", "?"]),
    ):
        for dim, name in zip(info.type.tensor_type.shape.dim, names, strict=True):
            dim.dim_param = name
    module, ctx = imported(model)
    types = [str(t) for t in (*main_of(module).function_type.inputs, *main_of(module).function_type.outputs)]
    assert '["batch_size", "batch_size_1"]' in types[0]
    assert '["min_", "?"]' in types[1]
    exported = export_onnx(module, ctx)
    dims = [dim.dim_param for dim in exported.graph.input[0].type.tensor_type.shape.dim]
    assert dims == ["batch size", "batch-size"]


def test_types_without_rank_or_element() -> None:
    """Nothing declared is `!onnx.any`, an unknown rank is unranked."""
    model = onnx_model("g (float[] x) => (float[] y) { a = Relu(x) y = Relu(a) }")
    for info in (*model.graph.input, *model.graph.output):
        info.type.tensor_type.ClearField("shape")
    module = come_back(model, valid=False)
    assert [str(op.results[0].type) for op in ops_named(module, "onnx.Relu")] == [
        "!onnx.any",
        "tensor<*xf32>",
    ]


def value_types() -> list[TypeProto]:
    """One of each kind of type."""
    tensor = helper.make_tensor_type_proto(TensorProto.FLOAT, ["N", 3])
    elements = [element for element in TensorProto.DataType.values() if element != TensorProto.UNDEFINED]
    return [
        helper.make_sequence_type_proto(tensor),
        helper.make_optional_type_proto(helper.make_sequence_type_proto(tensor)),
        helper.make_map_type_proto(TensorProto.STRING, tensor),
        helper.make_sparse_tensor_type_proto(TensorProto.DOUBLE, [5, 5]),
        *(helper.make_tensor_type_proto(element, [2]) for element in elements),
    ]


@pytest.mark.parametrize("type", value_types(), ids=lambda t: str(t).replace("\n", " "))
def test_every_type_comes_back(type: TypeProto) -> None:
    """Element types, sequences, optionals, maps, sparse tensors."""
    value = helper.make_value_info("x", type)
    graph = helper.make_graph([], "g", [value], [value])
    come_back(helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)]), valid=False)


def test_strings() -> None:
    """Tensors of strings, attributes that are text, and bytes that are none."""
    model = onnx_model("g () => (string[3] y) { y = Identity(c) }")
    tensor = TensorProto(name="c", data_type=TensorProto.STRING, dims=[3])
    tensor.string_data.extend([b"a", "größe".encode(), b"\xff"])
    model.graph.initializer.append(tensor)
    (constant,) = ops_named(come_back(model), "onnx.Constant")
    assert isinstance(constant, onnx.ConstantOp) and isinstance(constant.value, onnx.StringsAttr)
    assert constant.value.values() == (b"a", "größe".encode(), b"\xff")


def test_sparse_initializers() -> None:
    """Values and positions are constants of their own."""
    model = onnx_model(f"{GRAPH} {{ y = MatMul(x, s) }}")
    values = numpy_helper.from_array(np.array([2.5, 3.5], np.float32), "s")
    positions = numpy_helper.from_array(np.array([1, 7], np.int64))
    model.graph.sparse_initializer.append(helper.make_sparse_tensor(values, positions, [4, 4]))
    (constant,) = ops_named(come_back(model, valid=False), "onnx.Constant")
    assert str(constant.results[0].type) == "!onnx.sparse<tensor<4x4xf32>>"


def documented() -> ModelProto:
    """A model that says something about everything."""
    model = onnx_model(f"{GRAPH} <float[4] w = {{1, 2, 3, 4}}> {{ a = Add(x, w) y = Relu(a) }}")
    graph = model.graph
    model.domain, model.producer_name, model.producer_version, model.model_version = "d", "p", "1", 3
    graph.value_info.append(helper.make_tensor_value_info("a", TensorProto.FLOAT, ["N", 4]))
    everything = (
        model,
        graph,
        graph.node[0],
        graph.initializer[0],
        graph.input[0],
        graph.output[0],
        graph.value_info[0],
    )
    for number, part in enumerate(everything):
        part.doc_string = f'about {number}: größe\n"quoted"'
        part.metadata_props.add(key=f"key {number}", value="value\n")
    graph.input[0].type.denotation = "IMAGE"
    graph.input[0].type.tensor_type.shape.dim[0].denotation = "DATA_BATCH"
    annotation = graph.quantization_annotation.add(tensor_name="a")
    annotation.quant_parameter_tensor_names.add(key="SCALE_TENSOR", value="w")
    return model


def test_documentation_comes_back() -> None:
    """Doc strings, metadata, denotations, annotations, of every part that can have them."""
    module = come_back(documented())
    about = main_of(module).attributes["onnx.value_info"]
    assert isinstance(about, DictionaryAttr)
    assert sorted(about.data) == ["a", "x", "y"]
    assert isinstance(module.attributes["onnx.producer_name"], StringAttr)


def test_outputs_may_be_inputs_constants_or_twice_the_same() -> None:
    """Odd but legal; the declared type of such an output is kept where it differs."""
    head = "g (float[N, 4] x) => (float[M, 4] x, float[4] w, float[N, 4] y, float[N, 4] y)"
    come_back(onnx_model(f"{head} <float[4] w = {{1, 2, 3, 4}}> {{ y = Relu(x) }}"), valid=False)


def test_other_domains_are_calls() -> None:
    """Operators that are not ONNX's keep all they have: absent values, attributes of every kind."""
    attributes = 'f = 1.5, i = 2, s = "t", is = [1, 2], fs = [0.5], ss = ["u"], t = float[2] {1, 2}'
    body = f"{GRAPH} {{ a, , b = com.acme.Mix <{attributes}> (x, , x) y = Add(a, b) }}"
    module = come_back(onnx_model(body, header=', "com.acme" : 1'), valid=False)
    (op,) = ops_named(module, "onnx.Call")
    assert isinstance(op, onnx.CallOp)
    assert (op.domain.data, op.op_type.data, len(op.operands), len(op.results)) == ("com.acme", "Mix", 2, 2)


def test_unknown_operators_are_left_to_the_conversion() -> None:
    """So that it can list them all; they are calls in the domain of ONNX."""
    module = come_back(onnx_model(f"{GRAPH} {{ a = ATen(x) y = Affine <alpha = 2.0> (a) }}"), valid=False)
    assert len(ops_named(module, "onnx.Call")) == 2


def test_floats_that_are_not_finite() -> None:
    """Lists of them are printed one by one."""
    several = "c = Constant <value_floats = [1.0, inf, -inf, nan]> ()"
    one = "d = Constant <value_float = inf> ()"
    come_back(onnx_model(f"{GRAPH} {{ {several} {one} y = Add(x, c) }}"))


def test_training_information_is_left_out_with_a_warning() -> None:
    """Nothing is dropped in silence."""
    model = onnx_model(f"{GRAPH} {{ y = Relu(x) }}")
    model.training_info.add()
    with pytest.warns(ModelWarning, match="`training_info` is left out"):
        imported(model)


def test_old_models_without_opset() -> None:
    """Before IR version 3 there was one opset, and the file does not name it."""
    model = onnx_model(f"{GRAPH} {{ y = Relu(x) }}", ir_version=2)
    del model.opset_import[:]
    module, _ = imported(model)
    (relu,) = ops_named(module, "onnx.Relu")
    assert onnx.opset_of(relu) == 1


def test_weights_stay_in_the_file(tmp_path: Path) -> None:
    """A large initializer is a view of the mapped file, where it is aligned."""
    weight = np.arange(4096, dtype=np.uint8)
    model = onnx_model("g () => (uint8[4096] y) { y = Identity(w) }")
    model.graph.initializer.append(numpy_helper.from_array(weight, "w"))
    file = tmp_path / "m.onnx"
    file.write_bytes(model.SerializeToString())
    ctx = StepwellContext()
    import_onnx(file, ctx)
    (key,) = ctx.weights
    kept = ctx.weights.get(key)
    assert np.array_equal(kept, weight)
    assert not kept.flags.owndata and not kept.flags.writeable


def test_export_refuses_other_levels() -> None:
    """Only level 0 is a model of ONNX."""
    module, ctx = imported(onnx_model(f"{GRAPH} {{ y = Relu(x) }}"))
    (relu,) = ops_named(module, "onnx.Relu")
    relu.attributes[onnx.OPSET] = IntegerAttr(6, i64)
    with pytest.raises(StepwellError, match="Relu of opset 6 cannot be exported into a model of opset 18"):
        export_onnx(module, ctx)
