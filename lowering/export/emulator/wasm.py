"""A model for WebAssembly as a script of Node that makes one call, from standard input to standard output."""

from __future__ import annotations

from importlib.resources import files
from string import Template

from stepwell.lowering.export.emulator.program import BASE, HEADER_WORDS
from stepwell.lowering.export.wasm.wasm_files import WasmModel, code_of


def emulated_files(name: str, model: WasmModel) -> dict[str, bytes]:
    """The files of a program by name, the script first; it gets the path of the module."""
    text = files("stepwell.lowering.export.wasm").joinpath("emulate.mjs").read_text(encoding="utf-8")
    script = Template(text).substitute(base=BASE, words=HEADER_WORDS, run=f"{name}_run")
    module = code_of(name, "embed", model).module()
    return {f"{name}.mjs": script.encode(), f"{name}.wasm": b"".join(map(bytes, module.file))}
