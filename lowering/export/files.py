"""The files of an export, by suffix: library or object, header, weights."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import NamedTuple

from stepwell.dialects.sched_entry import weight_offsets
from stepwell.lowering.export.code_file import code_file, support_of_system
from stepwell.lowering.export.description import description
from stepwell.lowering.export.elf_parts import EntryCode, elf_parts
from stepwell.lowering.export.emulator.boards import Board
from stepwell.lowering.export.emulator.program import driver_code, system_object
from stepwell.lowering.export.entry_object import entry_module, entry_object, pool_object
from stepwell.lowering.export.ffi import FfiEntry, ffi_code, is_function
from stepwell.lowering.export.header import HeaderFacts, header_text
from stepwell.lowering.export.names import caller_symbols, checked_name, default_name
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.lowering.export.pools import expect_no_pools, expect_planned, workspace_text
from stepwell.lowering.export.states_header import expect_zero_states
from stepwell.lowering.export.threads_header import THREADS_HEADER
from stepwell.lowering.export.wasm.wasm_files import WasmModel, wasm_files
from stepwell.lowering.export.weights_check import weights_check_code
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.suffixes import (
    EXPORT_SUFFIXES,
    LIBRARY_SUFFIX,
    PROJECT_SUFFIX,
    SOURCE_SUFFIX,
    SYSTEM_SUFFIXES,
    WASM_SUFFIXES,
)
from stepwell.runtime.files.whole_files import check_place, whole_file
from stepwell.runtime.image import Entry, ModelImage, Variant
from stepwell.runtime.interface import Array
from stepwell.runtime.machine.target import TargetDescription, described
from stepwell.runtime.targets.triples import arch_of, has_threads, system_of

MAX_EMBEDDED_BYTES = 1 << 31
"""The limit of weights in a file of code, whose instructions have signed 32-bit distances."""
MAX_DEFAULT_BYTES = 1 << 30
"""The most bytes of weights that are embedded by default: programs load the whole file."""
THREADS_NAME = "stepwell_threads.h"


class ExportOptions(NamedTuple):
    """The choices of an export."""

    name: str | None = None
    """The name with which functions begin (default: the file's name)."""
    weights: str = "embed"
    """`embed`, `file` or `extern`."""
    host_calls: str = "refuse"
    """`refuse` or `callback`."""
    stack: int | None = None
    """The largest stack of a call, in bytes."""
    memory_pools: Mapping[str, int] | None = None
    """Memories by name, with their bytes, in place of one workspace."""

    @property
    def pool_texts(self) -> tuple[str, ...]:
        """The memory pools as `plan-memory` has them."""
        return tuple(f"{name}={size}" for name, size in (self.memory_pools or {}).items())


def with_place(options: ExportOptions, place: str | None, weights: Sequence[Array]) -> ExportOptions:
    """The options with the user's choice of where weights are stored, or else with a choice by their size."""
    if place is None:
        place = "embed" if sum(array.nbytes for array in weights) <= MAX_DEFAULT_BYTES else "file"
    return options._replace(weights=place)


class Program(NamedTuple):
    """A program's machine: a system, or an emulated board without one."""

    board: Board | None


class Exported(NamedTuple):
    """An export that was written."""

    files: tuple[Path, ...]
    symbols: tuple[str, ...]
    """The functions and constants that programs can use."""
    workspace: str
    """The bytes of the workspace, as an expression of open sizes."""
    stack_bytes: int
    """The largest stack of a call; 0 if it is not known, as for WebAssembly."""
    code_bytes: int
    weight_bytes: int


def export_image(
    image: ModelImage, path: str | Path, options: ExportOptions, relaxed: ModelImage | None = None
) -> Exported:
    """
    Write a file and its header.

    Args: `relaxed` is the same model for WebAssembly with relaxed SIMD, which a package contains too.
    Raises: StepwellError `bad-option`, `bad-name`, `needs-host`, `unsupported-interface`, `cannot-write`, …;
    nothing is left half written.
    """
    target = Path(path)
    check_place(target)
    expect_one_target(image)
    name = checked_name(default_name(target.stem) if options.name is None else options.name)
    entry, variant = image.main, variant_of(image.main)
    expect_suffix(target, variant)
    if target.suffix in WASM_SUFFIXES:
        expect_no_pools(options.memory_pools)
        expect_stack(0, options)
        return export_wasm(image, relaxed, target, name, options)
    expect_exportable(entry, options)
    expect_planned({"": entry}, options.memory_pools)
    if image.weight_check is not None:
        image.weight_check.wait()
    arrays = [image.weights[number] for number in entry.weights]
    expect_room(target, arrays, options)
    is_shared = target.suffix == LIBRARY_SUFFIX
    parts = _parts(name, entry, variant, arrays, options, image.summary, is_shared=is_shared)
    expect_stack(parts.stack_bytes, options)
    weight_bytes = sum(map(len, weight_chunks(parts.weights or tuple(arrays))))
    host = options.host_calls == "callback"
    threads = has_threads(arch_of(variant.triple))
    stack = parts.stack_bytes
    facts = HeaderFacts(name, options.weights, weight_bytes, stack, host, threads, pools=entry.pools)
    files: dict[Path, Sequence[Chunk]] = {target: code_file(parts, variant.triple, target)}
    files[target.with_suffix(".h")] = [header_text(entry, variant.triple, variant.features, facts).encode()]
    if threads:
        files[target.with_name(THREADS_NAME)] = [THREADS_HEADER.encode()]
    if options.weights != "embed":
        files[target.with_suffix(".weights")] = weight_chunks(arrays)
    write_files(files)
    symbols = tuple(symbol.name for symbol in parts.symbols)
    workspace = workspace_text({"": entry})
    return Exported(tuple(files), symbols, workspace, stack, len(parts.code.contents), weight_bytes)


def wasm_model(image: ModelImage, options: ExportOptions) -> WasmModel:
    """A model for WebAssembly. Raises: StepwellError if a module cannot run it."""
    if options.host_calls != "refuse":
        message = "a module of WebAssembly imports nothing but its memory, so it cannot make host calls"
        raise StepwellError("bad-option", None, message, help="leave --host-calls out")
    functions = image.functions if image.is_library else {"": image.main}
    for function, entry in functions.items():
        expect_function(function, entry, options)
        expect_no_states(entry, "modules of WebAssembly")
    if image.weight_check is not None:
        image.weight_check.wait()
    arrays = image.weights if image.is_library else [image.weights[n] for n in image.main.weights]
    coded = {name: (entry, variant_of(entry)) for name, entry in functions.items()}
    return WasmModel(coded, tuple(arrays), {} if image.is_library else image.summary)


def export_wasm(
    image: ModelImage, relaxed: ModelImage | None, path: Path, name: str, options: ExportOptions
) -> Exported:
    """Write a module or package of WebAssembly."""
    model = wasm_model(image, options)
    other = None if relaxed is None else wasm_model(relaxed, options)
    done = wasm_files(path, name, options.weights, model, other)
    for file in done.files:
        check_place(file)
    write_files(done.files)
    weight_bytes = sum(map(len, weight_chunks(model.arrays)))
    workspace = workspace_text(model.entries)
    return Exported(tuple(done.files), done.exports, workspace, 0, done.code_bytes, weight_bytes)


def _parts(
    name: str,
    entry: Entry,
    variant: Variant,
    arrays: Sequence[Array],
    options: ExportOptions,
    facts: Mapping[str, object],
    *,
    program: Program | None = None,
    is_shared: bool = False,
) -> Parts:
    """The code of an export, with the weights in the same file; for a program, with a driver."""
    machine = described(variant.triple, variant.features)
    offsets = weight_offsets([array.nbytes for array in arrays])
    about = description(name, entry, variant.triple, variant.features, arrays, options.weights, facts)
    function = EntryCode(name, variant, entry_code(name, entry, offsets, about, options, machine))
    support = [pool_object(machine), *check_objects(name, arrays, options, machine)]
    own = arrays if options.weights == "embed" else ()
    text = json.dumps(about, separators=(",", ":"), sort_keys=True)
    if program is None:
        ffi = ffi_object([FfiEntry(name, entry, len(text))], options, machine) if is_shared else b""
        return elf_parts(name, [function], support, own, text, support_of_system(variant.triple), ffi=ffi)
    interface = entry.interface
    arguments = 3 + bool(caller_symbols(entry)) + bool(interface.published)
    driver = compile_to_object(
        driver_code(name, machine.arch, arguments, program.board), machine, optimize=False
    )
    system = system_object(machine.arch, program.board)
    return elf_parts(name, [function], [*support, driver], own, text, [system])


def entry_code(
    name: str,
    entry: Entry,
    offsets: Sequence[int],
    about: Mapping[str, object],
    options: ExportOptions,
    machine: TargetDescription,
) -> bytes:
    """The object of an entry with the offsets of its weights; `about` is what its function `json` returns."""
    host = options.host_calls == "callback"
    module = entry_module(entry, name, offsets, weights=options.weights, host=host)
    return entry_object(module, about, machine)


def check_objects(
    name: str, arrays: Sequence[Array], options: ExportOptions, machine: TargetDescription
) -> list[bytes]:
    """The object with the check of weights, where they are in a file of their own."""
    if options.weights != "file":
        return []
    text = weights_check_code(name, weight_chunks(arrays), machine.pointer_bytes)
    return [compile_to_object(text, machine, optimize=False)]


def ffi_object(entries: Sequence[FfiEntry], options: ExportOptions, machine: TargetDescription) -> bytes:
    """The object with the functions for other languages; no bytes where a caller there cannot pass all."""
    entries = [each for each in entries if is_function(each.entry)]
    if not entries or options.weights != "embed":
        return b""
    return compile_to_object(ffi_code(entries, machine.pointer_bytes), machine, optimize=True)


def program_parts(image: ModelImage, options: ExportOptions, program: Program) -> Parts:
    """The code of a program that runs a model under an emulator. Raises: as `export_image`."""
    entry, variant = image.main, variant_of(image.main)
    expect_exportable(entry, options)
    expect_no_states(entry, "programs for an emulator")
    if image.weight_check is not None:
        image.weight_check.wait()
    arrays = [image.weights[number] for number in entry.weights]
    name = options.name or "model"
    return _parts(name, entry, variant, arrays, options, image.summary, program=program)


def expect_one_target(image: ModelImage) -> None:
    """
    Refuse an artifact for several targets, or with a function for tokens.

    Raises: StepwellError `bad-option`.
    """
    if image.greedy is not None:
        message = "an exported file has one function of a model, and greedy adds another one"
        raise StepwellError("bad-option", None, message, help="leave --greedy out")
    if len(image.targets) > 1:
        found = ", ".join(entry.variants[0].triple for entry in image.targets)
        message = f"an exported file has the code of one target, and the artifact has that of {found}"
        raise StepwellError("bad-option", None, message, help="compile the model for one of them")


def variant_of(entry: Entry) -> Variant:
    """The code to export. Raises: StepwellError `bad-option` for an artifact for several targets."""
    whole = [variant for variant in entry.variants if not variant.sizes]
    if len({variant.triple for variant in whole}) != 1:
        message = "an exported file has the code of one target, and the artifact has several"
        raise StepwellError("bad-option", None, message)
    return whole[0]


def expect_suffix(path: Path, variant: Variant) -> None:
    """Refuse a suffix that is none, or is not the target's. Raises: StepwellError `bad-option`."""
    if path.suffix not in EXPORT_SUFFIXES:
        known = ", ".join((*EXPORT_SUFFIXES, ".stepwell"))
        message = f"no file that ends in {path.suffix or 'nothing'} is made of a model"
        raise StepwellError("bad-option", str(path), message, help=f"the suffixes are {known}")
    if path.suffix == SOURCE_SUFFIX:
        message = "the model is compiled, and C is written from its source"
        raise StepwellError("bad-option", str(path), message, help="give it the model's own file")
    suffixes = _suffixes(variant.triple)
    if path.suffix not in (*suffixes, PROJECT_SUFFIX):
        message = f"{path.suffix} files are not made for {variant.triple}"
        help = f"its suffixes are {', '.join(suffixes)}; {', '.join(WASM_SUFFIXES)} go with --target wasm32, "
        help += ".dll and .dylib with the targets of Windows and macOS (`stepwell targets`)"
        raise StepwellError("bad-option", str(path), message, help=help)


def _suffixes(triple: str) -> tuple[str, ...]:
    """The suffixes of files for a target."""
    return WASM_SUFFIXES if arch_of(triple) == "wasm32" else SYSTEM_SUFFIXES.get(system_of(triple), ())


def expect_exportable(entry: Entry, options: ExportOptions) -> None:
    """Refuse what programs in C cannot pass or call."""
    if entry.timed:
        message = "the model records the times of its kernels, which only a run of Stepwell's reads"
        raise StepwellError("bad-option", None, message, help="compile it without profile")
    expect_zero_states(entry)
    for kind, specs in (("input", entry.interface.inputs), ("output", entry.interface.outputs)):
        for spec in specs:
            if spec.is_object or spec.dtype.kind == "c":
                message = f"{kind} {spec.name!r} is {spec}, and C has no type for it"
                raise StepwellError("unsupported-interface", None, message)
    if entry.callees and options.host_calls == "refuse":
        places = list(dict.fromkeys(callee.where for callee in entry.callees))
        raise StepwellError(
            "needs-host",
            None,
            f"{len(entry.callees)} operators of the model run in Python",
            note=[f"at {where}" for where in places],
            help="--host-calls callback gives them to a function of yours; a .stepwell file runs them",
        )


def expect_function(function: str, entry: Entry, options: ExportOptions) -> None:
    """Refuse a function that programs in C cannot call, by its name in a library."""
    try:
        expect_exportable(entry, options)
        if function:
            expect_no_states(entry, "functions of a library")
    except StepwellError as error:
        raise (error.at(f"function {function!r} of the library") if function else error) from None


def expect_no_states(entry: Entry, kind: str) -> None:
    """Refuse states where no caller keeps them. Raises: StepwellError `unsupported-interface`."""
    if states := entry.interface.states:
        message = f"the model keeps the state {states[0].name!r} between calls, and {kind} keep none"
        help = "a .stepwell file and files for C have states; without the mark graph.state it is an input "
        raise StepwellError("unsupported-interface", None, message, help=f"{help}and an output")


def expect_stack(stack: int, options: ExportOptions) -> None:
    """
    Refuse a model that may need more stack than there is.

    Raises: StepwellError `too-large`; `bad-option` where the stack is not known.
    """
    if options.stack is None:
        return
    if options.stack <= 0:
        message = f"a stack has at least a byte, found {options.stack}"
        raise StepwellError("bad-option", None, message, help="--stack BYTES")
    if 0 < stack <= options.stack:
        return
    if not stack:
        message = "the stack of this code is not known before it runs, so there is nothing to compare"
        raise StepwellError("bad-option", None, message, help="leave --stack out")
    message = f"a call takes up to {stack} bytes of stack, and {options.stack} are there"
    raise StepwellError("too-large", None, message, help="smaller inputs, or a larger --stack")


def expect_room(path: Path, weights: Sequence[Array], options: ExportOptions) -> None:
    """
    Refuse a file that could not be addressed, and a header with the name of the one for threads.

    Raises: StepwellError `too-large`, `bad-name`.
    """
    if path.with_suffix(".h").name == THREADS_NAME:
        message = f"{THREADS_NAME} is written beside the file, and would be its header, too"
        raise StepwellError("bad-name", str(path), message, help="choose another name for the file")
    total = sum(array.nbytes for array in weights)
    if options.weights != "embed" or total <= MAX_EMBEDDED_BYTES:
        return
    largest = max(array.nbytes for array in weights)
    message = f"the weights take {total:,} bytes, and code reaches {MAX_EMBEDDED_BYTES:,} in its own file"
    note = f"the largest one takes {largest:,} bytes"
    help = "--weights file, or --weights extern for memory of the program's"
    raise StepwellError("too-large", str(path), message, note=note, help=help)


def write_files(files: Mapping[Path, Sequence[Chunk]]) -> None:
    """
    Write several files, each under another name first: none is there before all are.

    Raises: StepwellError `cannot-write`.
    """
    for path in files:
        check_place(path)
    with ExitStack() as stack:
        for path, chunks in files.items():
            file = stack.enter_context(whole_file(path))
            for chunk in chunks:
                file.write(chunk)
            file.flush()  # a full disk is noticed before any file has its name
