"""Models for sessions: read, changed as options ask, and compiled."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Set
from copy import copy
from dataclasses import replace
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, cast
from warnings import catch_warnings, filterwarnings

from stepwell.onnxruntime.capi.onnxruntime_pybind11_state import InvalidProtobuf
from stepwell.onnxruntime.errors import not_implemented, while_loading, while_parsing
from stepwell.onnxruntime.optimized import write_optimized
from stepwell.onnxruntime.options import SessionOptions
from stepwell.onnxruntime.signature import Signature, of_interface, of_model, overridable_names
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.model import MAX_THREADS, CompiledModel
from stepwell.tools.driver.options import options_with

if TYPE_CHECKING:
    from concurrent.futures import Future

    from stepwell.frontend.messages import GraphProto, ModelProto
    from stepwell.frontend.source import Source
    from stepwell.tools.api.module import Module

_ORT_MAGIC = b"ORTM"
"""At byte 4 of a file in ONNX Runtime's own format."""
_MOST_SETS = 8
"""The most sets of overridden initializers whose compiled models a session keeps."""


class Loaded:
    """
    A model of a session.

    Args: `source` is a path or the bytes of a model; `provider` has the fields of `CompileOptions` that were
    given as options of the provider.
    """

    def __init__(
        self, source: str | os.PathLike[str] | bytes, options: SessionOptions, provider: Mapping[str, object]
    ):
        self._source = source if isinstance(source, bytes) else Path(source)
        self._lock = Lock()
        self._with_inputs: dict[frozenset[str], Future[CompiledModel]] = {}
        _expect_supported(self._source)
        is_onnx = isinstance(self._source, bytes) or self._source.suffix not in _other_suffixes()
        self.proto = self._opened().model if is_onnx else None
        """The message of the model's file, without the bytes of large initializers; None for another kind."""
        with while_loading():
            self.options = options = configured(options, self.proto)
            chosen: dict[str, object] = {"opt_level": options.opt_level} | dict(provider)
            self._chosen = options_with(None, chosen, ())
            self._chosen = replace(self._chosen, profile=options.enable_profiling)
        with while_loading(), catch_warnings():
            # Overridden, they are inputs of another compilation.
            filterwarnings("ignore", ".*taken as constants")
            self.model = _expect_tensors(self._compiled())
            if options.optimized_model_filepath and self.proto is not None:
                write_optimized(self._module(), options)
        self.signature = self._signature()

    def _compiled(self) -> CompiledModel:
        from stepwell.runtime.values.loading import load
        from stepwell.tools.api.compile import compile

        threads = _threads(self.options)
        if isinstance(self._source, Path) and self._source.suffix == ".stepwell":
            return load(self._source, threads=threads)
        if self.proto is not None and self.options.changes_models:
            return self._changed()
        source = self._source if isinstance(self._source, bytes) else str(self._source)
        return compile(source, self._chosen, threads=threads)

    def _changed(self, inputs: Set[str] = frozenset()) -> CompiledModel:
        """The model with the initializers and sizes of options, compiled."""
        module = self._module(inputs)
        return module.compile(self._chosen, threads=_threads(self.options))

    def _module(self, inputs: Set[str] = frozenset()) -> Module:
        """The model with the initializers and sizes of options; `inputs` are initializers that are given."""
        from stepwell.dialects._xdsl import StepwellContext
        from stepwell.frontend.importer import import_onnx
        from stepwell.tools.api.module import Module

        opened = self._opened()
        _set_files(opened.model.graph, self.options)
        _set_initializers(opened.model.graph, self.options)
        _set_sizes(opened.model.graph, self.options)
        context = StepwellContext()
        if inputs:
            _expect_constants(opened.model.graph, overridable_names(opened.model) - inputs)
        op = import_onnx(opened, context, keep_overridable=bool(inputs))
        return Module(op, context=context)

    def with_inputs(self, names: frozenset[str]) -> CompiledModel:
        """
        The model with some overridable initializers as inputs, compiled on first use of these.

        Calls with the same initializers wait for one compilation, others do not.
        """
        from concurrent.futures import Future

        with self._lock:
            known = self._with_inputs.pop(names, None)
            model = self._with_inputs[names] = known or Future()
            while len(self._with_inputs) > _MOST_SETS:
                self._with_inputs.pop(next(iter(self._with_inputs)))
        if known is None:
            try:
                with while_loading():
                    model.set_result(_expect_tensors(self._changed(names)))
            except BaseException as error:
                with self._lock:
                    if self._with_inputs.get(names) is model:
                        del self._with_inputs[names]
                model.set_exception(error)
        return model.result()

    def _opened(self) -> Source:
        from stepwell.frontend.source import open_model

        with while_parsing():
            return open_model(self._source)

    def _signature(self) -> Signature:
        interface = self.model.interface
        if self.proto is None:
            return of_interface(interface.inputs, interface.outputs)
        return of_model(self.proto, interface.inputs, interface.outputs, self.options.size_of)


def _other_suffixes() -> set[str]:
    """The suffixes of files that are not of ONNX."""
    from stepwell.frontend.formats import FORMATS, model_suffixes

    return {".stepwell", ".mlir", *model_suffixes()} - {*FORMATS[0].suffixes}


def _threads(options: SessionOptions) -> int | None:
    """The number of threads; None for one a core."""
    number = int(options.intra_op_num_threads)
    return min(number, MAX_THREADS) if number > 0 else None


def configured(options: SessionOptions, model: ModelProto | None) -> SessionOptions:
    """The options, with the model's own added if the variable ORT_LOAD_CONFIG_FROM_MODEL is set."""
    if model is None or os.environ.get("ORT_LOAD_CONFIG_FROM_MODEL") != "1":
        return options
    text = next((each.value for each in model.metadata_props if each.key == "ort_config"), "{}")
    try:
        found = json.loads(text)["session_options"]
    except (ValueError, KeyError, TypeError, RecursionError):
        found = {}
    changed = copy(options)
    changed.update(cast("Mapping[str, object]", found) if isinstance(found, dict) else {})
    return changed


def _expect_supported(source: Path | bytes) -> None:
    """Refuse the format of ONNX Runtime. Raises: NotImplemented."""
    is_ort = source.suffix == ".ort" if isinstance(source, Path) else source[4:8] == _ORT_MAGIC
    if is_ort:
        raise not_implemented(
            "models in ONNX Runtime's own format (.ort) are not read", "give the .onnx file"
        )
    if not isinstance(source, Path) and not source:
        raise InvalidProtobuf(StepwellError("invalid-model", None, "there are no bytes"))


def _expect_tensors(model: CompiledModel) -> CompiledModel:
    """Require a program of tensors. Raises: NotImplemented."""
    if isinstance(cast(object, model), CompiledModel):
        return model
    raise not_implemented("a program with functions or data has no session", "stepwell.compile calls it")


def _set_files(graph: GraphProto, options: SessionOptions) -> None:
    """Replace the files of initializers by bytes of options. Raises: StepwellError `external-data`."""
    for tensor in graph.initializer:
        entries = {entry.key: entry.value for entry in tensor.external_data}
        if (content := options.files.get(entries.get("location", ""))) is None:
            continue
        begin, length = (entries.get(key, "") for key in ("offset", "length"))
        first = int(begin) if begin.isdecimal() else 0
        last = first + int(length) if length.isdecimal() else len(content)
        if last > len(content):
            message = (
                f"{tensor.name!r} ends at byte {last} of {entries['location']}, which has {len(content)}"
            )
            raise StepwellError("external-data", None, message)
        tensor.raw_data = content[first:last]
        tensor.ClearField("data_location")
        tensor.ClearField("external_data")


def _set_initializers(graph: GraphProto, options: SessionOptions) -> None:
    """Replace initializers by those of options. Raises: StepwellError `extra-input`."""
    from onnx import numpy_helper

    known = {tensor.name: tensor for tensor in graph.initializer}
    for name, value in options.initializers.items():
        if name not in known:
            raise StepwellError("extra-input", None, f"the model has no initializer {name!r}")
        known[name].CopyFrom(numpy_helper.from_array(value.numpy(), name))


def _expect_constants(graph: GraphProto, names: Set[str]) -> None:
    """Remove initializers from the inputs: they are constants then."""
    for info in [each for each in graph.input if each.name in names]:
        graph.input.remove(info)


def _set_sizes(graph: GraphProto, options: SessionOptions) -> None:
    """Fix the open dimensions that options name, in all declared types."""
    for info in (*graph.input, *graph.output, *graph.value_info):
        for dim in info.type.tensor_type.shape.dim:
            size = None if dim.HasField("dim_value") else options.size_of(dim.dim_param, dim.denotation)
            if size is not None:
                dim.dim_value = size
