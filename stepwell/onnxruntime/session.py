"""`InferenceSession`: a compiled model with the interface of ONNX Runtime."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from threading import Thread
from typing import cast

from stepwell.onnxruntime.assignment import RECORDED, OrtEpAssignedSubgraph, assigned_subgraphs
from stepwell.onnxruntime.binding import IOBinding
from stepwell.onnxruntime.capi.onnxruntime_pybind11_state import Fail
from stepwell.onnxruntime.errors import BindingError, MissingInputs, while_running
from stepwell.onnxruntime.loading import Loaded
from stepwell.onnxruntime.memory_info import CPU_MEMORY, OrtMemoryInfo
from stepwell.onnxruntime.options import RunOptions, SessionOptions
from stepwell.onnxruntime.profiling import Profile
from stepwell.onnxruntime.providers import STEPWELL, Given, chosen_options, expect_provider_names
from stepwell.onnxruntime.signature import ModelMetadata, NodeArg, Signature
from stepwell.onnxruntime.values import OrtValue, plain
from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.interface import Array
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.sessions.given_outputs import written

Feed = Mapping[str, object]


class InferenceSession:
    """A model, compiled; `run` calls it."""

    def __init__(
        self,
        path_or_bytes: str | os.PathLike[str] | bytes,
        sess_options: SessionOptions | None = None,
        providers: Given | None = None,
        provider_options: Sequence[Mapping[str, object]] | None = None,
        **ignored: object,
    ):
        """
        Args: `path_or_bytes` is a model of any kind that `stepwell.compile` takes from a file, an artifact,
        or the bytes of an ONNX file; options of `StepwellExecutionProvider` are fields of `CompileOptions`;
        `ignored` are keywords of ONNX Runtime that have no meaning here.
        Raises: NoSuchFile, InvalidProtobuf, InvalidGraph, NotImplemented, Fail; TypeError for another object.
        """
        if not isinstance(cast(object, path_or_bytes), str | os.PathLike | bytes):
            raise TypeError(f"Unable to load from type '{type(path_or_bytes)}'")
        self._model_path = None if isinstance(path_or_bytes, bytes) else os.fspath(path_or_bytes)
        """The file, under the name by which programs such as optimum ask ONNX Runtime for it."""
        self._provider = chosen_options(providers, provider_options)
        self._loaded = Loaded(path_or_bytes, sess_options or SessionOptions(), self._provider)
        self._options = self._loaded.options
        is_profiled = self._options.enable_profiling
        prefix = self._options.profile_file_prefix
        self._profile = Profile(prefix, self._loaded.model) if is_profiled else None

    @property
    def signature(self) -> Signature:
        """The description of the model."""
        return self._loaded.signature

    def get_inputs(self) -> Sequence[NodeArg]:
        """The inputs that a call must have."""
        return self.signature.inputs

    def get_outputs(self) -> Sequence[NodeArg]:
        """The outputs."""
        return self.signature.outputs

    def get_overridable_initializers(self) -> Sequence[NodeArg]:
        """The inputs that have a default."""
        return self.signature.overridable

    def get_modelmeta(self) -> ModelMetadata:
        """The texts of the model's file."""
        return self.signature.metadata

    def get_session_options(self) -> SessionOptions:
        """The options of the session."""
        return self._options

    def get_providers(self) -> list[str]:
        """The provider: ours."""
        return [STEPWELL]

    def get_provider_options(self) -> dict[str, dict[str, str]]:
        """The options of the provider as text."""
        return {STEPWELL: {name: str(value) for name, value in self._provider.items()}}

    def set_providers(
        self, providers: Given | None = None, provider_options: Sequence[Mapping[str, object]] | None = None
    ) -> None:
        """Check the names and warn, as the session did; nothing changes. Raises: BindingError."""
        expect_provider_names(providers)
        chosen_options(providers, provider_options)

    def get_input_memory_infos(self) -> Sequence[OrtMemoryInfo]:
        """The memory of each input: that of the CPU."""
        return [CPU_MEMORY for _ in self.signature.inputs]

    def get_output_memory_infos(self) -> Sequence[OrtMemoryInfo]:
        """The memory of each output: that of the CPU."""
        return [CPU_MEMORY for _ in self.signature.outputs]

    def get_input_epdevices(self) -> Sequence[None]:
        """The device of each input that a plugin describes: there are none."""
        return [None for _ in self.signature.inputs]

    def get_provider_graph_assignment_info(self) -> Sequence[OrtEpAssignedSubgraph]:
        """The nodes by the provider that runs them. Raises: Fail unless the session records them."""
        if self._options.entry(RECORDED) != "1":
            message = f"Session configuration entry '{RECORDED}' must be set to \"1\" to retrieve the nodes"
            raise Fail(StepwellError("bad-option", None, message))
        return assigned_subgraphs(self._loaded.proto)

    def enable_fallback(self) -> None:
        """Nothing to do: there is one provider."""

    def disable_fallback(self) -> None:
        """Nothing to do: there is one provider."""

    def run(
        self, output_names: Sequence[str] | None, input_feed: Feed, run_options: RunOptions | None = None
    ) -> list[object]:
        """
        The outputs of a call.

        Args: `output_names` are those wanted; None or an empty list for all.
        Raises: MissingInputs, InvalidArgument, RuntimeException; Fail for `run_options.terminate`.
        """
        feed = self._checked(_adapted(input_feed, run_options), run_options)
        return self._outputs(output_names, feed)

    def _outputs(
        self, names: Sequence[str] | None, feed: Feed, buffers: Mapping[str, Array] | None = None
    ) -> list[object]:
        """The outputs of a call, some of them in memory that is given."""
        with while_running(), self._profile.run() if self._profile else nullcontext():
            wanted = self._wanted(names)
            model, inputs = self._model_for(feed)
            outputs = _call(model, model.in_order((), inputs), buffers or {})
        return [outputs[name] for name in wanted]

    def _wanted(self, names: Sequence[str] | None) -> Sequence[str]:
        """The names of the wanted outputs. Raises: StepwellError `bad-option`, TypeError."""
        known = [arg.name for arg in self.signature.outputs]
        if not names:
            return known
        if isinstance(names, str):
            raise TypeError(f"output_names is a list of names or None, found {names!r}")
        if unknown := [name for name in names if name not in known]:
            help = f"{did_you_mean(unknown[0], known)}the outputs are {', '.join(known)}"
            raise StepwellError("bad-option", None, f"Invalid output name:{unknown[0]}", help=help)
        return names

    def _model_for(self, feed: Feed) -> tuple[CompiledModel, Feed]:
        """The model, and the inputs; an input with a default only if the call gives a value."""
        given = frozenset(arg.name for arg in self.signature.overridable if arg.name in feed)
        return (self._loaded.with_inputs(given) if given else self._loaded.model), feed

    def _checked(self, feed: Feed, options: RunOptions | None) -> Feed:
        """The inputs as models take them. Raises: MissingInputs, Fail."""
        if options is not None and options.terminate:
            raise Fail(StepwellError("bad-option", None, "Exiting due to terminate flag being set to true."))
        values = {name: plain(value) for name, value in feed.items()}
        missing = [arg.name for arg in self.signature.inputs if arg.name not in values]
        for arg in self.signature.inputs:
            if arg.name in missing and arg.type.startswith("optional"):
                values[arg.name] = None
                missing.remove(arg.name)
        if missing:
            found = f"Required inputs ({missing}) are missing from input feed ({list(feed)})."
            raise MissingInputs("missing-input", None, found)
        return values

    def run_with_ort_values(
        self,
        output_names: Sequence[str] | None,
        input_dict_ort_values: Mapping[str, OrtValue],
        run_options: RunOptions | None = None,
    ) -> list[OrtValue]:
        """The outputs of a call as values. Raises: as `run`."""
        return [OrtValue(value) for value in self.run(output_names, input_dict_ort_values, run_options)]

    def run_async(
        self,
        output_names: Sequence[str] | None,
        input_feed: Feed,
        callback: Callable[[Sequence[object], object, str], None],
        user_data: object,
        run_options: RunOptions | None = None,
    ) -> None:
        """Call on a thread of its own, which calls back with outputs, `user_data` and an error's text."""
        feed = self._checked(_adapted(input_feed, run_options), run_options)

        def work() -> None:
            outputs: Sequence[object] = ()
            problem = ""
            try:
                outputs = self._outputs(output_names, feed)
            except Exception as error:  # the waiting program must get every error
                problem = str(error)
            callback(outputs, user_data, problem)

        Thread(target=work, name="stepwell-run-async", daemon=True).start()

    def io_binding(self) -> IOBinding:
        """A new binding, without inputs and outputs."""
        return IOBinding(self)

    def run_with_iobinding(self, iobinding: IOBinding, run_options: RunOptions | None = None) -> None:
        """
        Call on bound inputs. Outputs are written into the memory that is bound to them.

        Raises: MissingInputs, BindingError; as `run`.
        """
        feed = self._checked(iobinding.feeds, run_options)
        buffers = {name: array for name, array in iobinding.buffers.items() if array is not None}
        iobinding.set_results(self._outputs(list(iobinding.buffers), feed, buffers))

    def end_profiling(self) -> str:
        """Write the profile; returns the file's name, empty for a session that is not profiled."""
        return self._profile.end() if self._profile else ""

    def get_profiling_start_time_ns(self) -> int:
        """The time at which the profile begins, of the monotonic clock; 0 without one."""
        return self._profile.start_ns if self._profile else 0

    def __getattr__(self, name: str) -> object:
        from stepwell.onnxruntime.errors import MissingName

        message = f"sessions have no {name!r} here"
        raise MissingName("unsupported", None, message, help="docs/frontends/from-onnxruntime.md has a list")


def _adapted(feed: Feed, options: RunOptions | None) -> Feed:
    """The inputs of a call and of adapters; an adapter's value wins."""
    given = None if options is None else options.adapted
    return {**feed, **given} if given else feed


def _call(model: CompiledModel, inputs: Sequence[object], buffers: Mapping[str, Array]) -> dict[str, object]:
    """The outputs by name, those with a buffer in it."""
    names = [spec.name for spec in model.interface.outputs]
    return dict(zip(names, written(model, inputs, buffers, _expect_fit), strict=True))


def _expect_fit(name: str, found: Array, buffer: Array) -> None:
    """Require bound memory of the type and shape of an output. Raises: BindingError."""
    if found.shape != buffer.shape or found.dtype != buffer.dtype:
        message = f"output {name!r} is {found.dtype}{list(found.shape)}"
        memory = f"the memory that is bound to it is {buffer.dtype}{list(buffer.shape)}"
        raise BindingError("shape-mismatch", None, f"{message}, {memory}")
