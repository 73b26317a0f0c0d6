"""StableHLO text as a module of level 0; the pretty form and bytecode by jaxlib, in a process of its own."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path

from xdsl.context import Context
from xdsl.dialects import builtin, func
from xdsl.dialects.builtin import FileLineColLoc, IntAttr, ModuleOp, StringAttr
from xdsl.utils.exceptions import ParseError, VerifyException

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.frontend.reader_process import ending, run_reader
from stepwell.frontend.stablehlo.translate import translated
from stepwell.runtime.dims import Dim
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import read_bounded

MAX_BYTES = 1 << 31
_GENERIC = ('"builtin.module"', '"func.func"')
_SECONDS = 120
_PRINT = """
import sys
from jax._src.interpreters import mlir
from jaxlib.mlir import ir
from jaxlib.mlir.dialects import stablehlo
data = sys.stdin.buffer.read()
context = mlir.make_ir_context()
with context:
    # Bytecode of an artifact is in VHLO, which keeps its versions; other bytecode is parsed as text is.
    try:
        if not data.startswith(b"ML\\xefR"):
            raise ValueError
        module = stablehlo.deserialize_portable_artifact(context, data)
    except Exception:
        module = ir.Module.parse(data)
print(module.operation.get_asm(print_generic_op_form=True, enable_debug_info=False))
"""
"""The program that prints the generic form: MLIR's parser ends its process for some bad files."""


def read_stablehlo(path: Path, ctx: StepwellContext) -> ModuleOp:
    """
    A file as a module of level 0.

    Raises: StepwellError `no-file`, `too-large`, `invalid-model`, `unsupported`; `missing-package` for forms
    that jaxlib reads.
    """
    data = read_bounded(path, "model", MAX_BYTES)
    text = _text(data)
    if text is None:
        text = _printed(data, path.name)
    return module_of_text(text, ctx, path.name)


def _text(data: bytes) -> str | None:
    """The text of a file in the generic form; None for another form."""
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        return None
    return text if any(each in text for each in _GENERIC) else None


def _printed(data: bytes, name: str) -> str:
    """
    The generic form of text or bytecode, by jaxlib.

    Raises: StepwellError `missing-package`, `invalid-model`.
    """
    if find_spec("jax") is None:
        message = "reading StableHLO in the pretty form, or bytecode, needs jax"
        help = "pip install 'stepwell[jax]', or print the generic form: mlir-opt --mlir-print-op-generic"
        raise StepwellError("missing-package", name, message, help=help)
    failure = StepwellError("invalid-model", name, "jaxlib cannot read the file")
    done = run_reader(["-c", _PRINT], failure, _SECONDS, data)
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines()
        said = [line.strip() for line in lines if "error: " in line] or lines[-1:]
        raise failure.with_note("".join(said[:1]) or f"it ended with {ending(done.returncode)}")
    return done.stdout.decode("utf-8")


def module_of_text(
    text: str, ctx: StepwellContext, name: str, labels: Mapping[int, tuple[str, Sequence[Dim]]] | None = None
) -> ModuleOp:
    """
    Text in the generic form as a module of level 0.

    Args: `labels` has names and dimensions of the arguments of `@main`, by position.
    Raises: StepwellError `syntax`, `invalid-model`, `unsupported`.
    """
    reader = Context(allow_unregistered=True)
    reader.load_dialect(builtin.Builtin)
    reader.load_dialect(func.Func)
    try:
        source = parse_module(reader, text, name)
    except (ParseError, VerifyException, ValueError, RecursionError, NotImplementedError) as error:
        first = str(error).strip().splitlines() or [type(error).__name__]
        raise StepwellError(
            "invalid-model", name, f"the text is no module of StableHLO: {first[-1]}"
        ) from None
    module = ModuleOp([translated(source, ctx, name, labels or {})])
    module.location = FileLineColLoc(StringAttr(name), IntAttr(0), IntAttr(0))
    return module
