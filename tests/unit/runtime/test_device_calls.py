"""The calls that a device gets: their order, what is freed, failures, threads, forks."""

import os
import threading
import warnings
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from stepwell.runtime.devices.base import ReplayDevice
from stepwell.runtime.devices.commands import ARENA, WEIGHTS, CopyIn, CopyOut, Launch, Number, Slice
from stepwell.runtime.devices.part import DevicePart, PartArray
from stepwell.runtime.devices.run_part import PartRunner
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from tests.support.devices.recording_device import RecordingDevice

N = Dim.symbol("N")


def dims(*sizes: int | Dim) -> tuple[Dim, ...]:
    return tuple(map(Dim.of, sizes))


def part() -> DevicePart:
    """A part with an open size: two launches, a weight."""
    x, y = (Slice(ARENA, offset, "float32", dims(N, 2)) for offset in (Dim.of(0), N * 8))
    w = Slice(WEIGHTS, Dim.of(0), "float32", dims(2))
    launches = [
        Launch(
            "first", dims(N.ceildiv(4), 1, 1), dims(4, 1, 1), Dim.of(0), (Number("index", N * 2), x, w, y)
        ),
        Launch("second", dims(1, 1, 1), dims(4, 1, 1), Dim.of(16), (Number("float32", 0.5), y)),
    ]
    array = PartArray("float32", dims(N, 2))
    return DevicePart(
        "p",
        "recording",
        "cuda",
        (array,),
        (array,),
        {"N": (0, 0)},
        None,
        N * 16,
        (CopyIn(0, x), *launches, CopyOut(y, 0)),
        {"gpu": b"text"},
        bytes(range(8)),
    )


def test_sizes_too_long_for_one_text_are_read_back() -> None:
    """The arena of a model with many open sizes is a sum of more characters than a text may have."""
    long = sum((Dim.symbol(f"a_long_name_of_a_size_{i}") * (i + 3) for i in range(200)), N * 16)
    place = Slice(ARENA, long, "float32", dims(long, 2))
    launch = Launch("k", dims(long, 1, 1), dims(4, 1, 1), long, (Number("index", long), place))
    array = PartArray("float32", dims(long, 2))
    wide = replace(part(), arena=long, inputs=(PartArray("float32", dims(N, 2)), array))
    wide = replace(wide, commands=(launch, CopyIn(1, place)))
    assert len(str(long)) > 4096 and DevicePart.from_bytes(wide.to_bytes()) == wide


def test_devices_have_no_objects() -> None:
    array = Slice(ARENA, Dim.of(0), "object", dims(1))
    wrong = replace(part(), commands=(EMPTY._replace(arguments=(array,)),))
    with pytest.raises(StepwellError, match="no elements of type object") as error:
        DevicePart.from_bytes(wrong.to_bytes())
    assert error.value.code == "bad-artifact"


def run(runner: PartRunner, rows: int) -> None:
    x = np.arange(rows * 2, dtype=np.float32).reshape(rows, 2)
    runner([x], [np.empty_like(x)])


def test_the_order_of_calls() -> None:
    device = RecordingDevice()
    runner = PartRunner(DevicePart.from_bytes(part().to_bytes()), device)
    run(runner, 3)
    first = [
        "load gpu",
        "allocate 8",
        "copy in 8 at 0 of 8",
        "allocate 48",
        "copy in 24 at 0 of 48",
        "launch first (1, 1, 1) (4, 1, 1) (6, 0, 0, 24)",
        "launch second (1, 1, 1) (4, 1, 1) (np.float32(0.5), 24)",
        "copy out 24 from 24 of 48",
    ]
    assert device.calls == first
    run(runner, 3)  # weights, code and arena stay
    assert device.calls[len(first) :] == first[4:]
    device.calls.clear()
    run(runner, 5)  # a larger arena
    assert device.calls[:3] == ["free 48", "allocate 80", "copy in 40 at 0 of 80"]
    assert device.calls[3] == "launch first (2, 1, 1) (4, 1, 1) (10, 0, 0, 40)"
    device.calls.clear()
    run(runner, 0)  # nothing to copy and no blocks; a launch of one block stays
    assert device.calls == ["launch second (1, 1, 1) (4, 1, 1) (np.float32(0.5), 0)"]
    runner.release()
    assert device.calls[1:] == ["free 8", "free 80"] and not device.held


class Replaying(RecordingDevice, ReplayDevice):
    """A device that counts its recordings."""

    def record(self, run: Callable[[], None]) -> Any:
        self._note("record")
        return run

    def replay(self, recording: Any) -> None:
        recording()

    def forget(self, recording: Any) -> None:
        self._note("forget")


def test_a_part_that_keeps_recording_says_so_once() -> None:
    device = Replaying()
    runner = PartRunner(part(), device)
    run(runner, 200)  # the largest arena first: a larger one would begin again
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in range(1, 63):
            run(runner, rows)
            run(runner, rows)
    assert (device.calls.count("record"), device.calls.count("forget")) == (63, 31)
    with pytest.warns(
        RuntimeWarning, match=r"@p has recorded its launches for 64 combinations.* 32 are kept"
    ):
        run(runner, 63)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for rows in range(64, 130):
            run(runner, rows)
    runner.release()
    assert device.calls.count("record") == device.calls.count("forget") and not device.held


def test_a_device_that_fails_at_any_call_has_nothing_left() -> None:
    reference = RecordingDevice()
    run(PartRunner(part(), reference), 3)
    for call in range(len(reference.calls)):
        device = RecordingDevice(fails_at=call)
        runner = PartRunner(part(), device)
        with pytest.raises(StepwellError) as error:
            run(runner, 3)
        assert error.value.code == "driver" and f"call {call}:" in error.value.message
        assert not device.held, call
        with pytest.raises(StepwellError):  # gone, and still an error
            run(runner, 3)


def test_threads_take_turns_on_a_device() -> None:
    device = RecordingDevice()
    runners = [PartRunner(part(), device) for _ in range(2)]
    run(runners[0], 4)
    run(runners[1], 4)
    device.calls.clear()

    def work(runner: PartRunner) -> None:
        for _ in range(5):
            run(runner, 4)

    threads = [threading.Thread(target=work, args=[runner]) for runner in runners * 2]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert device.calls == device.calls[:4] * 20


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork here")
def test_a_fork_is_an_error(tmp_path: Path) -> None:
    device = RecordingDevice()
    device.process = os.getpid() + 1  # as in a child
    with pytest.raises(StepwellError, match="before this process was forked") as error:
        run(PartRunner(part(), device), 3)
    assert error.value.code == "driver" and not device.calls


EMPTY = Launch("k", dims(1, 1, 1), dims(4, 1, 1), Dim.of(0), ())


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"arena": N * 8}, "accesses arena at 24 to 48 of 24 bytes"),
        ({"weights": b""}, "accesses weights at 0 to 8 of 0 bytes"),
        ({"symbols": {}}, "a size that is not there"),
        ({"codes": {"ptx": b""}}, "recording runs code of the formats gpu, found ptx"),
        ({"commands": (EMPTY._replace(grid=dims(1 << 32, 1, 1)),)}, "launched with 4294967296 blocks"),
        ({"commands": (EMPTY._replace(block=dims(4, N - 9, 1)),)}, "launched with -6 blocks, threads"),
        ({"commands": (EMPTY._replace(shared=dims(-N)[0]),)}, "launched with -3 blocks, threads or bytes"),
    ],
)
def test_wrong_parts(change: dict[str, Any], said: str) -> None:
    with pytest.raises(StepwellError, match=said) as error:
        run(PartRunner(DevicePart(**{**part().__dict__, **change}), RecordingDevice()), 3)
    assert error.value.code in ("bad-artifact", "wrong-device")
