"""The discardable attributes of the `sched` dialect: the ops that may have each, and its legal values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import cast

from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IntegerAttr, StringAttr, UnitAttr
from xdsl.ir import Attribute, Operation
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects.fields import names_attr
from stepwell.dialects.sched import (
    ACCESS,
    ALIGN,
    AT,
    AXIS,
    CHUNKS,
    EXACT_DIVISION,
    FAULTS,
    LANES,
    LOOPS,
    NAME,
    NOT_POSITIVE,
    OWN,
    PARALLEL,
    PREFETCH,
    SCHEDULE,
    STAGES,
    STREAM,
    TARGET,
    TOGETHER,
    TUNED,
    TUNED_KINDS,
    UNROLL,
    UNROLLED,
    ScheduleAttr,
    names_of,
)
from stepwell.dialects.sched_kernel import KERNEL, verify_kernel
from stepwell.dialects.sched_program import BUFFERS, PROGRAM, WEIGHT, verify_program
from stepwell.dialects.schedule_script import ScriptOp
from stepwell.dialects.target import SpecAttr
from stepwell.dialects.types import int_attr
from stepwell.runtime.errors import did_you_mean


@dataclass(frozen=True)
class _Hint:
    """A discardable attribute: the ops that may have one, and the legal values."""

    ops: tuple[str, ...]
    """Names of ops; `linalg.*` is a dialect's, `argument` an argument of a function."""
    expected: str
    accepts: Callable[[Attribute], bool]


@dataclass(frozen=True)
class _Interface:
    """The declaration of an attribute of functions, which `verify` compares with its function."""

    verify: Callable[[Operation, Attribute], None]
    ops = ("func.func", "llvm.func")


def _of_class(kind: type[Attribute], *ops: str) -> _Hint:
    known: Mapping[type[Attribute], str] = {UnitAttr: "a unit attribute", StringAttr: "a string"}
    expected = known.get(kind, f"#{kind.name}")
    return _Hint(ops, expected, lambda value: isinstance(value, kind))


def _integer(expected: str, accepts: Callable[[int], bool], *ops: str) -> _Hint:
    def is_accepted(value: Attribute) -> bool:
        return isinstance(value, IntegerAttr) and value == int_attr(n := value.value.data) and accepts(n)

    return _Hint(ops, f"{expected} of i64", is_accepted)


def _are_names(value: Attribute) -> bool:
    return isinstance(value, ArrayAttr) and value == names_attr(names_of(cast(Attribute, value)))


def is_script(text: str) -> bool:
    """Whether the text of a schedule is a `sched.script`; records of before list schedules."""
    return text.startswith(f"{ScriptOp.name} ")


def are_tuned(value: Attribute) -> bool:
    """Whether a value is the text of a script; or lists schedules, or units, under names of `TUNED_KINDS`."""
    if isinstance(value, StringAttr):
        return is_script(value.data)
    return isinstance(value, DictionaryAttr) and all(
        name in TUNED_KINDS
        and isinstance(each, ArrayAttr)
        and all(isinstance(one, ScheduleAttr | UnitAttr) for one in cast("ArrayAttr[Attribute]", each))
        for name, each in value.data.items()
    )


_ATTRIBUTES: Mapping[str, _Hint | _Interface] = {
    KERNEL: _Interface(verify_kernel),
    SCHEDULE: _of_class(ScheduleAttr, "linalg.*", "linalg_ext.*"),
    NAME: _of_class(StringAttr, "linalg.*", "linalg_ext.*", "scf.for"),
    AT: _of_class(StringAttr, "linalg.*"),
    LOOPS: _Hint(("linalg.*",), "an array of strings", _are_names),
    TUNED: _Hint(
        ("func.func",), "a sched.script as text, or lists of schedules, for `forms` and `tiles`", are_tuned
    ),
    UNROLLED: _of_class(UnitAttr, "func.func"),
    PARALLEL: _of_class(UnitAttr, "scf.for", "linalg.*"),
    LANES: _of_class(UnitAttr, "scf.for"),
    UNROLL: _of_class(UnitAttr, "scf.for"),
    AXIS: _Hint(
        ("scf.for",), "spatial or reduce", lambda v: v in (StringAttr("spatial"), StringAttr("reduce"))
    ),
    CHUNKS: _integer("a positive number", lambda n: n > 0, "scf.parallel"),
    EXACT_DIVISION: _of_class(UnitAttr, "arith.divf"),
    NOT_POSITIVE: _of_class(UnitAttr, "math.exp"),
    PREFETCH: _integer("a positive number", lambda n: n > 0, "vector.transfer_read", "argument"),
    ACCESS: _integer(
        "a positive number",
        lambda n: n > 0,
        *("tensor.extract", "tensor.insert", "memref.load", "memref.store"),
    ),
    FAULTS: _of_class(UnitAttr, "func.func"),
    STREAM: _of_class(UnitAttr, "argument"),
    ALIGN: _integer("a power of two", lambda n: n > 0 and n & (n - 1) == 0, "argument"),
    PROGRAM: _Interface(verify_program),
    BUFFERS: _of_class(DictionaryAttr, "func.func"),
    WEIGHT: _Hint(("memref.global",), "a constant", lambda _: True),
    "sched.model": _of_class(DictionaryAttr, "builtin.module"),
    TARGET: _of_class(SpecAttr, "builtin.module", "gpu.module"),
    STAGES: _integer("a number above 1", lambda n: n > 1, "scf.for"),
    TOGETHER: _integer("a number above 1", lambda n: n > 1, "memref.store"),
    OWN: _of_class(UnitAttr, "memref.store"),
}
"""All discardable attributes of the dialect."""


def verify_attribute(op: Operation, place: str, name: str, value: Attribute) -> None:
    """
    Require a discardable attribute of the dialect to be a declared one.

    Args: `place` is the op's name, or `argument` for an attribute of one of its arguments or results.
    Raises: VerifyException for an unknown attribute, a value of another type, an op that may not have it, and
    for a function that differs from its interface.
    """
    if (declared := _ATTRIBUTES.get(name)) is None:
        known = f"the attributes of `sched` are {', '.join(_ATTRIBUTES)}"
        raise VerifyException(f"unknown attribute {name}: {did_you_mean(name, _ATTRIBUTES)}{known}")
    if place not in declared.ops and f"{place.partition('.')[0]}.*" not in declared.ops:
        raise VerifyException(f"{name} is an attribute of {' and '.join(declared.ops)}, found on {place}")
    if isinstance(declared, _Interface):
        declared.verify(op, value)
    elif not declared.accepts(value):
        raise VerifyException(f"{name} must be {declared.expected}, found {value}")
