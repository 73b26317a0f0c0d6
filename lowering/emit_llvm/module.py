"""The text of a module in LLVM IR: functions, globals, declarations of intrinsics, metadata."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from xdsl.dialects import llvm
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, ModuleOp, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation, SSAValue

from stepwell.lowering.emit_llvm.debug_lines import DebugLines
from stepwell.lowering.emit_llvm.devices import device_convention, device_words, required_threads
from stepwell.lowering.emit_llvm.function import FunctionEmitter
from stepwell.lowering.emit_llvm.instructions import INSTRUCTIONS
from stepwell.lowering.emit_llvm.intrinsics import INTRINSICS
from stepwell.lowering.emit_llvm.types import TypeTexts
from stepwell.runtime.errors import StepwellError

_EMITTERS = {**INSTRUCTIONS, **INTRINSICS}

# Flags of functions and arguments: MLIR's names -> LLVM's.
_FUNCTION_FLAGS = {
    "no_inline": "noinline",
    "always_inline": "alwaysinline",
    "no_unwind": "nounwind",
    "will_return": "willreturn",
    "optimize_none": "optnone",
    "noinline": "noinline",
}
_ARGUMENT_FLAGS = {
    "llvm.noalias": "noalias",
    "llvm.nonnull": "nonnull",
    "llvm.noundef": "noundef",
    "llvm.nocapture": "captures(none)",
    "llvm.readonly": "readonly",
    "llvm.readnone": "readnone",
    "llvm.writeonly": "writeonly",
    "llvm.signext": "signext",
    "llvm.zeroext": "zeroext",
}
# Properties of llvm.func that its first line expresses otherwise.
_HEADER_PROPERTIES = {
    "sym_name",
    "function_type",
    "arg_attrs",
    "res_attrs",
    "linkage",
    "CConv",
    "visibility_",
    "sym_visibility",
    "unnamed_addr",
    "passthrough",
    "frame_pointer",
    "target_features",
    "target_cpu",
    "tune_cpu",
}


def emit_llvm(module: ModuleOp, *, lines: Mapping[Operation, int] | None = None) -> str:
    """
    The LLVM IR text of a module of `llvm.func` and `llvm.mlir.global`.

    Args: `lines`, those of `printed_lines`, give each instruction the line of its op as debug location; the
    code is the same.
    Raises: StepwellError `unsupported-op` for anything that cannot be expressed, so that nothing is dropped
    silently; `invalid-ir` for a vector load or store without alignment.
    """
    return ModuleEmitter().emit(module, lines=lines)


class ModuleEmitter:
    """The text of a module, and the parts that its functions share: types, declarations, metadata."""

    def __init__(self) -> None:
        self.types = TypeTexts()
        self._declarations: dict[str, str] = {}
        self._defined: set[str] = set()
        self._metadata: list[str] = []
        self.debug: DebugLines | None = None

    def emit(self, module: ModuleOp, *, lines: Mapping[Operation, int] | None = None) -> str:
        """The text of the module."""
        parts: list[str] = []
        if lines is not None:
            self.debug = DebugLines(self.metadata, lines)
        for op in module.ops:
            match op:
                case llvm.FuncOp():
                    self._defined.add(op.sym_name.data)
                    parts.append(self._function(op))
                case llvm.GlobalOp():
                    parts.append(self._global(op))
                case _:
                    raise StepwellError(
                        "unsupported-op",
                        op,
                        f"{op.name} has no LLVM IR",
                        help="convert-loops-to-llvm lowers everything else to the llvm dialect",
                    )
        declared = [text for name, text in self._declarations.items() if name not in self._defined]
        nodes = [f"!{index} = {text}" for index, text in enumerate(self._metadata)]
        named = [] if self.debug is None else self.debug.named
        return "\n".join([*parts, *declared, *named, *nodes, ""])

    def declare(self, name: str, result: Attribute | None, args: Iterable[Attribute]) -> None:
        """Declare a function of another module or an intrinsic, unless it is declared already."""
        if name not in self._declarations:
            inputs = ", ".join(map(self.types, args))
            output = "void" if result is None else self.types(result)
            self.declare_text(name, f"{output} @{name}({inputs})")

    def declare_text(self, name: str, text: str) -> None:
        """Declare a function whose signature is text already."""
        self._declarations[name] = f"declare {text}"

    def call(self, name: str, op: Operation, args: Sequence[SSAValue], f: FunctionEmitter) -> str:
        """A call of a declared function that returns the op's result: `float @llvm.sqrt.f32(float %x)`."""
        result = op.results[0].type if op.results else None
        self.declare(name, result, (arg.type for arg in args))
        output = "void" if result is None else self.types(result)
        return f"{output} @{name}({f.typed_list(args)})"

    def metadata(self, text: str) -> str:
        """A reference to a new metadata node; `!self` in its text is replaced by the node's own number."""
        reference = f"!{len(self._metadata)}"
        self._metadata.append(text.replace("!self", reference))
        return reference

    def _function(self, op: llvm.FuncOp) -> str:
        """The definition or declaration of a function."""
        f = FunctionEmitter(self)
        has_body = bool(op.body.blocks)
        words = ["define" if has_body else "declare", *self._linkage(op.linkage, has_body)]
        words += _visibility(op.visibility_) + _unnamed(op.unnamed_addr)
        if (convention := op.CConv.convention.data) != "ccc":
            words.append(convention)
        words += device_convention(op)
        words += self._slot_flags(op, op.res_attrs, 0)
        args = [
            " ".join([self.types(type), *self._slot_flags(op, op.arg_attrs, index)])
            + (f" {f.name(op.body.blocks[0].args[index])}" if has_body else "")
            for index, type in enumerate(op.function_type.inputs)
        ]
        if op.function_type.is_variadic:
            args.append("...")
        words.append(f"{self.types(op.function_type.output)} @{op.sym_name.data}({', '.join(args)})")
        words += _function_attributes(op)
        if not has_body:
            return " ".join(words)
        debug = "" if self.debug is None else self.debug.function(op)
        if threads := required_threads(op):
            debug += f" !reqd_work_group_size {self.metadata(threads)}"
        return "\n".join([f"{' '.join(words)}{debug} {{", *f.emit(op, _EMITTERS), "}"])

    def _linkage(self, linkage: llvm.LinkageAttr, has_body: bool) -> list[str]:
        """The linkage keyword; none for external definitions and most declarations."""
        name = linkage.linkage.data
        return [] if name == "external" and has_body or not has_body and name != "extern_weak" else [name]

    def _slot_flags(self, op: llvm.FuncOp, all: ArrayAttr[DictionaryAttr] | None, index: int) -> list[str]:
        """The attributes of an argument or result: flags, alignment, dereferenceable bytes."""
        if all is None or index >= len(all):
            return []
        words: list[str] = []
        for name, value in all.data[index].data.items():
            if name in _ARGUMENT_FLAGS:
                words.append(_ARGUMENT_FLAGS[name])
            elif name == "llvm.align" and isinstance(value, IntegerAttr):
                words.append(f"align {value.value.data}")
            elif name == "llvm.dereferenceable" and isinstance(value, IntegerAttr):
                words.append(f"dereferenceable({value.value.data})")
            elif name.startswith("llvm."):
                raise StepwellError("unsupported", op, f"argument attribute {name} has no LLVM IR")
        return words

    def _global(self, op: llvm.GlobalOp) -> str:
        """The definition or declaration of a global."""
        if op.body.blocks:
            raise StepwellError("unsupported", op, "a global with an initializer region has no LLVM IR")
        linkage = op.linkage.linkage.data
        # Memory of a block of threads has no value at first.
        external = op.value is None and linkage != "internal"
        words = [f"@{op.sym_name.data} =", *([linkage] if linkage != "external" or external else [])]
        words += ["dso_local"] if op.dso_local is not None else []
        words += _visibility(op.visibility_)
        words += ["thread_local"] if op.thread_local_ is not None else []
        words += _unnamed(op.unnamed_addr)
        words += [f"addrspace({space})"] if (space := _int(op.addr_space)) else []
        words += ["constant" if op.constant is not None else "global", self.types(op.global_type)]
        if op.value is not None:
            words.append(self._initializer(op.value, op.global_type))
        elif not external:
            words.append("poison")
        text = " ".join(words)
        if op.section is not None:
            text += f', section "{op.section.data}"'
        return text + (f", align {_int(op.alignment)}" if op.alignment is not None else "")

    def _initializer(self, value: Attribute, type: Attribute) -> str:
        """The initial value of a global: a string or a constant."""
        if isinstance(value, StringAttr):
            escaped = "".join(
                chr(b) if 32 <= b < 127 and b not in (34, 92) else f"\\{b:02X}" for b in value.data.encode()
            )
            return f'c"{escaped}"'
        return self.types.constant(value, type)


def _int(attribute: Attribute | None) -> int:
    """The number of an integer attribute; 0 without one."""
    return attribute.value.data if isinstance(attribute, IntegerAttr) else 0


def _visibility(attribute: Attribute | None) -> list[str]:
    """The visibility keyword, none for the default."""
    return [[], ["hidden"], ["protected"]][_int(attribute)]


def _unnamed(attribute: Attribute | None) -> list[str]:
    """The keyword for an address that does not matter."""
    return [[], ["local_unnamed_addr"], ["unnamed_addr"]][_int(attribute)]


def _function_attributes(op: llvm.FuncOp) -> list[str]:
    """The attributes after a function's signature."""
    words: list[str] = []
    # The custom syntax puts properties into the attribute dictionary: both count.
    for name, value in {**op.properties, **op.attributes}.items():
        match name, value:
            case "passthrough", ArrayAttr():
                words += map(_passthrough, value)
            case "frame_pointer", llvm.FramePointerKindAttr():
                words.append(f'"frame-pointer"="{value.data.value}"')
            case "target_features", llvm.TargetFeaturesAttr():
                words.append(f'"target-features"="{",".join(f.data for f in value.features)}"')
            case "target_cpu" | "tune_cpu", StringAttr():
                words.append(f'"{name.replace("_", "-")}"="{value.data}"')
            case _, UnitAttr() if name in _FUNCTION_FLAGS:
                words.append(_FUNCTION_FLAGS[name])
            case _ if name not in _HEADER_PROPERTIES and ("." not in name or name.startswith("llvm.")):
                raise StepwellError("unsupported", op, f"function attribute {name} has no LLVM IR")
            case _:
                pass  # in the first line already, or a note of another dialect
    return words + device_words(op)


def _passthrough(attribute: Attribute) -> str:
    """An attribute of LLVM's own, a name or a key with a value."""
    match attribute:
        case StringAttr():
            return attribute.data
        case ArrayAttr(data=(StringAttr(data=key), StringAttr(data=value))):
            return f'"{key}"="{value}"'
        case _:
            raise StepwellError("unsupported", None, f"passthrough {attribute} has no LLVM IR")
