"""
Comparison of compiled code before and after a change: `python -m benchmarks.replay --save`, and later
`--check`.

For each kernel of each model, a digest of its text as it enters the kernel pipeline and one of its object
code; for `@main` the same, with its callees renamed in order. Every kernel is compiled in this process under
one name, without the cache: the symbols of a compiled model contain a hash of the compiler's own sources. The
target is a feature level with fixed caches and cores, not a machine, so every machine gets the same digests.
"""

from __future__ import annotations

import hashlib
import json
import sys
from argparse import ArgumentParser, ArgumentTypeError, Namespace
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from time import perf_counter
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp, StringAttr, SymbolRefAttr
from xdsl.dialects.func import CallOp, FuncOp

from benchmarks.zoo import F32_MODELS, QUANTIZED_MODELS, REPOSITORY, model_path, models_folder
from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.sched_kernel import set_scratch
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.kernel import compile_kernel
from stepwell.lowering.kernels.kernel_object import canonical_text
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.passes import run_pipeline
from stepwell.passes.pipelines import LLVM_PIPELINE, MAIN_PIPELINE
from stepwell.runtime.collector import collector_paused
from stepwell.runtime.machine.target import TargetDescription, target_from
from stepwell.tools.driver.compilation import Compilation, kernels_of, main_of
from stepwell.tools.driver.levels import to_level_1
from stepwell.tools.driver.options import CompileOptions
from stepwell.tools.driver.reading import start
from stepwell.tools.driver.tensor_program import to_level_2

SIX = ("silero_seq", "bert_mini_dyn", "resnet18_qdq", "light_squeezenet", "skl_gbr", "greedy_loop")
"""A recurrent network, a transformer with open sizes, a quantized one, convolutions, trees, control flow."""
DEFAULT_FILE = REPOSITORY / "benchmarks" / "results" / "replay.json"
_ZOO = {**F32_MODELS, **QUANTIZED_MODELS}
_OPEN = "-open"  # after the name of a model: without the input shapes that the zoo fixes

Digests: TypeAlias = dict[str, list[str]]
"""By function: the digest of its text, and that of its object code."""


def all_models() -> list[str]:
    """The available models: those of the zoo and the other files of `STEPWELL_MODELS`."""
    folder = models_folder()
    files = [*folder.glob("*.onnx"), *folder.glob("skeletons/*.onnx")] if folder is not None else []
    still_open = [name + _OPEN for name, model in _ZOO.items() if model.fixed]
    names = dict.fromkeys([*_ZOO, *still_open, *sorted(file.stem for file in files)])
    return [name for name in names if _path(name) is not None]


def _path(name: str) -> Path | None:
    is_file = name.endswith((".onnx", ".mlir"))
    return Path(name) if is_file else model_path(name.removesuffix(_OPEN))


def fixed_target(mcpu: str) -> TargetDescription:
    """A feature level on a Linux machine of two cores, whatever machine this is."""
    target = target_from(mcpu)
    return replace(target, triple=f"{target.arch}-unknown-linux-gnu", cores=2)


def digest(content: bytes) -> str:
    """A short hash, the same in every process."""
    return hashlib.blake2b(content, digest_size=12).hexdigest()


class Replay:
    """A run over models for a target, which compiles equal kernels once."""

    def __init__(self, mcpu: str):
        self._options = CompileOptions(mcpu=mcpu)
        self.target = fixed_target(mcpu)
        self._ctx = StepwellContext()
        self._compiled: dict[str, tuple[str, str]] = {}
        """By the digest of a kernel's text: the digest of its object, and its scratch bytes."""

    def digests(self, name: str) -> Digests:
        """
        The digests of a model's kernels and of its `@main`.

        Raises: StepwellError of the pass that failed; SystemExit when the model is not available.
        """
        compilation = self.lowered(name)
        found: Digests = {}
        names: dict[str, str] = {}
        for kernel in kernels_of(compilation.module):
            text = digest(canonical_text(kernel).encode())
            code, scratch = self._object_of(kernel, text)
            found[kernel.sym_name.data] = [text, code]
            names[kernel.sym_name.data] = text
            if scratch != "0":
                set_scratch(kernel, scratch)
        _merge_equal(compilation.module, names)
        text = digest(canonical_text(main_of(compilation.module)).encode())
        return {**found, "main": [text, digest(_main_object(compilation))]}

    def lowered(self, name: str) -> Compilation:
        """A model as kernels and `@main`."""
        path = _path(name)
        if path is None:
            raise SystemExit(f"{name}: neither this repository nor STEPWELL_MODELS has it")
        shapes = _ZOO[name].input_shapes() if name in _ZOO else {}
        options = replace(self._options, input_shapes=shapes)
        with collector_paused():
            compilation = start(path, options)
            compilation.ctx.target = self.target
            to_level_1(compilation, options)
            to_level_2(compilation, options)
        return compilation

    def _object_of(self, kernel: FuncOp, text: str) -> tuple[str, str]:
        if text not in self._compiled:
            copy = kernel.clone()
            copy.properties["sym_name"] = StringAttr("kernel")
            compiled = compile_kernel(lambda: ModuleOp([copy.clone()]), self._ctx, self.target)
            self._compiled[text] = digest(compiled.code), compiled.scratch
        return self._compiled[text]


def _merge_equal(module: ModuleOp, texts: Mapping[str, str]) -> None:
    """Merge equal kernels, and name them by order in place of their cache keys."""
    order = {text: index for index, text in enumerate(dict.fromkeys(texts.values()))}
    names = {name: f"kernel{order[text]}" for name, text in texts.items()}
    kept: set[str] = set()
    for kernel in kernels_of(module):
        name = names[kernel.sym_name.data]
        if name in kept:
            kernel.detach()
            kernel.erase()
        else:
            kernel.properties["sym_name"] = StringAttr(name)
        kept.add(name)
    for call in main_of(module).walk():
        if isinstance(call, CallOp) and call.callee.string_value() in names:
            call.properties["callee"] = SymbolRefAttr(names[call.callee.string_value()])


def _main_object(compilation: Compilation) -> bytes:
    """The object code of `@main`, as the driver makes it."""
    module, ctx = compilation.module, compilation.ctx
    run_pipeline(module, f"{MAIN_PIPELINE},{LLVM_PIPELINE}", ctx)
    return compile_to_object(emit_llvm(module), ctx.target, optimize=False)


def distinct(digests: Digests) -> Digests:
    """The digests of `@main` and of different kernels, numbered in order: equal ones may share a function."""
    kernels = dict.fromkeys(tuple(pair) for name, pair in digests.items() if name != "main")
    return {**{f"k{i}": list(pair) for i, pair in enumerate(kernels)}, "main": digests["main"]}


def differences(saved: Digests, found: Digests, *, only_objects: bool) -> Iterator[str]:
    """Yields a line for each function that differs from the saved digests."""
    saved, found = distinct(saved), distinct(found)
    for name in dict.fromkeys([*saved, *found]):
        if name not in found:
            yield f"@{name} is gone"
        elif name not in saved:
            yield f"@{name} is new"
        else:
            same = [before == after for before, after in zip(saved[name], found[name], strict=True)]
            kinds = [kind for kind, is_same in zip(("text", "object"), same, strict=True) if not is_same]
            if kinds and not (only_objects and kinds == ["text"]):
                yield f"@{name}: {' and '.join(kinds)} differ{'s' if len(kinds) == 1 else ''}"


def save(file: Path, models: Sequence[str], mcpu: str) -> int:
    """Write the digests of models, after each model; returns the exit status."""
    file.parent.mkdir(parents=True, exist_ok=True)
    replay, saved = Replay(mcpu), dict[str, Digests]()
    for name in models:
        saved[name] = _digests(replay, name)
        file.write_text(json.dumps({"mcpu": mcpu, "models": saved}, indent=1) + "\n")
    return 0


def check(file: Path, models: Sequence[str], *, only_objects: bool) -> int:
    """Compare models (default: all in the file) with what was saved; returns 1 when something differs."""
    content = json.loads(file.read_text())
    saved: dict[str, Digests] = content["models"]
    if missing := [name for name in models if name not in saved]:
        raise SystemExit(f"{file} does not have {', '.join(missing)}")
    replay, status = Replay(content["mcpu"]), 0
    for name in models or saved:
        for line in differences(saved[name], _digests(replay, name), only_objects=only_objects):
            print(f"{name}: {line}", flush=True)
            status = 1
    return status


def _digests(replay: Replay, name: str) -> Digests:
    """The digests of a model; prints how many there are and how long it took."""
    begin = perf_counter()
    found = replay.digests(name)
    print(f"{name}: {len(found)} functions, {perf_counter() - begin:.1f} s", file=sys.stderr, flush=True)
    return found


def main(argv: Sequence[str] | None = None) -> int:
    """Save or check; returns the exit status."""
    args = _arguments(argv)
    models: list[str] = [*SIX] if args.six else args.models
    if args.save is not None:
        return save(args.save, models or all_models(), args.mcpu)
    return check(args.check, models, only_objects=args.objects)


def _arguments(argv: Sequence[str] | None) -> Namespace:
    parser = ArgumentParser(prog="benchmarks.replay", description=__doc__)
    action = parser.add_mutually_exclusive_group(required=True)
    action.add_argument("--save", nargs="?", type=_json_file, const=DEFAULT_FILE, metavar="FILE")
    action.add_argument("--check", nargs="?", type=_json_file, const=DEFAULT_FILE, metavar="FILE")
    parser.add_argument("models", nargs="*", metavar="MODEL", help="of the zoo, or a file (default: all)")
    parser.add_argument("--six", action="store_true", help=f"six varied models: {', '.join(SIX)}")
    parser.add_argument("--objects", action="store_true", help="check object code only, whatever the text")
    parser.add_argument("--mcpu", default="x86-64-v3", help="target of the digests (default: %(default)s)")
    return parser.parse_args(argv)


def _json_file(name: str) -> Path:
    if not name.endswith(".json"):  # a model's name would be mistaken for a file to write
        raise ArgumentTypeError(f"expected a file that ends in .json, found {name}")
    return Path(name)


if __name__ == "__main__":
    raise SystemExit(main())
