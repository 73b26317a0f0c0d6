"""Arrays on devices: copies, DLPack, models that take and return them, and what is given back."""

import gc
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import stepwell as sw
from stepwell.runtime.devices.arrays import DeviceArray
from stepwell.runtime.devices.commands import ARENA, CopyIn, CopyOut, Launch, Slice
from stepwell.runtime.devices.cuda.device import Cuda
from stepwell.runtime.devices.cuda.driver import CudaDriver
from stepwell.runtime.devices.part import DevicePart, PartArray
from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.devices.run_part import PartRunner
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from tests.support.devices.fake_cuda import FakeCuda
from tests.support.devices.recording_device import RecordingDevice
from tests.unit.tools.devices.test_device_parts import model

pytestmark = pytest.mark.usefixtures("small_heap")
INTERPRETER = "gpu-interpreter"
Call = Callable[..., Any]


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A model with an open size and a weight."""
    weight = ", ".join(str(number) for number in range(-6, 6))
    signature = f"(float[N, 4] x) => (float[N, 3] y)<float[4, 3] w = {{{weight}}}>"
    return model(tmp_path_factory.mktemp("product"), signature, "p = MatMul(x, w) y = Relu(p)")


@pytest.fixture(scope="module")
def product(path: Path) -> sw.CompiledModel:
    return sw.compile(path, device=INTERPRETER, use_cache=False)


def expect_error(code: str, said: str, call: Call, *arguments: object, **named: object) -> None:
    with pytest.raises(StepwellError) as error:
        call(*arguments, **named)
    assert error.value.code == code and said in error.value.render()


def test_copies_and_dlpack() -> None:
    device = sw.device(INTERPRETER)
    x = np.arange(6, dtype=np.float32).reshape(2, 3)
    for given in (x, x.tolist(), np.asfortranarray(x), device.array(x)):
        found = device.array(given)
        assert found.shape == (2, 3) and found.ndim == 2
        np.testing.assert_array_equal(found.numpy(), x)
    assert device.array(np.zeros((0, 3))).numpy().shape == (0, 3) and device.array(5).shape == ()
    shared = np.from_dlpack(made := device.array(x))
    assert (
        made.__dlpack_device__() == (1, 0)
        and repr(made) == "<DeviceArray float32[2, 3] on gpu-interpreter:0>"
    )
    del made
    gc.collect()
    device.array(np.full((2, 3), 9, np.float32))  # no memory that a consumer still reads
    np.testing.assert_array_equal(shared, x)
    adopted = device.from_dlpack(x)
    x[0, 0] = 7
    assert adopted.numpy()[0, 0] == 7
    expect_error(
        "type-mismatch", "expected an array of numbers on the host", device.array, np.array(["a"], object)
    )
    expect_error("type-mismatch", "expected an array of numbers on the host", device.array, [[1], [2, 3]])


def test_memory_of_the_device_alone() -> None:
    device = RecordingDevice()
    array = device.array(np.ones(4, np.float32))
    expect_error("unsupported", "not shared by DLPack", array.__dlpack__)
    expect_error("unsupported", "not shared by DLPack", array.__dlpack_device__)
    expect_error("unsupported", "does not compute on memory of the host", device.from_dlpack, np.ones(4))
    del array
    gc.collect()
    device.calls.clear()
    device.array(np.ones(4, np.float32))  # in the memory of the one that is gone
    assert device.calls == ["copy in 16 at 0 of 16"]
    gc.collect()
    device.arrays.clear()
    assert not device.held


def test_models_take_and_return_arrays(product: sw.CompiledModel) -> None:
    device = sw.device(INTERPRETER)
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    wanted = product(x)
    for given, output, copied in (
        (device.array(x), "device", 0),
        (device.array(x), None, 3 * 12),
        (device.array(x), "host", 3 * 12),
        (x, "device", 3 * 16),
    ):
        with timed_launches() as times:
            found: Any = product(given, output=output) if output else product(given)
        assert isinstance(found, DeviceArray) == (output == "device") and times.copied_bytes == copied
        np.testing.assert_array_equal(found.numpy() if output == "device" else found, wanted)
    empty: Any = product(device.array(x[:0]), output="device")
    assert empty.shape == (0, 3) and empty.numpy().shape == (0, 3)
    kept: Any = [product(device.array(x + n), output="device") for n in range(3)]
    for n, each in enumerate(kept):  # each has its own memory
        np.testing.assert_array_equal(each.numpy(), product(x + n))


def test_two_models_and_four_threads_on_a_device(
    product: sw.CompiledModel, path: Path, tmp_path: Path
) -> None:
    product.save(tmp_path / "other.stepwell")
    models = (product, sw.load(tmp_path / "other.stepwell"))
    device = sw.device(INTERPRETER)
    wrong: list[object] = []

    def work(number: int) -> None:
        rng = np.random.default_rng(number)
        for turn in range(6):
            x = rng.standard_normal((1 + turn % 3, 4), np.float32)
            wanted = np.maximum(x @ np.arange(-6, 6, dtype=np.float32).reshape(4, 3), 0)
            found: Any = models[number % 2](device.array(x), output="device" if turn % 2 else "host")
            found = found.numpy() if turn % 2 else found
            if not np.allclose(found, wanted, atol=1e-5):
                wrong.append((number, turn, found, wanted))

    threads = [threading.Thread(target=work, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_arrays_that_the_host_reads_are_copied(tmp_path: Path) -> None:
    nodes = "d = Cast<to = 11>(x) q = Mul(d, d) e = Cast<to = 1>(q) y = Add(e, x) z = Identity(e)"
    path = model(tmp_path, "(float[4] x) => (float[4] y, float[4] z)", nodes)
    compiled = sw.compile(path, target="webgpu", device=INTERPRETER, use_cache=False)
    x = np.arange(4, dtype=np.float32)
    found: Any = compiled(sw.device(INTERPRETER).array(x), output="device")
    for each, wanted in zip(found, (x * x + x, x * x), strict=True):
        np.testing.assert_array_equal(each.numpy(), wanted)


def test_wrong_calls(product: sw.CompiledModel, path: Path) -> None:
    device = sw.device(INTERPRETER)
    x = np.zeros((2, 4), np.float32)
    expect_error("bad-option", "output is host or device", product, x, output="gpu")
    expect_error("type-mismatch", "must be float32", product, device.array(x.astype(np.float64)))
    expect_error("shape-mismatch", "4", product, device.array(x[:, :3].copy()))
    expect_error("wrong-device", "no part on a device", sw.compile(path), x, output="device")
    elsewhere = sw.device("ptx-interpreter").array(x)
    np.testing.assert_array_equal(product(elsewhere), product(x))  # by way of the host


def chain() -> DevicePart:
    """A part of a launch, whose only input and output are arrays of 4 numbers."""
    x, y = (Slice(ARENA, Dim.of(offset), "float32", (Dim.of(4),)) for offset in (0, 256))
    one = (Dim.of(1),) * 3
    array = PartArray("float32", (Dim.of(4),))
    commands = (CopyIn(0, x), Launch("k", one, one, Dim.of(0), (x, y)), CopyOut(y, 0))
    return DevicePart(
        "p", "recording", "cuda", (array,), (array,), {}, None, Dim.of(512), commands, {"gpu": b""}, b""
    )


def test_arrays_between_parts_are_not_copied() -> None:
    device = RecordingDevice()
    first, second = PartRunner(chain(), device), PartRunner(chain(), device)
    x = np.ones(4, np.float32)
    for _ in range(2):
        outputs: list[object] = [None]
        first([x], outputs)
        second(outputs, [np.empty_like(x)])
        del outputs
        gc.collect()
    # One copy in and one out a call, and the second part has no arena: nothing of it is there.
    assert [call.split(" of")[0] for call in device.calls if call.startswith("copy")] == [
        "copy in 16 at 0",
        "copy out 16 from 256",
    ] * 2
    for runner in (first, second):
        runner.release()
    assert not device.held


def test_each_call_fails_in_turn_with_arrays() -> None:
    def run(device: RecordingDevice) -> None:
        outputs: list[object] = [None]
        runner = PartRunner(chain(), device)
        try:
            runner([device.array(np.ones(4, np.float32))], outputs)
            found: Any = outputs[0]
            found.numpy()
        finally:
            runner.release()

    reference = RecordingDevice()
    run(reference)
    for call in range(sum(not each.startswith("free") for each in reference.calls)):
        device = RecordingDevice(fails_at=call)
        with pytest.raises(StepwellError) as error:
            run(device)
        assert error.value.code == "driver" and f"call {call}:" in error.value.message
        del error
        gc.collect()
        device.arrays.clear()
        assert not device.held, call


def test_recordings_of_arrays_on_cuda(product: sw.CompiledModel, path: Path) -> None:
    """A recording has the addresses of arrays: other arrays have another one, the same ones replay it."""
    compiled = sw.compile(path, target="cuda", use_cache=False)
    (callee,) = compiled.image.main.callees
    fake = FakeCuda()
    device = Cuda(0, CudaDriver(fake))
    runner = PartRunner(DevicePart.from_bytes(callee.code), device)
    x = np.random.default_rng(0).standard_normal((3, 4), np.float32)
    first, second = device.array(x), device.array(x + 1)
    wanted: Any = [product(x), product(x + 1)]
    for given, result in ((first, wanted[0]), (second, wanted[1]), (first, wanted[0])):
        outputs: list[Any] = [None]
        runner([given], outputs)
        np.testing.assert_allclose(outputs[0].numpy(), result, atol=3e-6)
        assert outputs[0].__dlpack_device__() == (2, 0)
        del outputs
        gc.collect()
    assert sum(call.startswith("cuStreamBeginCapture") for call in fake.calls) == 2
    assert device.memory()[1] > 0
    del first, second, given
    gc.collect()
    runner.release()
    device.close()
    assert not fake.held
