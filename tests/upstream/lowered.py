"""
A program of level 2, lowered by upstream's own passes and run by its execution engine: started by an
interpreter that has the bindings, `python lowered.py PROGRAM.mlir INPUTS.npz OUTPUTS.npz`.

Inputs are the arguments of `@main` in order, `index` arguments as arrays of rank 0.
"""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

PASSES = (
    "one-shot-bufferize{bufferize-function-boundaries=true allow-return-allocs-from-loops=true "
    "function-boundary-type-conversion=identity-layout-map}",
    "convert-linalg-to-loops",
    "func.func(convert-vector-to-scf)",
    "expand-strided-metadata",
    "lower-affine",
    "convert-scf-to-cf",
    "convert-vector-to-llvm",
    "expand-strided-metadata",
    "lower-affine",
    "convert-math-to-llvm",
    "convert-math-to-libm",
    "convert-arith-to-llvm",
    "finalize-memref-to-llvm",
    "convert-cf-to-llvm",
    "convert-func-to-llvm",
    "reconcile-unrealized-casts",
)
_DTYPES = {"f32": "float32", "f64": "float64", "f16": "float16", "i1": "bool", "index": "int64"}
_WORD = ctypes.c_int64


def main(program: str, inputs: str, outputs: str) -> None:
    """Lower and run a file, and write the results in order."""
    with np.load(inputs) as given:
        arrays = [given[name] for name in given.files]
    np.savez(outputs, *run(Path(program).read_text(encoding="utf-8"), arrays))


def run(text: str, arrays: Sequence[np.ndarray[Any, Any]]) -> Sequence[np.ndarray[Any, Any]]:
    """The results of `@main`."""
    ir: Any = import_module("torch_mlir.ir")
    module = ir.Module.parse(text, ir.Context())
    assert module.operation.verify()
    main = next(op for op in module.body.operations if op.attributes["sym_name"].value == "main")
    type = ir.FunctionType(ir.TypeAttr(main.attributes["function_type"]).value)
    is_index, results = (
        [str(each) == "index" for each in type.inputs],
        [*map(_shaped, map(str, type.results))],
    )
    with module.context:
        main.attributes["llvm.emit_c_interface"] = ir.UnitAttr.get()
        manager: Any = import_module("torch_mlir.passmanager").PassManager
        manager.parse(f"builtin.module({','.join(PASSES)})").run(module.operation)
    found = [_descriptor(rank) for _, rank in results]
    memory = (ctypes.c_byte * sum(map(ctypes.sizeof, found)))()
    arguments = [ctypes.pointer(ctypes.pointer(memory)), *map(_argument, arrays, is_index)]
    engine: Any = import_module("torch_mlir.execution_engine").ExecutionEngine(module, opt_level=2)
    # The wheel does not have the library in which this function of the runtime is.
    engine.raw_register_runtime("memrefCopy", ctypes.cast(_copy, ctypes.c_void_p))
    engine.invoke("main", *arguments)
    begins = np.cumsum([0, *map(ctypes.sizeof, found)])
    pairs = zip(found, results, begins, strict=False)
    return [_array(each.from_buffer(memory, int(at)), dtype) for each, (dtype, _), at in pairs]


def _shaped(type: str) -> tuple[str, int]:
    """The dtype and rank of a tensor's type: `tensor<?x4xf32>`."""
    *sizes, element = type.removeprefix("tensor<").removesuffix(">").split("x")
    return _DTYPES.get(element, f"int{element[1:]}"), len(sizes)


def _descriptor(rank: int) -> type[Any]:
    """The structure of a memref: two pointers, an offset, sizes and strides."""
    fields = [("allocated", _WORD), ("aligned", _WORD), ("offset", _WORD)]
    fields += [("shape", _WORD * rank), ("strides", _WORD * rank)]
    return type("Descriptor", (ctypes.Structure,), {"_fields_": fields})


def _argument(array: np.ndarray[Any, Any], is_index: bool) -> Any:
    """The pointer that an engine takes for an argument, to a number or to a descriptor."""
    if is_index:
        return ctypes.pointer(_WORD(int(array)))
    made = _descriptor(array.ndim)()
    made.allocated = made.aligned = array.ctypes.data
    made.shape[:] = array.shape
    made.strides[:] = [step // array.itemsize for step in array.strides]
    return ctypes.pointer(ctypes.pointer(made))


def _array(found: Any, dtype: str) -> np.ndarray[Any, Any]:
    """A copy of the elements that a descriptor is of."""
    item = np.dtype(dtype).itemsize
    return _bytes(found, item).copy().view(dtype)[..., 0]


def _bytes(found: Any, item: int) -> np.ndarray[Any, Any]:
    """The memory of a descriptor, with a last dimension for the bytes of an element."""
    shape, steps = (*found.shape, item), (*(step * item for step in found.strides), 1)
    reach = sum((size - 1) * step for size, step in zip(shape, steps, strict=True)) + 1
    if 0 in shape:
        return np.empty(shape, np.uint8)
    memory = (ctypes.c_uint8 * reach).from_address(found.aligned + found.offset * item)
    return np.lib.stride_tricks.as_strided(np.ctypeslib.as_array(memory), shape, steps)


class _Unranked(ctypes.Structure):
    """A memref of unknown rank: its rank, and a pointer to its descriptor."""

    _fields_ = (("rank", _WORD), ("descriptor", ctypes.c_void_p))


@ctypes.CFUNCTYPE(None, _WORD, ctypes.POINTER(_Unranked), ctypes.POINTER(_Unranked))
def _copy(item: int, source: Any, target: Any) -> None:
    """Copy the elements of a memref, of `item` bytes each."""
    values = (_descriptor(each[0].rank).from_address(each[0].descriptor) for each in (source, target))
    given, written = (_bytes(value, item) for value in values)
    written[...] = given


if __name__ == "__main__":
    main(*sys.argv[1:])
