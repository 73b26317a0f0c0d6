"""Options that several subcommands share, and the parsers of their values."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections import Counter
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.library import Library
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.values.loading import load
from stepwell.tools.arguments import positive
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import (
    ACTIVATIONS,
    EXECUTORS,
    MEMORY,
    OPT_LEVELS,
    OPTION_GROUPS,
    PRECISIONS,
    STARTS,
    WINOGRAD,
    CompileOptions,
    check_suffix,
    source_suffixes,
)
from stepwell.tools.limits import add_limits, limits_of
from stepwell.tools.tuning_options import add_tuning_options, tuning_options

if TYPE_CHECKING:
    from stepwell.tools.driver.options import ModelFile

_SHAPE = re.compile(r"(?P<name>.+)=(?P<dims>\d+(?:x\d+)*)")


def add_model(parser: ArgumentParser) -> None:
    """Add the positional argument MODEL."""
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help="a .onnx, .pt2, .tflite, .mlpackage, .mlmodel, .stablehlo, .mlir or .stepwell file",
    )


def add_weights(parser: ArgumentParser) -> None:
    """Add the option that replaces the weights of a program."""
    parser.add_argument(
        "--weights-from",
        type=Path,
        metavar="FILE",
        help="a .safetensors file, or the .index.json of several: its tensors replace the weights of a .pt2 "
        "program with their names",
    )


def with_weights(args: Namespace) -> ModelFile:
    """The model of parsed arguments, with the weights to replace."""
    from stepwell.frontend.formats import with_keywords

    return cast("ModelFile", with_keywords(args.model, {"weights_from": args.weights_from}))


def add_compile_options(parser: ArgumentParser) -> None:
    """Add the options of a compilation, in groups."""
    groups = {name: parser.add_argument_group(name, about) for name, about in OPTION_GROUPS.items()}
    group_of = {option.name: groups[option.metadata["group"]] for option in fields(CompileOptions)}
    add_load(parser)
    parser.add_argument(
        "--remarks", action="store_true", help="print the remarks of passes, such as declined rewrites"
    )
    group_of["mcpu"].add_argument(
        "--mcpu",
        default="host",
        metavar="CPU",
        help="host, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, sapphirerapids or aarch64 (default: host)",
    )
    group_of["target"].add_argument(
        "--target",
        metavar="TARGET",
        help="an LLVM triple, or a device: webgpu, opencl, cuda{arch=sm_90}, nvidia/h200 (default: this CPU)"
        "; `compile` puts the code for several, separated by commas, into one .stepwell file",
    )
    group_of["device"].add_argument(
        "--device",
        metavar="NAME",
        help="where the target's kernels run: gpu-interpreter checks them without one (default: the target's "
        "kind; `stepwell devices`)",
    )
    group_of["place"].add_argument(
        "--place",
        type=Path,
        metavar="FILE",
        help="patterns with a table for each device of --target gpu0=webgpu,npu0=npu, or of --device",
    )
    group_of["strict_device"].add_argument(
        "--strict-device", action="store_true", help="an op that the device cannot compute is an error"
    )
    group_of["opt_level"].add_argument(
        "--opt-level",
        type=int,
        choices=OPT_LEVELS,
        default=2,
        metavar="0-3",
        help="0: every digit as the model's own ops give it; 1: may round in other places; 2: data and "
        "weights stored as kernels like them; 3: all else that is not approximate (default: 2)",
    )
    add_states(group_of["states"].add_argument)
    group_of["winograd"].add_argument(
        "--winograd",
        choices=WINOGRAD,
        default="auto",
        help="3x3 convolutions with fewer products and larger weights; not with --memory low (default: auto)",
    )
    group_of["strategies"].add_argument(
        "--strategy",
        action="append",
        default=[],
        metavar="NODE=NAME",
        help="the way to compute a convolution, of those that `inspect --strategies` lists (repeatable)",
    )
    group_of["activations"].add_argument(
        "--activations",
        choices=ACTIVATIONS,
        default="auto",
        help="int8: products with weights of 2, 4 or 8 bits take bytes, a scale for each block of a row; "
        "auto: more than four rows do, where MatMulNBits has accuracy level 4 (default: auto)",
    )
    group_of["precision"].add_argument(
        "--precision",
        choices=PRECISIONS,
        default="f32",
        help="the operands of products: bf16 and f16 sum in f32 (default: f32)",
    )
    group_of["keep_f32"].add_argument(
        "--keep-f32",
        action="append",
        default=[],
        metavar="NODE[,NODE…]",
        help="nodes of the model that stay f32, by name or pattern with `*` (given again: more)",
    )
    group_of["memory"].add_argument(
        "--memory",
        choices=MEMORY,
        default="normal",
        help="low: packed weights at most 1.05 times the model's own, where no filters need padding, and "
        "nothing of its file in memory; 3x3 convolutions and bytes without VNNI are slower (default: normal)",
    )
    group_of["executor"].add_argument(
        "--executor",
        choices=EXECUTORS,
        default="auto",
        help="vm: bytecode with native segments, for programs of tensors alone too; "
        "interpreter: op by op, as the reference (default: auto)",
    )
    group_of["disabled_passes"].add_argument(
        "--disable-pass",
        action="append",
        default=[],
        metavar="NAME",
        help="leave out a pass of level 1, or share-kernels (given again: another)",
    )
    group_of["required_passes"].add_argument(
        "--require-pass",
        action="append",
        default=[],
        metavar="NAME",
        help="run a pass of level 1 whatever the --opt-level, or a pass of a plugin (given again: another)",
    )
    add_limits(groups["tuning"].add_argument)
    add_start(group_of["start"].add_argument)
    add_tuning_options(group_of["tuning_db"].add_argument)
    group_of["debug_info"].add_argument(
        "--debug-info",
        action="store_true",
        help="DWARF lines in the code, those of each kernel's llvm level; the instructions are the same",
    )
    group_of["schedules"].add_argument(
        "--schedules",
        type=Path,
        metavar="FILE",
        help="scripts of schedules, each for a kernel, a stage or a node: docs/scheduling/scripts.md",
    )
    group_of["use_cache"].add_argument(
        "--no-cache", action="store_true", help="neither read nor write the caches (`stepwell cache --help`)"
    )
    group_of["backends"].add_argument(
        "--backend",
        type=backend_names,
        default=(),
        metavar="NAME[,NAME…]",
        help="engines that run parts of the model, the preferred one first, such as onnxruntime,reference",
    )
    group_of["fallback"].add_argument(
        "--fallback",
        action="store_true",
        help="go on without a backend that is not installed, or that fails on its part (a name that no "
        "backend has stays an error)",
    )
    add_input_shape(group_of["input_shapes"].add_argument)


def add_start(add_argument: Callable[..., object]) -> None:
    """Add `--start` to a parser, or to a group of one."""
    add_argument(
        "--start",
        choices=STARTS,
        default="full",
        help="now: the first answer comes from numpy, while another process compiles (default: full)",
    )


def expect_full_start(args: Namespace, need_code: Mapping[str, object]) -> None:
    """Refuse `--start now` with options that need code, if set. Raises: StepwellError `bad-usage`."""
    given = [name for name, value in need_code.items() if value]
    if args.start == "now" and given:
        message = f"--start now answers before there is code; {given[0]} needs it"
        raise StepwellError("bad-usage", None, message, help="leave one of them out")


def add_load(parser: ArgumentParser) -> None:
    """Add `--load`, the plugins."""
    parser.add_argument(
        "--load",
        action="append",
        default=[],
        metavar="PLUGIN",
        help="a module or .py file with operators, a dialect, passes or a backend",
    )


def add_input_shape(add_argument: Callable[..., object]) -> None:
    """Shapes of inputs that the model leaves open, added to a parser or to a group of one."""
    add_argument(
        "--input-shape",
        action="append",
        default=[],
        type=input_shape,
        metavar="NAME=1x3x224x224",
        help="fix the shape of an input (may be given several times)",
    )


def add_states(add_argument: Callable[..., object]) -> None:
    """States and their capacity, added to a parser or to a group of one."""
    add_argument(
        "--state",
        action="append",
        default=[],
        metavar="IN=OUT",
        help="let an input and an output be a state, which lives between calls; `*` stands for the same text "
        "in both, and `auto` finds those of decoders (given again: more)",
    )
    add_argument(
        "--capacity",
        type=positive,
        metavar="N",
        help="how many positions growing states have room for (default: each session chooses)",
    )
    add_argument(
        "--specialize",
        action="append",
        type=sizes,
        metavar="S=1",
        help="code of its own for open dimensions of these sizes (S=1,B=2; given again: another; none: "
        "nothing; default: one new token where states grow)",
    )
    add_argument(
        "--greedy",
        action="store_true",
        help="also a function of a decoder that returns the most probable tokens: `generate` calls it",
    )


def add_threads(parser: ArgumentParser) -> None:
    """Add `--threads`, the number of threads of kernels."""
    parser.add_argument(
        "--threads", type=positive, metavar="N", help="how many threads kernels use (default: all cores)"
    )


def add_seed(parser: ArgumentParser) -> None:
    """Add `--seed`, the seed of made-up inputs."""
    parser.add_argument(
        "--seed",
        type=partial(positive, least=0),
        default=0,
        metavar="N",
        help="seed of the made-up inputs (default: 0)",
    )


def backend_names(text: str) -> tuple[str, ...]:
    """Names separated by commas, as a tuple. Raises: ArgumentTypeError."""
    names = tuple(name.strip() for name in text.split(","))
    if not all(names):
        raise ArgumentTypeError(f"expected names with commas between, found {text!r}")
    return names


def input_shape(text: str) -> tuple[str, tuple[int, ...]]:
    """`NAME=1x3x224x224` as name and shape. Raises: ArgumentTypeError."""
    match = _SHAPE.fullmatch(text)
    if match is None:
        raise ArgumentTypeError(f"expected NAME=1x3x224x224, found {text!r}")
    return match["name"], tuple(int(n) for n in match["dims"].split("x"))


def sizes(text: str) -> dict[str, int]:
    """`S=1,B=2` as a dictionary; `none` as an empty one. Raises: ArgumentTypeError."""
    if text == "none":
        return {}
    pairs = [part.rpartition("=") for part in text.split(",")]
    if not all(name and size.isdigit() for name, _, size in pairs):
        raise ArgumentTypeError(f"expected S=1 or none, found {text!r}")
    return {name: int(size) for name, _, size in pairs}


def input_shapes(args: Namespace) -> dict[str, tuple[int, ...]]:
    """The shapes that `--input-shape` fixes, by name. Raises: StepwellError for a name given twice."""
    shapes: dict[str, tuple[int, ...]] = dict(args.input_shape)
    if len(shapes) < len(args.input_shape):
        raise StepwellError("bad-option", None, "--input-shape fixes the shape of one input twice")
    return shapes


def names_of(given: Sequence[str]) -> list[str]:
    """The names in options that may be given again, and list several."""
    return [name for text in given for name in text.split(",") if name]


def compile_options(args: Namespace) -> CompileOptions:
    """The compile options of parsed arguments; also loads the plugins of `--load`."""
    load_plugins(args)
    if chosen := (*args.disable_pass, *args.require_pass):
        from stepwell.passes.pipelines import expect_passes_of_level_1

        expect_passes_of_level_1(chosen)
    tuned, transfer = tuning_options(args)
    return CompileOptions(
        mcpu=args.mcpu,
        target=args.target,
        device=args.device,
        place=args.place,
        strict_device=args.strict_device,
        opt_level=args.opt_level,
        input_shapes=input_shapes(args),
        states=tuple(args.state),
        capacity=args.capacity,
        specialize=None if args.specialize is None else [each for each in args.specialize if each],
        greedy=args.greedy,
        profile=getattr(args, "profile", False),
        winograd=args.winograd,
        strategies=tuple(args.strategy),
        activations=args.activations,
        precision=args.precision,
        keep_f32=tuple(names_of(args.keep_f32)),
        memory=args.memory,
        executor=args.executor,
        backends=args.backend,
        fallback=args.fallback,
        start=args.start,
        disabled_passes=tuple(args.disable_pass),
        required_passes=tuple(args.require_pass),
        debug_info=args.debug_info,
        schedules=args.schedules,
        tuning_db=tuned,
        transfer=transfer,
        use_cache=not args.no_cache,
    )


def input_texts(args: Namespace) -> list[str]:
    """The options about inputs that are not the defaults, as a command line has them."""
    texts = [] if args.inputs is None else ["--inputs", str(args.inputs)]
    texts += [] if args.fill == "random" else ["--fill", args.fill]
    return texts + (["--seed", str(args.seed)] if args.seed else [])


def option_texts(args: Namespace) -> list[str]:
    """The options of a compilation that are not the defaults, as a command line has them."""
    add_compile_options(parser := ArgumentParser())
    texts: list[str] = []
    for name, default in vars(parser.parse_args([])).items():
        value, option = vars(args)[name], "--" + name.replace("_", "-")
        if value == default:
            continue
        repeated = cast("list[object]", value) if isinstance(value, list) else [value]
        for each in repeated:
            texts += [option] if each is True else [option, _option_text(each)]
    return texts


def _option_text(value: object) -> str:
    """The value of an option as it is written; a pair is a name and a shape, or a name and a number."""
    match value:
        case (str(name), tuple()):
            sizes = cast("tuple[str, tuple[int, ...]]", value)[1]
            return f"{name}={'x'.join(map(str, sizes))}"
        case (str(name), int(number)):
            return f"{name}={number}"
        case dict():
            found = cast("dict[str, int]", value)
            return ",".join(f"{name}={size}" for name, size in found.items()) or "none"
        case tuple():
            return ",".join(cast("tuple[str, ...]", value))
        case _:
            return str(value)


def ready_model(args: Namespace, *, here: bool = True) -> CompiledModel:
    """
    The model of parsed arguments, compiled unless it is an artifact.

    Args: `here`: whether this machine runs it.
    Raises: StepwellError; `wrong-cpu` before anything is compiled.
    """
    compiled = (".stepwell", ".so")
    check_suffix(args.model, source_suffixes(*compiled))
    load_plugins(args)
    if args.model.suffix in compiled:
        expect_no_compilation(args)
        loaded: object = load(args.model, threads=args.threads, executor=args.executor)
        if isinstance(loaded, Library):
            _ = loaded.image.main  # an error: there is none
        model = cast(CompiledModel, loaded)
        return model if args.device is None else model.on(args.device)
    from stepwell.tools.driver.compile import expect_runnable
    from stepwell.tools.progress import shown_progress

    options = compile_options(args)
    if here:
        expect_runnable(options)
    with watched(args), shown_progress() as progress:
        return compile(args.model, options, threads=args.threads, progress=progress)


@contextmanager
def watched(args: Namespace) -> Generator[None]:
    """A pass context with limits that shows the memory plan, and in the end the remarks, by the arguments."""
    config = {"plan-memory.print": True} if getattr(args, "print_memory_plan", False) else {}
    load_plugins(args)  # a limit may name a pass of one
    limits = limits_of(args)
    if not (args.remarks or config or limits):
        yield
        return
    from stepwell.passes.context import PassContext

    with PassContext(config=config, instruments=limits) as context:
        yield
    for remark, times in Counter(map(str, context.remarks if args.remarks else ())).items():
        print(remark + (f" ({times} times)" if times > 1 else ""), file=sys.stderr)


_OF_ARTIFACTS = ("input_shape", "load", "executor", "device")


def expect_no_compilation(args: Namespace) -> None:
    """
    Refuse compile options for an artifact, which is not compiled again; `--input-shape`, `--load`,
    `--executor` and `--device` are accepted.
    """
    add_compile_options(parser := ArgumentParser())
    default = vars(parser.parse_args([]))
    names = [n for n in default if n not in _OF_ARTIFACTS and vars(args)[n] != default[n]]
    if names:
        option = "--" + names[0].replace("_", "-")
        message = f"{option} is for compiling, and an artifact is compiled already"
        raise StepwellError("bad-option", str(args.model), message, help="give it the model's own file")


def load_plugins(args: Namespace) -> None:
    """Load the plugins of `--load`. Raises: StepwellError."""
    if args.load:
        from stepwell.tools.driver.plugins import load_plugin

        for name in args.load:
            load_plugin(name)
