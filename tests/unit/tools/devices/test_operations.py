"""The arithmetic of kernels on devices: counted by the compiler, kept in parts, shown by profiles."""

import json
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

import stepwell as sw
from stepwell.runtime.devices.commands import Launch
from stepwell.runtime.devices.part import DevicePart
from stepwell.runtime.devices.profiling import timed_launches
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from tests.support.imports import ROOT
from tests.unit.tools.devices.test_device_parts import DEVICE, code_of, model


def counts(compiled: sw.CompiledModel) -> list[Dim | None]:
    """The operations of each launch."""
    commands = DevicePart.from_bytes(code_of(compiled)).commands
    return [command.operations for command in commands if isinstance(command, Launch)]


@pytest.mark.parametrize(
    ("signature", "nodes", "wanted"),
    [
        # Multiply-adds count two; the sum and the maximum of the same grid add one each.
        (
            "(float[N, 64] x, float[64, 48] w, float[48] b) => (float[N, 48] y)",
            "p = MatMul(x, w) s = Add(p, b) y = Relu(s)",
            ["6240 * N"],
        ),
        ("(float[4, 8] x) => (float[8, 4] y)", "y = Transpose(x)", [None]),
        # A maximum, a subtraction, an exponential, a sum and a division for each element.
        ("(float[6, 40] x) => (float[6, 40] y)", "y = Softmax(x)", ["1200"]),
        (
            "(float[1, 4, 9, 9] x, float[8, 4, 3, 3] w) => (float[1, 8, 7, 7] y)",
            "y = Conv(x, w)",
            [str(2 * 8 * 7 * 7 * 4 * 9)],
        ),
    ],
)
def test_kernels_have_counts(tmp_path: Path, signature: str, nodes: str, wanted: list[str | None]) -> None:
    compiled = sw.compile(model(tmp_path, signature, nodes), target="cuda", use_cache=False)
    assert [None if n is None else str(n) for n in counts(compiled)] == wanted


def test_profiles_count_for_the_sizes_of_a_call() -> None:
    compiled = sw.compile(ROOT / "examples/digits.onnx", device=DEVICE, use_cache=False)
    found: dict[int, int] = {}
    for rows in (1, 3):
        with timed_launches() as profile:
            compiled(np.zeros((rows, 64), np.float32))
        found[rows] = sum(profile.operations.values())
    assert found[3] == 3 * found[1] > 0


def test_parts_of_before_have_no_counts(tmp_path: Path) -> None:
    path = model(tmp_path, "(float[4, 8] x) => (float[4, 8] y)", "y = Exp(x)")
    data = code_of(sw.compile(path, device=DEVICE, use_cache=False))
    assert counts(sw.compile(path, device=DEVICE, use_cache=False)) == [Dim.of(32)]
    header = json.loads(data[13 : 13 + int.from_bytes(data[5:13], "little")])
    launch = next(command for command in header["commands"] if command[0] == "launch")
    *before, counted = launch

    def part_with(fields: Sequence[object]) -> DevicePart:
        launch[:] = fields
        text = json.dumps(header, separators=(",", ":")).encode()
        codes = data[13 + int.from_bytes(data[5:13], "little") :]
        return DevicePart.from_bytes(data[:5] + len(text).to_bytes(8, "little") + text + codes)

    assert part_with([*before, counted]).to_bytes() == data
    old = part_with(before)
    assert [c.operations for c in old.commands if isinstance(c, Launch)] == [None]
    for wrong in ([*before, 4], [*before, counted, counted], [*before, "4 *"]):
        with pytest.raises(StepwellError) as error:
            part_with(wrong)
        assert error.value.code == "bad-artifact"
