"""
The context of a compilation, and uses of xDSL's private names: docs/xdsl.md lists them with the reasons.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from copy import copy
from functools import cache, cached_property, lru_cache, partial
from importlib import import_module
from inspect import unwrap
from types import FunctionType, UnionType
from typing import Any, cast

from xdsl.context import Context
from xdsl.dialects import builtin, get_all_dialects
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, DictionaryAttr, StringAttr
from xdsl.dialects.utils import format as xdsl_format
from xdsl.ir import Attribute, Dialect, Operation, SSAValue, TypeAttribute
from xdsl.irdl import IRDLOperation, OpDef
from xdsl.irdl.declarative_assembly_format import FormatProgram
from xdsl.parser import AttrParser, Parser
from xdsl.pattern_rewriter import RewritePattern
from xdsl.printer import Printer

from stepwell.dialects._xdsl_speed.methods import defaults_of, replace_methods
from stepwell.dialects._xdsl_speed.objects import replace_object_methods
from stepwell.dialects._xdsl_speed.patterns import move_rewriter as move_rewriter
from stepwell.dialects._xdsl_speed.patterns import replace_pattern_functions
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.machine.target import TargetDescription, host_target
from stepwell.runtime.packages import entry_points
from stepwell.runtime.plugins import INSTALLED, Registry, loading

# Our dialects, and xDSL's dialects that we extend: name -> "module:attribute", imported when first used.
DIALECTS: dict[str, str] = {
    "adt": "stepwell.dialects.adt:Adt",
    "amx": "stepwell.dialects.amx:AMX",
    "dev": "stepwell.dialects.dev:Dev",
    "coreml": "stepwell.dialects.coreml:Coreml",
    "emitc": "stepwell.dialects.emitc:EmitC",
    "graph": "stepwell.dialects.graph:Graph",
    "gpu": "stepwell.dialects.gpu:GPU",
    "linalg_ext": "stepwell.dialects.linalg_ext:LinalgExt",
    "mxnet": "stepwell.dialects.mxnet:Mxnet",
    "npu": "stepwell.dialects.npu:Npu",
    "onnx": "stepwell.dialects.onnx:Onnx",
    "paddle": "stepwell.dialects.paddle:Paddle",
    "pattern": "stepwell.dialects.pattern:Pattern",
    "ref": "stepwell.dialects.ref:Ref",
    "arith": "stepwell.dialects.arith:Arith",
    "sched": "stepwell.dialects.sched:Sched",
    "target": "stepwell.dialects.target:TargetDialect",
    "stablehlo": "stepwell.dialects.stablehlo:Stablehlo",
    "tflite": "stepwell.dialects.tflite:Tflite",
    "torch": "stepwell.dialects.torch:Torch",
    "llvm": "stepwell.dialects.llvm:LLVM",
    "vector": "stepwell.dialects.vector:Vector",
    "vm": "stepwell.dialects.vm:VM",
}

OP_TABLES = {
    "coreml": "stepwell.dialects.coreml:op_class",
    "linalg": "stepwell.dialects.linalg_builder.named:op_class",
    "mxnet": "stepwell.dialects.mxnet:op_class",
    "paddle": "stepwell.dialects.paddle:op_class",
    "stablehlo": "stepwell.dialects.stablehlo:op_class",
    "tflite": "stepwell.dialects.tflite:op_class",
    "torch": "stepwell.dialects.torch:op_class",
}
"""
The functions that find a class by the op's name, when it is first asked for: of dialects with many ops, which
all together take a second, and of ops that xDSL lacks.
"""
DIALECT_ENTRY_POINTS = "stepwell.dialects"
"""
The entry point group by which other packages add dialects: the dialect's name = `module:attribute`, or the
module whose decorators define it.
"""


class LateFormat:
    """
    The assembly format of an op class, parsed when an op is first read or printed.

    A compilation of a model needs a few of the 270 formats, which take 0.13 s together.
    """

    def __init__(self, text: str, op_def: OpDef):
        self.text, self.op_def = text, op_def

    @cached_property
    def program(self) -> FormatProgram:
        """The parsed format. Raises: ParseError."""
        return _parse_format(self.text, self.op_def)

    def parse(self, parser: Parser, op_type: type[IRDLOperation]) -> IRDLOperation:
        """Read an op of the class."""
        return self.program.parse(parser, op_type)

    def print(self, printer: Printer, op: IRDLOperation) -> None:
        """Print an op of the class."""
        self.program.print(printer, op)


_parse_format = FormatProgram.from_str


def _format_of(text: str, op_def: OpDef) -> FormatProgram | LateFormat:
    """
    A format for xDSL's `irdl_op_definition`. Formats of plugins are parsed at once, so that errors are raised
    there.
    """
    is_late = is_upstream(op_def.name.partition(".")[0])
    return LateFormat(text, op_def) if is_late else _parse_format(text, op_def)


setattr(FormatProgram, "from_str", staticmethod(_format_of))  # noqa: B010  # it has another type
replace_methods()
replace_object_methods()
replace_pattern_functions()


_print_results = xdsl_format._print_func_outputs  # pyright: ignore[reportPrivateUsage]


def _print_function_results(
    printer: Printer, outputs: Sequence[Attribute], res_attrs: ArrayAttr[DictionaryAttr] | None
) -> None:
    """Print the results of a function: `-> ((A) -> B)` for one that is a function, which xDSL cannot read."""
    if res_attrs is not None or not (len(outputs) == 1 and isinstance(outputs[0], builtin.FunctionType)):
        return _print_results(printer, outputs, res_attrs)
    printer.print_string(" -> ")
    with printer.in_parens():
        printer.print_attribute(outputs[0])


setattr(xdsl_format, "_print_func_outputs", _print_function_results)  # noqa: B010  # it is private


Decompose = Callable[[Operation], "tuple[builtin.ModuleOp, Sequence[int]] | None"]
"""Gives a module whose `@main` computes an op by simpler ones, and an operand's number for each argument."""


class StepwellContext(Context):
    """
    The xDSL context of a compilation: all dialects, registered lazily, the weights that the IR names, and the
    target to compile for (this machine, unless set).

    `decompose` is set by the reader of a program in memory whose framework has rules for its operators.
    """

    def __init__(self, *, allow_unregistered: bool = False):
        super().__init__(allow_unregistered=allow_unregistered)
        self.weights = WeightStore()
        self.target: TargetDescription = host_target()
        self.decompose: Decompose | None = None
        for name, factory in all_dialects().items():
            self.register_dialect(name, factory)

    def get_optional_op(self, name: str, *, dialect_stack: Sequence[str] = ()) -> type[Operation] | None:
        """The class of an op; one of a dialect with hundreds of ops is made alone, without the others."""
        if (place := OP_TABLES.get(name.partition(".")[0])) is not None:
            if (found := _op_table(place)(name)) is not None:
                return found
        return super().get_optional_op(name, dialect_stack=dialect_stack)

    def clone(self) -> StepwellContext:
        """A context of the same dialects, target and weights; additions to one are not in the other."""
        copied = copy(self)
        copied.weights = self.weights.copy()
        for name, known in vars(super().clone()).items():
            setattr(copied, name, known)
        return copied


def all_dialects() -> dict[str, Callable[[], Dialect]]:
    """The loaders of all dialects: xDSL's, those that installed packages offer, plugins', and ours."""
    ours = {name: _loader(place) for name, place in DIALECTS.items()}
    plugged_in = {name: partial(_PLUGGED_IN.__getitem__, name) for name in _PLUGGED_IN}
    return get_all_dialects() | _decorated_dialects() | _outside_dialects() | plugged_in | ours


def plugged_in_dialects() -> set[str]:
    """The names of the dialects of plugins, installed ones too."""
    return {*_outside_dialects(), *_PLUGGED_IN, *_decorated_dialects()}


def is_fixed(dialect: str) -> bool:
    """Whether a dialect is defined as a whole, by xDSL, us or a plugin: no op is added to it."""
    return dialect in _PLUGGED_IN or is_upstream(dialect)


def is_upstream(dialect: str) -> bool:
    """Whether a dialect is ours or xDSL's."""
    return dialect in DIALECTS or dialect in get_all_dialects()


def plug_in_dialect(dialect: Dialect) -> None:
    """
    Add a plugin's dialect to every context made from now on in this process.

    Raises: StepwellError `name-taken` for a name that another dialect has.
    """
    known = all_dialects().get(dialect.name)
    if known is not None and known() is not dialect:
        raise _PLUGGED_IN.taken(dialect.name, dialect)
    _PLUGGED_IN.add(dialect.name, dialect, dialect)


_PLUGGED_IN: Registry[str, Dialect] = Registry("a dialect named")
DECORATED_OPS: Registry[str, type[Operation]] = Registry("an op named", changes_models=True)
"""The ops by name that plugins define by decorators; the dialect of each is made when it is asked for."""
DECORATED_ATTRIBUTES: Registry[str, type[Attribute]] = Registry("an attribute named")
"""The attributes and types by name that plugins define by decorators."""


def _decorated_dialects() -> dict[str, Callable[[], Dialect]]:
    names = {name.partition(".")[0] for name in (*DECORATED_OPS, *DECORATED_ATTRIBUTES)}
    return {name: partial(_decorated_dialect, name) for name in names}


def _decorated_dialect(name: str) -> Dialect:
    ops = [op for key, op in DECORATED_OPS.items() if key.startswith(f"{name}.")]
    return Dialect(name, ops, [a for key, a in DECORATED_ATTRIBUTES.items() if key.startswith(f"{name}.")])


@cache
def _outside_dialects() -> dict[str, Callable[[], Dialect]]:
    points = entry_points(DIALECT_ENTRY_POINTS)
    return {p.name: _loader(p.value) if p.attr else partial(_imported, p.name, p.module) for p in points}


def _imported(name: str, module: str) -> Dialect:
    """The dialect that a module of an installed package defines by decorators."""
    with loading():
        INSTALLED.add(import_module(module).__file__ or module)
    return _decorated_dialect(name)


def _loader(place: str) -> Callable[[], Dialect]:
    return lambda: cast(Dialect, _attribute_at(place))


@cache
def _op_table(place: str) -> Callable[[str], type[Operation] | None]:
    """The function at a place of `OP_TABLES`."""
    return _attribute_at(place)


def _attribute_at(place: str) -> Any:
    """The object that a place (`module:attribute`) names."""
    module, attribute = place.split(":")
    return getattr(import_module(module), attribute)


def weights_of(ctx: Context) -> WeightStore:
    """The weight store of a compilation. Raises: TypeError for a context that is not Stepwell's."""
    if not isinstance(ctx, StepwellContext):
        raise TypeError("weights need a context of Stepwell's: create it with stepwell.Context()")
    return ctx.weights


def decompose_of(ctx: Context) -> Decompose | None:
    """The function of a compilation that decomposes ops of level 0; None without a framework's program."""
    return ctx.decompose if isinstance(ctx, StepwellContext) else None


_RUNNING: ContextVar[Context | None] = ContextVar("stepwell_running_in", default=None)


@contextmanager
def running_in(ctx: Context) -> Generator[None]:
    """Make the weights of a context known to `running_weights` while a pass runs."""
    token = _RUNNING.set(ctx)
    try:
        yield
    finally:
        _RUNNING.reset(token)


def running_weights() -> WeightStore:
    """
    The weight store of the compilation whose pass is running, for functions that get ops and values alone.

    Raises: StepwellError `missing-weights` outside of any pass.
    """
    if not isinstance(ctx := _RUNNING.get(), StepwellContext):
        message = "no pass is running, whose constants could be read or added to"
        help = "call it in a pass, a pattern or a lowering"
        raise StepwellError("missing-weights", None, message, help=help)
    return ctx.weights


def target_of(ctx: Context) -> TargetDescription:
    """The target of a compilation; this machine for a context that is not Stepwell's."""
    return ctx.target if isinstance(ctx, StepwellContext) else host_target()


def set_type(value: SSAValue, type: Attribute) -> None:
    """Give a value another type in place, without a new op or block argument, as xDSL's rewriter does."""
    value._type = type  # pyright: ignore[reportPrivateUsage]


def set_class(op: Operation, op_class: type[Operation], properties: Mapping[str, Attribute]) -> None:
    """
    Make an op one of another class in place: with its operands, results and location, and new properties.

    Another op in its place takes three times as long to make, to insert and to give the uses of this one.
    """
    op.properties, op.attributes = dict(properties), {}
    for known, name, value in defaults_of(op_class):  # which defines the class
        getattr(op, known).setdefault(name, value)
    op.__class__ = op_class


TensorLiteralElement = AttrParser._TensorLiteralElement  # pyright: ignore[reportPrivateUsage]
"""A number in `dense<…>` as the parser keeps it."""


_PRINTED_ONCE = (TypeAttribute, AffineMapAttr, StringAttr)
"""Attributes with one text each; not numbers, of which 0.0 and -0.0 are equal."""
_PLAIN_TEXT = re.compile(rb"[ !#-\[\]-~]*")
"""Bytes that literals have as they are; xDSL prints each by itself."""


class NamelessPrinter(Printer):
    """
    A printer that numbers all values, whatever their name hints: equal programs have equal texts.

    It does not count columns, which xDSL does for diagnostics (a quarter of the time of a kernel's text), and
    prints each type, map and string once (half of what is left).
    """

    def print_string(self, text: str, *, indent: int | None = None) -> None:
        if self.stream is None or "\n" in text:
            super().print_string(text, indent=indent)
        else:
            self.stream.write(text)

    def print_attribute(self, attribute: Attribute) -> None:
        if isinstance(attribute, _PRINTED_ONCE):
            self.print_string(_text_of(attribute))
        else:
            super().print_attribute(attribute)

    def print_bytes_literal(self, bytestring: bytes) -> None:
        if _PLAIN_TEXT.fullmatch(bytestring):
            self.print_string(f'"{bytestring.decode("ascii")}"')
        else:
            super().print_bytes_literal(bytestring)

    def print_ssa_value(self, value: SSAValue) -> str:
        if (name := self._ssa_values.get(value)) is None:
            name = self._ssa_values[value] = self._get_new_valid_name_id()
        self.print_string(f"%{name}")
        return name


@lru_cache(maxsize=4096)
def _text_of(attribute: Attribute) -> str:
    return str(attribute)


def resume_at(parser: AttrParser, position: int) -> None:
    """Go back to a position of the text, to parse from there again."""
    parser._resume_from(position)  # pyright: ignore[reportPrivateUsage]


def matched_op_types(pattern: RewritePattern) -> tuple[type[Operation], ...]:
    """
    The operation classes that a pattern written with `@op_type_rewrite_pattern` matches.

    A pattern that goes by a table names them in `takes`; xDSL's decorator keeps the others in the closure of
    the method only.
    Raises: TypeError for a pattern that is not written with the decorator.
    """
    if declared := cast("tuple[type[Operation], ...]", getattr(pattern, "takes", ())):
        return declared
    if found := _captured_types(type(pattern).match_and_rewrite):
        return found
    raise TypeError(f"{type(pattern).__name__}.match_and_rewrite needs @op_type_rewrite_pattern")


@cache
def _captured_types(method: Callable[..., None]) -> tuple[type[Operation], ...]:
    """
    The operation classes in the closure of a decorated method; empty for a method without the decorator.

    A compilation needs these classes for some hundred patterns in each of its pipelines.
    """
    function = cast(FunctionType, unwrap(method))
    captured = dict(zip(function.__code__.co_freevars, function.__closure__ or (), strict=True))
    if "expected_type" not in captured:
        return ()
    expected = cast("type[Operation] | UnionType", captured["expected_type"].cell_contents)
    return (expected,) if isinstance(expected, type) else expected.__args__
