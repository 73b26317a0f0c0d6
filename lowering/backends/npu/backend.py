"""The backend `npu`: layers of a partition as programs of the accelerator, run on its simulator."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from time import perf_counter
from typing import TYPE_CHECKING, Any

import numpy as np

from stepwell.lowering.backends.base import Arrays, Backend, Constants
from stepwell.lowering.backends.npu.layout import packed, unpacked
from stepwell.runtime.backends import fill
from stepwell.runtime.devices.profiling import CURRENT
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.interface import Array, dtype_from_name
from stepwell.runtime.json_values import as_list, as_mapping, as_size, as_sizes, as_text
from stepwell.runtime.npu.config import Config, config_of

if TYPE_CHECKING:
    from xdsl.dialects.func import FuncOp
    from xdsl.ir import Operation, SSAValue

    from stepwell.lowering.backends.base import Row
    from stepwell.runtime.machine.named_target import Target
    from stepwell.runtime.machine.target import TargetDescription
    from stepwell.runtime.npu.encoded import Encoded
    from stepwell.runtime.npu.simulator import Report, Simulator

_LENGTH_BYTES = 8


class NpuBackend(Backend):
    """Convolutions, products, sums and maxima of bytes, as `requantize-in-integers` writes them."""

    name = "npu"
    passes = ("requantize-in-integers", "dead-code-elimination")

    is_tried = False  # the simulator takes seconds an image

    def __init__(self, config: str = "pynq"):
        self.config = config

    def for_target(self, target: Target) -> NpuBackend:
        return NpuBackend(str(target["config"]))

    @property
    def table(self) -> Sequence[Row]:  # pyright: ignore[reportIncompatibleVariableOverride]
        """The rows, made when the compiler asks."""
        from stepwell.lowering.backends.npu import table

        return (
            (table.CONV, table.conv2d, table.supports_conv),
            (table.MATMUL, table.matmul, table.supports_matmul),
            (table.ADD, table.add, table.supports_add),
            (table.MAX_POOL, table.max_pool, table.supports_max_pool),
        )

    def supports(self, op: Operation) -> bool:
        return False

    def compile(self, func: FuncOp, constants: Constants, target: TargetDescription) -> bytes:
        """The programs of all layers with their arrays. Raises: StepwellError `unsupported`."""
        from xdsl.dialects.builtin import ModuleOp

        from stepwell.lowering.backends.npu.convert_graph_to_npu import layers_of
        from stepwell.lowering.backends.npu.program_file import encoded
        from stepwell.passes.manager import run_pipeline
        from stepwell.passes.pipelines import NPU_PIPELINE

        slots: dict[SSAValue, int] = {arg: arg.index for arg in func.body.block.args}
        steps: list[dict[str, object]] = []
        blobs: list[bytes] = []
        layers = list(layers_of(func, constants, self.config))
        run_pipeline(ModuleOp([layer.program for layer in layers]), NPU_PIPELINE)
        for layer in layers:
            data = encoded(layer.program).to_bytes()
            arrays = [[array.dtype.name, list(array.shape)] for array in layer.arrays]
            places = [slots[value] for value in layer.inputs]
            steps.append({"inputs": places, "bytes": len(data), "arrays": arrays, "shape": layer.shape})
            blobs += [data, *(array.tobytes() for array in layer.arrays)]
            slots[layer.result] = len(slots)
        last = func.body.block.last_op
        assert last is not None
        results = [slots[value] for value in last.operands]
        about = {
            "config": self.config,
            "inputs": len(func.body.block.args),
            "steps": steps,
            "results": results,
        }
        header = json.dumps(about, separators=(",", ":")).encode()
        return b"".join([len(header).to_bytes(_LENGTH_BYTES, "little"), header, *blobs])

    def load(self, code: bytes) -> Callable[[Arrays, list[Array]], None]:
        """A function that runs the layers on the simulator, image by image."""
        return _Layers.of(code)


@dataclass(frozen=True)
class _Step:
    """A layer: program, numbers of inputs, constant arrays, the result's shape, simulators not in use."""

    program: Encoded
    inputs: tuple[int, ...]
    arrays: tuple[Array, ...]
    shape: tuple[int, int, int]
    simulators: deque[Simulator] = field(default_factory=lambda: deque[Any]())


class _Layers:
    """The layers of a partition."""

    def __init__(self, config: Config, inputs: int, steps: Sequence[_Step], results: Sequence[int]):
        self._config, self._inputs, self._steps, self._results = config, inputs, steps, results

    @staticmethod
    def of(code: bytes) -> _Layers:
        """The layers of code. Raises: StepwellError `bad-artifact`."""
        start = _LENGTH_BYTES + int.from_bytes(code[:_LENGTH_BYTES], "little")
        try:
            about = as_mapping(json.loads(code[_LENGTH_BYTES:start]))
            steps: list[_Step] = []
            for each in as_list(about["steps"]):
                step, start = _step(as_mapping(each), code, start)
                steps.append(step)
            sizes = config_of(as_text(about["config"]))
            return _Layers(sizes, as_size(about["inputs"]), steps, as_sizes(about["results"]))
        except (ValueError, KeyError, TypeError, IndexError) as error:
            raise StepwellError("bad-artifact", None, f"the code of an npu part is wrong: {error}") from None

    def __call__(self, inputs: Arrays, outputs: list[Array]) -> None:
        """Run the layers on each image of the batch. Raises: StepwellError of the simulator."""
        images = [self._image([array[n] for array in inputs]) for n in range(len(inputs[0]))]
        if images:
            stacked = [np.stack(each) for each in zip(*images, strict=True)]
            fill(outputs, [a.reshape(output.shape) for a, output in zip(stacked, outputs, strict=True)])

    def _image(self, inputs: Sequence[Array]) -> list[Array]:
        """The results of one image."""
        from stepwell.runtime.npu.simulator import Simulator

        maps = [image if image.ndim == 3 else image.reshape(-1, 1, 1) for image in inputs]
        values = [packed(image, self._config) for image in maps]
        shapes: dict[int, tuple[int, int, int]] = {}
        for step in self._steps:
            program = step.program
            result = np.zeros(program.arguments[-1][0], np.int8)
            begin = perf_counter()
            try:  # a simulator has the buffers of a single run
                simulator = step.simulators.pop()
            except IndexError:
                simulator = Simulator(self._config, program.instructions, program.uops)
            simulator.run([*(values[number] for number in step.inputs), *step.arrays, result])
            _note(program.name, simulator.report, perf_counter() - begin)
            step.simulators.append(simulator)
            shapes[len(values)] = step.shape
            values.append(result)
        return [unpacked(values[number], shapes[number], self._config) for number in self._results]


def _note(name: str, report: Report, seconds: float) -> None:
    """Add a layer to the profile that is taken now."""
    if (times := CURRENT.get()) is not None:
        times.add(name, seconds)
        times.copied_bytes += report.bytes_in + report.bytes_out
        times.cycles[name] = dict(report.cycles)


def _step(about: Mapping[str, object], code: bytes, start: int) -> tuple[_Step, int]:
    """A layer of code, and the place after it. Raises: ValueError, KeyError, TypeError."""
    from stepwell.runtime.npu.encoded import Encoded

    end = start + as_size(about["bytes"])
    program = Encoded.from_bytes(code[start:end])
    arrays: list[Array] = []
    for entry in as_list(about["arrays"]):
        name, shape = as_list(entry, 2)
        dtype, sizes = dtype_from_name(as_text(name)), as_sizes(shape)
        count = int(np.prod(sizes))
        arrays.append(np.frombuffer(code, dtype, count, end).reshape(sizes))
        end += count * dtype.itemsize
    channels, height, width = as_sizes(about["shape"])
    step = _Step(program, as_sizes(about["inputs"]), tuple(arrays), (channels, height, width))
    return step, end
