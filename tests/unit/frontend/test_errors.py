"""Models that are wrong: each gets one error, with its code, the file or node, and what was found."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from onnx import AttributeProto, ModelProto, TensorProto, helper

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.frontend import import_onnx
from stepwell.runtime.errors import StepwellError
from tests.onnx_models import onnx_model

GRAPH = "g (float[N, 4] x) => (float[N, 4] y)"


def refused(model: ModelProto | bytes | Path) -> StepwellError:
    """The error that importing a model ends with."""
    with pytest.raises(StepwellError) as error:
        import_onnx(model, StepwellContext())
    return error.value


@pytest.mark.parametrize(
    ("body", "code", "message"),
    [
        ("{ y = Relu(z) }", "undefined-value", "'z' is used, but no input, initializer or node defines it"),
        ("{ z = Relu(x) }", "undefined-value", "the model returns 'y', but nothing defines it"),
        ("{ a = Add(x, b) b = Relu(a) y = Relu(x) }", "cycle", "Add#0 <- Relu#1 <- Add#0"),
        ("{ a = Relu(a) y = Relu(x) }", "cycle", "Relu#0 <- Relu#0"),
        ("{ y = Relu(x) y = Tanh(x) }", "invalid-model", "'y' is defined twice"),
        ("{ x = Relu(x) y = Tanh(x) }", "invalid-model", "'x' is defined twice"),
        ("{ y = Gelu(x) }", "unknown-opset", "Gelu does not exist in opset 18 of domain ai.onnx"),
        ("{ y = other.Gelu(x) }", "unknown-opset", "of domain 'other', of which the model imports no opset"),
        ("{ y = Relu(x, x) }", "invalid-model", "inputs of Relu: at most 1 are possible, found 2"),
        ("{ y = Add(x) }", "invalid-model", "inputs of Add: `B` is missing"),
        ('{ y = Add(x, "") }', "invalid-model", "inputs of Add: `B` is not optional"),
        ("{ y = Concat <axis = 0> () }", "invalid-model", "inputs of Concat: `inputs` is missing"),
        ("{ y, z = Relu(x) }", "invalid-model", "outputs of Relu: at most 1 are possible"),
        ("{ y = Concat(x) }", "invalid-model", "Concat needs attribute `axis`"),
        ("{ y = Relu <axis = 1> (x) }", "invalid-model", "Relu has no attribute 'axis' at version 14"),
        (
            "{ y = Concat <axis = 1.5> (x) }",
            "invalid-model",
            "`axis` of Concat must be of kind int, found float",
        ),
        ("{ y = Concat <axis = 1, axis = 0> (x) }", "invalid-model", "attribute `axis` is given twice"),
        (
            "{ y = Constant <value = float[3] {1, 2}> () }",
            "invalid-model",
            "a tensor of shape [3] needs 3 entries of float_data, found 2",
        ),
    ],
)
def test_bad_graphs(body: str, code: str, message: str) -> None:
    """Names, order, operators, arity and attributes."""
    error = refused(onnx_model(f"{GRAPH} {body}"))
    assert error.code == code
    assert message in str(error)
    assert error.where.startswith("<model>: ")


def edited(edit: Callable[[ModelProto], object]) -> ModelProto:
    """A good model, made bad."""
    model = onnx_model(f"{GRAPH} <float[4] w = {{1, 2, 3, 4}}> {{ y = Add(x, w) }}")
    edit(model)
    return model


def _weight(model: ModelProto) -> TensorProto:
    return model.graph.initializer[0]


def _set_raw(model: ModelProto, dims: list[int], data: bytes) -> None:
    _weight(model).CopyFrom(TensorProto(name="w", dims=dims, data_type=TensorProto.FLOAT, raw_data=data))


def _external(model: ModelProto, **entries: str) -> None:
    tensor = TensorProto(name="w", dims=[4], data_type=TensorProto.FLOAT)
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    _weight(model).CopyFrom(tensor)


BAD_FIELDS: list[tuple[Callable[[ModelProto], object], str, str]] = [
    (lambda m: _set_raw(m, [4], b"\0" * 12), "invalid-model", "takes 16 bytes, found 12"),
    (lambda m: _set_raw(m, [-1], b"\0" * 12), "invalid-model", "cannot have the shape [-1]"),
    (lambda m: _set_raw(m, [2**40, 2**40], b""), "invalid-model", "cannot have the shape"),
    (lambda m: _set_raw(m, [2**50], b"\0" * 16), "invalid-model", f"takes {2**52} bytes, found 16"),
    (lambda m: setattr(_weight(m), "data_type", 99), "invalid-model", "element type 99"),
    (lambda m: setattr(_weight(m), "data_type", 0), "invalid-model", "element type 0"),
    (lambda m: _weight(m).dims.append(2), "invalid-model", "needs 8 entries of float_data, found 4"),
    (
        lambda m: _weight(m).segment.CopyFrom(TensorProto.Segment(begin=0, end=16)),
        "invalid-model",
        "segments",
    ),
    (lambda m: setattr(m.graph.input[0].type.tensor_type, "elem_type", 77), "invalid-model", "type 77"),
    (lambda m: setattr(m.opset_import[0], "version", 99), "unknown-opset", "opset 99 of domain ai.onnx"),
    (lambda m: setattr(m.opset_import[0], "version", 0), "unknown-opset", "opset 0 of domain ai.onnx"),
    (lambda m: m.opset_import.append(helper.make_opsetid("", 17)), "invalid-model", "both imported"),
    (lambda m: m.ClearField("graph"), "invalid-model", "has no ONNX graph"),
    (lambda m: m.graph.initializer.append(_weight(m)), "invalid-model", "'w' is defined twice"),
    (lambda m: _external(m, location="w.bin"), "external-data", "a model in memory has no folder"),
    (
        lambda m: m.graph.node[0].attribute.append(AttributeProto(name="a")),
        "invalid-model",
        "Add has no attribute 'a'",
    ),
]


@pytest.mark.parametrize(("edit", "code", "message"), BAD_FIELDS)
def test_bad_fields(edit: Callable[[ModelProto], object], code: str, message: str) -> None:
    """Sizes, types, opsets and places that cannot be, found before anything is allocated."""
    error = refused(edited(edit))
    assert error.code == code
    assert message in str(error)


def test_subgraphs_may_not_redefine_outer_names() -> None:
    """As the checker and ONNX Runtime: the name of an outer value is taken."""
    branch = "then_branch = t () => (float[N, 4] r) { x = Neg(x) r = Identity(x) }"
    other = "else_branch = e () => (float[N, 4] s) { s = Identity(x) }"
    error = refused(
        onnx_model(f"g (bool c, float[N, 4] x) => (float[N, 4] y) {{ y = If <{branch}, {other}> (c) }}")
    )
    assert "'x' is defined again inside a subgraph" in str(error)
    assert "such as 'x_inner'" in str(error)


def test_inputs_of_subgraphs_hide_outer_names() -> None:
    """The specification forbids it to the outputs of nodes alone: inner names win inside, outer ones stay."""
    body = "body = b (float[2] s, float[2] x) => (float[2] t, float[2] u) { t = Add(s, x) u = Identity(t) }"
    graph = "g (float[2] z, float[3, 2] x) => (float[2] y, float[3, 2] ys, float[3, 2] w)"
    nodes = f"{{ y, ys = Scan <num_scan_inputs = 1, {body}> (z, x) w = Neg(x) }}"
    x = np.arange(6, dtype=np.float32).reshape(3, 2)
    y, ys, w = stepwell.compile(onnx_model(f"{graph} {nodes}"))(np.zeros(2, np.float32), x)
    np.testing.assert_array_equal(y, x.sum(0))
    np.testing.assert_array_equal(ys, x.cumsum(0))
    np.testing.assert_array_equal(w, -x)


@pytest.mark.parametrize("keep", [0, 1, 10, 40, -1])
def test_files_that_are_cut_off(keep: int, tmp_path: Path) -> None:
    """A truncated file is one error that names it."""
    data = onnx_model(f"{GRAPH} {{ y = Relu(x) }}").SerializeToString()
    file = tmp_path / "cut.onnx"
    file.write_bytes(data[:keep])
    error = refused(file)
    assert error.code == "invalid-model"
    assert error.where == "cut.onnx"


@pytest.mark.parametrize(
    "data",
    [
        b"version https://git-lfs.github.com/spec/v1\noid sha256:4d7a214614ab2935c943f9e0ff69d22eadbb8f32\n",
        b"PK\x03\x04" + bytes(100),
        b"\xff" * 200,
        b"\x3a\xff\xff\xff\xff\xff\xff\xff\xff\xff\x7f" + bytes(5000),
        b"\x3b" + bytes(5000),
    ],
)
def test_files_that_are_something_else(data: bytes) -> None:
    """Pointers of git lfs, archives and noise."""
    assert refused(data).code == "invalid-model"


def test_a_missing_file(tmp_path: Path) -> None:
    """The path is named."""
    error = refused(tmp_path / "none.onnx")
    assert error.code == "no-file"
    assert "No such file" in str(error)
    assert refused(tmp_path).code == "no-file"


def test_a_required_output_may_not_be_absent() -> None:
    """An empty name among the outputs is for optional ones."""
    model = onnx_model(f"{GRAPH} {{ y = Relu(x) }}")
    model.graph.node[0].output[0] = ""
    assert "outputs of Relu: `Y` is not optional" in str(refused(model))


def test_functions_import_opsets_of_their_own() -> None:
    """A function with an opset that does not exist is named."""
    function = '<opset_import: ["" : 99], domain: "local"> F (a) => (b) { b = Relu(a) }'
    error = refused(onnx_model(f"{GRAPH} {{ y = local.F(x) }} {function}", header=', "local" : 1'))
    assert error.code == "unknown-opset"
    assert error.where == '<model>: function "local.F"'
