"""Calls of the host: from level 1 to machine code, in artifacts, in the interpreter, and when they fail."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from threading import Thread

import numpy as np
import pytest

import stepwell
from stepwell.dialects._xdsl import StepwellContext
from stepwell.lowering.interpret import interpret
from stepwell.runtime import host
from stepwell.runtime.backends import HostFunction
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import CompiledModel
from stepwell.tools.driver.ir_files import read_ir

_T = 'tensor<?xf32, #graph.dims<["N"]>>'
_D = 'tensor<?xf32, #graph.dims<["data_0"]>>'
_STRINGS = "tensor<?x!onnx.string>"


def load_test(code: bytes) -> HostFunction:
    """Callees of these tests, by name."""

    def positive(inputs: Sequence[object], outputs: list[object]) -> None:
        x = np.asarray(inputs[0])
        outputs[0] = x[x > 0]

    def fail(inputs: Sequence[object], outputs: list[object]) -> None:
        raise RuntimeError("no more")

    def interrupt(inputs: Sequence[object], outputs: list[object]) -> None:
        raise KeyboardInterrupt

    def write(inputs: Sequence[object], outputs: list[object]) -> None:
        np.asarray(inputs[0])[...] = 0

    def wrong(inputs: Sequence[object], outputs: list[object]) -> None:
        outputs[0] = np.zeros((2, 2), np.float32)

    def boxed(inputs: Sequence[object], outputs: list[object]) -> None:
        outputs[0] = [np.asarray(inputs[0]).copy()]

    def unboxed(inputs: Sequence[object], outputs: list[object]) -> None:
        assert isinstance(inputs[0], list)
        np.asarray(outputs[0])[...] = inputs[0][0]

    known = (positive, fail, interrupt, write, wrong, boxed, unboxed)
    return {f.__name__: f for f in known}[code.decode()]


@pytest.fixture(autouse=True)
def kind_of_callees(monkeypatch: pytest.MonkeyPatch) -> None:
    """The kind `test` of callees."""
    monkeypatch.setattr(host, "BUILT_IN", {**host.BUILT_IN, "test": f"{__name__}:load_test"})


def _write(folder: Path, body: str, result: str = _T, arg: str = _T) -> Path:
    path = folder / "model.mlir"
    path.write_text(
        f'func.func @main(%x: {arg} {{graph.name = "x"}}) -> ({result} {{graph.name = "y"}}) {{\n'
        f'{body}\n  func.return %y : {result}\n}} loc("main")\n'
    )
    return path


def _call(callee: str, value: str, name: str, result: str, arg: str = _T) -> str:
    return (
        f'  {name} = graph.host_call "test" "{callee}" payload "{callee}" ({value}) : ({arg}) -> {result}'
        f' loc("Node_1")'
    )


def _expect(actual: object, expected: object) -> None:
    """Require equal arrays, but for the last digit."""
    np.testing.assert_allclose(np.asarray(actual, np.float64), np.asarray(expected, np.float64), rtol=1e-6)


def _neg(folder: Path) -> Path:
    payload = r"{\"op\": \"graph.neg\", \"attributes\": {}}"
    return _write(
        folder,
        f"  %a = graph.exp %x : {_T} -> {_T}\n"
        f'  %b = graph.host_call "numpy" "graph.neg" payload "{payload}" (%a) : ({_T}) -> {_T}\n'
        f"  %y = graph.abs %b : {_T} -> {_T}",
    )


def test_between_kernels_and_in_an_artifact(tmp_path: Path) -> None:
    model = stepwell.compile(_neg(tmp_path))
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    _expect(model(x), np.exp(x))
    _expect(model(x[:3]), np.exp(x[:3]))
    model.save(tmp_path / "m.stepwell")
    _expect(stepwell.load(tmp_path / "m.stepwell")(x), model(x))


def test_levels_1_and_2_interpreted(tmp_path: Path) -> None:
    x = np.linspace(-1, 1, 7, dtype=np.float32)
    ctx = StepwellContext()
    module = read_ir(_neg(tmp_path), ctx)
    _expect(interpret(module, ctx, inputs=[x])[0], np.exp(x))


def _positive(folder: Path) -> CompiledModel:
    body = (
        f'  %p, %n = graph.host_call "test" "positive" payload "positive" (%x) defines ["data_0"] : ({_T}) ->'
        f" ({_D}, index)\n  %q = graph.neg %p : {_D} -> {_D}\n  %y = graph.exp %q : {_D} -> {_D}"
    )
    return stepwell.compile(_write(folder, body, _D))


def test_a_result_of_unknown_size_feeds_kernels_and_is_returned(tmp_path: Path) -> None:
    model = _positive(tmp_path)
    for size in (9, 0, 3, 100):
        x = np.random.default_rng(size).standard_normal(size).astype(np.float32)
        _expect(model(x), np.exp(-x[x > 0]))
    model.save(tmp_path / "m.stepwell")
    x = np.array([1, -1, 2], np.float32)
    _expect(stepwell.load(tmp_path / "m.stepwell")(x), model(x))


def test_a_result_of_unknown_size_is_returned_as_it_is(tmp_path: Path) -> None:
    body = (
        f'  %y, %n = graph.host_call "test" "positive" payload "positive" (%x) defines ["data_0"] : ({_T}) ->'
        f" ({_D}, index)"
    )
    model = stepwell.compile(_write(tmp_path, body, _D))
    first = model(np.array([1, -1, 2], np.float32))
    model(np.array([7, 8, 9], np.float32))
    _expect(first, [1, 2])


def test_threads_have_their_own_memory(tmp_path: Path) -> None:
    model, failures = _positive(tmp_path), list[Exception]()

    def run(seed: int) -> None:
        rng = np.random.default_rng(seed)
        try:
            for _ in range(50):
                x = rng.standard_normal(rng.integers(200)).astype(np.float32)
                _expect(model(x), np.exp(-x[x > 0]))
        except Exception as error:
            failures.append(error)

    threads = [Thread(target=run, args=(seed,)) for seed in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures


def test_objects_pass_from_call_to_call(tmp_path: Path) -> None:
    seq = "!onnx.seq<tensor<*xf32>>"
    body = _call("boxed", "%x", "%s", seq) + "\n" + _call("unboxed", "%s", "%y", _T, seq)
    model = stepwell.compile(_write(tmp_path, body))
    x = np.array([1, 2, 3], np.float32)
    _expect(model(x), x)


def test_an_object_is_input_and_output(tmp_path: Path) -> None:
    seq = "!onnx.seq<tensor<*xf32>>"
    payload = r"{\"op\": \"host.identity\", \"attributes\": {}}"
    body = f'  %y = graph.host_call "numpy" "identity" payload "{payload}" (%x) : ({seq}) -> {seq}'
    model = stepwell.compile(_write(tmp_path, body, seq, seq))
    given = [np.array([1], np.float32), np.array([2, 3], np.float32)]
    assert model(given) is given
    with pytest.raises(StepwellError, match="input 'x' must be seq"):
        model(3)


def test_a_failure_names_the_node_and_the_next_call_works(tmp_path: Path) -> None:
    model = stepwell.compile(_write(tmp_path, _call("fail", "%x", "%y", _T)))
    for _ in range(2):
        with pytest.raises(StepwellError, match=r"fail: RuntimeError: no more\n  --> node \"Node_1\""):
            model(np.array([1], np.float32))


def test_an_interrupt_stays_one(tmp_path: Path) -> None:
    model = stepwell.compile(_write(tmp_path, _call("interrupt", "%x", "%y", _T)))
    with pytest.raises(KeyboardInterrupt):
        model(np.array([1], np.float32))


def test_inputs_are_read_only(tmp_path: Path) -> None:
    model = stepwell.compile(_write(tmp_path, _call("write", "%x", "%y", _T)))
    with pytest.raises(StepwellError, match="read-only"):
        model(np.array([1], np.float32))


def test_a_result_of_another_shape_is_an_error(tmp_path: Path) -> None:
    body = (
        f'  %y, %n = graph.host_call "test" "wrong" payload "wrong" (%x) defines ["data_0"] : ({_T}) ->'
        f" ({_D}, index)"
    )
    model = stepwell.compile(_write(tmp_path, body, _D))
    with pytest.raises(StepwellError, match=r"result 0 must be float32\[\?\], found float32\[2, 2\]"):
        model(np.array([1], np.float32))


def test_a_backend_that_is_not_there(tmp_path: Path) -> None:
    body = f'  %y = graph.host_call "nobody" "part" payload "x" (%x) : ({_T}) -> {_T} loc("Part_1")'
    with pytest.raises(StepwellError, match="needs the backend 'nobody'") as caught:
        stepwell.compile(_write(tmp_path, body))
    assert caught.value.code == "unknown-backend" and "stepwell.backends" in str(caught.value)
