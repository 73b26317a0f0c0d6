"""Tensors of model files: every element type, in every place where a file can have it, and external data."""

from __future__ import annotations

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from onnx import ModelProto, TensorProto, helper, numpy_helper

from stepwell.dialects import onnx
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import Array, array_of
from stepwell.frontend import export_onnx, import_onnx
from stepwell.frontend.value_types import ELEMENTS
from stepwell.frontend.wire import MIN_BYTES, without_weights
from stepwell.runtime.errors import StepwellError
from tests.onnx_models import onnx_model
from tests.support.samples import examples

NUMBERS = sorted(set(ELEMENTS) - {TensorProto.STRING})


def constant_model(tensor: TensorProto) -> ModelProto:
    """A model with one initializer, that it returns."""
    info = helper.make_tensor_value_info("y", tensor.data_type, list(tensor.dims))
    graph = helper.make_graph([helper.make_node("Identity", ["w"], ["y"])], "g", [], [info], [tensor])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 28)])


def constant_of(source: ModelProto | bytes | Path) -> Array:
    """The array that the model's one constant stands for."""
    ctx = StepwellContext()
    module = import_onnx(source, ctx)
    (value,) = [op.value for op in module.walk() if isinstance(op, onnx.ConstantOp)]
    assert value is not None
    return array_of(value, ctx.weights)


def arrays(data_type: int) -> st.SearchStrategy[Array]:
    """Small arrays of an element type, with all its values."""
    dtype = helper.tensor_dtype_to_np_dtype(data_type)
    shapes = hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=7)
    return hnp.arrays(np.int8, shapes).map(
        lambda raw: np.asarray(raw % 3 if dtype.itemsize == 1 else raw).astype(dtype)
    )


def as_typed_field(array: Array, data_type: int) -> TensorProto:
    """A tensor whose elements are in the field of their type, not in raw data."""
    return helper.make_tensor("w", data_type, array.shape, array.flatten().tolist(), raw=False)


@examples(150)
@given(st.sampled_from(NUMBERS).flatmap(lambda t: st.tuples(st.just(t), arrays(t))))
def test_raw_and_typed_data_are_the_same(case: tuple[int, Array]) -> None:
    """What onnx writes in either form, we read; what we write, onnx reads."""
    data_type, array = case
    for tensor in (numpy_helper.from_array(array, "w"), as_typed_field(array, data_type)):
        found = constant_of(constant_model(tensor))
        assert found.dtype == array.dtype and found.shape == array.shape
        assert found.tobytes() == array.tobytes()
    ctx = StepwellContext()
    model = constant_model(numpy_helper.from_array(array, "w"))
    (tensor,) = export_onnx(import_onnx(model, ctx), ctx).graph.initializer
    assert numpy_helper.to_array(tensor).tobytes() == array.tobytes()


@pytest.mark.parametrize("place", ["initializer", "attribute", "subgraph"])
def test_large_tensors_are_left_out_of_the_parsed_model(place: str) -> None:
    """Wherever a tensor stands, its bytes are not copied, and are found again."""
    weight = np.random.default_rng(1).standard_normal(5000).astype("f4")
    tensor = numpy_helper.from_array(weight, "w")
    model = constant_model(tensor)
    if place != "initializer":
        del model.graph.initializer[:]
        constant = helper.make_node("Constant", [], ["w"], value=tensor)
        model.graph.node.insert(0, constant)
    if place == "subgraph":
        info = model.graph.output[0]
        inner = helper.make_graph(list(model.graph.node), "t", [], [info])
        other = helper.make_graph(
            [helper.make_node("Identity", ["x"], ["z"])], "e", [], [helper.make_empty_tensor_value_info("z")]
        )
        branch = helper.make_node("If", ["c"], ["r"], then_branch=inner, else_branch=other)
        inputs = [
            helper.make_tensor_value_info("c", TensorProto.BOOL, []),
            helper.make_tensor_value_info("x", TensorProto.FLOAT, [5000]),
        ]
        graph = helper.make_graph(
            [branch], "g", inputs, [helper.make_tensor_value_info("r", TensorProto.FLOAT, [5000])]
        )
        model.graph.CopyFrom(graph)
    data = model.SerializeToString()
    small, ranges = without_weights(memoryview(data))
    assert len(small) < MIN_BYTES and len(ranges) == 1
    assert np.array_equal(constant_of(data), weight)


def with_external(folder: Path, data: bytes, **entries: str) -> Path:
    """A model in a folder, with a weight of 32 floats in `w.bin` beside it."""
    folder.mkdir(exist_ok=True)
    folder.joinpath("w.bin").write_bytes(data)
    tensor = TensorProto(name="w", dims=[32], data_type=TensorProto.FLOAT, data_location=TensorProto.EXTERNAL)
    for key, value in entries.items():
        tensor.external_data.add(key=key, value=value)
    file = folder / "m.onnx"
    file.write_bytes(constant_model(tensor).SerializeToString())
    return file


WEIGHT = np.arange(32, dtype="f4")


@pytest.mark.parametrize("entries", [{"offset": "8", "length": "128"}, {"offset": "8"}])
def test_external_data_is_mapped(tmp_path: Path, entries: dict[str, str]) -> None:
    """From an offset, with or without a length."""
    file = with_external(tmp_path / "model", b"\1" * 8 + WEIGHT.tobytes(), location="w.bin", **entries)
    assert np.array_equal(constant_of(file), WEIGHT)


def test_external_data_in_folders_and_of_a_model_in_memory(tmp_path: Path) -> None:
    """A location may have folders; a model in memory is told its own."""
    file = with_external(tmp_path / "model", b"", location="data/w.bin")
    (tmp_path / "model" / "data").mkdir()
    (tmp_path / "model" / "data" / "w.bin").write_bytes(WEIGHT.tobytes())
    assert np.array_equal(constant_of(file), WEIGHT)
    module = import_onnx(file.read_bytes(), StepwellContext(), base_dir=file.parent)
    assert "graph.weight" in str(module)


@pytest.mark.parametrize(
    ("entries", "message"),
    [
        ({"location": "../outside.bin"}, "no path inside the model's folder"),
        ({"location": "/etc/passwd"}, "no path inside the model's folder"),
        ({"location": "C:\\w.bin"}, "no path inside the model's folder"),
        ({"location": "..\\outside.bin"}, "no path inside the model's folder"),
        ({"location": "w.bin\0"}, "no path inside the model's folder"),
        ({}, "no path inside the model's folder"),
        ({"location": "link.bin"}, "leads out of the model's folder through a link"),
        ({"location": "folder/outside.bin"}, "leads out of the model's folder through a link"),
        ({"location": "none.bin"}, "No such file"),
        ({"location": "."}, "no regular file"),
        ({"location": "pipe"}, "no regular file"),
        ({"location": "w.bin", "offset": "4"}, "bytes 4 to 132 are outside of 'w.bin', which has 128"),
        ({"location": "w.bin", "offset": "-4"}, "offset of the external data must be a number"),
        ({"location": "w.bin", "offset": "9" * 30}, "offset of the external data must be a number"),
        ({"location": "w.bin", "length": "64"}, "takes 128 bytes, its external data has 64"),
        ({"location": "empty.bin"}, "bytes 0 to 128 are outside of 'empty.bin', which has 0"),
    ],
)
def test_bad_external_data(tmp_path: Path, entries: dict[str, str], message: str) -> None:
    """Nothing outside of the model's folder is opened, and no range is believed."""
    file = with_external(tmp_path / "model", WEIGHT.tobytes(), **entries)
    outside = tmp_path / "outside.bin"
    outside.write_bytes(WEIGHT.tobytes())
    (file.parent / "link.bin").symlink_to(outside)
    (file.parent / "folder").symlink_to(tmp_path)
    (file.parent / "empty.bin").touch()
    os.mkfifo(file.parent / "pipe")
    with pytest.raises(StepwellError) as error:
        import_onnx(file, StepwellContext())
    assert error.value.code == "external-data"
    assert message in str(error.value)
    assert error.value.where == 'm.onnx: value "w"'


def test_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    """Download caches link files of one folder."""
    file = with_external(tmp_path / "model", WEIGHT.tobytes(), location="link.bin")
    (file.parent / "link.bin").symlink_to("w.bin")
    assert np.array_equal(constant_of(file), WEIGHT)


def test_a_linked_model_finds_what_lies_beside_its_file(tmp_path: Path) -> None:
    """Of a download cache: links into one folder, where files have other names; nothing else is read."""
    real = with_external(tmp_path / "blobs", WEIGHT.tobytes(), location="data.bin")
    (real.parent / "w.bin").rename(real.parent / "91ab")
    (tmp_path / "snapshot").mkdir()
    (linked := tmp_path / "snapshot" / "m.onnx").symlink_to(real)
    (data := linked.parent / "data.bin").symlink_to("../blobs/91ab")
    assert np.array_equal(constant_of(linked), WEIGHT)
    (tmp_path / "elsewhere").write_bytes(WEIGHT.tobytes())
    data.unlink()
    data.symlink_to("../elsewhere")
    with pytest.raises(StepwellError, match="leads out of the model's folder"):
        import_onnx(linked, StepwellContext())


def test_equal_weights_are_stored_once() -> None:
    """Deduplicated by content, whatever their names."""
    values = ", ".join(["2.0"] * 20)
    model = onnx_model(
        f"g () => (float[20] y) <float[20] a = {{{values}}}, float[20] b = {{{values}}}> {{ y = Add(a, b) }}"
    )
    ctx = StepwellContext()
    import_onnx(model, ctx)
    assert len(ctx.weights) == 1
