"""Text of upstream MLIR as programs: the generic form, the pretty forms that we know, others by bindings."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.util import find_spec
from itertools import count

import numpy as np
from xdsl.dialects.builtin import DenseResourceAttr, ModuleOp, TensorType
from xdsl.ir import Attribute

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.constants import constant_attr
from stepwell.dialects.parser import parse_module
from stepwell.dialects.types import dtype_of, tensor_of
from stepwell.frontend.reader_process import run_reader
from stepwell.runtime.errors import StepwellError
from stepwell.tools.upstream.restoring import restore_info

BINDINGS = ("torch_mlir", "iree.compiler")
"""The packages with upstream's parser, which prints the generic form of what ours does not read."""
_RESOURCES = re.compile(r"\{-#.*?#-\}", re.DOTALL)
_ENTRY = re.compile(r'([\w.$-]+)\s*:\s*"0x([0-9A-Fa-f]+)"')
_USE = re.compile(r"dense_resource<([\w.$-]+)>")
_CALLS = count()
_SECONDS = 300
_PRINT = """
import sys
from {package} import ir
context = ir.Context()
module = ir.Module.parse(sys.stdin.read(), context)
sys.stdout.write(module.operation.get_asm(print_generic_op_form=True, large_elements_limit=None))
"""


def from_upstream_text(text: str, ctx: StepwellContext, name: str = "<text>") -> ModuleOp:
    """
    A program of upstream MLIR. Its resources become weights in the context's store.

    Text that ours does not read is printed by the bindings that are installed, in a process of its own.
    Raises: StepwellError `syntax` with the help to print the generic form; `invalid-ir`.
    """
    serial = next(_CALLS)
    program = _own_names(text, serial)
    try:
        module = parse_module(ctx, program, name)
    except StepwellError as error:
        text = _generic(text, error)
        module = parse_module(ctx, _own_names(text, serial), name)
    entries = _ENTRY.findall("".join(_RESOURCES.findall(text)))
    blobs = {f"{key}.{serial}": bytes.fromhex(data) for key, data in entries}
    _bind_resources(module, blobs, ctx)
    restore_info(module, ctx)
    return module


def _own_names(text: str, serial: int) -> str:
    """A program without the bytes of resources, whose names are new: xDSL's parser remembers all."""
    return _USE.sub(rf"dense_resource<\g<1>.{serial}>", _RESOURCES.sub("", text))


def _generic(text: str, error: StepwellError) -> str:
    """The generic form of a text, by installed bindings. Raises: the error, with a help."""
    for package in BINDINGS:
        if _is_installed(package):
            command = ["-c", _PRINT.format(package=package)]
            done = run_reader(command, error, _SECONDS, text.encode("utf-8"))
            if done.returncode == 0:
                return done.stdout.decode("utf-8")
            raise error.with_note(f"{package}: {_last_lines(done.stderr.decode('utf-8', 'replace'))}")
    error.help = "print the generic form: mlir-opt --mlir-print-op-generic, or pip install torch-mlir"
    raise error.with_note(f"none of {', '.join(BINDINGS)} is installed, which read every form")


def _is_installed(package: str) -> bool:
    try:
        return find_spec(package) is not None
    except ModuleNotFoundError:  # the package around it
        return False


def _last_lines(text: str) -> str:
    found = [line for line in text.strip().splitlines() if "error:" in line]
    return found[0].strip() if found else text.strip()[-200:]


def _bind_resources(module: ModuleOp, blobs: Mapping[str, bytes], ctx: StepwellContext) -> None:
    """Replace `dense_resource` by the constants that the bytes are. Raises: StepwellError `invalid-ir`."""
    for op in module.walk():
        value = op.properties.get("value")
        if not isinstance(value, DenseResourceAttr):
            continue
        key, type = value.resource_handle.data, op.results[0].type
        if key not in blobs or not isinstance(type, TensorType):
            message = f"the text has no bytes for the resource {key.rpartition('.')[0]!r}"
            raise StepwellError("invalid-ir", op, message)
        op.properties["value"] = _constant(blobs[key], op.results[0], key.rpartition(".")[0], ctx)


def _constant(blob: bytes, result: object, key: str, ctx: StepwellContext) -> Attribute:
    type = tensor_of(result)  # type: ignore[arg-type]
    array = np.frombuffer(blob[4:], dtype_of(type.element_type)).reshape(type.get_shape())
    return constant_attr(array, key, ctx.weights)
