"""The device `webgpu`: WGSL by the package `wgpu`, on Vulkan, Metal or DirectX 12."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import import_module
from typing import Any, ClassVar

import numpy as np

from stepwell.runtime.devices.base import Argument, Bytes, Device, DeviceInfo, Memory, Triple, View
from stepwell.runtime.devices.source_kernels import (
    ENABLE_SUBGROUPS,
    FIRST_BLOCK,
    SourceKernel,
    kernel_named,
    read_kernels,
)
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.warned import warn

_WORD_BYTES = 4
"""Copies and bindings have multiples of it."""
_UNIFORM_WORDS = 4
_INFINITY = 0x7F800000
_MOST_GROUPS = 4096
"""Bind groups are kept for so many different launches."""

_ENDS_LOOPS = "llvmpipe"
"""A part of the adapter's name of lavapipe, Mesa's rasterizer on CPUs."""
_MOST_ITERATIONS = 65_535
"""The number of iterations of all loops of a thread together after which lavapipe ends its loops."""


@cache
def _wgpu() -> Any:
    """The package. Raises: StepwellError `missing-package`."""
    # Mesa complains on standard error where the system has not set it.
    os.environ.setdefault("XDG_RUNTIME_DIR", tempfile.gettempdir())
    try:
        return import_module("wgpu")
    except ImportError:
        help = "pip install 'stepwell[webgpu]'"
        message = "the device webgpu needs the package wgpu, which is not installed"
        raise StepwellError("missing-package", None, message, help=help) from None


@cache
def _adapters() -> Sequence[Any]:
    """The adapters of Vulkan, Metal or DirectX, GPUs before software; the same one is not there twice."""
    found = {adapter.info["device"]: adapter for adapter in reversed(_wgpu().gpu.enumerate_adapters_sync())}
    order = {"DiscreteGPU": 0, "IntegratedGPU": 1}
    return sorted(found.values(), key=lambda each: order.get(each.info["adapter_type"], 2))


def _adapter(number: int) -> Any:
    """An adapter. Raises: StepwellError `no-device`, `missing-package`."""
    adapters = _adapters()
    if number >= len(adapters):
        found = ", ".join(str(adapter.info["device"]) for adapter in adapters) or "none"
        message = f"there is no adapter {number} for WebGPU: found {found}"
        help = "install a driver of Vulkan; without a GPU lavapipe: apt-get install mesa-vulkan-drivers"
        raise StepwellError("no-device", None, message, help=help)
    return adapters[number]


class WebGpu(Device):
    """An adapter of wgpu."""

    kind = "webgpu"
    formats: ClassVar[Sequence[str]] = ("wgsl",)

    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        self._adapter = _adapter(number)
        limits = {name: self._adapter.limits[name] for name in _LIMITS if name in self._adapter.limits}
        features = [name for name in _FEATURES if name in self._adapter.features]
        self._device = self._adapter.request_device_sync(required_features=features, required_limits=limits)
        self._ends_loops = _ENDS_LOOPS in str(self._adapter.info["device"]).lower()
        self._encoder: Any = None
        self._copied: Any = None
        self._groups: dict[Any, Any] = {}
        self._uniforms: dict[bytes, Any] = {}

    @classmethod
    def found(cls) -> Sequence[DeviceInfo]:
        _adapter(0)
        return [_info(number, adapter) for number, adapter in enumerate(_adapters())]

    @property
    def info(self) -> DeviceInfo:
        return _info(self.number, self._adapter)

    def allocate(self, nbytes: int) -> Memory:
        most = int(self._device.limits["max-buffer-size"])
        if nbytes > most:
            message = f"{self.info.name} has buffers of at most {most} bytes, and the part needs {nbytes}"
            raise StepwellError("device-memory", None, message)
        usage = _wgpu().BufferUsage
        flags = usage.STORAGE | usage.COPY_SRC | usage.COPY_DST
        size = -(-nbytes // _WORD_BYTES) * _WORD_BYTES
        return Memory(nbytes, self._made(lambda: self._device.create_buffer(size=size, usage=flags)))

    def free(self, memory: Memory) -> None:
        self.synchronize()
        self._groups.clear()
        memory.handle.destroy()

    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._submit()
        rest = -array.size % _WORD_BYTES
        data = np.concatenate([array, np.zeros(rest, np.uint8)]) if rest else array
        self._made(lambda: self._device.queue.write_buffer(memory.handle, offset, data))

    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        self._submit()
        size = -(-array.size // _WORD_BYTES) * _WORD_BYTES
        data = self._made(lambda: self._device.queue.read_buffer(memory.handle, offset, size))
        array[...] = np.frombuffer(data, np.uint8, array.size)

    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        size = -(-nbytes // _WORD_BYTES) * _WORD_BYTES
        encoder, begin, begin_offset = self._recording(), source.handle, offset
        if source.handle is to.handle:  # which WebGPU refuses
            between = self._between(size)
            self._made(lambda: encoder.copy_buffer_to_buffer(source.handle, offset, between, 0, size))
            begin, begin_offset = between, 0
        self._made(lambda: encoder.copy_buffer_to_buffer(begin, begin_offset, to.handle, to_offset, size))

    def _between(self, size: int) -> Any:
        """A buffer of at least some bytes, for copies within another one."""
        if self._copied is None or self._copied.size < size:
            usage = _wgpu().BufferUsage
            flags = usage.COPY_SRC | usage.COPY_DST
            self._copied = self._made(lambda: self._device.create_buffer(size=size, usage=flags))
        return self._copied

    def load(self, code: bytes, format: str) -> Mapping[str, Any]:
        return {name: (kernel, {0: self._pipeline(kernel)}) for name, kernel in read_kernels(code).items()}

    def launch(
        self,
        program: Any,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        found, pipelines = kernel_named(program, kernel)
        most = int(self._device.limits["max-compute-workgroups-per-dimension"])
        if max(grid[1:]) > most or (grid[0] > most and f"override {FIRST_BLOCK}:" not in found.text):
            message = f"@{kernel} is launched with {max(grid)} blocks, and {self.info.name} has {most}"
            raise StepwellError("exceeds-target", None, message)
        if self._ends_loops:
            self._warn_of_loops(found, arguments)
        for first in range(0, grid[0], most):
            if first not in pipelines:
                pipelines[first] = self._pipeline(found, first)
            group = self._group(found, pipelines[first], arguments)
            compute = self._recording().begin_compute_pass()
            compute.set_pipeline(pipelines[first])
            compute.set_bind_group(0, group)
            compute.dispatch_workgroups(min(most, grid[0] - first), *grid[1:])
            compute.end()

    def _warn_of_loops(self, kernel: SourceKernel, arguments: Sequence[Argument]) -> None:
        """Warn of a launch whose loops the driver may end before their ends, without an error."""
        if (count := kernel.most_iterations(arguments)) > _MOST_ITERATIONS:
            message = f"loops of @{kernel.name} may have {count} iterations in a thread, and {self.info.name}"
            ends = f"ends them after {_MOST_ITERATIONS} without an error"
            warn(f"{message} ({_ENDS_LOOPS}) {ends}: results may be wrong", RuntimeWarning)

    def synchronize(self) -> None:
        self._submit()

    def _pipeline(self, kernel: SourceKernel, first: int = 0) -> Any:
        """
        The pipeline of a kernel whose blocks along x count from a first one.

        Raises: StepwellError `driver` with the text of the shader's compiler.
        """

        def make() -> Any:
            # naga takes reductions over subgroups without the directive of the standard, which it refuses.
            code = kernel.text.removeprefix(f"{ENABLE_SUBGROUPS}\n")
            shader = self._device.create_shader_module(code=code)
            compute: dict[str, Any] = {"module": shader, "entry_point": kernel.name}
            if first:
                compute["constants"] = {FIRST_BLOCK: first}
            return self._device.create_compute_pipeline(layout="auto", compute=compute)

        return self._made(make, f"@{kernel.name}")

    def _group(self, kernel: SourceKernel, pipeline: Any, arguments: Sequence[Argument]) -> Any:
        """The bindings of a launch; those of an earlier launch with the same arguments."""
        views = kernel.views(arguments)
        words = _words(kernel, arguments)
        key = (kernel.name, id(pipeline), words, *((id(v.memory), v.offset, v.nbytes) for v in views))
        if key not in self._groups:
            if len(self._groups) >= _MOST_GROUPS:
                self._groups.clear()
            resources = [_binding(view) for view in views]
            if words:
                buffer = self._uniform(words)
                resources.append({"buffer": buffer, "offset": 0, "size": buffer.size})
            entries = [{"binding": i, "resource": resource} for i, resource in enumerate(resources)]
            layout = pipeline.get_bind_group_layout(0)
            # The memory stays referenced, so that no other one has its id.
            made = self._made(lambda: self._device.create_bind_group(layout=layout, entries=entries))
            self._groups[key] = made, [view.memory for view in views]
        return self._groups[key][0]

    def _uniform(self, words: bytes) -> Any:
        if words not in self._uniforms:
            usage = _wgpu().BufferUsage.UNIFORM
            self._uniforms[words] = self._device.create_buffer_with_data(data=words, usage=usage)
        return self._uniforms[words]

    def _recording(self) -> Any:
        if self._encoder is None:
            self._encoder = self._device.create_command_encoder()
        return self._encoder

    def _submit(self) -> None:
        """Submit what was recorded."""
        if self._encoder is not None:
            encoder, self._encoder = self._encoder, None
            self._made(lambda: self._device.queue.submit([encoder.finish()]))

    def _made(self, make: Any, where: str | None = None) -> Any:
        """The result of a call of wgpu. Raises: StepwellError `driver`."""
        wgpu = _wgpu()
        try:
            return make()
        except (wgpu.GPUError, RuntimeError, ValueError) as error:
            message = f"{self.info.name}: {error}"
            if isinstance(error, wgpu.GPUOutOfMemoryError):
                raise StepwellError("device-memory", where, message) from None
            raise StepwellError("driver", where, message) from None


_LIMITS = (
    "max-buffer-size",
    "max-storage-buffer-binding-size",
    "max-storage-buffers-per-shader-stage",
    "min-storage-buffer-offset-alignment",
)
"""Limits that a device gets as its adapter has them."""
_FEATURES = ("shader-f16", "subgroup", "subgroups")
"""Features that are requested if the adapter has them, by their names in wgpu and in the standard."""


def _info(number: int, adapter: Any) -> DeviceInfo:
    info = adapter.info
    about = f"{info['device']}, {info['backend_type']}, {info['description']}".strip(", ")
    return DeviceInfo(f"webgpu:{number}", "webgpu", about, is_software=info["adapter_type"] == "CPU")


def _binding(view: View) -> Mapping[str, Any]:
    size = -(-max(view.nbytes, 1) // _WORD_BYTES) * _WORD_BYTES
    return {"buffer": view.memory.handle, "offset": view.offset, "size": size}


def _words(kernel: SourceKernel, arguments: Sequence[Argument]) -> bytes:
    """The bytes of the uniform block of a launch."""
    words: list[Any] = []
    for type, value in kernel.numbers(arguments):
        number = np.float32(value) if type == "f32" else np.int32(value)
        words.append(number.view(np.uint32))
    words += [np.uint32(_INFINITY)] * kernel.needs_infinity
    words += [np.uint32(0)] * (-len(words) % _UNIFORM_WORDS)
    return np.array(words, np.uint32).tobytes()
