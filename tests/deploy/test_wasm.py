"""Packages for WebAssembly in Node, with the types that TypeScript sees. `make deploy`."""

from __future__ import annotations

import json
import re
import subprocess
import tarfile
from base64 import b64decode, b64encode
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.parser
import pytest

import stepwell
from stepwell.lowering.export.emulator.model import EmulatedModel
from stepwell.lowering.export.wasm.linker import link_module
from stepwell.lowering.export.wasm.module import module_file
from stepwell.lowering.export.wasm.modules import STACK_BYTES
from stepwell.lowering.export.wasm.objects import read_object
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.machine.target import target_from
from stepwell.tools.check.check import differences_from_reference
from stepwell.tools.driver.compile import build_image
from stepwell.tools.driver.options import CompileOptions
from tests.deploy.test_emulated import HEAD, TEXTS, model_file
from tests.support.components import needs_node_package, needs_program
from tests.support.imports import ROOT

pytestmark = pytest.mark.slow

NODE = needs_program("node")
RELAXED = "--experimental-wasm-relaxed-simd"
SCRIPT = Path(__file__).with_name("package_test.mjs")
SECONDS = 120


def package(path: Path, folder: Path) -> Path:
    """The folder of the unpacked package of a model."""
    stepwell.export(path, folder / "m.tgz", target="wasm32")
    with tarfile.open(folder / "m.tgz") as archive:
        archive.extractall(folder, filter="data")
    return folder / "package"


def called(
    folder: Path, feeds: Sequence[Mapping[str, np.ndarray]], *flags: str, sync: bool = False, **options: Any
) -> tuple[list[Any], Any]:
    """The outputs of calls in Node, or the errors, and the model's own facts."""
    encoded = [
        {
            name: {"type": x.dtype.name, "dims": list(x.shape), "data": b64encode(x.tobytes()).decode()}
            for name, x in each.items()
        }
        for each in feeds
    ]
    calls = folder / "calls.json"
    calls.write_text(json.dumps({"options": options, "feeds": encoded, "sync": sync}))
    command = [NODE, *flags, str(SCRIPT), str(folder), str(calls)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=SECONDS)
    assert done.returncode == 0, done.stderr
    facts = json.loads(done.stdout)
    return [each.get("error") or _decoded(each) for each in facts["answers"]], facts


def _decoded(outputs: Mapping[str, Any]) -> dict[str, np.ndarray]:
    return {
        name: np.frombuffer(b64decode(value["data"]), value["type"]).reshape(value["dims"])
        for name, value in outputs.items()
    }


def feeds_of(name: str) -> list[dict[str, np.ndarray]]:
    """Two calls with other sizes."""
    rng = np.random.default_rng(3)
    made: list[dict[str, np.ndarray]] = []
    for n in (1, 5):
        if name == "convolution":
            made.append({"x": rng.standard_normal((n, 3, 16, 16), np.float32)})
        elif name == "data":
            made.append({"x": rng.integers(0, 2, (n, 5)).astype(np.float32)})
        elif name == "bytes":
            made.append({"x": rng.integers(0, 256, (n, 64)).astype(np.uint8)})
        elif name == "sines":
            made.append({"x": rng.standard_normal((n, 24), np.float32), "z": rng.standard_normal((n, 24))})
        elif name == "casts":
            integers = rng.integers(-99, 99, (n, 9)).astype(np.int32)
            made.append({"x": 9 * rng.standard_normal((n, 9), np.float32), "i": integers})
        else:
            shape = (n, 24) if name == "halves" else (n, 64)
            made.append(
                {"x": rng.standard_normal(shape, np.float32).astype(np.float16 if name == "halves" else "f4")}
            )
    return made


def with_weights(name: str, folder: Path) -> tuple[Path, list[dict[str, np.ndarray]]]:
    """A model of test_emulated.py with arrays for the inputs of fixed size but the first, and feeds."""
    path = model_file(name, folder)
    model = onnx.load(path)
    rng = np.random.default_rng(4)
    for value in list(model.graph.input)[1:]:
        dims = [dim.dim_value for dim in value.type.tensor_type.shape.dim]
        if 0 in dims:
            continue
        dtype = onnx.helper.tensor_dtype_to_np_dtype(value.type.tensor_type.elem_type)
        array = (rng.standard_normal(dims) * (40 if dtype == np.int8 else 0.3)).astype(dtype)
        model.graph.initializer.append(onnx.numpy_helper.from_array(array, value.name))
        model.graph.input.remove(value)
    onnx.save(model, path)
    return path, feeds_of(name)


@pytest.mark.parametrize("name", list(TEXTS))
def test_a_package_computes_what_the_reference_does(name: str, tmp_path: Path) -> None:
    path, feeds = with_weights(name, tmp_path)
    folder = package(path, tmp_path)
    fixed, _ = called(folder, feeds)
    relaxed, _ = called(folder, feeds, RELAXED)
    for outputs in (fixed, relaxed):
        for each, found in zip(feeds, outputs, strict=True):
            differences = differences_from_reference(path, each, found)
            assert differences and all(difference.ok for difference in differences), differences


@pytest.mark.parametrize("name", ["convolution", "softmax", "bytes", "data"])
def test_the_bits_are_the_same_with_any_number_of_threads(name: str, tmp_path: Path) -> None:
    path, feeds = with_weights(name, tmp_path)
    folder = package(path, tmp_path)
    wanted, facts = called(folder, feeds * 3, sync=True)
    assert facts["threads"] == 1
    for flags in ((), (RELAXED,)):
        alone = wanted if not flags else called(folder, feeds * 3, *flags)[0]
        for threads in (2, 5):
            found, facts = called(folder, feeds * 3, *flags, threads=threads)
            assert facts["threads"] == threads
            for a, b in zip(found, alone, strict=True):
                assert all(a[each].tobytes() == b[each].tobytes() for each in b)
    # And those of the module that has its weights inside.
    model = EmulatedModel(build_image(path, CompileOptions(mcpu="wasm32")))
    for each, outputs in zip(feeds, wanted, strict=False):
        assert all(array.tobytes() == outputs[out].tobytes() for out, array in model.run(each).items())


def test_mistakes_and_failures_have_code_place_and_help(tmp_path: Path) -> None:
    text = "g (float[N, 3] x, int64[M] i) => (float[M, 3] y) { [pick] y = Gather (x, i) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "g.onnx")
    folder = package(tmp_path / "g.onnx", tmp_path)
    x, good = np.arange(12, dtype=np.float32).reshape(4, 3), np.array([3, 0])
    feeds = [
        {"x": x, "i": np.array([0, 9])},
        {"x": x, "i": good},
        {"x": x},
        {"x": x, "i": good, "z": x},
        {"x": x.astype(np.int8), "i": good},
        {"x": x.reshape(3, 4), "i": good},
    ]
    for threads in (1, 2):
        (failed, found, *mistakes), _ = called(folder, feeds, threads=threads)
        assert failed["code"] == "index-out-of-range" and "pick" in failed["where"]
        assert "found 9 and 4" in failed["text"]
        assert found["y"].tolist() == x[good].tolist()
        codes = [each["code"] for each in mistakes]
        assert codes == ["missing-input", "unknown-input", "dtype-mismatch", "shape-mismatch"]
        assert mistakes[1]["help"] == "the inputs are x, i" and "int64[M]" in mistakes[0]["help"]
        assert "float32[N, 3]" in mistakes[3]["text"] and "[3, 4]" in mistakes[3]["text"]


def test_weights_of_another_model_are_refused(tmp_path: Path) -> None:
    folder = package(ROOT / "examples" / "digits.onnx", tmp_path)
    weights = bytearray((folder / "m.weights").read_bytes())
    for name, data in (("short", weights[:-4]), ("long", weights + b"1234"), ("other", weights[::-1])):
        (folder / name).write_bytes(data)
        script = f"""
        import {{ load }} from "./index.js";
        const weights = new URL("./{name}", import.meta.url);
        await load({{ weights }}).catch((error) => console.log(error.code));
        """
        (folder / "t.mjs").write_text(script)
        done = subprocess.run([NODE, folder / "t.mjs"], capture_output=True, text=True, timeout=SECONDS)
        assert done.stdout == "invalid-weights\n", done.stderr


def test_a_thread_that_fails_ends_the_model(tmp_path: Path) -> None:
    folder = package(ROOT / "examples" / "digits.onnx", tmp_path)
    (folder / "worker.js").write_text('throw new Error("no such thread");')
    script = """
    import { load } from "./index.js";
    await load({ threads: 2 }).catch((error) => console.log(error.message));
    """
    (folder / "t.mjs").write_text(script)
    done = subprocess.run([NODE, folder / "t.mjs"], capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == "thread-failed: no such thread\n", done.stderr


def test_a_model_without_weights_needs_no_file_for_them(tmp_path: Path) -> None:
    text = "g (float[N, 3] x) => (float[N, 3] y) { y = Neg (x) }"
    onnx.save(onnx.parser.parse_model(HEAD + text), tmp_path / "g.onnx")
    folder = package(tmp_path / "g.onnx", tmp_path)
    assert not list(folder.glob("*.weights")) and "weights: null" in (folder / "model.js").read_text()
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    (empty, found), _ = called(folder, [{"x": x[:0]}, {"x": x}])
    assert empty["y"].shape == (0, 3) and found["y"].tolist() == (-x).tolist()


def test_a_stack_has_room_for_a_feature_map_and_traps_at_its_end(tmp_path: Path) -> None:
    """A function writes a number of i32 on the stack: memory begins there, so that nothing is overwritten."""
    text = """
    @kept = constant i32 7
    define i32 @run(i32 %n) {
    entry:
      %buffer = alloca i32, i32 %n
      br label %next
    next:
      %i = phi i32 [ 0, %entry ], [ %more, %next ]
      %place = getelementptr i32, ptr %buffer, i32 %i
      store volatile i32 %i, ptr %place
      %more = add i32 %i, 1
      %done = icmp eq i32 %more, %n
      br i1 %done, label %end, label %next
    end:
      %r = load volatile i32, ptr @kept
      ret i32 %r
    }"""
    code = read_object(compile_to_object(text, target_from("wasm32"), optimize=False))
    linked = link_module([code], ["run"], stack_bytes=STACK_BYTES)
    file = module_file(linked, "{}", stack_bytes=STACK_BYTES)
    (tmp_path / "m.wasm").write_bytes(b"".join(map(bytes, file)))
    script = """
    import { readFileSync } from "node:fs";
    const module = new WebAssembly.Module(readFileSync("m.wasm"));
    const memory = new WebAssembly.Memory({ initial: 64 });
    const { exports } = new WebAssembly.Instance(module, { env: { memory } });
    for (const bytes of [100 << 10, 2000 << 10, 2100 << 10]) {
      try {
        console.log(exports.run(bytes / 4));
      } catch (error) {
        console.log(error.message);
      }
    }
    """
    (tmp_path / "t.mjs").write_text(script)
    done = subprocess.run([NODE, "t.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout.splitlines() == ["7", "7", "memory access out of bounds"], done.stderr


def test_an_installed_package_has_types(tmp_path: Path) -> None:
    npm = needs_program("npm")
    stepwell.export(ROOT / "examples" / "digits.onnx", tmp_path / "digits.tgz", target="wasm32")
    subprocess.run(
        [npm, "install", "./digits.tgz"], cwd=tmp_path, check=True, capture_output=True, timeout=SECONDS
    )
    (tmp_path / "t.mjs").write_text("""
    import { load } from "digits";
    const model = await load({ threads: 2 });
    const { probabilities } = await model.run({ pictures: new Float32Array(128) });
    console.log(probabilities.dims.join(), probabilities.data.length, model.threads);
    """)
    done = subprocess.run([NODE, "t.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    assert done.stdout == "2,10 20 2\n", done.stderr
    tsc = Path(needs_node_package("typescript"), "typescript", "bin", "tsc")
    good = """
    import { load, StepwellError } from "digits";
    const model = await load({ simd: "fixed" });
    const { probabilities } = await model.run({ pictures: new Float32Array(64) });
    const first: number = probabilities.data[0] ?? 0;
    const error: typeof StepwellError = StepwellError;
    export { first, error };
    """
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    for text, is_right in ((good, True), (good.replace("{ pictures:", "{ picture:"), False)):
        (tmp_path / "t.mts").write_text(text)
        done = subprocess.run(
            [NODE, tsc, *options, "t.mts"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS
        )
        assert (done.returncode == 0) == is_right, done.stdout
        assert is_right or "did you mean to write 'pictures'" in done.stdout.lower()


LIBRARY = {
    "first": """
g (float[N, 8] x, float[8, 8] w) => (float[N, 8] y) { m = MatMul (x, w) y = Relu (m) }""",
    "second": """
g (float[N, 8] x, float[8, 8] w) => (float[N, 8] y, int64[2, K] z) {
  m = MatMul (x, w) r = Relu (m) y = Softmax (r) z = NonZero (r)
}""",
}


def library(folder: Path) -> dict[str, Path]:
    """The files of two models with one weight."""
    weight = np.random.default_rng(0).random((8, 8), np.float32) - np.float32(0.5)
    for name, text in LIBRARY.items():
        model = onnx.parser.parse_model(HEAD + text)
        del model.graph.input[1]
        model.graph.initializer.append(onnx.numpy_helper.from_array(weight, "w"))
        onnx.save(model, folder / f"{name}.onnx")
    return {name: folder / f"{name}.onnx" for name in LIBRARY}


@pytest.mark.parametrize("threads", [1, 2])
def test_a_library_has_its_functions_in_one_package(threads: int, tmp_path: Path) -> None:
    files = library(tmp_path)
    models = {name: stepwell.compile(file, mcpu="wasm32") for name, file in files.items()}
    done = stepwell.export(stepwell.Library(models), tmp_path / "both.tgz")
    assert done.weight_bytes < 2 * 256
    with tarfile.open(tmp_path / "both.tgz") as archive:
        archive.extractall(tmp_path, filter="data")
    x = np.random.default_rng(1).random((3, 8), np.float32)
    (tmp_path / "t.mjs").write_text(f"""
    import {{ load }} from "./package/index.js";
    const model = await load({{ threads: {threads} }});
    const x = new Float32Array({x.ravel().tolist()});
    const {{ first, second }} = model.functions;
    const a = await first.run({{ x }}), b = await second.run({{ x }}), c = await first.run({{ x }});
    const values = ({{ data, dims }}) => ({{ data: Array.from(data, Number), dims }});
    let error = null;
    try {{ await second.run({{ z: x }}); }} catch ({{ code }}) {{ error = code; }}
    try {{ await model.run({{ x }}); }} catch ({{ code }}) {{ error += " " + code; }}
    const results = [a.y, b.y, b.z, c.y].map(values);
    console.log(JSON.stringify({{ results, error, outputs: second.outputs, threads: model.threads }}));
    model.close();
    """)
    shown = subprocess.run([NODE, "t.mjs"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS)
    found = json.loads(shown.stdout)
    assert found["threads"] == threads and found["error"] == "unknown-input unknown-function"
    assert [each["name"] for each in found["outputs"]] == ["y", "z"]
    first, (soft, places) = (stepwell.compile(file)(x) for file in files.values())
    for each, wanted in zip(found["results"], (first, soft, places, first), strict=True):
        result = np.array(each["data"]).reshape(each["dims"])
        np.testing.assert_allclose(result, np.asarray(wanted, np.float64), rtol=1e-5, atol=1e-6)


def test_a_library_has_types(tmp_path: Path) -> None:
    models = {name: stepwell.compile(file, mcpu="wasm32") for name, file in library(tmp_path).items()}
    stepwell.export(stepwell.Library(models), tmp_path / "both.tgz")
    with tarfile.open(tmp_path / "both.tgz") as archive:
        archive.extractall(tmp_path, filter="data")
    tsc = Path(needs_node_package("typescript"), "typescript", "bin", "tsc")
    good = """
    import { load } from "./package/index.js";
    const model = await load();
    const { z } = await model.functions.second.run({ x: new Float32Array(8) });
    const first: bigint = z.data[0] ?? 0n;
    export { first };
    """
    options = ["--noEmit", "--strict", "--target", "es2022", "--module", "nodenext", "--lib", "es2022,dom"]
    for text in (good, good.replace(".second", ".third"), good.replace("{ x:", "{ y:")):
        (tmp_path / "t.mts").write_text(text)
        done = subprocess.run(
            [NODE, tsc, *options, "t.mts"], cwd=tmp_path, capture_output=True, text=True, timeout=SECONDS
        )
        assert (done.returncode == 0) == (text == good), done.stdout


def test_the_example_of_the_docs_prints_what_it_says(tmp_path: Path) -> None:
    page = (ROOT / "docs" / "deploy" / "wasm.md").read_text(encoding="utf-8")
    (model,) = re.findall(r'parse_model\("""(.*?)"""\)', page, re.DOTALL)
    (script,) = re.findall(r"^```js\n(.*?)^```", page, re.MULTILINE | re.DOTALL)
    onnx.save(onnx.parser.parse_model(model), tmp_path / "small.onnx")
    folder = package(tmp_path / "small.onnx", tmp_path)
    (folder / "t.mjs").write_text(script.replace('"small"', '"./index.js"'))
    done = subprocess.run([NODE, folder / "t.mjs"], capture_output=True, text=True, timeout=SECONDS)
    (wanted,) = re.findall(r"// (.*)", script)
    assert done.stdout.split() == wanted.replace("Float32Array", "Float32Array(6)").split(), done.stderr
