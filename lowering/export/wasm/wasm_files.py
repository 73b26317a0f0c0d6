"""The files of an export to WebAssembly: a module and its weights, or a package of npm."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from stepwell.lowering.export.description import description, library_description
from stepwell.lowering.export.names import joined_name
from stepwell.lowering.export.parts import Chunk, weight_chunks
from stepwell.lowering.export.wasm.modules import Module, WasmCode, WasmFunction, wasm_code
from stepwell.lowering.export.wasm.package import PackagedModule, package_file
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.image import Entry, Variant
from stepwell.runtime.interface import Array

_PACKAGE = ".tgz"
_VERSION = "1.0.0"
RELAXED = "relaxed-simd"
"""The feature of the second code of a package, which engines use that have it."""


@dataclass(frozen=True)
class WasmModel:
    """The functions of a model or library with their code for WebAssembly, and its weights."""

    functions: Mapping[str, tuple[Entry, Variant]]
    """By name; that of a model has none."""
    arrays: tuple[Array, ...]
    facts: Mapping[str, object]

    @property
    def entries(self) -> Mapping[str, Entry]:
        """The functions without their code."""
        return {name: entry for name, (entry, _) in self.functions.items()}

    @property
    def is_library(self) -> bool:
        """Whether its functions have names."""
        return "" not in self.functions

    @property
    def features(self) -> tuple[str, ...]:
        """The features that any of its functions uses."""
        used = {feature for _, variant in self.functions.values() for feature in variant.features}
        return tuple(sorted(used))

    @property
    def triple(self) -> str:
        """The target."""
        return next(variant.triple for _, variant in self.functions.values())


@dataclass(frozen=True)
class WasmFiles:
    """The files of an export, not written yet."""

    files: Mapping[Path, Sequence[Chunk]]
    exports: tuple[str, ...]
    code_bytes: int


def wasm_files(path: Path, name: str, weights: str, model: WasmModel, relaxed: WasmModel | None) -> WasmFiles:
    """
    The files at a path.

    Args: `weights` is their place; `relaxed` is the model for engines with relaxed SIMD, for a package.
    Raises: StepwellError `bad-option`, `undefined-symbol`, `too-large`.
    """
    if weights == "extern":
        message = "weights of WebAssembly are in the module, or in a file that is loaded into its memory"
        raise StepwellError("bad-option", str(path), message, help="--weights embed or --weights file")
    if path.suffix == _PACKAGE:
        return _package(path, name, [model, *([relaxed] if relaxed is not None else [])])
    module = code_of(name, weights, model).module()
    files: dict[Path, Sequence[Chunk]] = {path: module.file}
    if weights == "file":
        files[path.with_suffix(".weights")] = weight_chunks(model.arrays)
    return WasmFiles(files, module.exports, module.code_bytes)


def code_of(name: str, weights: str, model: WasmModel) -> WasmCode:
    """The code of a model whose weights are in a place."""
    functions: list[WasmFunction] = []
    for own, (entry, variant) in model.functions.items():
        numbers = entry.weights if model.is_library else range(len(model.arrays))
        arrays, facts = [model.arrays[number] for number in numbers], model.facts
        c_name = joined_name(name, own)
        about = description(c_name, entry, variant.triple, variant.features, arrays, weights, facts)
        functions.append(WasmFunction(c_name, entry, variant, numbers, about))
    whole = functions[0].about
    if model.is_library:
        common = model.triple, model.features, model.arrays, weights
        whole = library_description(name, model.entries, *common)
    return wasm_code(name, functions, model.arrays, weights, whole)


def _package(path: Path, name: str, models: Sequence[WasmModel]) -> WasmFiles:
    """The package of a model: two modules for each code, for a single thread and for several."""
    modules: list[PackagedModule] = []
    for model in models:
        code = code_of(name, "file", model)
        role = "relaxed" if RELAXED in model.features else "fixed"
        prefix = f"{name}.relaxed" if role == "relaxed" else name
        weights = weight_chunks(model.arrays)
        same = next((m for m in modules if _are_equal(m.weights, weights)), None)
        weights_name = f"{prefix}.weights" if same is None else same.weights_name
        for suffix, threads in (("", False), ("Threads", True)):
            module = code.module(threads=threads)
            file = f"{prefix}{'.threads' if threads else ''}.wasm"
            modules.append(PackagedModule(role + suffix, file, module, weights_name, weights))
    first: Module = modules[0].module
    data = package_file(name, _VERSION, models[0].entries, modules)
    return WasmFiles({path: [data]}, first.exports, first.code_bytes)


def _are_equal(some: Sequence[Chunk], others: Sequence[Chunk]) -> bool:
    """Whether two models have the same weights."""
    return len(some) == len(others) and all(a == b for a, b in zip(some, others, strict=True))
