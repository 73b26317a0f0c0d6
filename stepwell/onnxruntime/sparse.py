"""Sparse tensors as programs make and read them; no session computes with one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from stepwell.onnxruntime.elements import type_name
from stepwell.onnxruntime.enums import OrtSparseFormat
from stepwell.onnxruntime.errors import BindingError
from stepwell.onnxruntime.values import OrtDevice
from stepwell.runtime.interface import Array


@dataclass(frozen=True)
class SparseCooView:
    """The positions of the values, in the flattened tensor or a row for each."""

    _indices: Array

    def indices(self) -> Array:
        """The positions, read-only."""
        return self._indices


@dataclass(frozen=True)
class SparseCsrView:
    """The columns of the values, and where each row begins among them."""

    _inner: Array
    _outer: Array

    def inner(self) -> Array:
        """The columns, read-only."""
        return self._inner

    def outer(self) -> Array:
        """The first value of each row, read-only."""
        return self._outer


class SparseTensor:
    """Some values of a tensor, whose others are 0."""

    def __init__(self, shape: Sequence[int], values: Array, view: SparseCooView | SparseCsrView):
        self._shape, self._values, self._view = list(shape), values, view

    @staticmethod
    def sparse_coo_from_numpy(
        dense_shape: Sequence[int], values: Array, coo_indices: Array, ort_device: OrtDevice
    ) -> SparseTensor:
        """Values with their positions. Raises: BindingError."""
        _expect_cpu(ort_device)
        return SparseTensor(dense_shape, _read_only(values), SparseCooView(_read_only(coo_indices)))

    @staticmethod
    def sparse_csr_from_numpy(
        dense_shape: Sequence[int],
        values: Array,
        inner_indices: Array,
        outer_indices: Array,
        ort_device: OrtDevice,
    ) -> SparseTensor:
        """The values of a matrix by rows. Raises: BindingError."""
        _expect_cpu(ort_device)
        view = SparseCsrView(_read_only(inner_indices), _read_only(outer_indices))
        return SparseTensor(dense_shape, _read_only(values), view)

    def values(self) -> Array:
        """The values, read-only."""
        return self._values

    def as_coo_view(self) -> SparseCooView:
        """The positions. Raises: BindingError for a matrix by rows."""
        if isinstance(self._view, SparseCooView):
            return self._view
        raise BindingError("type-mismatch", None, "the sparse tensor is stored by rows, not by positions")

    def as_csrc_view(self) -> SparseCsrView:
        """The rows. Raises: BindingError for a tensor by positions."""
        if isinstance(self._view, SparseCsrView):
            return self._view
        raise BindingError("type-mismatch", None, "the sparse tensor is stored by positions, not by rows")

    def to_cuda(self, ort_device: OrtDevice) -> SparseTensor:
        """Refused: values are in the memory of the CPU. Raises: BindingError."""
        raise BindingError("unsupported", None, "sparse tensors are in the memory of the CPU")

    def format(self) -> OrtSparseFormat:
        """The kind of positions."""
        is_coo = isinstance(self._view, SparseCooView)
        return OrtSparseFormat.ORT_SPARSE_COO if is_coo else OrtSparseFormat.ORT_SPARSE_CSRC

    def dense_shape(self) -> list[int]:
        """The shape of the whole tensor."""
        return list(self._shape)

    def data_type(self) -> str:
        """The type, such as `sparse_tensor(float)`."""
        return f"sparse_{type_name(self._values.dtype)}"

    def device_name(self) -> str:
        """`cpu`."""
        return "cpu"


def _expect_cpu(device: OrtDevice) -> None:
    if device.device_type():
        raise BindingError("unsupported", None, "sparse tensors are in the memory of the CPU")


def _read_only(array: Array) -> Array:
    view = np.asarray(array).view()
    view.flags.writeable = False
    return view
