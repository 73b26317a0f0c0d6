"""The object files of a whole program on level 4: each kernel is compiled alone, as the model's own are."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Operation, Region

from stepwell.dialects.printed_lines import printed_lines
from stepwell.dialects.sched_kernel import KERNEL
from stepwell.lowering.emit_llvm import emit_llvm
from stepwell.lowering.kernels.kernel import has_vectors
from stepwell.lowering.kernels.machine import compile_to_object
from stepwell.passes.analysis.call_graph import symbols_of
from stepwell.runtime.machine.target import TargetDescription

_EXTERNAL = llvm.LinkageAttr("external")


def objects_of_program(module: ModuleOp, target: TargetDescription) -> list[bytes]:
    """
    The object files of a program: one for each kernel, and one for `@main` and all else.

    LLVM's pipeline runs on what computes on no vectors: in one module with others, such a kernel would not be
    vectorized.
    """
    lines = printed_lines(module)[1] if target.debug_info else None
    parts = [*_parts(module)]
    objects: list[bytes] = []
    for kernel, part, origins in parts:
        own = None if lines is None else {new: lines[op] for new, op in origins.items() if op in lines}
        optimize = not has_vectors(part) and (kernel or len(parts) == 1)
        objects.append(compile_to_object(emit_llvm(part, lines=own), target, optimize=optimize))
    return objects


def _parts(module: ModuleOp) -> Iterator[tuple[bool, ModuleOp, Mapping[Operation, Operation]]]:
    """Yields whether a part is a kernel, its module, and the op that each of its ops is a copy of."""
    defined = {op.sym_name.data: op for op in module.ops if isinstance(op, llvm.FuncOp | llvm.GlobalOp)}
    kernels = {name for name, op in defined.items() if KERNEL in op.attributes and _has_body(op)}
    for name in (name for name in defined if name in kernels):
        yield True, *_copied(_reached([name], defined), defined)
    shared = {name for name in defined if name not in kernels and not _is_helper(defined[name])}
    if rest := _reached(shared, defined):
        yield False, *_copied(rest, defined)


def _has_body(op: Operation) -> bool:
    return isinstance(op, llvm.FuncOp) and bool(op.body.blocks)


def _is_helper(op: Operation) -> bool:
    """Whether each part that refers to a function or a constant gets a copy of it."""
    return isinstance(op, llvm.FuncOp | llvm.GlobalOp) and op.linkage.linkage.data == "internal"


def _reached(names: set[str] | list[str], defined: Mapping[str, Operation]) -> list[str]:
    """Functions and constants with the helpers that they refer to, in the order of the module."""
    found, waiting = set(names), [*names]
    while waiting:
        for op in defined[waiting.pop()].walk():
            for name in symbols_of(op):
                if name in defined and name not in found and _is_helper(defined[name]):
                    found.add(name)
                    waiting.append(name)
    return [name for name in defined if name in found]


def _copied(
    names: list[str], defined: Mapping[str, Operation]
) -> tuple[ModuleOp, Mapping[Operation, Operation]]:
    """
    A module with copies of ops, and with declarations of the symbols that these use; and the original of each
    op in it.
    """
    copies = {name: defined[name].clone() for name in names}
    origins = {
        new: op for name in names for new, op in zip(copies[name].walk(), defined[name].walk(), strict=True)
    }
    referred = dict.fromkeys(s for copy in copies.values() for op in copy.walk() for s in symbols_of(op))
    outside = [_declared(defined[name]) for name in referred if name in defined and name not in copies]
    return ModuleOp([*outside, *copies.values()]), origins


def _declared(op: Operation) -> Operation:
    """The declaration of a function; a constant as it is, which has no value here."""
    if not isinstance(op, llvm.FuncOp):
        return op.clone()
    return llvm.FuncOp(op.sym_name.data, op.function_type, _EXTERNAL, body=Region())
