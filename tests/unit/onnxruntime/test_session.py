"""Sessions of `stepwell.onnxruntime` against those of ONNX Runtime: descriptions, results, bindings."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping, Set
from pathlib import Path
from threading import Event, Thread

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import stepwell.onnxruntime as ort
from stepwell.onnxruntime.loading import Loaded
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.model import CompiledModel
from tests.onnx_models import onnx_model
from tests.support.components import needs
from tests.support.imports import ROOT

ort_itself = needs("onnxruntime")
X = np.arange(8, dtype=np.float32).reshape(4, 2) - 3
TEXT = """
g (float[N, 2] x, float[1] b) => (float[N, 3] y, int64[k] s, float[N, 3] z)
<float[2, 3] w = {0, 1, 2, 3, 4, 5}, float[1] b = {1}> {
  m = MatMul(x, w)
  y = Relu(m)
  s = Shape(y)
  z = Add(y, b)
}
"""


def _model() -> ModelProto:
    """A model with an overridable initializer and all the metadata that there is."""
    model = onnx_model(TEXT)
    model.producer_name, model.domain, model.doc_string, model.model_version = "me", "dom", "about", 7
    model.graph.doc_string = "about the graph"
    helper.set_model_props(model, {"key": "value"})
    return model


@pytest.fixture(scope="module")
def data() -> bytes:
    return _model().SerializeToString()


@pytest.fixture(scope="module")
def session(data: bytes) -> ort.InferenceSession:
    return ort.InferenceSession(data, providers=["CPUExecutionProvider"])


@pytest.fixture(scope="module")
def other(data: bytes) -> object:
    options = ort_itself.SessionOptions()
    options.log_severity_level = 4
    return ort_itself.InferenceSession(data, options, providers=["CPUExecutionProvider"])


def _described(args: object) -> list[tuple[str, str, list[object]]]:
    return [(arg.name, arg.type, list(arg.shape)) for arg in args]  # type: ignore[attr-defined]


def test_descriptions_are_those_of_onnxruntime(session: ort.InferenceSession, other: object) -> None:
    for name in ("get_inputs", "get_outputs", "get_overridable_initializers"):
        assert _described(getattr(session, name)()) == _described(getattr(other, name)()), name
    ours, theirs = session.get_modelmeta(), other.get_modelmeta()  # type: ignore[attr-defined]
    for name in ("producer_name", "graph_name", "domain", "description", "graph_description", "version"):
        assert getattr(ours, name) == getattr(theirs, name), name
    assert ours.custom_metadata_map == theirs.custom_metadata_map == {"key": "value"}


@pytest.mark.parametrize(
    ("names", "feed"),
    [
        (None, {"x": X}),
        ([], {"x": X[:1]}),
        (["z", "y"], {"x": X}),
        (["y", "y"], {"x": X}),
        (["z"], {"x": X, "b": np.array([5], np.float32)}),
        (["z"], {"x": [[1.0, 2.0]]}),
        (None, {"x": X[::-1, ::-1]}),
    ],
)
def test_results_are_those_of_onnxruntime(
    session: ort.InferenceSession, other: object, names: list[str] | None, feed: Mapping[str, object]
) -> None:
    found = session.run(names, feed)
    expected = other.run(names, dict(feed))  # type: ignore[attr-defined]
    assert len(found) == len(expected)
    for ours, theirs in zip(found, expected, strict=True):
        np.testing.assert_array_equal(np.asarray(ours), theirs)


@pytest.mark.parametrize(
    ("names", "feed"),
    [
        (None, {}),
        (None, {"q": X}),
        (None, {"x": X, "q": X}),
        (["nope"], {"x": X}),
        (None, {"x": X.astype(np.float64)}),
        (None, {"x": X[:, :1]}),
        (None, {"x": X[0]}),
        ("y", {"x": X}),
    ],
)
def test_a_wrong_call_raises_the_same_class(
    session: ort.InferenceSession, other: object, names: list[str] | None, feed: Mapping[str, object]
) -> None:
    with pytest.raises(Exception) as expected:  # noqa: PT011  # its class is the finding
        other.run(names, dict(feed))  # type: ignore[attr-defined]
    with pytest.raises(Exception) as found:  # noqa: PT011
        session.run(names, feed)
    builtin = isinstance(expected.value, ValueError | TypeError)
    classes = [each.__name__ for each in type(found.value).__mro__]
    assert expected.type.__name__ in classes
    assert builtin or isinstance(found.value, StepwellError)
    assert builtin or str(found.value)[:25] == str(expected.value)[:25]  # number and name of the status


def _changed(**changes: str) -> bytes:
    model = _model()
    model.opset_import.append(helper.make_opsetid("my.dom", 1))
    for name, value in changes.items():
        setattr(model.graph.node[1], name, value)
    return model.SerializeToString()


@pytest.mark.parametrize(
    ("source", "kind", "text"),
    [
        ("none.onnx", "NoSuchFile", "cannot read the model"),
        (b"abc", "InvalidProtobuf", "no ONNX model"),
        (b"", "InvalidProtobuf", "no bytes"),
        (_changed(op_type="Bogus"), "NotImplemented", "no conversion for Bogus"),
        (_changed(domain="my.dom"), "NotImplemented", "my.dom.Relu"),
        (b"....ORTM....", "NotImplemented", "own format"),
        ("m.ort", "NotImplemented", "own format"),
    ],
)
def test_a_model_that_cannot_be_loaded(source: str | bytes, kind: str, text: str) -> None:
    with pytest.raises(getattr(ort.capi.onnxruntime_pybind11_state, kind), match=text):
        ort.InferenceSession(source)


def test_the_file_of_a_session_has_the_name_that_programs_ask_for(data: bytes, tmp_path: Path) -> None:
    file = tmp_path / "m.onnx"
    file.write_bytes(data)
    for given in (file, str(file), data):
        ours, theirs = (module.InferenceSession(given) for module in (ort, ort_itself))
        assert getattr(ours, "_model_path") == getattr(theirs, "_model_path", None)  # noqa: B009


def test_no_session_of_other_objects() -> None:
    with pytest.raises(TypeError, match="Unable to load"):
        ort.InferenceSession(_model())  # pyright: ignore[reportArgumentType]


def test_bindings_use_the_memory_of_the_caller(session: ort.InferenceSession) -> None:
    y, z = np.zeros([4, 3], np.float32), ort.OrtValue.ortvalue_from_shape_and_type([4, 3], np.float32)
    x = X.copy()
    binding = session.io_binding()
    binding.bind_input("x", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    binding.bind_output("y", "cpu", 0, np.float32, y.shape, y.ctypes.data)
    binding.bind_ortvalue_output("z", z)
    binding.bind_output("s")
    for factor in (1, -1):
        x *= factor
        session.run_with_iobinding(binding)
        expected = session.run(["y", "z"], {"x": x})
        np.testing.assert_array_equal(y, expected[0])
        np.testing.assert_array_equal(z.numpy(), expected[1])
    assert [value.shape() for value in binding.get_outputs()] == [[4, 3], [4, 3], [2]]
    np.testing.assert_array_equal(binding.copy_outputs_to_cpu()[2], [4, 3])


def test_an_output_may_be_bound_to_the_memory_of_an_input() -> None:
    text = "g (float[N] x) => (float[N] y) <int64[1] a = {-1}, int64[1] b = {-9}, int64[1] c = {0}>"
    model = onnx_model(text + "{ y = Slice(x, a, b, c, a) }")
    session = ort.InferenceSession(model.SerializeToString())
    x = np.arange(5, dtype=np.float32)
    binding = session.io_binding()
    binding.bind_cpu_input("x", x)
    binding.bind_output("y", "cpu", 0, np.float32, x.shape, x.ctypes.data)
    session.run_with_iobinding(binding)
    np.testing.assert_array_equal(x, [4, 3, 2, 1, 0])


def test_a_binding_that_does_not_fit(session: ort.InferenceSession) -> None:
    binding = session.io_binding()
    with pytest.raises(RuntimeError, match="nothing named 'q'"):
        binding.bind_output("q")
    with pytest.raises(RuntimeError, match="nothing named 'q'"):
        binding.bind_cpu_input("q", X)
    with pytest.raises(RuntimeError, match="device is 'cuda'"):
        binding.bind_output("y", "cuda")
    binding.bind_cpu_input("x", X)
    wrong = np.zeros([5, 3], np.float32)
    binding.bind_output("y", "cpu", 0, np.float32, wrong.shape, wrong.ctypes.data)
    with pytest.raises(RuntimeError, match=r"float32\[4, 3\]"):
        session.run_with_iobinding(binding)
    assert not wrong.any()


def test_values() -> None:
    x = X.copy()
    value = ort.OrtValue.ortvalue_from_numpy(x)
    assert (value.shape(), value.data_type(), value.element_type()) == ([4, 2], "tensor(float)", 1)
    assert (value.data_ptr(), value.tensor_size_in_bytes()) == (x.ctypes.data, 32)
    value.update_inplace(2 * X)
    np.testing.assert_array_equal(x, 2 * X)
    np.testing.assert_array_equal(np.from_dlpack(value), x)  # pyright: ignore[reportArgumentType]
    with pytest.raises(RuntimeError, match="float32"):
        value.update_inplace(X[:1])
    with pytest.raises(RuntimeError, match="only tensors"):
        ort.OrtValue([x]).numpy()
    bits = ort.OrtValue.ortvalue_from_numpy_with_onnx_type(
        np.array([0x3F80], np.uint16), TensorProto.BFLOAT16
    )
    assert bits.data_type() == "tensor(bfloat16)"
    assert float(bits.numpy()[0]) == 1


def test_narrow_floats_are_no_text() -> None:
    model = onnx_model("g (bfloat16[2] x) => (bfloat16[2] y) { y = Identity(x) }")
    x = np.ones(2, dtype_from_name("bfloat16"))
    (y,) = ort.InferenceSession(model.SerializeToString()).run(None, {"x": x})
    assert isinstance(y, np.ndarray) and y.dtype == x.dtype and (y == x).all()


def test_values_are_fed_and_returned(session: ort.InferenceSession) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(X)
    (found,) = session.run_with_ort_values(["y"], {"x": value})
    np.testing.assert_array_equal(found.numpy(), np.asarray(session.run(["y"], {"x": X})[0]))


def test_an_asynchronous_call(session: ort.InferenceSession) -> None:
    seen: list[object] = []
    done = Event()

    def callback(outputs: object, data: object, problem: str) -> None:
        seen.extend([outputs, data, problem])
        done.set()

    for feed in ({"x": X}, {"x": X[0]}):
        done.clear()
        session.run_async(["y"], feed, callback, "mine")
        assert done.wait(30)
    np.testing.assert_array_equal(seen[0][0], np.asarray(session.run(["y"], {"x": X})[0]))  # type: ignore[index]
    assert seen[1:3] == ["mine", ""]
    assert "INVALID_ARGUMENT" in str(seen[5])


def test_a_compilation_for_other_inputs_holds_up_none(data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    """Calls with the same inputs wait for one compilation; a failed one is tried again."""
    loaded = Loaded(data, ort.SessionOptions(), {})
    started, go = Event(), Event()
    made: list[object] = []

    def changed(names: Set[str] = frozenset()) -> CompiledModel:
        if "slow" in names:
            made.append(names)
            started.set()
            assert go.wait(30)
            if len(made) == 1:
                raise StepwellError("unsupported", None, "the first time")
        return loaded.model

    monkeypatch.setattr(loaded, "_changed", changed)
    slow, failed = frozenset({"slow"}), list[StepwellError]()

    def call() -> None:
        try:
            loaded.with_inputs(slow)
        except StepwellError as error:
            failed.append(error)

    threads = [Thread(target=call) for _ in range(2)]
    threads[0].start()
    assert started.wait(30)
    threads[1].start()
    assert loaded.with_inputs(frozenset({"b"})) is loaded.model
    go.set()
    for thread in threads:
        thread.join()
    assert (len(made), len(failed)) in ((1, 2), (2, 1))  # the other thread waited, or came later
    assert loaded.with_inputs(slow) is loaded.model


def test_options_have_an_effect(data: bytes) -> None:
    options = ort.SessionOptions()
    options.intra_op_num_threads = 1
    options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.add_free_dimension_override_by_name("N", 4)
    ones = np.ones([2, 3], np.float32)
    options.add_initializer("w", ort.OrtValue.ortvalue_from_numpy(ones))
    session = ort.InferenceSession(data, options)
    assert session.get_inputs()[0].shape == [4, 2]
    np.testing.assert_array_equal(np.asarray(session.run(["y"], {"x": X})[0]), np.maximum(X @ ones, 0))
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="must be 4"):
        session.run(None, {"x": X[:1]})


@pytest.mark.parametrize(
    ("change", "text"),
    [
        ({"optimized_model_filepath": "no/folder/o.onnx"}, "optimized_model_filepath: .*no/folder"),
        ({"initializer": "q"}, "no initializer 'q'"),
    ],
)
def test_options_that_are_refused(data: bytes, change: Mapping[str, str], text: str) -> None:
    options = ort.SessionOptions()
    if "initializer" in change:
        options.add_initializer(change["initializer"], ort.OrtValue(X))
    else:
        options.optimized_model_filepath = change["optimized_model_filepath"]
    with pytest.raises(StepwellError, match=text):
        ort.InferenceSession(data, options)


def test_entries_and_unknown_names(session: ort.InferenceSession) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("a", "b")
    assert options.get_session_config_entry("a") == "b"
    with pytest.raises(RuntimeError, match="configuration with key: q"):
        options.get_session_config_entry("q")
    with pytest.raises(StepwellError, match=r"libraries of custom operators \(o.so\)") as caught:
        options.register_custom_ops_library("o.so")
    assert caught.value.code == "unsupported" and "@te.operator" in (caught.value.help or "")
    with pytest.raises(AttributeError):
        options.nonsense = 1  # pyright: ignore[reportAttributeAccessIssue]
    assert not hasattr(ort, "ModelCompiler")
    with pytest.raises(StepwellError, match="ModelCompiler"):
        ort.ModelCompiler  # noqa: B018
    with pytest.raises(AttributeError, match="set_tuning_results"):
        session.set_tuning_results([])  # pyright: ignore[reportCallIssue]


def test_providers(data: bytes) -> None:
    with pytest.warns(UserWarning, match="'CUDAExecutionProvider' is not in available"):
        session = ort.InferenceSession(data, providers=["CUDAExecutionProvider", "CPUExecutionProvider"])
    assert session.get_providers() == ["StepwellExecutionProvider"]
    chosen = ort.InferenceSession(data, providers=[("StepwellExecutionProvider", {"opt_level": 0})])
    assert chosen.get_provider_options() == {"StepwellExecutionProvider": {"opt_level": "0"}}
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.InvalidArgument, match="opt_level"):
        ort.InferenceSession(data, providers=[("StepwellExecutionProvider", {"opt_level": 9})])
    for providers, options in (([1], None), (["CPUExecutionProvider"], []), (5, None)):
        with pytest.warns(UserWarning, match="provider"):
            ort.InferenceSession(data, providers=providers, provider_options=options)  # pyright: ignore


def test_a_call_that_is_terminated(session: ort.InferenceSession) -> None:
    options = ort.RunOptions()
    options.terminate = True
    with pytest.raises(ort.capi.onnxruntime_pybind11_state.Fail, match="terminate flag"):
        session.run(None, {"x": X}, options)


def test_a_profile_names_the_nodes(tmp_path: Path, data: bytes) -> None:
    options = ort.SessionOptions()
    options.enable_profiling = True
    options.profile_file_prefix = str(tmp_path / "profile")
    session = ort.InferenceSession(data, options)
    for _ in range(2):
        session.run(None, {"x": X})
    events = json.loads(Path(session.end_profiling()).read_text())
    assert [event["name"] for event in events].count("model_run") == 2
    nodes = [event for event in events if event["cat"] == "Node"]
    assert any("MatMul" in event["name"] for event in nodes)
    assert all(event["dur"] >= 0 and event["ts"] >= 0 for event in events)


def test_sequences_and_strings() -> None:
    text = "g (string[N] x) => (seq(string[?]) y) { y = SequenceConstruct(x, x) }"
    model = onnx_model(text.replace("[?]", "[N]"))
    words: Array = np.array(["a", "bc"], object)
    ours = ort.InferenceSession(model.SerializeToString())
    theirs = ort_itself.InferenceSession(model.SerializeToString(), providers=["CPUExecutionProvider"])
    assert ours.get_outputs()[0].type == theirs.get_outputs()[0].type == "seq(tensor(string))"
    assert [list(each) for each in ours.run(None, {"x": words})[0]] == [["a", "bc"]] * 2  # type: ignore[attr-defined]


USER = """
import numpy as np
import onnxruntime as ort
from onnxruntime.capi.onnxruntime_pybind11_state import InvalidArgument

session = ort.InferenceSession("m.onnx", providers=["CPUExecutionProvider"])
shapes = {arg.name: [d if isinstance(d, int) else 2 for d in arg.shape] for arg in session.get_inputs()}
feed = {name: np.ones(shape, np.float32) for name, shape in shapes.items()}
result = [np.asarray(each).tolist() for each in session.run(None, feed)]
try:
    session.run(None, {**feed, "nothing": np.ones(1)})
except InvalidArgument:
    result.append("refused")
print(result)
"""


def test_a_program_runs_after_one_changed_import(tmp_path: Path, data: bytes, other: object) -> None:
    """The change is that of `sed 's/import onnxruntime as ort/import stepwell.onnxruntime as ort/'`."""
    (tmp_path / "m.onnx").write_bytes(data)
    program = USER.replace("import onnxruntime", "import stepwell.onnxruntime").replace(
        "from onnxruntime", "from stepwell.onnxruntime"
    )
    command, environment = [sys.executable, "-"], {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        command, input=program, cwd=tmp_path, text=True, capture_output=True, env=environment, check=False
    )
    assert not done.returncode, done.stderr
    expected = other.run(None, {"x": np.ones([2, 2], np.float32)})  # type: ignore[attr-defined]
    assert done.stdout == f"{[*(each.tolist() for each in expected), 'refused']}\n"


def test_the_first_of_two_sets_of_options_in_a_model_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    model = onnx_model("g (float[2, 2] x) => (float[2, 2] y) { y = Relu(x) }")
    for threads in (2, 3):
        entry = model.metadata_props.add()
        entry.key, entry.value = (
            "ort_config",
            json.dumps({"session_options": {"intra_op_num_threads": threads}}),
        )
    monkeypatch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
    found = ort.InferenceSession(model.SerializeToString())
    assert found.get_session_options().intra_op_num_threads == 2
