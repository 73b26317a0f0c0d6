"""Options of sessions and of calls. Fields without a counterpart are accepted and do nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from stepwell.onnxruntime.enums import ExecutionMode, ExecutionOrder, GraphOptimizationLevel
from stepwell.runtime.errors import StepwellError

if TYPE_CHECKING:
    from stepwell.onnxruntime.adapters import LoraAdapter
    from stepwell.onnxruntime.values import OrtValue


class UnknownEntry(StepwellError, RuntimeError):
    """A configuration entry without a value, as ONNX Runtime's RuntimeError and as a StepwellError."""


_OF_MODELS = (
    "enable_profiling",
    "execution_mode",
    "graph_optimization_level",
    "inter_op_num_threads",
    "intra_op_num_threads",
)
"""The options that a model may have in its metadata."""


@dataclass(slots=True)
class SessionOptions:
    """
    The options of a session. `graph_optimization_level`, `intra_op_num_threads`, `enable_profiling`,
    `profile_file_prefix`, initializers and free dimensions have an effect; the rest is accepted.
    """

    enable_cpu_mem_arena: bool = True
    enable_mem_pattern: bool = True
    enable_mem_reuse: bool = True
    enable_profiling: bool = False
    execution_mode: ExecutionMode = ExecutionMode.ORT_SEQUENTIAL
    execution_order: ExecutionOrder = ExecutionOrder.DEFAULT
    graph_optimization_level: GraphOptimizationLevel = GraphOptimizationLevel.ORT_ENABLE_ALL
    inter_op_num_threads: int = 0
    intra_op_num_threads: int = 0
    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    optimized_model_filepath: str = ""
    profile_file_prefix: str = "onnxruntime_profile_"
    use_deterministic_compute: bool = False
    use_per_session_threads: bool = True
    _entries: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    _initializers: dict[str, OrtValue] = field(default_factory=dict[str, "OrtValue"], repr=False)
    _files: dict[str, bytes] = field(default_factory=dict[str, bytes], repr=False)
    _sizes: dict[str, int] = field(default_factory=dict[str, int], repr=False)
    _denoted_sizes: dict[str, int] = field(default_factory=dict[str, int], repr=False)

    def add_session_config_entry(self, name: str, value: str) -> None:
        """Add an entry, which `get_session_config_entry` returns and nothing reads."""
        self._entries[name] = value

    def get_session_config_entry(self, name: str) -> str:
        """The value of an entry. Raises: UnknownEntry."""
        return _entry(self._entries, name, "SessionOptions")

    def entry(self, name: str) -> str:
        """The value of an entry; empty without one."""
        return self._entries.get(name, "")

    def add_initializer(self, name: str, value: OrtValue) -> None:
        """Use a value in place of the model's initializer of a name."""
        self._initializers[name] = value

    def add_external_initializers(self, names: Sequence[str], values: Sequence[OrtValue]) -> None:
        """Use values in place of the model's initializers of these names."""
        self._initializers.update(zip(names, values, strict=True))

    def add_external_initializers_from_files_in_memory(
        self, names: Sequence[str], contents: Sequence[bytes], sizes: Sequence[int]
    ) -> None:
        """Use bytes in place of files that the model's initializers are in, by the names of the files."""
        for name, content, size in zip(names, contents, sizes, strict=True):
            self._files[name] = content[:size]

    def add_free_dimension_override_by_name(self, name: str, size: int) -> None:
        """Give an open dimension of a name a size."""
        self._sizes[name] = size

    def add_free_dimension_override_by_denotation(self, denotation: str, size: int) -> None:
        """Give open dimensions of a denotation a size."""
        self._denoted_sizes[denotation] = size

    def update(self, changes: Mapping[str, object]) -> None:
        """Set the fields that a model's own configuration has, as ONNX Runtime reads it from the metadata."""
        kinds = {"graph_optimization_level": GraphOptimizationLevel, "execution_mode": ExecutionMode}
        for name in {*changes} & {*_OF_MODELS}:
            value = changes[name]
            if not isinstance(value, int):
                raise UnknownEntry("bad-option", None, f"`{name}` of the model's ort_config is no number")
            setattr(self, name, kinds.get(name, bool if name == "enable_profiling" else int)(value))

    def has_providers(self) -> bool:
        """False: providers are an argument of the session."""
        return False

    def register_custom_ops_library(self, path: str) -> None:
        """Refused. Raises: NotImplemented."""
        from stepwell.onnxruntime.errors import not_implemented

        help = "give each operator a meaning, @te.operator or @stepwell.onnx_op: docs/write-an-operator.md"
        message = f"libraries of custom operators ({path}) need ONNX Runtime's C interface, which is not here"
        raise not_implemented(message, help)

    @property
    def initializers(self) -> Mapping[str, OrtValue]:
        """The initializers that were added."""
        return self._initializers

    @property
    def files(self) -> Mapping[str, bytes]:
        """The files of initializers that were given as bytes."""
        return self._files

    def size_of(self, name: str, denotation: str) -> int | None:
        """The size for a dimension of a name or denotation; None without an override."""
        return self._sizes.get(name, self._denoted_sizes.get(denotation))

    @property
    def changes_models(self) -> bool:
        """Whether initializers, their files or open dimensions are given."""
        return bool(self._initializers or self._files or self._sizes or self._denoted_sizes)

    @property
    def opt_level(self) -> int:
        """The `opt_level` of the compilation."""
        return min(int(self.graph_optimization_level), 2)


@dataclass(slots=True)
class RunOptions:
    """The options of a call. `terminate` and adapters have an effect; the rest is accepted."""

    log_severity_level: int = -1
    log_verbosity_level: int = 0
    logid: str = ""
    only_execute_path_to_fetches: bool = False
    terminate: bool = False
    _entries: dict[str, str] = field(default_factory=dict[str, str], repr=False)
    _adapters: list[LoraAdapter] = field(default_factory=list["LoraAdapter"], repr=False)

    def add_active_adapter(self, adapter: LoraAdapter) -> None:
        """Give inputs the values of an adapter, in place of those of a call; bindings have none."""
        self._adapters.append(adapter)

    @property
    def adapted(self) -> Mapping[str, OrtValue]:
        """The values of all adapters; for an input with two, the first adapter's."""
        return {name: value for each in reversed(self._adapters) for name, value in each.parameters.items()}

    def add_run_config_entry(self, name: str, value: str) -> None:
        """Add an entry, which `get_run_config_entry` returns and nothing reads."""
        self._entries[name] = value

    def get_run_config_entry(self, name: str) -> str:
        """The value of an entry. Raises: UnknownEntry."""
        return _entry(self._entries, name, "RunOptions")


def _entry(entries: Mapping[str, str], name: str, owner: str) -> str:
    if name in entries:
        return entries[name]
    raise UnknownEntry("bad-option", None, f"{owner} does not have configuration with key: {name}")
