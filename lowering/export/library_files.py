"""A library as a file for programs in C: functions of several models, which share weights and a header."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path

from stepwell.dialects.sched_entry import weight_offsets
from stepwell.lowering.export.code_file import code_file, support_of_system
from stepwell.lowering.export.description import description, library_description, text_code
from stepwell.lowering.export.elf_parts import EntryCode, elf_parts
from stepwell.lowering.export.entry_object import pool_object
from stepwell.lowering.export.ffi import FfiEntry
from stepwell.lowering.export.files import (
    THREADS_NAME,
    Exported,
    ExportOptions,
    check_objects,
    entry_code,
    expect_function,
    expect_room,
    expect_stack,
    expect_suffix,
    export_wasm,
    ffi_object,
    variant_of,
    write_files,
)
from stepwell.lowering.export.header import HeaderFacts, library_header_text
from stepwell.lowering.export.names import checked_name, default_name, expect_names_of_c
from stepwell.lowering.export.parts import Chunk, Parts, weight_chunks
from stepwell.lowering.export.pools import expect_no_pools, expect_planned, pools_of, workspace_text
from stepwell.lowering.export.threads_header import THREADS_HEADER
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.suffixes import LIBRARY_SUFFIX, WASM_SUFFIXES
from stepwell.runtime.files.whole_files import check_place
from stepwell.runtime.image import ModelImage, Variant
from stepwell.runtime.machine.target import described
from stepwell.runtime.targets.triples import arch_of, has_threads


def export_library(
    image: ModelImage, path: str | Path, options: ExportOptions, relaxed: ModelImage | None = None
) -> Exported:
    """
    Write the functions of a library to one file, and one header: `llm_decode_run` of `decode` in `llm.so`.

    Args: `relaxed` is the same library for WebAssembly with relaxed SIMD, which a package contains too.
    Raises: StepwellError `bad-option`, `bad-name`, …, as `export_image`; nothing is left half written.
    """
    target = Path(path)
    check_place(target)
    expect_planned(image.functions, options.memory_pools)
    name = checked_name(default_name(target.stem) if options.name is None else options.name)
    variants = {function: variant_of(entry) for function, entry in image.functions.items()}
    triple, features = _common_target(variants)
    expect_suffix(target, next(iter(variants.values())))
    if target.suffix in WASM_SUFFIXES:
        expect_no_pools(options.memory_pools)
        expect_stack(0, options)
        return export_wasm(image, relaxed, target, name, options)
    for function, entry in image.functions.items():
        expect_function(function, entry, options)
    expect_names_of_c(image.functions)
    if image.weight_check is not None:
        image.weight_check.wait()
    expect_room(target, image.weights, options)
    parts = _parts(name, image, variants, options, is_shared=target.suffix == LIBRARY_SUFFIX)
    expect_stack(parts.stack_bytes, options)
    files: dict[Path, Sequence[Chunk]] = {target: code_file(parts, triple, target)}
    weight_bytes = sum(map(len, weight_chunks(image.weights)))
    host = options.host_calls == "callback"
    threads = has_threads(arch_of(triple))
    facts = HeaderFacts(
        name, options.weights, weight_bytes, 0, host, threads, parts.stacks, pools_of(image.functions)
    )
    header = library_header_text(image.functions, triple, features, facts)
    files[target.with_suffix(".h")] = [header.encode()]
    if threads:
        files[target.with_name(THREADS_NAME)] = [THREADS_HEADER.encode()]
    if options.weights != "embed":
        files[target.with_suffix(".weights")] = weight_chunks(image.weights)
    write_files(files)
    workspace = workspace_text(image.functions)
    symbols, code_bytes = tuple(symbol.name for symbol in parts.symbols), len(parts.code.contents)
    return Exported(tuple(files), symbols, workspace, parts.stack_bytes, code_bytes, weight_bytes)


def _parts(
    name: str, image: ModelImage, variants: Mapping[str, Variant], options: ExportOptions, *, is_shared: bool
) -> Parts:
    """The code of a library, with the weights that are in the same file."""
    triple, features = _common_target(variants)
    machine = described(triple, features)
    offsets = weight_offsets([array.nbytes for array in image.weights])
    functions, ffi = list[EntryCode](), list[FfiEntry]()
    for function, entry in image.functions.items():
        own, variant = f"{name}_{function}", variants[function]
        arrays = [image.weights[number] for number in entry.weights]
        about = description(own, entry, triple, variant.features, arrays, options.weights, {})
        places = [offsets[number] for number in entry.weights]
        ffi.append(FfiEntry(own, entry, len(json.dumps(about, separators=(",", ":"), sort_keys=True))))
        functions.append(EntryCode(own, variant, entry_code(own, entry, places, about, options, machine)))
    about = library_description(name, image.functions, triple, features, image.weights, options.weights)
    text = json.dumps(about, separators=(",", ":"), sort_keys=True)
    shown = compile_to_object(text_code(f"{name}_json", text), machine, optimize=False)
    support = [shown, pool_object(machine), *check_objects(name, image.weights, options, machine)]
    own_weights = image.weights if options.weights == "embed" else ()
    outside = ffi_object(ffi, options, machine) if is_shared else b""
    return elf_parts(name, functions, support, own_weights, text, support_of_system(triple), ffi=outside)


def _common_target(variants: Mapping[str, Variant]) -> tuple[str, tuple[str, ...]]:
    """The triple of all functions, and the features that any of them uses. Raises: StepwellError."""
    triples = {variant.triple for variant in variants.values()}
    if len(triples) != 1:
        message = f"the models of the library are for {', '.join(sorted(triples))}"
        raise StepwellError("bad-option", None, message, help="compile them for one target")
    features = {feature for variant in variants.values() for feature in variant.features}
    return triples.pop(), tuple(sorted(features))
