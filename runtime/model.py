"""The compiled model: call it with arrays. Loads artifacts without the compiler."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from typing import TYPE_CHECKING, Any, TypeAlias, cast, overload

import numpy as np

from stepwell.runtime.abi import CtxField, Status
from stepwell.runtime.addresses import address_of
from stepwell.runtime.cores import usable_cores
from stepwell.runtime.errors import InternalError, StepwellError
from stepwell.runtime.files.artifact import image_bytes, image_of_bytes, save
from stepwell.runtime.host import HostFrame, load_callee
from stepwell.runtime.image import ModelImage, Variant
from stepwell.runtime.interface import Array, Binding
from stepwell.runtime.link.code import LinkedCode
from stepwell.runtime.machine.arguments import checked_value
from stepwell.runtime.machine.call_frame import CallFrame
from stepwell.runtime.machine.chunk_times import ChunkTime
from stepwell.runtime.machine.fixed_call import FixedCall
from stepwell.runtime.machine.loader import Library
from stepwell.runtime.machine.native_segment import NativeSegment
from stepwell.runtime.machine.pool import MAX_THREADS, get_pool
from stepwell.runtime.machine.variants import variant_of
from stepwell.runtime.memory import ALIGNED_BYTES, Memory, aligned
from stepwell.runtime.model_info import ModelInfo, run_arguments
from stepwell.runtime.timing import KernelTimes, shown_names

if TYPE_CHECKING:  # of models with device parts or states
    from stepwell.runtime.devices.part import DevicePart
    from stepwell.runtime.sessions.session import Session
    from stepwell.runtime.sessions.states import States, StateStore, Targets
    from stepwell.runtime.sessions.versions import Versions

Shapes: TypeAlias = tuple[tuple[int, ...], ...]

_MAIN_TYPE = ctypes.CFUNCTYPE(ctypes.c_int32, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_void_p)
_KEPT_BINDINGS = 256  # shapes whose binding is remembered; a decoding loop meets a new length at every step


class CompiledModel(ModelInfo):
    """
    A model as native code.

    `model(x, …)` takes arrays in the order of the model's inputs (or by name) and returns one array, or a
    tuple; `model.run({"x": x})` takes and returns names, `model.run(None, {"x": x})` returns a list. Calls
    from several threads at once are safe: each has its arena.
    """

    def __init__(self, image: ModelImage, *, threads: int | None = None):
        """
        Args: `image` of the compiler or an artifact; `threads` is the number of threads for kernels (default:
        all cores).
        Raises: StepwellError `wrong-cpu` when the code needs features that this machine lacks.
        """
        self._describe(image, variant_of(image.main))
        self._library: Library = Library(self.variant.code, shown_names(self._entry.timed))
        self._main = _MAIN_TYPE(self._library.address(self.variant.symbol))
        self._weights = tuple(aligned(image.weights[number]) for number in self._entry.weights)
        self._weights_table = np.array([a.ctypes.data for a in self._weights] or [0], np.uint64)
        self.threads = threads
        self._host_functions = tuple(load_callee(callee) for callee in self._entry.callees)
        self.kernel_times = KernelTimes(len(self._entry.timed)) if self._entry.timed else None
        """Of the last call, when the model was compiled to tell them."""
        self._versions = _versions_of(image, self._threads)

    _versions: Versions | None = None

    def _describe(self, image: ModelImage, variant: Variant) -> None:
        """Set all that needs no code of this machine."""
        self.image = image
        self._entry = image.main
        self.variant = variant
        self._whole = self.interface = self._entry.interface
        """The interface of the code; that of the model lacks states."""
        self._bindings: dict[Shapes, Binding] = {}
        self._input_dtypes = tuple(
            (i, None if spec.is_object else spec.dtype) for i, spec in enumerate(self._whole.inputs)
        )
        self._output_dtypes = tuple(spec.dtype for spec in self._whole.outputs)
        self._input_names = tuple(spec.name for spec in self.interface.inputs)
        self._output_names = tuple(spec.name for spec in self.interface.outputs)

    @property
    def threads(self) -> int:
        """
        The number of threads that kernels may use; None sets it to all cores. Calls that run keep theirs.

        Raises: StepwellError `bad-option` when it is set to anything else.
        """
        return self._threads

    @threads.setter
    def threads(self, threads: int | None) -> None:
        self._threads = checked_threads(threads)
        code = self.variant.pool
        self._pool = get_pool(code, self._threads) if code is not None and self._threads > 1 else None
        if self._versions is not None:
            self._versions.set_threads(self._threads)
        self._frames: list[CallFrame] = []

    def __repr__(self) -> str:
        inputs, outputs = (
            ", ".join(f"{spec.name}: {spec}" for spec in specs)
            for specs in (self.interface.inputs, self.interface.outputs)
        )
        return f"<CompiledModel ({inputs}) -> ({outputs})>"

    def __reduce__(self) -> tuple[Callable[[bytes, int], CompiledModel], tuple[bytes, int]]:
        """Copies and pickles contain the bytes of an artifact, as `save` writes it."""
        return _of_bytes, (image_bytes(self.image), self.threads)

    def __call__(self, *arrays: object, **named: object) -> Array | tuple[Array, ...]:
        """
        Run the model.

        Args: arrays of a device are inputs too; with `output="device"` the outputs stay on the device, as a
        `DeviceArray` each.
        Raises: StepwellError for a missing, extra, misshapen or mistyped input.
        """
        if named or len(arrays) != len(self._input_names):
            place = None if "output" in self._input_names else named.pop("output", None)
            arrays = self.in_order(arrays, named)
            if place is not None:
                outputs = self._on_devices(arrays, place)
                return outputs[0] if len(outputs) == 1 else outputs
        outputs = self._invoke(arrays)
        return outputs[0] if len(outputs) == 1 else outputs

    @overload
    def run(
        self, feeds: Mapping[str, object], /, *, outputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array]: ...
    @overload
    def run(
        self,
        names: Sequence[str] | None,
        feeds: Mapping[str, object],
        /,
        *,
        outputs: Mapping[str, Array] | None = None,
    ) -> list[Array]: ...
    def run(
        self, *arguments: object, outputs: Mapping[str, Array] | None = None
    ) -> dict[str, Array] | list[Array]:
        """
        Run the model on inputs by name.

        Args: inputs alone, for all outputs by name; or the names of outputs (None: all) and the inputs, for a
        list, as ONNX Runtime's sessions take them; `outputs` has arrays into which outputs are written.
        Raises: StepwellError `type-mismatch`, `bad-option` for an output that there is not, `bad-inputs` for
        memory that cannot be written; as calling does.
        """
        names = self._output_names
        if len(arguments) == 1 and isinstance(arguments[0], dict):
            wanted, feeds = None, cast("dict[str, object]", arguments[0])
        else:
            wanted, feeds = run_arguments(arguments, names)
        inputs = self.in_order((), feeds)
        if outputs:
            from stepwell.runtime.sessions.given_outputs import invoke_into

            found = invoke_into(self, inputs, outputs)
        else:
            found = self._invoke(inputs)
        made = dict(zip(names, found, strict=True))
        return made if wanted is None else [made[name] for name in wanted]

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model as one artifact file. Raises: StepwellError `cannot-write`, `unknown-file-type`."""
        expect_artifact_name(path)
        save(self.image, path)

    def in_order(self, arrays: Sequence[object], named: Mapping[str, object]) -> tuple[object, ...]:
        """Inputs in the model's order. Raises: StepwellError `extra-input`, `missing-input`."""
        names = self._input_names
        if len(arrays) > len(names):
            raise StepwellError(
                "extra-input",
                None,
                f"the model takes {len(names)} input{'s' * (len(names) != 1)}, found {len(arrays)}",
                note=self._signature(),
            )
        given = dict(zip(names, arrays, strict=False))
        for name, value in named.items():
            if name in given or name not in names:
                what = (
                    f"input {name!r} is given twice" if name in given else f"the model has no input {name!r}"
                )
                raise StepwellError("extra-input", None, what, note=self._signature())
            given[name] = value
        if missing := [name for name in names if name not in given]:
            raise StepwellError(
                "missing-input",
                None,
                f"input {', '.join(map(repr, missing))} is missing",
                note=self._signature(),
                help="a dictionary goes to `model.run`"
                if any(isinstance(a, Mapping) for a in arrays)
                else None,
            )
        return tuple(given[name] for name in names)

    def _signature(self) -> str:
        return "the inputs are " + ", ".join(f"{spec.name}: {spec}" for spec in self.interface.inputs)

    def session(self, **sizes: int) -> Session[CompiledModel]:
        """A session with states of its own, of these open sizes; the first call gives those left out."""
        from stepwell.runtime.sessions.session import Session

        return Session(self, self.new_states(sizes))

    def new_states(self, sizes: Mapping[str, int], store: StateStore | None = None) -> States:
        """The model's states with their initial values, in a store where one is given."""
        from stepwell.runtime.sessions.states import States

        return States(self._whole, self.initial_value, sizes, store)

    def initial_value(self, number: int) -> Array:
        """The weight with which a state begins."""
        if self.image.weight_check is not None:
            self.image.weight_check.wait()
        return self.image.weights[number]

    def invoke_on(self, states: States, values: Sequence[object]) -> tuple[Array, ...]:
        """The outputs of a call on states, which it changes. Raises: StepwellError as calling does."""
        version = None if self._versions is None else self._versions.of_public(values)
        if version is not None:
            return version.invoke_on(states, values)
        return states.call(self._whole.states, self._invoke, values)

    def invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        """The outputs of a call on all inputs, states included. Raises: StepwellError as calling does."""
        return self._invoke(values, targets)

    def _invoke(self, values: Sequence[object], targets: Targets | None = None) -> tuple[Array, ...]:
        if self._versions is not None and (version := self._versions.of(values)) is not None:
            return version.invoke(values, targets)
        objects: list[object] = []
        inputs = list(values)
        for i, dtype in self._input_dtypes:
            value = inputs[i]
            # `checked_value` would accept nearly every input too, in five times the time.
            if not (type(value) is np.ndarray and value.dtype is dtype and value.flags.c_contiguous):
                if getattr(value, "is_on_device", False):
                    return self._on_devices(values, None, targets)
                inputs[i] = checked_value(self._whole.inputs[i], value, objects)
        arrays = cast("list[Array]", inputs)
        shapes = tuple([array.shape for array in arrays])
        binding = self._bindings.get(shapes) or self._bind(shapes)
        frames = self._frames  # of this number of threads
        try:
            frame = frames.pop()
        except IndexError:
            frame = self._new_frame()
        try:
            if frame.binding is not binding:
                frame.prepare(binding)
            if targets is not None:
                outputs = self._outputs_in(targets, binding, frame)
                targets.has_begun = True
            elif binding.largest_output_bytes < ALIGNED_BYTES:
                outputs = list(map(np.empty, binding.array_shapes, self._output_dtypes))
            else:
                new = frame.outputs.new
                outputs = list(map(new, count(), binding.array_shapes, self._output_dtypes))
        except MemoryError as error:
            message = f"the memory does not suffice for inputs {list(shapes)}: {error}"
            raise StepwellError("out-of-memory", None, message) from None
        arrays += outputs
        frame.args[: len(arrays)] = list(map(address_of, arrays))
        if objects and frame.host is not None:
            frame.host.objects[: len(objects)] = objects
        status = self._main(*frame.addresses)
        if status != 0:
            raise self._failure(status, frame)
        if frame.host is not None or frame.memory is not None:
            self._collect(frame, binding, outputs)
        frames.append(frame)
        return tuple(outputs)

    def _on_devices(
        self, values: Sequence[object], place: object, targets: Targets | None = None
    ) -> tuple[Array, ...]:
        """The outputs of a call on arrays of a device, or with outputs that stay there."""
        from stepwell.runtime.devices.resident import on_devices

        return cast("tuple[Array, ...]", on_devices(self, values, place, targets))

    @property
    def device_parts(self) -> Sequence[DevicePart]:
        """The parts of the model on devices, in the order of their calls."""
        return [part for each in self._host_functions if (part := getattr(each, "part", None)) is not None]

    def output_shapes(self, shapes: Sequence[tuple[int, ...]]) -> Shapes:
        """The shapes of outputs for shapes of inputs; empty for those that depend on data."""
        key = tuple(shapes)
        return (self._bindings.get(key) or self._bind(key)).array_shapes

    def invoke_into(self, values: Sequence[object], targets: Targets) -> None:
        """Call the code on all of its inputs, with memory for outputs. Raises: as calling does."""
        self._invoke(values, targets)

    def as_function(self) -> Any:
        """
        The model for other languages, a `tvm_ffi.Function` of inputs and memory of outputs.

        Raises: StepwellError `unsupported-interface`, `missing-package`.
        """
        from stepwell.runtime.ffi.functions import function_of

        return function_of(self, has_states=bool(self._whole.states))

    def _outputs_in(self, targets: Targets, binding: Binding, frame: CallFrame) -> list[Array]:
        """The memory of outputs, of which some are given."""
        new, dtypes = frame.outputs.new, self._output_dtypes
        return [
            targets[i] if i in targets else new(i, shape, dtypes[i])
            for i, shape in enumerate(binding.array_shapes)
        ]

    def fixed_call(self) -> FixedCall | None:
        """
        Calls on arrays that have been checked. None where sizes are open, or a call needs the host or memory
        whose size depends on data.
        """
        if (binding := self._fixed_binding()) is None:
            return None
        inputs, dtypes = len(self.interface.inputs), self._output_dtypes
        return FixedCall(self._main, inputs, binding, dtypes, self._new_frame, self._failure)

    def _fixed_binding(self) -> Binding | None:
        """The sizes of every call; None where they are open, or calls need more than arrays."""
        specs = (*self.interface.inputs, *self.interface.outputs)
        if self._needs_more_than_arrays() or not all(dim.is_static for spec in specs for dim in spec.dims):
            return None
        return self._bind(tuple(tuple(dim.value for dim in spec.dims) for spec in self.interface.inputs))

    def _needs_more_than_arrays(self) -> bool:
        """Whether calls need states, the host, a clock, or memory whose size depends on data."""
        entry, interface = self._entry, self.interface
        has_dynamic_results = interface.published or any(spec.is_object for spec in interface.outputs)
        needs_host = entry.slots or entry.callees or entry.objects_per_call or entry.timed
        return bool(has_dynamic_results or needs_host or self._whole.states)

    def native_segment(self) -> NativeSegment | None:
        """
        What native code needs to call this segment itself, for one call at a time; its arguments are checked,
        and the addresses of their elements and the results' memory are passed. None where a call needs more.
        """
        if self._needs_more_than_arrays():
            return None
        frame = self._new_frame()
        code = self._library.address(self.variant.symbol)

        def failure(status: int) -> BaseException:
            return self._failure(status, frame)

        return NativeSegment(code, frame, self._bind, self._output_dtypes, failure)

    def take_chunks(self) -> list[list[ChunkTime]]:
        """
        The chunks of parallel loops that the caller and each worker computed since the last call of this.

        They are recorded where the model was compiled with `profile=True`. Other models of the process that
        were have theirs among them: `loop_bodies` tells the loops of this one.
        """
        return [] if self._pool is None else self._pool.workers.take_chunks()

    def loop_bodies(self) -> Mapping[int, str]:
        """Maps addresses of bodies of parallel loops to the symbols of their kernels."""
        code = self.variant.code
        names = code.functions if isinstance(code, LinkedCode) else ()
        return {self._library.address(name): name.partition(".")[0] for name in names if "." in name}

    def _new_frame(self) -> CallFrame:
        entry, functions = self._entry, self._host_functions
        needs_host = bool(entry.callees or entry.objects_per_call)
        host = HostFrame(entry.callees, functions, entry.objects_per_call) if needs_host else None
        memory = Memory(self.kernel_times) if entry.slots else None
        table, pool = int(self._weights_table.ctypes.data), (0, 0)
        if self._pool is not None:
            self._pool.start()
            pool = self._pool.parallel_for_address, self._pool.state_address
        pools = tuple(entry.pools.values())
        return CallFrame(self._whole, table, pool, host, memory, self.kernel_times, pools)

    def _collect(self, frame: CallFrame, binding: Binding, outputs: list[Array]) -> None:
        """Collect the outputs made during the call: objects, and arrays whose shape depends on data."""
        names = self._whole.published
        told = frame.dims[len(binding.symbols) :].tolist()
        values = {**binding.values, **dict(zip(names, told, strict=False))}
        places = self._entry.output_objects or (None,) * len(outputs)
        for i, (spec, place) in enumerate(zip(self._whole.outputs, places, strict=True)):
            if place is not None and frame.host is not None:
                outputs[i] = cast(Array, frame.host.objects[place])
            elif binding.output_shapes[i] is None and frame.memory is not None:
                shape = tuple(dim.evaluate(values) for dim in spec.dims)
                outputs[i] = frame.memory.take(i, shape, spec.dtype)
        if frame.host is not None:
            self.host_seconds = tuple(frame.host.seconds)
            frame.host.release()

    def _bind(self, shapes: Shapes) -> Binding:
        """The sizes of a call, before the first one of these shapes."""
        if self.image.weight_check is not None:
            self.image.weight_check.wait()
        binding = self._whole.bind(shapes)
        if len(self._bindings) >= _KEPT_BINDINGS:
            self._bindings.clear()
        self._bindings[shapes] = binding
        return binding

    def _failure(self, status: int, frame: CallFrame) -> BaseException:
        if status == Status.HOST_FAILED and frame.host is not None and frame.host.failure is not None:
            return frame.host.failure
        if status == Status.OUT_OF_MEMORY and frame.memory is not None:
            size = f"{frame.memory.refused} bytes, which depend on data"
            return StepwellError("out-of-memory", None, f"the memory does not suffice for {size}")
        values = frame.ctx[CtxField.ERROR_VALUES : CtxField.ERROR_VALUES + 2].astype(np.int64)
        if not 0 < status <= len(self._entry.errors):
            return InternalError(None, f"compiled code returned {status}")
        return self._entry.errors[status - 1].error(int(values[0]), int(values[1]))


def _versions_of(image: ModelImage, threads: int) -> Versions | None:
    """The code of an image for fixed sizes."""
    if not image.versions:
        return None
    from stepwell.runtime.sessions.versions import Versions

    return Versions(image, lambda part: CompiledModel(part, threads=threads))


def checked_threads(threads: object) -> int:
    """The number of threads to use, for None one a usable core. Raises: StepwellError `bad-option`."""
    if threads is None:
        return min(usable_cores(), MAX_THREADS)
    if type(threads) is not int or not 1 <= threads <= MAX_THREADS:
        message = f"threads must be a number from 1 to {MAX_THREADS}, found {threads!r}"
        raise StepwellError("bad-option", None, message)
    return threads


def _of_bytes(data: bytes, threads: int) -> CompiledModel:
    return CompiledModel(image_of_bytes(data, "a pickled model"), threads=threads)


def expect_artifact(path: str | os.PathLike[str], help: str) -> None:
    """Refuse the name of a model for an artifact. Raises: StepwellError `unknown-file-type`."""
    if (name := os.fspath(path)).endswith((".onnx", ".mlir")):
        raise StepwellError(
            "unknown-file-type",
            name,
            "expected an artifact (.stepwell), found the name of a model",
            help=help,
        )


def expect_artifact_name(path: str | os.PathLike[str]) -> None:
    """Require the suffix of artifacts of a file to write. Raises: StepwellError `unknown-file-type`."""
    name = os.fspath(path)
    if not name.endswith(".stepwell"):
        help = "name it with the suffix .stepwell; `stepwell.export` writes libraries, C and packages"
        raise StepwellError(
            "unknown-file-type", name, "the name of an artifact must end in .stepwell", help=help
        )
