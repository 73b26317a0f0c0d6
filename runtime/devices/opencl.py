"""The device `opencl`: OpenCL C by the system's driver, called by ctypes."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Mapping, Sequence
from ctypes import byref, c_char_p, c_double, c_float, c_int, c_long, c_size_t, c_uint, c_ulong, c_void_p
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np

from stepwell.runtime.devices.base import Argument, Bytes, Device, DeviceInfo, Memory, Triple
from stepwell.runtime.devices.source_kernels import SourceKernel, kernel_named, read_kernels
from stepwell.runtime.errors import StepwellError

_LIBRARIES = ("libOpenCL.so.1", "OpenCL.dll", "/System/Library/Frameworks/OpenCL.framework/OpenCL")
_ALL_DEVICES = 0xFFFFFFFF
_READ_WRITE = 1
_NAME, _DRIVER, _VERSION, _GLOBAL_BYTES, _MOST_BYTES = 0x102B, 0x102D, 0x102F, 0x101F, 0x1010
_TYPE, _IS_CPU = 0x1000, 2
_MAP_READ = 1
_BUILD_LOG = 0x1183
_OUT_OF_MEMORY = (-4, -5, -6, -61)
"""The errors of an allocation that is too large, and of missing memory of the device or the host."""
_NUMBERS: Mapping[str, Any] = {
    "int": c_int,
    "long": c_long,
    "float": c_float,
    "double": c_double,
    "uchar": ctypes.c_ubyte,
    "char": ctypes.c_byte,
    "short": ctypes.c_short,
}


class _Found(NamedTuple):
    """A device of a platform."""

    device: Any
    name: str
    version: str
    driver: str
    memory_bytes: int
    most_bytes: int
    types: int


@cache
def _library() -> Any:
    """The driver's loader. Raises: StepwellError `no-device`."""
    reasons: list[str] = []
    for name in _LIBRARIES:
        try:
            library = ctypes.CDLL(name)
        except OSError as error:
            reasons.append(str(error))
            continue
        for made in (
            "clCreateContext",
            "clCreateCommandQueue",
            "clCreateBuffer",
            "clCreateProgramWithSource",
            "clCreateKernel",
            "clEnqueueMapBuffer",
        ):
            getattr(library, made).restype = c_void_p
        return library
    message = f"no opencl device is here: {reasons[0]}"
    help = "install a driver of OpenCL; without a GPU PoCL: apt-get install pocl-opencl-icd"
    raise StepwellError("no-device", None, message, help=help)


@cache
def _devices() -> Sequence[_Found]:
    """The devices of all platforms. Raises: StepwellError `no-device` where there are none."""
    library, count = _library(), c_uint(0)
    if library.clGetPlatformIDs(0, None, byref(count)) or not count.value:
        message = "no opencl device is here: the loader libOpenCL finds no platform"
        help = "install a driver of OpenCL; without a GPU PoCL: apt-get install pocl-opencl-icd"
        raise StepwellError("no-device", None, message, help=help)
    platforms = (c_void_p * count.value)()
    library.clGetPlatformIDs(count, platforms, None)
    found: list[_Found] = []
    for platform in platforms:
        number = c_uint(0)
        if library.clGetDeviceIDs(c_void_p(platform), c_ulong(_ALL_DEVICES), 0, None, byref(number)):
            continue
        devices = (c_void_p * number.value)()
        library.clGetDeviceIDs(c_void_p(platform), c_ulong(_ALL_DEVICES), number, devices, None)
        found += [_described(library, c_void_p(device)) for device in devices]
    return found


def _described(library: Any, device: Any) -> _Found:
    texts = [_text_of(library, device, key) for key in (_NAME, _VERSION, _DRIVER)]
    sizes: list[int] = []
    for key in (_GLOBAL_BYTES, _MOST_BYTES, _TYPE):
        value = c_ulong(0)
        library.clGetDeviceInfo(device, key, c_size_t(8), byref(value), None)
        sizes.append(value.value)
    return _Found(device, *texts, *sizes)  # pyright: ignore[reportArgumentType]  # three texts and three numbers


def _text_of(library: Any, device: Any, key: int) -> str:
    buffer = ctypes.create_string_buffer(1024)
    library.clGetDeviceInfo(device, key, c_size_t(len(buffer)), buffer, None)
    return buffer.value.decode("utf-8", "replace").strip()


class OpenCl(Device):
    """A device of an OpenCL platform, with one queue that keeps the order."""

    kind = "opencl"
    formats: ClassVar[Sequence[str]] = ("opencl",)

    def __init__(self, number: int = 0) -> None:
        super().__init__(number)
        found = _devices()
        if number >= len(found):
            names = ", ".join(each.name for each in found)
            message = f"there is no opencl device {number}: found {names or 'none'}"
            raise StepwellError("no-device", None, message, help="`stepwell devices` lists them")
        self._found, self._library = found[number], _library()
        self._mapped: dict[int, int] = {}
        """The addresses of buffers that the host reads itself."""
        status, device = c_int(0), c_void_p(self._found.device.value)
        self._context = c_void_p(
            self._library.clCreateContext(None, 1, byref(device), None, None, byref(status))
        )
        self._expect(status.value, "clCreateContext")
        self._queue = c_void_p(
            self._library.clCreateCommandQueue(self._context, device, c_ulong(0), byref(status))
        )
        self._expect(status.value, "clCreateCommandQueue")

    @classmethod
    def found(cls) -> Sequence[DeviceInfo]:
        return [_info(number, each) for number, each in enumerate(_devices())]

    @property
    def info(self) -> DeviceInfo:
        return _info(self.number, self._found)

    def allocate(self, nbytes: int) -> Memory:
        if nbytes > self._found.most_bytes:
            most = self._found.most_bytes
            message = f"{self.info.name} has buffers of at most {most} bytes, and the part needs {nbytes}"
            raise StepwellError("device-memory", None, message)
        status = c_int(0)
        handle = self._library.clCreateBuffer(
            self._context, c_ulong(_READ_WRITE), c_size_t(nbytes), None, byref(status)
        )
        self._expect(status.value, "clCreateBuffer")
        return Memory(nbytes, c_void_p(handle))

    def host_view(self, memory: Memory) -> Bytes | None:
        """The bytes of a buffer of a CPU, mapped for reading until `unshare`."""
        if not self._found.types & _IS_CPU:
            return None
        key = memory.handle.value
        if key not in self._mapped:
            status, size = c_int(0), c_size_t(memory.nbytes)
            place = (c_size_t(0), size, 0, None, None, byref(status))
            with self.lock:
                address = self._library.clEnqueueMapBuffer(
                    self._queue, memory.handle, 1, c_ulong(_MAP_READ), *place
                )
            self._expect(status.value, "clEnqueueMapBuffer")
            self._mapped[key] = address
        found = (ctypes.c_ubyte * memory.nbytes).from_address(self._mapped[key])
        return np.ctypeslib.as_array(found)

    def unshare(self, memory: Memory) -> None:
        if (address := self._mapped.pop(memory.handle.value, None)) is not None:
            self._call("clEnqueueUnmapMemObject", memory.handle, c_void_p(address), 0, None, None)

    def free(self, memory: Memory) -> None:
        self.unshare(memory)
        self.synchronize()
        self._library.clReleaseMemObject(memory.handle)

    def copy_in(self, memory: Memory, offset: int, array: Bytes) -> None:
        pointer = c_void_p(array.ctypes.data)
        self._call(
            "clEnqueueWriteBuffer",
            memory.handle,
            1,
            c_size_t(offset),
            c_size_t(array.size),
            pointer,
            0,
            None,
            None,
        )

    def copy_out(self, memory: Memory, offset: int, array: Bytes) -> None:
        pointer = c_void_p(array.ctypes.data)
        self._call(
            "clEnqueueReadBuffer",
            memory.handle,
            1,
            c_size_t(offset),
            c_size_t(array.size),
            pointer,
            0,
            None,
            None,
        )

    def copy(self, source: Memory, offset: int, to: Memory, to_offset: int, nbytes: int) -> None:
        places = c_size_t(offset), c_size_t(to_offset), c_size_t(nbytes)
        self._call("clEnqueueCopyBuffer", source.handle, to.handle, *places, 0, None, None)

    def load(self, code: bytes, format: str) -> Mapping[str, Any]:
        kernels = read_kernels(code)
        return {name: (kernel, self._built(kernel)) for name, kernel in kernels.items()}

    def launch(
        self,
        program: Any,
        kernel: str,
        grid: Triple,
        block: Triple,
        shared_bytes: int,
        arguments: Sequence[Argument],
    ) -> None:
        found, handle = kernel_named(program, kernel)
        values: list[Any] = []
        for view in found.views(arguments):
            values += [view.memory.handle, c_ulong(view.offset)]
        for type, value in found.numbers(arguments):
            if type not in _NUMBERS:
                raise StepwellError("bad-artifact", None, f"@{kernel} takes a number of type {type}")
            values.append(_NUMBERS[type](value))
        for number, value in enumerate(values):
            status = self._library.clSetKernelArg(
                handle, number, c_size_t(ctypes.sizeof(value)), byref(value)
            )
            self._expect(status, "clSetKernelArg", f"@{kernel}")
        items = (c_size_t * 3)(*(g * b for g, b in zip(grid, found.block, strict=True)))
        size = (c_size_t * 3)(*found.block)
        self._call("clEnqueueNDRangeKernel", handle, 3, None, items, size, 0, None, None)

    def synchronize(self) -> None:
        self._expect(self._library.clFinish(self._queue), "clFinish")

    def _call(self, name: str, *arguments: Any) -> None:
        """Enqueue an operation. Raises: StepwellError `driver`."""
        function: Callable[..., int] = getattr(self._library, name)
        self._expect(function(self._queue, *arguments), name)

    def _built(self, kernel: SourceKernel) -> Any:
        """A kernel as the driver compiles it. Raises: StepwellError `driver` with the compiler's log."""
        library, status = self._library, c_int(0)
        text = c_char_p(kernel.text.encode())
        program = c_void_p(
            library.clCreateProgramWithSource(self._context, 1, byref(text), None, byref(status))
        )
        self._expect(status.value, "clCreateProgramWithSource")
        device = c_void_p(self._found.device.value)
        if library.clBuildProgram(program, 1, byref(device), None, None, None):
            log = ctypes.create_string_buffer(1 << 16)
            library.clGetProgramBuildInfo(program, device, _BUILD_LOG, c_size_t(len(log)), log, None)
            said = log.value.decode("utf-8", "replace").strip()
            raise StepwellError("driver", f"@{kernel.name}", f"{self.info.name}: {said}", note=kernel.text)
        handle = library.clCreateKernel(program, c_char_p(kernel.name.encode()), byref(status))
        self._expect(status.value, "clCreateKernel")
        return c_void_p(handle)

    def _expect(self, status: int, name: str, where: str | None = None) -> None:
        """Require a call to have succeeded. Raises: StepwellError `driver`, `device-memory`."""
        if status:
            message = f"{self.info.name}: {name} returned {status}"
            if status in _OUT_OF_MEMORY:
                raise StepwellError("device-memory", where, message)
            raise StepwellError("driver", where, message)


def _info(number: int, found: _Found) -> DeviceInfo:
    about = f"{found.name}, {found.version}, driver {found.driver}"
    is_software = bool(found.types & _IS_CPU)
    return DeviceInfo(f"opencl:{number}", "opencl", about, found.memory_bytes, is_software=is_software)
