"""The flags of compilations, each in the group of its field of `CompileOptions`."""

from __future__ import annotations

import re
from argparse import ArgumentParser, ArgumentTypeError
from collections.abc import Callable, Sequence
from dataclasses import fields
from pathlib import Path
from typing import Any, TypeAlias

from stepwell.runtime.machine.precisions import PRECISIONS
from stepwell.tools.arguments import positive
from stepwell.tools.driver.options import (
    ACTIVATIONS,
    EXECUTORS,
    MEMORY,
    OPT_LEVELS,
    OPTION_GROUPS,
    STARTS,
    WINOGRAD,
    CompileOptions,
)
from stepwell.tools.limits import add_limits
from stepwell.tools.tuning_options import add_tuning_options

AddArgument: TypeAlias = Callable[..., object]
"""The method `add_argument` of a parser, or of a group of one."""
_SHAPE = re.compile(r"(?P<name>.+)=(?P<dims>\d+(?:x\d+)*)")


def add_compile_flags(parser: ArgumentParser) -> None:
    """Add the flags of a compilation, in groups."""
    groups = {name: parser.add_argument_group(name, about) for name, about in OPTION_GROUPS.items()}
    group_of = {option.name: groups[option.metadata["group"]] for option in fields(CompileOptions)}
    for field, add in _FLAGS:
        add(group_of[field].add_argument)


def add_target(add_argument: AddArgument) -> None:
    """Add `--target` and `--device` to a parser, or to a group of one."""
    for field, add in _FLAGS:
        if field in ("target", "device"):
            add(add_argument)


def add_start(add_argument: AddArgument) -> None:
    """Add `--start` to a parser, or to a group of one."""
    add_argument(
        "--start",
        choices=STARTS,
        default="full",
        help="now: the first answer comes from numpy, while another process compiles (default: full)",
    )


def add_input_shape(add_argument: AddArgument) -> None:
    """Shapes of inputs that the model leaves open, added to a parser or to a group of one."""
    add_argument(
        "--input-shape",
        action="append",
        default=[],
        type=input_shape,
        metavar="NAME=1x3x224x224",
        help="fix the shape of an input (may be given several times)",
    )


def add_states(add_argument: AddArgument) -> None:
    """States and their capacity, added to a parser or to a group of one."""
    add_argument(
        "--state",
        action="append",
        default=[],
        metavar="IN=OUT",
        help="let an input and an output be a state, which lives between calls; `*` stands for the same text "
        "in both, and `auto` finds the states of decoders (repeatable)",
    )
    add_argument(
        "--capacity",
        type=positive,
        metavar="N",
        help="the number of positions that growing states have room for (default: each session chooses)",
    )
    add_argument(
        "--specialize",
        action="append",
        type=sizes,
        metavar="S=1",
        help="also compile code for these sizes of open dimensions, S=1,B=2 (repeatable; none: no such code; "
        "default: for one new token, where states grow)",
    )
    add_argument(
        "--greedy",
        action="store_true",
        help="also compile a function of a decoder that returns the most probable tokens, for `generate`",
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


def _flag(name: str, **keywords: Any) -> Callable[[AddArgument], object]:
    """A function that adds a flag, with argparse's keywords, by a method `add_argument`."""
    return lambda add_argument: add_argument(name, **keywords)


_FLAGS: Sequence[tuple[str, Callable[[AddArgument], object]]] = (
    (
        "mcpu",
        _flag(
            "--mcpu",
            default="host",
            metavar="CPU",
            help="host, x86-64, x86-64-v2, x86-64-v3, x86-64-v4, sapphirerapids or aarch64 (default: host)",
        ),
    ),
    (
        "target",
        _flag(
            "--target",
            metavar="TARGET",
            help="an LLVM triple, or a device: webgpu, opencl, cuda{arch=sm_90}, nvidia/h200, or auto, one "
            "that is here (default: this CPU); `compile` puts the code for several, separated by commas, "
            "into one .stepwell file",
        ),
    ),
    (
        "device",
        _flag(
            "--device",
            metavar="NAME",
            help="where the target's kernels run; gpu-interpreter checks them without a device (default: "
            "a device of the target's kind; `stepwell devices` lists them)",
        ),
    ),
    (
        "place",
        _flag(
            "--place",
            type=Path,
            metavar="FILE",
            help="patterns with a table for each device of --target gpu0=webgpu,npu0=npu, or of --device",
        ),
    ),
    (
        "strict_device",
        _flag(
            "--strict-device",
            action="store_true",
            help="refuse a model with an op that the device cannot compute",
        ),
    ),
    (
        "opt_level",
        _flag(
            "--opt-level",
            type=int,
            choices=OPT_LEVELS,
            default=2,
            metavar="0-3",
            help="0: the digits of the model's own ops; 1: can round in other places; 2: store data and "
            "weights as kernels read them fastest; 3: all else that is not approximate (default: 2)",
        ),
    ),
    ("states", add_states),
    (
        "winograd",
        _flag(
            "--winograd",
            choices=WINOGRAD,
            default="auto",
            help="compute 3x3 convolutions with fewer products and larger weights; not with --memory low "
            "(default: auto)",
        ),
    ),
    (
        "strategies",
        _flag(
            "--strategy",
            action="append",
            default=[],
            metavar="NODE=NAME",
            help="compute a node in one of the ways that `inspect --strategies` lists; * stands for all "
            "nodes that have it, and NAME? is ignored where it does not apply (repeatable)",
        ),
    ),
    (
        "activations",
        _flag(
            "--activations",
            choices=ACTIVATIONS,
            default="auto",
            help="int8: products with weights of 2, 4 or 8 bits round activations to bytes, with a scale for "
            "each block of a row; auto: for more than four rows, where MatMulNBits has accuracy level 4 "
            "(default: auto)",
        ),
    ),
    (
        "precision",
        _flag(
            "--precision",
            choices=PRECISIONS,
            default="f32",
            help="the type of products' operands; bf16 and f16 are summed in f32, tf32 is for --target cuda "
            "(default: f32)",
        ),
    ),
    (
        "keep_f32",
        _flag(
            "--keep-f32",
            action="append",
            default=[],
            metavar="NODE[,NODE…]",
            help="nodes of the model that stay f32, by name or pattern with `*` (repeatable)",
        ),
    ),
    (
        "memory",
        _flag(
            "--memory",
            choices=MEMORY,
            default="normal",
            help="low: packed weights take at most 1.05 times the memory of the model's own, if no filters "
            "need padding, and the model's file takes none; 3x3 convolutions, and bytes without VNNI, are "
            "slower (default: normal)",
        ),
    ),
    (
        "executor",
        _flag(
            "--executor",
            choices=EXECUTORS,
            default="auto",
            help="vm: bytecode with native segments, for programs of tensors alone too; "
            "interpreter: op by op, as the reference (default: auto)",
        ),
    ),
    (
        "disabled_passes",
        _flag(
            "--disable-pass",
            action="append",
            default=[],
            metavar="NAME",
            help="leave out a pass of level 1, or share-kernels (repeatable)",
        ),
    ),
    (
        "required_passes",
        _flag(
            "--require-pass",
            action="append",
            default=[],
            metavar="NAME",
            help="run a pass of level 1 whatever the --opt-level, or a pass of a plugin (repeatable)",
        ),
    ),
    ("tuning_db", add_limits),
    ("start", add_start),
    ("tuning_db", add_tuning_options),
    (
        "debug_info",
        _flag(
            "--debug-info",
            action="store_true",
            help="add DWARF lines to the code, which refer to each kernel's llvm level; instructions "
            "stay the same",
        ),
    ),
    (
        "schedules",
        _flag(
            "--schedules",
            type=Path,
            metavar="FILE",
            help="scripts of schedules, each for a kernel, a stage or a node: docs/scheduling/scripts.md",
        ),
    ),
    (
        "use_cache",
        _flag(
            "--no-cache",
            action="store_true",
            help="neither read nor write the caches (`stepwell cache --help`)",
        ),
    ),
    (
        "backends",
        _flag(
            "--backend",
            type=backend_names,
            default=(),
            metavar="NAME[,NAME…]",
            help="engines that run parts of the model, the preferred one first, such as "
            "onnxruntime,reference",
        ),
    ),
    (
        "fallback",
        _flag(
            "--fallback",
            action="store_true",
            help="go on without a backend that is not installed, or that fails on its part (an unknown name "
            "is still an error)",
        ),
    ),
    ("input_shapes", add_input_shape),
)
"""Fields of `CompileOptions` and what adds their flags, in the order of the help."""
