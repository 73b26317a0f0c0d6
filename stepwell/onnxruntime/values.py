"""Values of sessions: arrays, lists and maps in an `OrtValue`, and the device on which they are."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from math import prod
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from stepwell.onnxruntime.elements import dtype_of, element_number, type_name
from stepwell.onnxruntime.enums import OrtDeviceVendorId
from stepwell.onnxruntime.errors import BindingError
from stepwell.runtime.interface import Array

if TYPE_CHECKING:
    from stepwell.onnxruntime.sparse import SparseTensor

_KINDS = {"cpu": (0, OrtDeviceVendorId.NONE), "cuda": (1, OrtDeviceVendorId.NVIDIA)}
"""The number of a kind of device, and its maker."""


class OrtDevice:
    """A device by name; values and sessions are on the CPU alone."""

    def __init__(self, name: str = "cpu", number: int = 0):
        if name.lower() not in _KINDS:
            expect_cpu(name)
        self._kind, self._vendor = _KINDS[name.lower()]
        self._number = number

    @staticmethod
    def make(ort_device_name: str, device_id: int, vendor_id: int = -1) -> OrtDevice:
        """A device by name. Raises: BindingError for a name that is not known."""
        return OrtDevice(ort_device_name, device_id)

    def device_id(self) -> int:
        """The number of the device."""
        return self._number

    def device_type(self) -> int:
        """The number of the kind of device: 0 for the CPU."""
        return self._kind

    def device_vendor_id(self) -> int:
        """The maker's number: 0 for the CPU."""
        return int(self._vendor)

    def device_mem_type(self) -> int:
        """The kind of memory: 0, the usual one."""
        return 0


def expect_cpu(device: str) -> None:
    """Require the CPU as a device. Raises: BindingError."""
    if device.lower() != "cpu":
        message = f"values are in the memory of the CPU, and the device is {device!r}"
        raise BindingError("unsupported", None, message, help='device_type="cpu"')


def array_at(address: int, element_type: object, shape: Sequence[int]) -> Array:
    """The memory at an address as an array."""
    dtype = dtype_of(element_type)
    size = prod(shape) * dtype.itemsize
    memory = memoryview((ctypes.c_uint8 * size).from_address(address)).cast("B")
    return np.frombuffer(memory, np.uint8).view(dtype).reshape(shape)


class OrtValue:
    """
    A value of a call: a tensor, which is an array that is not copied, or a list or map.

    Args: `value` is the array, list or map.
    """

    def __init__(self, value: object):
        self._value = value

    @staticmethod
    def ortvalue_from_numpy(numpy_obj: Array, device_type: str = "cpu", device_id: int = 0) -> OrtValue:
        """The value of an array. Raises: BindingError for another device."""
        expect_cpu(device_type)
        return OrtValue(np.asarray(numpy_obj))

    @staticmethod
    def ortvalue_from_numpy_with_onnx_type(data: Array, onnx_element_type: int) -> OrtValue:
        """The value of an array whose bytes have a type that numpy lacks, such as bfloat16."""
        dtype = dtype_of(onnx_element_type)
        if dtype.itemsize != data.dtype.itemsize:
            message = f"elements of {data.dtype} are not as wide as those of {dtype}"
            raise BindingError("type-mismatch", None, message)
        return OrtValue(data.view(dtype))

    @staticmethod
    def ortvalue_from_shape_and_type(
        shape: Sequence[int],
        element_type: object = np.float32,
        device_type: str = "cpu",
        device_id: int = 0,
        vendor_id: int = -1,
    ) -> OrtValue:
        """A value with memory of a shape, all zeros."""
        expect_cpu(device_type)
        return OrtValue(np.zeros(shape, dtype_of(element_type)))

    @staticmethod
    def ort_value_from_sparse_tensor(sparse_tensor: SparseTensor) -> OrtValue:
        """The value of a sparse tensor."""
        return OrtValue(sparse_tensor)

    @staticmethod
    def from_dlpack(data: object, /, is_bool_tensor: bool = False) -> OrtValue:
        """The value of an object with DLPack, which shares its memory."""
        array = np.from_dlpack(_exporter(data))  # pyright: ignore[reportArgumentType, reportUnknownVariableType]
        return OrtValue(array.view(np.bool_) if is_bool_tensor else array)

    def __array__(self, dtype: object = None, copy: bool | None = None) -> Array:
        return np.array(self.numpy(), cast(Any, dtype), copy=copy)

    def __dlpack__(self, **keywords: object) -> object:
        return cast(Any, self.numpy()).__dlpack__(**keywords)

    def __dlpack_device__(self) -> tuple[int, int]:
        return self.numpy().__dlpack_device__()

    @property
    def value(self) -> object:
        """The array, list or map."""
        return self._value

    def numpy(self) -> Array:
        """The array. Raises: BindingError for a list or map."""
        value = self._value
        if isinstance(value, np.ndarray):
            return cast(Array, value)
        message = f"only tensors are arrays of numpy, and the value is a {type(value).__name__}"
        raise BindingError("type-mismatch", None, message)

    def shape(self) -> list[int]:
        """The shape of the tensor."""
        return list(self.numpy().shape)

    def data_ptr(self) -> int:
        """The address of the first element."""
        return int(self.numpy().ctypes.data)

    def data_type(self) -> str:
        """The type, such as `tensor(float)`."""
        if self.is_sparse_tensor():
            return self.as_sparse_tensor().data_type()
        return type_name(self.numpy().dtype)

    def element_type(self) -> int:
        """The number of the element type in ONNX."""
        return element_number(self.numpy().dtype)

    def device_name(self) -> str:
        """`cpu`."""
        return "cpu"

    def tensor_size_in_bytes(self) -> int:
        """The bytes of all elements."""
        return self.numpy().nbytes

    def has_value(self) -> bool:
        """Whether an optional value is present."""
        return self._value is not None

    def is_tensor(self) -> bool:
        """Whether the value is a tensor."""
        return isinstance(self._value, np.ndarray)

    def is_tensor_sequence(self) -> bool:
        """Whether the value is a list of tensors."""
        return isinstance(self._value, list)

    def is_sparse_tensor(self) -> bool:
        """Whether the value is a sparse tensor, which no session takes."""
        from stepwell.onnxruntime.sparse import SparseTensor

        return isinstance(self._value, SparseTensor)

    def as_sparse_tensor(self) -> SparseTensor:
        """The sparse tensor. Raises: BindingError for another value."""
        if self.is_sparse_tensor():
            return cast("SparseTensor", self._value)
        message = f"the value is no sparse tensor, but of type {type(self._value).__name__}"
        raise BindingError("type-mismatch", None, message)

    def update_inplace(self, np_arr: Array) -> None:
        """Copy an array of the same shape and type over the elements. Raises: BindingError."""
        array = self.numpy()
        if array.shape != np_arr.shape or array.dtype != np_arr.dtype:
            message = f"the value is {array.dtype}{list(array.shape)}"
            found = f"{np_arr.dtype}{list(np_arr.shape)}"
            raise BindingError("shape-mismatch", None, f"{message}, found {found}")
        np.copyto(array, np_arr)


class _Capsule:
    """An exporter that was asked for its capsule already."""

    def __init__(self, capsule: object):
        self._capsule = capsule

    def __dlpack__(self, **keywords: object) -> object:
        return self._capsule

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0


def _exporter(data: object) -> object:
    """An object with `__dlpack__`; one for a capsule."""
    return data if hasattr(data, "__dlpack__") else _Capsule(data)


def plain(value: object) -> object:
    """An input of a call as models take it; bytes are text."""
    value = value.value if isinstance(value, OrtValue) else value
    if not isinstance(value, np.ndarray):
        return value
    array = cast("Array", value)
    if not issubclass(array.dtype.type, np.bytes_ | np.void) or array.dtype.names:
        return array
    flat = [bytes(each).decode() for each in array.reshape(-1)]
    return np.array(flat, object).reshape(array.shape)
