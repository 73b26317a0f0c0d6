"""
What the tests of ONNX Runtime's own Python interface ask of a CPU, asked of our sessions and of theirs.

Left out are other providers and libraries of custom operators; those of adapters are in `test_adapters`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import import_module
from pathlib import Path
from threading import Event, Thread
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto, TensorProto, helper

import stepwell.onnxruntime as ours
from tests.onnx_models import onnx_model
from tests.support.components import needs

theirs = needs("onnxruntime")
X = np.array([[1, 2], [3, 4], [5, 6]], np.float32)
PRODUCT = "g (float[3, 2] X) => (float[3, 2] Y) <float[3, 2] W = {1, 2, 3, 4, 5, 6}> { Y = Mul(X, W) }"
SAME = "g (string[2, 2] x) => (string[2, 2] y) { y = Identity(x) }"
CASES: dict[str, Callable[[Any, Path], None]] = {}


def case(function: Callable[[Any, Path], None]) -> Callable[[Any, Path], None]:
    """Enter a case, which is called with a module of sessions and an empty folder."""
    CASES[function.__name__] = function
    return function


def session(ort: Any, model: str | ModelProto, options: Any = None) -> Any:
    proto = onnx_model(model) if isinstance(model, str) else model
    return ort.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])


def is_product(found: Any) -> bool:
    return np.array_equal(found[0], X * X)


@case
def descriptions_of_the_build(ort: Any, folder: Path) -> None:
    assert ort.get_version_string() and "Build Info" in ort.get_build_info()
    assert ort.get_all_providers()[-1] == "CPUExecutionProvider" in ort.get_available_providers()
    assert "CPU" in ort.get_device()
    ort.disable_telemetry_events()
    ort.enable_telemetry_events()


@case
def providers(ort: Any, folder: Path) -> None:
    model = session(ort, PRODUCT)
    assert model.get_providers() == [*model.get_provider_options()]
    with pytest.raises(RuntimeError, match="Unknown Provider Type: InvalidProvider"):
        model.set_providers(["InvalidProvider"])


@case
def arguments_of_providers(ort: Any, folder: Path) -> None:
    module = import_module(f"{ort.__name__}.capi.onnxruntime_inference_collection")
    check = module.check_and_normalize_provider_args
    for given, wanted in (
        ((None, None), ([], [])),
        ((["a"], None), (["a"], [{}])),
        (([("a", {1: 2}), "b"], None), (["a", "b"], [{"1": "2"}, {}])),
        ((["a", "b"], [{1: 2}, {}]), (["a", "b"], [{"1": "2"}, {}])),
    ):
        assert check(*given, ["a", "b", "c"]) == wanted
    with pytest.warns(UserWarning):
        assert check(["a", "b", "a"], [{"x": 1}, {}, {"y": 2}], ["a", "b"]) == (["a", "b"], [{"x": "1"}, {}])
    for wrong in (
        (3, None), ([3], None), (["a"], 3), (["a"], ["x"]), (["a", "b"], [{}]), ([("a", {})], [{}])
    ):  # fmt: skip
        with pytest.raises(ValueError):
            check(*wrong, ["a", "b", "c"])


@case
def a_function_for_the_log(ort: Any, folder: Path) -> None:
    found: list[tuple[Any, ...]] = []

    def fails(*message: object) -> None:
        raise ValueError

    for function in (lambda *message: found.append(message), fails):
        ort.set_default_logger_callback(function, severity=0)
        try:
            assert is_product(session(ort, PRODUCT).run(None, {"X": X}))
        finally:
            ort.set_default_logger_callback(None)
            ort.set_default_logger_severity(2)
    assert found and all(list(map(type, each)) == [int, str, str, str, str] for each in found)
    for wrong in (dict(callback=fails, severity=5), dict(callback=fails, severity=-1), dict(callback="f")):
        with pytest.raises(RuntimeError):
            ort.set_default_logger_callback(**wrong)


@case
def an_optimized_model_is_written(ort: Any, folder: Path) -> None:
    options = ort.SessionOptions()
    options.optimized_model_filepath = str(folder / "whole.onnx")
    session(ort, PRODUCT, options)
    options.optimized_model_filepath = str(folder / "parts.onnx")
    entry = "session.optimized_model_external_initializers_"
    options.add_session_config_entry(f"{entry}file_name", "weights.bin")
    options.add_session_config_entry(f"{entry}min_size_in_bytes", "10")
    session(ort, PRODUCT, options)
    assert (folder / "weights.bin").exists()
    for name in ("whole.onnx", "parts.onnx"):
        written = ort.InferenceSession(folder / name, providers=["CPUExecutionProvider"])
        assert is_product(written.run(["Y"], {"X": X}))


@case
def the_memory_of_inputs(ort: Any, folder: Path) -> None:
    model = session(ort, PRODUCT)
    assert len(model.get_input_memory_infos()) == len(model.get_output_memory_infos()) == 1
    assert None not in model.get_input_memory_infos() and len(model.get_input_epdevices()) == 1


@case
def calls_from_threads_and_lists(ort: Any, folder: Path) -> None:
    model, done = session(ort, PRODUCT), Event()
    found: list[Any] = []
    threads = [Thread(target=lambda: found.append(model.run([], {"X": X}))) for _ in range(2)]
    for thread in threads:
        thread.start()
    model.run_async(["Y"], {"X": X}, lambda *given: (found.append(given[0]), done.set()), None)
    for thread in threads:
        thread.join()
    assert done.wait(10)
    columns = np.ascontiguousarray(X[:, ::-1])[:, ::-1]
    found += [model.run([], {"X": X.tolist()}), model.run([], {"X": columns})]
    assert len(found) == 5 and all(map(is_product, found))


@case
def strings(ort: Any, folder: Path) -> None:
    model, words = session(ort, SAME), np.array(["this", "Olá", "你好", "text"]).reshape(2, 2)
    assert model.get_inputs()[0].type == "tensor(string)"
    for given in (words, words.astype(object), words.tolist()):
        assert (model.run([], {"x": given})[0] == words).all()
    short = np.array([b"must", b"have", b"same", b"size"]).reshape(2, 2)
    # ONNX Runtime 1.32 joins bytes that have no zero at their end.
    for given in (short.view("V4"), *([short] if ort is ours else [])):
        assert model.run([], {"x": given})[0].tolist() == [["must", "have"], ["same", "size"]]


@case
def truth_values_and_a_missing_input(ort: Any, folder: Path) -> None:
    model = session(ort, "g (bool[2] a, bool[2] b) => (bool[2] c) { c = And(a, b) }")
    values = np.array([True, False])
    assert model.run([], {"a": values, "b": ~values})[0].tolist() == [False, False]
    with pytest.raises(ValueError, match=r"Required inputs \(\['b'\]\) are missing from input feed"):
        model.run([], {"a": values})


@case
def sequences(ort: Any, folder: Path) -> None:
    length = session(ort, "g (seq(float[2, 3]) X) => (int64 Y) { Y = SequenceLength(X) }")
    assert length.get_inputs()[0].type == "seq(tensor(float))"
    assert length.run(None, {"X": [X.T, X.T]})[0] == 2
    a, b = np.ones((2, 3), np.int64), np.zeros((2, 3), np.int64)
    made = session(
        ort, "g (int64[2, 3] a, int64[2, 3] b) => (seq(int64[2, 3]) s) { s = SequenceConstruct(a, b) }"
    )
    np.testing.assert_array_equal(made.run(["s"], {"a": a, "b": b})[0], [a, b])
    text = "g (seq(int64[2, 3]) s, int64[2, 3] t) => (seq(int64[2, 3]) r) { r = SequenceInsert(s, t) }"
    np.testing.assert_array_equal(session(ort, text).run(["r"], {"s": [], "t": a})[0], [a])


@case
def an_optional_sequence(ort: Any, folder: Path) -> None:
    text = "g (optional(seq(float[5])) x) => (optional(seq(float[5])) y) { y = Identity(x) }"
    value = [np.arange(5, dtype=np.float32)]
    np.testing.assert_array_equal(session(ort, text).run(["y"], {"x": value})[0], value)


@case
def a_profile(ort: Any, folder: Path) -> None:
    options = ort.SessionOptions()
    options.enable_profiling, options.profile_file_prefix = True, str(folder / "profile")
    models = [session(ort, PRODUCT, options) for _ in range(2)]
    starts = [model.get_profiling_start_time_ns() for model in models]
    assert starts == sorted(starts)
    models[0].run([], {"X": X})
    lines = Path([model.end_profiling() for model in models][0]).read_text().splitlines()
    assert "[" in lines[0] and "]" in lines[-1]
    assert all(
        f'"{tag}"' in line for line in lines[1:-1] for tag in ("pid", "dur", "ts", "ph", "name", "args")
    )


@case
def options_of_the_model(ort: Any, folder: Path) -> None:
    model = onnx_model(PRODUCT)
    changes = {"inter_op_num_threads": 5, "intra_op_num_threads": 2, "graph_optimization_level": 1}
    helper.set_model_props(model, {"ort_config": json.dumps({"session_options": changes})})
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("ORT_LOAD_CONFIG_FROM_MODEL", "1")
        options = session(ort, model).get_session_options()
    assert {name: getattr(options, name) for name in ("inter_op_num_threads", "intra_op_num_threads")} == {
        "inter_op_num_threads": 5,
        "intra_op_num_threads": 2,
    }
    assert options.graph_optimization_level == ort.GraphOptimizationLevel.ORT_ENABLE_BASIC
    assert options.execution_mode == ort.ExecutionMode.ORT_SEQUENTIAL
    assert session(ort, model).get_session_options().inter_op_num_threads == 0


def without_weights(file: str) -> ModelProto:
    """The model of a product whose factor is in a file."""
    model = onnx_model(PRODUCT)
    (weights,) = model.graph.initializer
    weights.ClearField("float_data")
    weights.ClearField("raw_data")
    weights.data_location = TensorProto.EXTERNAL
    for key, value in {"location": file, "offset": "8", "length": "24"}.items():
        entry = weights.external_data.add()
        entry.key, entry.value = key, value
    return model


@case
def initializers_of_options(ort: Any, folder: Path) -> None:
    options, data = ort.SessionOptions(), bytes(8) + X.tobytes()
    options.add_external_initializers_from_files_in_memory(["no.bin"], [data], [len(data)])
    assert is_product(session(ort, without_weights("no.bin"), options).run(None, {"X": X}))
    options = ort.SessionOptions()
    value = ort.OrtValue.ortvalue_from_numpy(X)
    options.add_external_initializers(["W"], [value])
    assert is_product(session(ort, without_weights("no.bin"), options).run(None, {"X": X}))
    options, other = ort.SessionOptions(), ort.OrtValue.ortvalue_from_numpy(X + 1)
    options.add_initializer("W", other)
    assert np.array_equal(session(ort, PRODUCT, options).run(None, {"X": X})[0], X * (X + 1))


@case
def entries_of_options(ort: Any, folder: Path) -> None:
    options = ort.SessionOptions()
    options.add_session_config_entry("key", "value")
    assert options.get_session_config_entry("key") == "value"
    with pytest.raises(RuntimeError, match="does not have configuration with key: other"):
        options.get_session_config_entry("other")
    run = ort.RunOptions()
    run.add_run_config_entry("memory.enable_memory_arena_shrinkage", "cpu:0")
    assert run.get_run_config_entry("memory.enable_memory_arena_shrinkage") == "cpu:0"
    assert is_product(session(ort, PRODUCT).run([], {"X": X}, run))


@case
def values(ort: Any, folder: Path) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(X)
    assert (value.device_name(), value.shape(), value.data_type()) == ("cpu", [3, 2], "tensor(float)")
    assert value.is_tensor() and value.tensor_size_in_bytes() == 24
    assert is_product(session(ort, PRODUCT).run(["Y"], {"X": value})) and np.array_equal(value.numpy(), X)
    assert ort.OrtValue.ortvalue_from_numpy_with_onnx_type(X, 1).element_type() == 1


@case
def values_are_arrays(ort: Any, folder: Path) -> None:
    value = ort.OrtValue.ortvalue_from_numpy(X)
    for array in (np.asarray(value), np.asarray(value, np.float32)):
        assert array.dtype == np.float32 and array.ctypes.data == value.data_ptr()
    assert np.asarray(value, np.float64).dtype == np.float64 and np.array_equal(np.array(value), X)
    for given in (np.array([1, 2]), np.array([True, False])):
        array = np.asarray(ort.OrtValue.ortvalue_from_numpy(given))
        assert array.dtype == given.dtype and np.array_equal(array, given)


@case
def values_share_memory_by_dlpack(ort: Any, folder: Path) -> None:
    value, make = ort.OrtValue.ortvalue_from_numpy(X), ort.OrtValue.from_dlpack
    assert value.__dlpack_device__() == (1, 0)
    assert make(value.__dlpack__()).data_ptr() == make(value).data_ptr() == value.data_ptr()
    for shape in ((1, 8, 0, 128), (0,), (0, 4), (4, 0)):
        assert make(np.zeros(shape, np.float32)).shape() == [*shape]
    for given in (np.array([True, False]), np.array([1, 2, 255], np.uint8)):
        array = make(ort.OrtValue.ortvalue_from_numpy(given)).numpy()
        assert array.dtype == given.dtype and np.array_equal(array, given)


@case
def an_input_that_is_an_output_is_copied(ort: Any, folder: Path) -> None:
    model = session(ort, "g (float[2] a) => (float[2] p, float[2] a) <float c = {10}> { p = Add(a, c) }")
    given = [np.full(2, number, np.float32) for number in range(4)]
    outputs = [model.run(None, {"a": each}) for each in given]
    for number, (p, a) in enumerate(outputs):
        assert (p == number + 10).all() and (a == number).all()
        assert not np.shares_memory(a, given[number])


@case
def sparse_tensors(ort: Any, folder: Path) -> None:
    device, numbers = ort.OrtDevice.make("cpu", 0), np.array([1, 2, 3], np.float32)
    places, rows = np.array([3, 5, 15]), np.array([0, 1, 2, 3, 3, 3, 3, 3, 3, 3])
    coo = ort.SparseTensor.sparse_coo_from_numpy([9, 9], numbers, places, device)
    csr = ort.SparseTensor.sparse_csr_from_numpy([9, 9], numbers, np.array([1, 1, 1]), rows, device)
    kinds = ort.OrtSparseFormat.ORT_SPARSE_COO, ort.OrtSparseFormat.ORT_SPARSE_CSRC
    assert (coo.format(), csr.format()) == kinds
    for each in (coo, csr):
        assert each.dense_shape() == [9, 9] and each.data_type() == "sparse_tensor(float)"
        assert each.device_name() == "cpu" and np.array_equal(each.values(), numbers)
        assert not each.values().flags.writeable
        value = ort.OrtValue.ort_value_from_sparse_tensor(each)
        assert value.is_sparse_tensor() and value.as_sparse_tensor().format() == each.format()
    assert np.array_equal(coo.as_coo_view().indices(), places)
    assert np.array_equal(csr.as_csrc_view().outer(), rows) and csr.as_csrc_view().inner().tolist() == [1] * 3
    words = ort.SparseTensor.sparse_coo_from_numpy([9, 9], np.array(["x", "y", "z"]), places, device)
    assert words.data_type() == "sparse_tensor(string)" and words.values().tolist() == ["x", "y", "z"]
    with pytest.raises(RuntimeError):
        coo.to_cuda(ort.OrtDevice.make("cuda", 0))


@case
def devices_and_memory(ort: Any, folder: Path) -> None:
    cpu, cuda = ort.OrtDevice.make("cpu", 0), ort.OrtDevice.make("cuda", 0)
    assert (cpu.device_id(), cpu.device_type(), cpu.device_mem_type()) == (0, 0, 0)
    assert cpu.device_vendor_id() == ort.OrtDeviceVendorId.NONE
    assert cuda.device_vendor_id() == ort.OrtDeviceVendorId.NVIDIA == 0x10DE
    kind = ort.OrtAllocatorType.ORT_ARENA_ALLOCATOR
    memory = ort.OrtMemoryInfo("Cpu", kind, 0, ort.OrtMemType.DEFAULT)
    default = ort.OrtDeviceMemoryType.DEFAULT
    other = ort.OrtMemoryInfo.create_v2("Cpu", ort.OrtMemoryInfoDeviceType.CPU, 0, 0, default, 128, kind)
    for each in (memory, other):
        assert (each.name, each.device_id, each.device_vendor_id) == ("Cpu", 0, 0)
        assert (each.mem_type, each.allocator_type) == (ort.OrtMemType.DEFAULT, kind)
        assert each.device_mem_type == default


@case
def sizes_of_arenas(ort: Any, folder: Path) -> None:
    by_order = ort.OrtArenaCfg(8, 0, 4, 2)
    assert (by_order.max_mem, by_order.arena_extend_strategy) == (8, 0)
    assert (by_order.initial_chunk_size_bytes, by_order.max_dead_bytes_per_chunk) == (4, 2)
    sizes: Mapping[str, int] = {
        "max_mem": 32,
        "arena_extend_strategy": 11,
        "initial_chunk_size_bytes": 18,
        "max_dead_bytes_per_chunk": 14,
        "initial_growth_chunk_size_bytes": 12,
        "max_power_of_two_extend_bytes": 17,
    }
    by_name = ort.OrtArenaCfg(sizes)
    assert {name: getattr(by_name, name) for name in sizes} == sizes


@case
def nodes_by_provider(ort: Any, folder: Path) -> None:
    text = "g (float[2] x) => (float[2] z) { y = Add(x, x)  z = Mul(y, x) }"
    options = ort.SessionOptions()
    options.add_session_config_entry("session.record_ep_graph_assignment_info", "1")
    parts = session(ort, text, options).get_provider_graph_assignment_info()
    assert {part.ep_name for part in parts} <= {"CPUExecutionProvider", "StepwellExecutionProvider"}
    assert sorted(node.op_type for part in parts for node in part.get_nodes()) == ["Add", "Mul"]
    with pytest.raises(Exception, match="must be set to") as caught:
        session(ort, text).get_provider_graph_assignment_info()
    assert type(caught.value).__name__ == "Fail"


@case
def default_inputs(ort: Any, folder: Path) -> None:
    model = session(ort, "g (float[2] x, float[2] w) => (float[2] y) <float[2] w = {1, 2}> { y = Mul(x, w) }")
    assert model.run(None, {"x": X[0]})[0].tolist() == [1, 4]
    assert model.run(None, {"x": X[0], "w": X[1]})[0].tolist() == [3, 8]


@case
def a_logistic_ensemble_of_trees(ort: Any, folder: Path) -> None:
    for weight, wanted in ((0.0, 0.405), (-0.1, 0.505)):
        names = "treeids nodeids featureids truenodeids falsenodeids missing_value_tracks_true".split()
        leaf: dict[str, Any] = {f"nodes_{each}": [0] for each in names}
        leaf |= {"nodes_values": [0.0], "nodes_modes": ["LEAF"], "nodes_hitrates": [1.0]}
        leaf |= {f"class_{each}": [0] for each in ("treeids", "nodeids", "ids")}
        leaf |= {"class_weights": [weight], "classlabels_int64s": [0, 1], "base_values": [-0.405]}
        outputs, kind = ["label", "p"], "TreeEnsembleClassifier"
        node = helper.make_node(kind, ["X"], outputs, domain="ai.onnx.ml", post_transform="LOGISTIC", **leaf)
        infos = [
            helper.make_tensor_value_info(name, kind, shape)
            for name, kind, shape in (("X", 1, [None, 3]), ("label", 7, [None]), ("p", 1, [None, 2]))
        ]
        graph = helper.make_graph([node], "g", infos[:1], infos[1:])
        opsets = [helper.make_opsetid("", 15), helper.make_opsetid("ai.onnx.ml", 3)]
        model = helper.make_model(graph, ir_version=8, opset_imports=opsets)
        found = session(ort, model).run(None, {"X": np.zeros((1, 3), np.float32)})
        assert abs(found[1][0, 1] - 1 / (1 + np.exp(wanted))) < 1e-5


@pytest.mark.sample(8)
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("ort", [ours, theirs], ids=["ours", "theirs"])
@pytest.mark.parametrize("name", CASES)
def test_a_session_does_what_theirs_does(name: str, ort: Any, tmp_path: Path) -> None:
    CASES[name](ort, tmp_path)
