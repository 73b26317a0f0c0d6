"""Options that several subcommands share, and the parsers of their values."""

from __future__ import annotations

import re
import sys
from argparse import ArgumentParser, Namespace
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.library import Library
from stepwell.runtime.model import CompiledModel
from stepwell.runtime.values.loading import load
from stepwell.tools.arguments import positive
from stepwell.tools.compile_flags import add_compile_flags
from stepwell.tools.driver.compile import compile
from stepwell.tools.driver.options import CompileOptions, check_suffix, source_suffixes
from stepwell.tools.limits import limits_of
from stepwell.tools.tuning_options import tuning_options

if TYPE_CHECKING:
    from stepwell.tools.driver.options import ModelFile

_SHAPE = re.compile(r"(?P<name>.+)=(?P<dims>\d+(?:x\d+)*)")


def add_model(parser: ArgumentParser) -> None:
    """Add the positional argument MODEL."""
    from stepwell.frontend.formats import FORMATS

    suffixes = {
        is_program: [each for kind in FORMATS if kind.is_program == is_program for each in kind.suffixes]
        for is_program in (False, True)
    }
    parser.add_argument(
        "model",
        type=Path,
        metavar="MODEL",
        help=f"a {', '.join(suffixes[False])}, .mlir or .stepwell file, or the folder of one; "
        f"{', '.join(suffixes[True])} and a SavedModel are read by their frameworks, and are to be trusted "
        "as programs are",
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
    add_load(parser)
    parser.add_argument(
        "--remarks", action="store_true", help="print the remarks of passes, such as declined rewrites"
    )
    add_compile_flags(parser)


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
        from stepwell.passes.graph_pipeline import expect_passes_of_level_1

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
