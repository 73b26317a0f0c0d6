"""Options of a compilation, as users choose them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias, TypedDict, cast

from stepwell.runtime.errors import StepwellError, did_you_mean
from stepwell.runtime.files.suffixes import PROJECT_SUFFIX, SOURCE_SUFFIX
from stepwell.runtime.machine.named_target import Target, with_detected
from stepwell.runtime.machine.precisions import F32, PRECISIONS, TF32
from stepwell.runtime.machine.target import C_TARGET, CPU_LEVELS, TargetDescription, target_from
from stepwell.runtime.targets.several import is_several, several, several_text
from stepwell.runtime.targets.text import CPU

if TYPE_CHECKING:
    from onnx import ModelProto

    from stepwell.tools.driver.program import Program

    ModelFile = str | Path | bytes | ModelProto
    Model = ModelFile | Program

OPT_LEVELS = (0, 1, 2, 3)
Start: TypeAlias = Literal["full", "now"]
STARTS = ("full", "now")
WINOGRAD = ("auto", "fast", "off")
ACTIVATIONS = ("auto", "f32", "int8")
MEMORY = ("normal", "low")
UNSUPPORTED = ("error", "torch")
EXECUTORS = ("auto", "native", "vm", "interpreter")
OPTION_GROUPS = {
    "numerics": "what may happen to the digits of results",
    "placement": "which machines and engines compute",
    "sizes": "shapes and memory",
    "tuning": "how compilation proceeds",
}


def _about(group: str, cache: Literal["key", "free", "never"] = "key") -> Mapping[str, str]:
    """
    The metadata of an option: the group in the help, and the role in keys of the model cache. The value of a
    `key` option is part of the key, a `free` one does not change the result, and a model with a `never`
    option set is not cached.
    """
    return {"group": group, "cache": cache}


@dataclass(frozen=True)
class CompileOptions:
    """The options of a compilation; the command line has the same names."""

    mcpu: str = field(default="host", metadata=_about("placement"))
    """`host`, `x86-64-v2`, `x86-64-v3`, `x86-64-v4` or `aarch64`."""
    target: str | None = field(default=None, metadata=_about("placement"))
    """
    A CPU level as for `mcpu`, an LLVM triple, or a target such as `cpu{mcpu=aarch64 cores=4}`; several
    devices by name: `gpu0=cuda,npu0=npu`, or a dictionary. Default: the target of an enclosing `with
    Target(…)`, else this machine.
    """
    device: str | None = field(default=None, metadata=_about("placement"))
    """
    The device that runs the target's kernels: `webgpu`, `cuda:1`, or `gpu-interpreter`, which needs no
    hardware (default: the first device of the target's kind). For several: `gpu0=webgpu:1,npu0=npu`.
    """
    place: str | Path | None = field(default=None, metadata=_about("placement", "never"))
    """A file of patterns with a table for each device, which computes the matches of its table."""
    strict_device: bool = field(default=False, metadata=_about("placement"))
    """Whether an op that the device cannot compute is an error; otherwise the CPU computes it."""
    opt_level: int = field(default=2, metadata=_about("numerics"))
    """0 keeps every digit of the reference, 2 is the default."""
    input_shapes: Mapping[str, Sequence[int]] = field(
        default_factory=dict[str, Sequence[int]], metadata=_about("sizes")
    )
    """Fixed shapes for inputs whose dimensions the model leaves open."""
    states: str | Sequence[str] = field(default=(), metadata=_about("sizes"))
    """
    Inputs and outputs that live between calls, as patterns `IN=OUT` where `*` stands for the same text in
    both; `auto` finds those of decoders: `past_key_values.*=present.*`.
    """
    capacity: int | None = field(default=None, metadata=_about("sizes"))
    """The number of positions that growing states have room for; None lets each session choose."""
    specialize: Sequence[Mapping[str, int]] | None = field(default=None, metadata=_about("sizes"))
    """
    Sizes of open dimensions, by name, for which additional code is compiled: `[{"S": 1}]`. None: for one new
    token if the model has states that grow, else no such code.
    """
    greedy: bool = field(default=False, metadata=_about("sizes"))
    """
    Whether a decoder gets a second function that returns the most probable tokens, not their logits;
    `generate` calls it at temperature 0.
    """
    winograd: str = field(default="auto", metadata=_about("numerics"))
    """
    Winograd transforms for 3x3 convolutions: `auto` where that is faster and the larger weights fit, `fast`
    regardless of the size of weights, or `off`. Errors stay below 1e-5 of each convolution's range.
    """
    strategies: Sequence[str] = field(default=(), metadata=_about("tuning"))
    """
    The ways to compute nodes, `Conv_3=winograd4`; `stepwell inspect --strategies` lists them. `*=NAME` is for
    all nodes that have it; `NAME?` is ignored where it does not apply.
    """
    activations: str = field(default="auto", metadata=_about("numerics"))
    """
    The type of activations in products with constant weights of 2, 4 or 8 bits: `f32`, or `int8` with a scale
    for each block of a row. `auto` is `int8` for more than four rows where the model permits it (MatMulNBits
    with accuracy level 4), else `f32`.
    """
    precision: str = field(default="f32", metadata=_about("numerics"))
    """
    `bf16` and `f16` round the operands of matrix products, convolutions and attention, which sum in f32. A
    CPU without instructions for these types gives the same results, but not faster. `tf32` is for GPUs with
    tensor cores, `--target cuda`: they read 10 bits of the fractions of f32.
    """
    keep_f32: Sequence[str] = field(default=(), metadata=_about("numerics"))
    """Names of nodes of the model, with `*`, whose operands stay f32 at another precision."""
    memory: str = field(default="normal", metadata=_about("sizes"))
    """
    `low`: packed weights take about as much memory as the model's own (no transformed filters, bytes stay
    bytes), and the model's file does not stay in memory. Kernels can be slower.
    """
    executor: str = field(default="auto", metadata=_about("placement", "never"))
    """
    `auto` compiles a program to native code, and to bytecode where it has more than tensors; `native` refuses
    a program with parts that need bytecode; `vm` compiles every program to bytecode only. `interpreter`
    compiles nothing: it runs the program op by op, as the reference for the others.
    """
    backends: str | Sequence[str] = field(default=(), metadata=_about("placement", "never"))
    """Engines that run parts of the model, the preferred one first."""
    unsupported: Literal["error", "torch"] = field(default="error", metadata=_about("placement"))
    """
    How to treat operators of a PyTorch program without a conversion: `error` lists all of them, `torch` lets
    torch run them at each call.
    """
    fallback: bool = field(default=False, metadata=_about("placement", "never"))
    """
    Go on without a backend that is missing or fails; the artifact contains our kernels for its partitions
    too.
    """
    disabled_passes: Sequence[str] = field(default=(), metadata=_about("tuning"))
    """Passes of level 1 that do not run; this wins over `required_passes`."""
    required_passes: Sequence[str] = field(default=(), metadata=_about("tuning"))
    """Passes of the pipeline that run whatever their level, and passes of plugins."""
    start: Start = field(default="full", metadata=_about("tuning", "free"))
    """
    `now` returns a model that answers at once, by numpy, while another process compiles it; calls that begin
    after the code is ready use it.
    """
    use_cache: bool = field(default=True, metadata=_about("tuning", "free"))
    profile: bool = field(default=False, metadata=_about("tuning", "never"))
    """Whether the model records the times of its kernels (`stepwell run --profile`), which costs time."""
    debug_info: bool = field(default=False, metadata=_about("tuning"))
    """
    Whether code has DWARF lines, for debuggers and profilers: those of each kernel's `llvm` level, as
    `stepwell explore` prints it. The instructions are the same.
    """
    schedules: str | Path | None = field(default=None, metadata=_about("tuning", "never"))
    """A file of `sched.script` ops, each of which decides the schedules of a kernel."""
    keep_values: bool = field(default=False, metadata=_about("tuning", "never"))
    """
    Whether the result of each kernel is still in memory after a call, for `stepwell debug`; this takes the
    memory of all results together. The kernels are the same as without this option.
    """
    tuning_db: str | Sequence[str] = field(default=(), metadata=_about("tuning"))
    """
    Databases of `stepwell tune` whose schedules are used, earlier ones first; default: those of
    STEPWELL_TUNING_DB.
    """
    transfer: bool = field(default=False, metadata=_about("tuning"))
    """Whether kernels without a record use the record of the nearest kernel of equal structure."""
    processes: int | None = field(default=None, metadata=_about("tuning", "free"))
    """How many kernels compile at once; default: one for each core."""

    def __post_init__(self) -> None:
        self._read_level()
        for name in _LISTS:
            if isinstance(value := getattr(self, name), str):  # as on the command line
                object.__setattr__(self, name, tuple(value.split(",")))
        for name, (legal, is_legal) in _LEGAL.items():
            if not is_legal(value := getattr(self, name)):
                raise StepwellError("bad-option", None, f"{name} must be {legal}, found {value!r}")
        if self.fallback and not self.backends:
            message = "fallback needs a backend that can be missing or fail, and no backend is named"
            raise StepwellError("bad-option", None, message)
        if self.keep_f32 and self.precision == F32:
            message = "keep_f32 needs a precision of 16 bits, and precision is f32"
            raise StepwellError("bad-option", None, message, help='precision="bf16", or leave it out')
        if self.keep_f32 and self.precision == TF32:
            message = "keep_f32 needs a precision of 16 bits, and precision is tf32"
            raise StepwellError("bad-option", None, message, help="leave keep_f32 out")
        if self.precision != F32 and self.opt_level == 0:
            message = f"opt_level 0 keeps every digit, and precision is {self.precision}"
            raise StepwellError("bad-option", None, message, help="leave one of them out")
        if any('"' in pattern for pattern in self.keep_f32):
            raise StepwellError("bad-option", None, "keep_f32 has patterns of names, without quotes")
        if self.capacity is not None and not self.states:
            message = "capacity needs states, and none are named"
            raise StepwellError("bad-option", None, message, help='name them: `--state auto`, states="auto"')

    def _read_level(self) -> None:
        """Move a CPU level that is given as `target` to `mcpu`. Raises: StepwellError `bad-option`."""
        if self.target is None and self.mcpu == "host":
            object.__setattr__(self, "target", Target.current())
        if isinstance(self.target, Target):
            object.__setattr__(self, "target", str(self.target))
        for name in ("target", "device"):
            if isinstance(value := getattr(self, name), Mapping):
                object.__setattr__(self, name, several_text(cast("Mapping[str, object]", value)))
        if isinstance(self.target, str):
            object.__setattr__(self, "target", with_detected(self.target))
        if not isinstance(self.target, str) or self.target not in CPU_LEVELS:
            return
        if self.mcpu not in ("host", self.target):
            message = f"target is the CPU level {self.target}, and mcpu is {self.mcpu}"
            raise StepwellError("bad-option", None, message, help="leave one of them out")
        object.__setattr__(self, "mcpu", self.target)
        object.__setattr__(self, "target", None)

    def description(self) -> TargetDescription:
        """The target. Raises: StepwellError `unknown-target`, `bad-target`, `bad-option`."""
        if self.target is None:
            return target_from(self.mcpu)
        target = _with_host(self.target) if is_several(self.target) else Target(self.target)
        if target.kind != CPU:
            return _host_of(target, self.mcpu)
        if self.mcpu == "host":
            return target.cpu()
        if self.target == target.only_triple:
            return target_from(self.mcpu, self.target)
        message = f"the target is {self.target}, and mcpu is {self.mcpu}"
        raise StepwellError("bad-option", None, message, help="leave one of them out")


def _with_host(text: str) -> Target:
    """
    Of several targets the first with a host, or else the first.

    Raises: StepwellError `bad-target`, `unknown-target`.
    """
    targets = [Target(each) for each in several(text).values()]
    return next((each for each in targets if each.host is not None), targets[0])


def _host_of(target: Target, mcpu: str) -> TargetDescription:
    """The CPU beside a device, which `mcpu` names too. Raises: StepwellError `bad-option`."""
    if mcpu == "host":
        return target.cpu()
    if target.host is None:
        return target_from(mcpu)
    raise StepwellError("bad-option", None, f"the host is {target.host}, and mcpu is {mcpu}")


def expect_chosen_schedules(options: CompileOptions, task: str) -> None:
    """Refuse scripts of schedules in a run of single passes. Raises: StepwellError `bad-option`."""
    if options.schedules is not None:
        message = f"{task} runs the compiler's own passes one by one, and schedules are those of a file"
        help = "leave --schedules out, or give it to `stepwell compile --emit linalg` and take that text"
        raise StepwellError("bad-option", None, message, help=help)


def relaxed_options(options: CompileOptions, path: Path) -> CompileOptions | None:
    """
    The options of the second code of a package for WebAssembly, for engines with relaxed SIMD.

    Args: `path` is the exported file, in most cases not a package.
    """
    return (
        replace(options, mcpu="wasm32-relaxed") if (path.suffix, options.mcpu) == (".tgz", "wasm32") else None
    )


class CompileKeywords(TypedDict, total=False):
    """The fields of `CompileOptions` as keywords."""

    mcpu: str
    target: str | Target | Mapping[str, object] | None
    device: str | Mapping[str, str] | None
    place: str | Path | None
    strict_device: bool
    opt_level: int
    input_shapes: Mapping[str, Sequence[int]]
    states: str | Sequence[str]
    capacity: int | None
    specialize: Sequence[Mapping[str, int]] | None
    greedy: bool
    winograd: Literal["auto", "fast", "off"]
    strategies: Sequence[str]
    activations: Literal["auto", "f32", "int8"]
    precision: Literal["f32", "tf32", "bf16", "f16"]
    keep_f32: str | Sequence[str]
    memory: Literal["normal", "low"]
    executor: Literal["auto", "native", "vm", "interpreter"]
    backends: str | Sequence[str]
    unsupported: Literal["error", "torch"]
    fallback: bool
    disabled_passes: Sequence[str]
    required_passes: Sequence[str]
    start: Start
    use_cache: bool
    profile: bool
    debug_info: bool
    schedules: str | Path | None
    keep_values: bool
    tuning_db: str | Sequence[str]
    transfer: bool
    processes: int | None


def options_with(
    options: object, keywords: Mapping[str, object], others: Sequence[str] = ()
) -> CompileOptions:
    """
    Options with single fields replaced by keywords.

    Args: `options` are `CompileOptions`, or None for the defaults; `others` are keywords of the caller's own,
    which an error lists too.
    Raises: StepwellError `bad-option`.
    """
    known = [*(option.name for option in fields(CompileOptions)), *others]
    if unknown := [name for name in keywords if name not in known]:
        raise StepwellError(
            "bad-option",
            None,
            f"there is no option {unknown[0]!r}",
            help=f"{did_you_mean(unknown[0], known)}the options are {', '.join(known)}",
        )
    options = CompileOptions() if options is None else options
    if not isinstance(options, CompileOptions):
        help = "give single options as keywords: opt_level=1" if isinstance(options, Mapping) else None
        message = f"options must be CompileOptions, found {options!r}"
        raise StepwellError("bad-option", None, message, help=help)
    return replace(options, **keywords)  # pyright: ignore[reportArgumentType]  # checked when it is made


_LISTS = ("states", "strategies", "keep_f32", "backends", "disabled_passes", "required_passes", "tuning_db")


def _one_of(values: Sequence[object]) -> tuple[str, Callable[[object], bool]]:
    """The description and the test of an option with few values; 2.0 and True do not count as 2 and 1."""
    kinds = {type(value) for value in values}
    legal = f"one of {', '.join(map(str, values))}"
    return legal, lambda value: type(value) in kinds and value in values


def _is_list_of(kind: type, value: object) -> bool:
    return isinstance(value, Sequence) and all(type(item) is kind for item in cast("Sequence[object]", value))


def _is_count(value: object) -> bool:
    return value is None or (type(value) is int and value > 0)


def _are_shapes(value: object) -> bool:
    return isinstance(value, Mapping) and all(
        isinstance(name, str) and _is_list_of(int, shape)
        for name, shape in cast("Mapping[object, object]", value).items()
    )


_COUNT = ("a number from 1 on, or None", _is_count)


def _are_sizes(value: object) -> bool:
    return value is None or (
        _is_list_of(dict, value)
        and all(
            isinstance(name, str) and type(size) is int and size >= 0
            for sizes in cast("Sequence[Mapping[object, object]]", value)
            for name, size in sizes.items()
        )
    )


_NAMES = ("a list of names", partial(_is_list_of, str))
_LEGAL: Mapping[str, tuple[str, Callable[[object], bool]]] = {
    "mcpu": ("a name", lambda value: isinstance(value, str)),
    "target": (
        "a CPU level, an LLVM triple, a Target or None",
        lambda value: value is None or isinstance(value, str),
    ),
    "device": ("a name such as webgpu:0, or None", lambda value: value is None or isinstance(value, str)),
    "opt_level": _one_of(OPT_LEVELS),
    "start": _one_of(STARTS),
    "input_shapes": ("shapes by name, such as {'x': (1, 3, 224, 224)}", _are_shapes),
    "specialize": ("sizes by name, such as [{'S': 1}]", _are_sizes),
    "winograd": _one_of(WINOGRAD),
    "activations": _one_of(ACTIVATIONS),
    "precision": _one_of(PRECISIONS),
    "memory": _one_of(MEMORY),
    "executor": _one_of(EXECUTORS),
    "unsupported": _one_of(UNSUPPORTED),
    **dict.fromkeys(_LISTS, _NAMES),
    **dict.fromkeys(
        ("greedy", "fallback", "use_cache", "profile", "debug_info", "keep_values", "transfer"),
        _one_of((True, False)),
    ),
    **dict.fromkeys(("processes", "capacity"), _COUNT),
}
"""Maps each option to the description and the test of its values."""


def is_source_file(path: Path, options: CompileOptions) -> bool:
    """Whether a file is C, or a project with C: one for the target `c`."""
    return path.suffix == SOURCE_SUFFIX or (path.suffix == PROJECT_SUFFIX and options.mcpu == C_TARGET)


def check_suffix(path: Path, known: Sequence[str] = ()) -> None:
    """Refuse a file by its name, unless it is a model, IR or an artifact. Raises: StepwellError."""
    known = known or source_suffixes(".stepwell")
    if path.suffix not in known:
        from stepwell.frontend.formats import expect_not_refused, is_model_path

        expect_not_refused(path)
        if is_model_path(path):  # a folder
            return
        raise StepwellError(
            "unknown-file-type",
            str(path),
            f"expected a file that ends in {', '.join(known)}, found {path.suffix or 'no suffix'}",
            help="an artifact is compiled already: compile its model again"
            if path.suffix == ".stepwell"
            else "give a model a name that says what it is",
        )


def source_suffixes(*more: str) -> tuple[str, ...]:
    """The suffixes of files that are compiled: those of models of all kinds, IR as text, and `more`."""
    from stepwell.frontend.formats import model_suffixes

    return (*model_suffixes(), ".mlir", *more)


def expect_source(path: Path) -> None:
    """
    Refuse an artifact where a model's IR is needed, and what is neither.

    Raises: StepwellError `no-source`, `unknown-file-type`.
    """
    if path.suffix == ".stepwell":
        help = "give it the model that this was compiled from"
        raise StepwellError("no-source", str(path), "an artifact holds no IR", help=help)
    check_suffix(path, source_suffixes())
