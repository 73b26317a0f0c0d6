"""Adapters (LoRA): values for initializers that are inputs too, from files, for the calls that name them."""

from __future__ import annotations

import os
from collections.abc import Mapping

from stepwell.onnxruntime.adapter_file import FORMAT_VERSION, AdapterFile, read_adapter, write_adapter
from stepwell.onnxruntime.errors import BindingError
from stepwell.onnxruntime.values import OrtValue


class AdapterFormat:
    """The contents of an adapter's file, to be read and written."""

    def __init__(self, adapter: AdapterFile | None = None) -> None:
        self._contents = adapter or AdapterFile({})
        self._adapter_version = self._contents.adapter_version
        self._model_version = self._contents.model_version
        self._parameters = {name: OrtValue(array) for name, array in self._contents.parameters.items()}

    @staticmethod
    def read_adapter(file_path: str | os.PathLike[str]) -> AdapterFormat:
        """The contents of a file. Raises: BindingError."""
        return AdapterFormat(read_adapter(file_path))

    def export_adapter(self, file_path: str | os.PathLike[str]) -> None:
        """Write a file. Raises: BindingError."""
        arrays = {name: value.numpy() for name, value in self._parameters.items()}
        write_adapter(file_path, AdapterFile(arrays, self._adapter_version, self._model_version))

    def get_format_version(self) -> int:
        """The version of the format: 1."""
        return FORMAT_VERSION

    def set_adapter_version(self, adapter_version: int) -> None:
        """Set the version of the adapter, which is the program's. Raises: BindingError."""
        self._adapter_version = _expect_32_bits(adapter_version)

    def get_adapter_version(self) -> int:
        """The version of the adapter."""
        return self._adapter_version

    def set_model_version(self, model_version: int) -> None:
        """Set the version of the model for which the adapter is. Raises: BindingError."""
        self._model_version = _expect_32_bits(model_version)

    def get_model_version(self) -> int:
        """The version of the model for which the adapter is."""
        return self._model_version

    def set_parameters(self, params: Mapping[str, OrtValue]) -> None:
        """Set the values, by the names of the model's inputs."""
        self._parameters = dict(params)

    def get_parameters(self) -> dict[str, OrtValue]:
        """The values, by the names of the model's inputs."""
        return dict(self._parameters)


class LoraAdapter:
    """The values of an adapter for calls: `RunOptions.add_active_adapter` takes it."""

    def __init__(self) -> None:
        self._parameters: Mapping[str, OrtValue] = {}

    def Load(self, file_path: str | os.PathLike[str]) -> None:
        """Read a file (the name is ONNX Runtime's). Raises: BindingError."""
        self._parameters = AdapterFormat.read_adapter(file_path).get_parameters()

    @property
    def parameters(self) -> Mapping[str, OrtValue]:
        """The values, by the names of the model's inputs; none before `Load`."""
        return self._parameters


def _expect_32_bits(version: int) -> int:
    """A version that the file can have. Raises: BindingError."""
    if -(1 << 31) <= version < 1 << 31:
        return version
    raise BindingError("bad-option", None, f"a version has 32 bits, found {version}")
