"""Models on devices: parts, artifacts, the commands of the host, and what is refused."""

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell as sw
from stepwell.dialects.gpu import GPUFuncOp
from stepwell.lowering.emit_source.language import COMMON
from stepwell.runtime.devices.commands import Launch, Number, Slice
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.run_part import load_part
from stepwell.runtime.errors import StepwellError
from stepwell.tools.cli import main
from stepwell.tools.devices.emit import kernels_of
from stepwell.tools.driver.options import CompileOptions
from tests.support.imports import ROOT

DEVICE = "gpu-interpreter"


def model(folder: Path, signature: str, nodes: str) -> Path:
    """A model of a folder, by its text."""
    made = onnx.parser.parse_model(f'<ir_version: 8, opset_import: ["" : 18]>\ng {signature} {{ {nodes} }}')
    onnx.save(made, path := folder / "model.onnx")
    return path


def one(result: object) -> Any:
    """The only result of a call."""
    assert isinstance(result, np.ndarray)
    return result


def code_of(compiled: sw.CompiledModel) -> bytes:
    """The bytes of the only device part."""
    (callee,) = compiled.image.main.callees
    assert callee.kind == "device"
    return bytes(callee.code)


def test_a_trained_model_for_several_sizes_by_one_compilation() -> None:
    on_device = sw.compile(ROOT / "examples/digits.onnx", device=DEVICE, use_cache=False)
    here = sw.compile(ROOT / "examples/digits.onnx")
    for rows in (1, 3, 0):
        x = np.random.default_rng(rows).standard_normal((rows, 64), np.float32)
        np.testing.assert_allclose(one(on_device(x)), one(here(x)), atol=3e-6)
    part = DevicePart.from_bytes(code_of(on_device))
    assert part.symbols == {"N": (0, 0)} and list(part.codes) == ["gpu"]


def test_the_artifact_has_the_part(tmp_path: Path) -> None:
    path = model(tmp_path, "(float[2, 3] x, float[3] b) => (float[2, 3] y)", "s = Add(x, b) y = Relu(s)")
    compiled = sw.compile(path, device=DEVICE, use_cache=False)
    compiled.save(tmp_path / "m.stepwell")
    loaded = sw.load(tmp_path / "m.stepwell")
    x, b = np.arange(-3, 3, dtype=np.float32).reshape(2, 3), np.ones(3, np.float32)
    np.testing.assert_array_equal(loaded(x, b), np.maximum(x + b, 0))


def test_wide_pools_are_no_loops_on_vectors(tmp_path: Path) -> None:
    nodes = "y = MaxPool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)"
    path = model(tmp_path, "(float[1, 8, 32, 32] x) => (float[1, 8, 16, 16] y)", nodes)
    # WGSL has no vectors of 16 numbers: such a pool was left to the host.
    assert not sw.compile(path, target="webgpu", use_cache=False).image.summary.get("on the host")
    x = np.random.default_rng(1).standard_normal((1, 8, 32, 32), np.float32)
    found = sw.compile(path, device=DEVICE, use_cache=False)(x)
    np.testing.assert_array_equal(one(found), one(sw.compile(path)(x)))


def test_attention_is_one_kernel(tmp_path: Path) -> None:
    nodes = "s = MatMul(q, k) p = Softmax(s) y = MatMul(p, v)"
    signature = "(float[2, 64, 16] q, float[2, 16, 64] k, float[2, 64, 16] v) => (float[2, 64, 16] y)"
    path = model(tmp_path, signature, nodes)
    # The form of CPUs was one thread's work on CUDA, and left to the host elsewhere.
    assert not sw.compile(path, target="opencl", use_cache=False).image.summary.get("on the host")
    for target in ("cuda", "webgpu"):
        module, _ = kernels_of(path, CompileOptions(target=target))
        # The other kernel transposes keys.
        assert sum(isinstance(op, GPUFuncOp) for op in module.walk()) == 2
    rng = np.random.default_rng(1)
    inputs = [rng.standard_normal(shape, np.float32) for shape in ((2, 64, 16), (2, 16, 64), (2, 64, 16))]
    found = sw.compile(path, device=DEVICE, use_cache=False)(*inputs)
    np.testing.assert_allclose(one(found), one(sw.compile(path)(*inputs)), rtol=1e-4, atol=1e-5)


def test_ops_that_a_device_lacks_are_on_the_host(tmp_path: Path) -> None:
    nodes = "a = Tanh(x) [wide] d = Cast<to = 11>(a) e = Mul(d, d) [back] f = Cast<to = 1>(e) y = Neg(f)"
    path = model(tmp_path, "(float[4] x) => (float[4] y)", nodes)
    on_cuda = sw.compile(path, target="cuda", device=DEVICE, use_cache=False)
    assert len(on_cuda.image.main.callees) == 1  # cuda has f64
    with sw.PassContext() as context:
        compiled = sw.compile(path, target="webgpu", device=DEVICE, use_cache=False)
    assert len(compiled.image.main.callees) == 2
    assert any("buffers of webgpu have no elements of f64" in str(r) for r in context.remarks)
    x = np.linspace(-2, 2, 4, dtype=np.float32)
    np.testing.assert_allclose(one(compiled(x)), -(np.tanh(x) ** 2), rtol=1e-6)
    with pytest.raises(StepwellError, match=r'"wide".*"back"') as error:
        sw.compile(path, target="webgpu", device=DEVICE, strict_device=True)
    assert error.value.code == "not-on-device"


@pytest.fixture
def without_floor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Source text in languages that have no word for the largest whole number below a number."""
    monkeypatch.delitem(COMMON, "math.floor")


@pytest.mark.usefixtures("without_floor")
def test_commands_of_a_model_with_ops_that_a_language_lacks(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    nodes = "a = MatMul(x, w) b = Sigmoid(a) [whole] c = Floor(b) y = Relu(c)"
    path = model(tmp_path, "(float[N, 8] x, float[8, 8] w) => (float[N, 8] y)", nodes)
    line = ["compile", str(path), "--target", "webgpu", "--emit", "commands"]
    assert main(line) == 0 and "launch @k0_kernel" in capsys.readouterr().out
    assert main([*line, "--strict-device"]) == 1
    said = capsys.readouterr().err
    assert "error[not-on-device]: 1 ops cannot be on gpu0: " in said
    assert ' of "whole": wgsl has no spelling of math.floor' in said


def test_integers_of_all_widths_are_on_webgpu(tmp_path: Path) -> None:
    types = ("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64")
    inputs, outputs = (", ".join(f"{each}[N] {name}{i}" for i, each in enumerate(types)) for name in "xy")
    nodes = " ".join(f"y{i} = BitwiseNot(x{i})" for i in range(len(types)))
    path = model(tmp_path, f"({inputs}) => ({outputs})", nodes)
    compiled = sw.compile(path, target="webgpu", device=DEVICE, use_cache=False)
    assert not compiled.image.summary.get("on the host")
    given = [np.arange(5).astype(each) for each in types]
    for found, expected in zip(compiled(*given), given, strict=True):
        np.testing.assert_array_equal(found, ~expected)


def test_rows_are_added_up_by_subgroups_where_the_target_has_them(tmp_path: Path) -> None:
    path = model(tmp_path, "(float[3, 300] x) => (float[3, 300] y)", "y = Softmax(x)")
    x = np.random.default_rng(1).standard_normal((3, 300), np.float32)
    x[1, 7] = np.nan
    expected = one(sw.compile(path)(x))
    for wgsl, directive in (("standard", "enable subgroups;\n"), ("naga", "")):
        target = f"webgpu{{features=subgroups wgsl={wgsl}}}"
        compiled = sw.compile(path, target=target, device=DEVICE, use_cache=False)
        np.testing.assert_allclose(one(compiled(x)), expected, rtol=1e-5)
        (kernel,) = json.loads(DevicePart.from_bytes(code_of(compiled)).codes["wgsl"]).values()
        text = kernel["text"]
        assert text.partition("// ")[0] == directive and "subgroupAdd(" in text
        assert "sw_subgroup_maxnum(" in text and "@builtin(subgroup_id) subgroup_id: u32" in text
    assert "subgroup" not in str(DevicePart.from_bytes(code_of(sw.compile(path, target="webgpu"))).codes)


def test_counts_of_elements_have_32_bits_on_webgpu(tmp_path: Path) -> None:
    """Means without padding count elements by i64, which WGSL lacks."""
    nodes = "y = AveragePool<kernel_shape = [3, 3], strides = [2, 2], pads = [1, 1, 1, 1]>(x)"
    path = model(tmp_path, "(float[1, 2, H, 9] x) => (float[1, 2, K, 5] y)", nodes)
    assert not sw.compile(path, target="webgpu", use_cache=False).image.summary.get("on the host")


@pytest.mark.usefixtures("without_floor")
def test_all_that_a_device_lacks_is_in_one_error(tmp_path: Path) -> None:
    wide = " ".join(f"[wide{i}] w{i + 1} = Tanh(w{i})" for i in range(22))
    nodes = "a = MatMul(x, w) [whole] b = Floor(a) [to] w0 = Cast<to = 11>(b) "
    nodes += f"{wide} y = Relu(w22)"
    path = model(tmp_path, "(float[N, 8] x, float[8, 8] w) => (double[N, 8] y)", nodes)
    with pytest.raises(StepwellError, match="ops cannot be on gpu0") as error:
        sw.compile(path, target="webgpu", device=DEVICE, strict_device=True, use_cache=False)
    # Types are seen before there is code, and what its language lacks afterwards.
    assert ' of "whole": wgsl has no spelling of math.floor' in error.value.message
    for i in range(22):
        assert f' of "wide{i}": buffers of webgpu have no elements of f64' in error.value.message
    assert " more" not in error.value.message


def test_places_of_parts_with_open_sizes_are_aligned_and_short(tmp_path: Path) -> None:
    nodes = "p = MatMul(x, v) q = Softmax(p) r = MatMul(q, w) y = Softmax(r)"
    signature = "(float[N, 5] x, float[5, 7] v, float[7, 9] w) => (float[N, 9] y)"
    part = DevicePart.from_bytes(
        code_of(sw.compile(model(tmp_path, signature, nodes), device=DEVICE, use_cache=False))
    )
    # Bindings of WebGPU begin at multiples of 256. A rounded sum of rounded sizes is one long operand, which
    # was more text than a size of a part may have.
    assert all(atom.count("ceildiv") == 1 for product, _ in part.arena.terms() for atom in product)
    launches = [command for command in part.commands if isinstance(command, Launch)]
    places = [each for launch in launches for each in launch.arguments if isinstance(each, Slice)]
    assert len(places) > 10
    for rows in (1, 3, 7, 64):
        assert all(each.offset.evaluate({"N": rows}) % 256 == 0 for each in places)


@pytest.fixture(scope="module")
def part(tmp_path_factory: pytest.TempPathFactory) -> DevicePart:
    """A part of two kernels with a weight."""
    nodes = "p = MatMul(x, w) y = Relu(p)"
    path = model(
        tmp_path_factory.mktemp("part"),
        "(float[2, 2] x) => (float[2, 2] y)<float[2, 2] w = {1, 2, 3, 4}>",
        nodes,
    )
    return DevicePart.from_bytes(code_of(sw.compile(path, device=DEVICE, use_cache=False)))


def test_commands_are_a_text(part: DevicePart) -> None:
    lines = part.emitted().splitlines()
    assert lines[0] == "part @gpu0_0 on gpu-interpreter (cuda)"
    assert lines[2] == "  copy-in input0 -> arena+0 : 16"
    assert lines[-1] == "  copy-out arena+256 -> output0 : 16"
    launches = [line for line in lines if line.startswith("  launch @")]
    assert any(
        line.endswith("grid (1, 1, 1) block (32, 1, 1) shared 0 args (arena+256, arena+0, weights+0)")
        for line in launches
    )


def test_bytes_of_parts(part: DevicePart) -> None:
    data = part.to_bytes()
    assert DevicePart.from_bytes(data) == part
    for size in {*range(0, len(data), 97), len(data) - 1}:
        with pytest.raises(StepwellError) as error:
            load_part(data[:size])
        assert error.value.code == "bad-artifact"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"copy-in",0,["arena","0"', b'"copy-in",9,["arena","0"'),
        (b'["arena","256","float32"', b'["arena","9e9","float32"'),
        (b'["arena","256","float32"', b'["arena","512","float32"'),
        (b'["weights","0","float32"', b'["weights","8","floaty2"'),
    ],
)
def test_wrong_headers(part: DevicePart, old: bytes, new: bytes) -> None:
    data = part.to_bytes()
    assert old in data and len(old) == len(new)
    with pytest.raises(StepwellError) as error:
        load_part(data.replace(old, new))
    assert error.value.code == "bad-artifact"


def test_launches_with_other_arguments_than_the_kernels(part: DevicePart) -> None:
    index = next(i for i, command in enumerate(part.commands) if isinstance(command, Launch))
    launch = part.commands[index]
    assert isinstance(launch, Launch)
    x = np.ones((2, 2), np.float32)
    for arguments in ((), launch.arguments[:-1], (*launch.arguments[:-1], Number("float32", 1.0))):
        commands = (*part.commands[:index], launch._replace(arguments=arguments), *part.commands[index + 1 :])
        with pytest.raises(StepwellError, match="takes other arguments: memref") as error:
            load_part(replace(part, commands=commands).to_bytes())([x], [np.empty_like(x)])
        assert error.value.code == "bad-launch"


def test_names_of_devices() -> None:
    for name, said in (
        ("gpu-interpretr", "did you mean gpu-interpreter?"),
        ("gpu-interpreter:x", "KIND:NUMBER"),
    ):
        with pytest.raises(StepwellError) as error:
            sw.compile(ROOT / "examples/digits.onnx", device=name)
        assert error.value.code == "no-device" and said in error.value.render()
