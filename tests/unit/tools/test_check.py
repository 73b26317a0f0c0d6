"""What `--check` compares with, and the inputs that `stepwell run` makes up."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

from stepwell.plugin import PatternRewriter, SSAValue, constant, graph, onnx_op
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Interface, TensorSpec
from stepwell.tools import cli
from stepwell.tools.check.reference import reference_evaluator
from stepwell.tools.inputs import made_up_inputs
from tests.commands import shown_error, written
from tests.onnx_models import onnx_model

F32 = np.dtype("float32")


def one_node(op_type: str, opset: int, shape: list[int]) -> ModelProto:
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, shape) for name in "xy")
    graph = helper.make_graph([helper.make_node(op_type, ["x"], ["y"], axis=1)], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)], ir_version=8)


@pytest.mark.sample(3)
@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
@pytest.mark.parametrize("opset", [11, 13])
def test_rows_mean_what_the_opset_says(
    op_type: str, opset: int, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Up to opset 12, a row is all dimensions from `axis` on: the reference agrees with our kernels."""
    model = one_node(op_type, opset, [2, 3, 4])
    x = np.random.default_rng(0).standard_normal((2, 3, 4)).astype(np.float32)
    (y,) = reference_evaluator(model).run(None, {"x": x})
    sums = np.exp(y).sum(axis=(1, 2)) if op_type == "LogSoftmax" else np.asarray(y).sum(axis=(1, 2))
    np.testing.assert_allclose(sums, 1 if opset < 13 else 4, rtol=1e-5)
    file = tmp_path / "m.onnx"
    file.write_bytes(model.SerializeToString())
    assert cli.main(["run", str(file), "--check"]) == 0
    assert "y: ok" in capsys.readouterr().out


@pytest.mark.parametrize("op_type", ["Softmax", "LogSoftmax", "Hardmax"])
def test_the_axis_of_old_opsets_is_1(op_type: str, tmp_path: Path) -> None:
    model = one_node(op_type, 9, [2, 3, 1, 1])
    del model.graph.node[0].attribute[:]
    assert cli.main(["run", str(written(tmp_path / "m.onnx", model)), "--check"]) == 0


def interface() -> Interface:
    specs = [("x", ["N", 4]), ("mask", ["N", "M"]), ("pairs", [Dim.of("N") + Dim.of("N")])]
    inputs = [TensorSpec(name, F32, tuple(Dim.of(d) for d in dims)) for name, dims in specs]
    return Interface(tuple(inputs), (), ("N", "M"), Dim.of(0))


def test_given_shapes_fix_what_others_share() -> None:
    shapes = {k: v.shape for k, v in made_up_inputs(interface(), "random", 0, {"x": (3, 4)}).items()}
    assert shapes == {"x": (3, 4), "mask": (3, 1), "pairs": (6,)}


def test_open_dimensions_are_1() -> None:
    assert made_up_inputs(interface(), "ones", 0)["mask"].shape == (1, 1)


def test_a_shape_of_another_rank() -> None:
    with pytest.raises(StepwellError, match="input 'x' is .*, found shape"):
        made_up_inputs(interface(), "ones", 0, {"x": (3,)})


def test_inputs_from_a_file_fix_the_rest(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`stepwell run --inputs` with one of two inputs: the other one follows its size."""
    a, b, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N"]) for name in "aby")
    graph = helper.make_graph([helper.make_node("Add", ["a", "b"], ["y"])], "g", [a, b], [y])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (file := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    np.savez(inputs := tmp_path / "a.npz", a=np.ones(5, np.float32))
    assert cli.main(["run", str(file), "--inputs", str(inputs), "--check"]) == 0
    assert "y: float32[5]" in capsys.readouterr().out


def test_a_shape_for_no_input() -> None:
    """A misspelled name is an error for an artifact too, not a shape that nothing has."""
    with pytest.raises(StepwellError, match="the model has no input 'mosk'"):
        made_up_inputs(interface(), "ones", 0, {"mosk": (3, 3)})


def test_models_that_the_reference_cannot_run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """It lacks some operators at some opsets: `--check` says so, and what else compares."""
    x, updates, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, [4]) for name in ("x", "u", "y"))
    indices = helper.make_tensor("i", TensorProto.INT64, [4], [3, 1, 0, 2])
    graph = helper.make_graph(
        [helper.make_node("Scatter", ["x", "i", "u"], ["y"])], "g", [x, updates], [y], [indices]
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 10)], ir_version=8)
    (file := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert cli.main(["run", str(file), "--check"]) == 1
    shown = capsys.readouterr()
    assert (
        "y: float32[4]" in shown.out
        and "error[no-reference]: " in shown.err
        and "stepwell bench" in shown.err
    )


def test_sizes_that_were_made_up_are_named(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A model that refuses 1 says what it takes, and that nobody gave another size."""
    x, y = (helper.make_tensor_value_info(name, TensorProto.FLOAT, ["N", None]) for name in "xy")
    shape = helper.make_tensor("s", TensorProto.INT64, [2], [-1, 7])
    graph = helper.make_graph([helper.make_node("Reshape", ["x", "s"], ["y"])], "g", [x], [y], [shape])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 18)], ir_version=8)
    (file := tmp_path / "m.onnx").write_bytes(model.SerializeToString())
    assert cli.main(["run", str(file)]) == 1
    assert "made up: N = 1, x_1 = 1; --input-shape gives other sizes" in capsys.readouterr().err
    assert cli.main(["run", str(file), "--input-shape", "x=3x7"]) == 0


def test_an_operator_of_a_plugin_has_its_own_reference(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """At the opset of the model, with attributes; without a reference the error says how to give one."""
    for since, factor in ((1, 1.0), (2, 10.0), (3, 0.0)):
        reference = partial(lambda factor, x, shift=0.5: factor * x + shift, factor) if since < 3 else None

        @onnx_op("test.check", "Affine", since=since, reference=reference)
        def affine(  # pyright: ignore[reportUnusedFunction]
            rewriter: PatternRewriter, x: SSAValue, *, shift: float = 0.5, factor: float = factor
        ) -> graph.AddOp:
            scaled = graph.MultiplyOp(x, constant(rewriter, factor, like=x)).result
            return graph.AddOp(scaled, constant(rewriter, shift, like=x))

    for opset, node in ((1, "Affine<shift = 2.0>(x)"), (1, "Affine(x)"), (2, "Affine(x)")):
        body = f"g (float[N] x) => (float[N] y) {{ y = test.check.{node} }}"
        model = written(tmp_path / "m.onnx", onnx_model(body, header=f', "test.check" : {opset}'))
        assert cli.main(["run", str(model), "--check"]) == 0
        assert "y: ok" in capsys.readouterr().out
    body = "g (float[N] x) => (float[N] y) { y = test.check.Affine(x) }"
    model = written(tmp_path / "m.onnx", onnx_model(body, header=', "test.check" : 3'))
    error = shown_error(capsys, cli.main, "run", model, "--check")
    assert "error[no-reference]" in error and "`@onnx_op(…, reference=f)`" in error
