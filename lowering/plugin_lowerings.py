"""Lowerings of plugins: the decorator `lower`, and checked calls of the functions that a plugin registers."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar, cast

import numpy as np
import numpy.typing as npt
from xdsl.dialects.builtin import TensorType, UnregisteredOp
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern
from xdsl.utils.exceptions import VerifyException

from stepwell.dialects import graph
from stepwell.dialects._xdsl import is_upstream, plugged_in_dialects, running_weights
from stepwell.dialects.constants import array_of, inline_attr, is_inline
from stepwell.dialects.graph.base import expect_type
from stepwell.dialects.graph.expression import outside_formulas
from stepwell.dialects.types import WeightAttr, dtype_of, tensor_of
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.weights import WeightStore
from stepwell.runtime.plugins import Registry, described, place_of, plugin_error

LEVELS = ("graph",)
"""The levels to which ops of plugins are lowered."""

Array: TypeAlias = npt.NDArray[Any]
DecoratedT = TypeVar("DecoratedT", bound=Callable[..., object])


@dataclass(frozen=True)
class Lowering:
    """A registered lowering of an op class: a function `lower(op, rewriter)`, or a rewrite pattern."""

    op_class: type[Operation]
    defined: Callable[..., object]


LOWERINGS: Registry[str, Lowering] = Registry("a lowering of", changes_models=True)
"""The lowerings that plugins have registered, by the name of the op."""


def lower(op_class: type[Operation], *, to: str = "graph") -> Callable[[DecoratedT], DecoratedT]:
    """
    Register the lowering of an op of a plugin, for this process.

    It decorates a function `lower(op, rewriter)` that returns the values, or the ops, that replace the op's
    results, or a rewrite pattern on the op's class. Compilations run it after the passes of plugins.

    Raises: StepwellError `bad-plugin` for other objects and levels, `name-taken` for an op that has one.
    """

    known = cast("object", op_class)
    if not isinstance(known, type) or not issubclass(known, Operation) or not hasattr(known, "name"):
        message = f"@lower needs the class of an op, found {op_class!r}"
        raise StepwellError("bad-plugin", place_of(op_class), message, help="define the op by @op before")
    if is_upstream(op_class.name.partition(".")[0]):
        message = f"@lower is for ops of plugins, and {op_class.name} is none"
        help = "rewrite it by a pattern, in a pass of the plugin"
        raise StepwellError("bad-plugin", None, message, help=help)

    def decorate(decorated: DecoratedT) -> DecoratedT:
        if to not in LEVELS:
            message = f"@lower lowers {op_class.name} to the level {' or '.join(LEVELS)}, found {to!r}"
            raise StepwellError("bad-plugin", place_of(decorated), message)
        found: object = decorated
        is_pattern = isinstance(found, type) and issubclass(found, RewritePattern)
        if not is_pattern and (isinstance(found, type) or not callable(found)):
            message = f"@lower decorates a function or a rewrite pattern, found {decorated!r}"
            raise StepwellError("bad-plugin", place_of(decorated), message)
        LOWERINGS.add(op_class.name, Lowering(op_class, decorated), decorated)
        return decorated

    return decorate


def value_of(value: SSAValue) -> Array | None:
    """The array of a value that is a constant; None for any other value."""
    if not isinstance(value.owner, graph.ConstantOp):
        return None
    attr = value.owner.value
    return array_of(attr, running_weights() if isinstance(attr, WeightAttr) else WeightStore())


def constant(rewriter: PatternRewriter, value: npt.ArrayLike, like: SSAValue | None = None) -> SSAValue:
    """
    Insert a number or array as a constant; returns its value.

    Args: `like` is a value whose element type the constant has, by default that of the array.
    """
    array = np.asarray(value)
    if like is not None:
        array = _as_type_of(array, dtype_of(tensor_of(like).element_type))
    attr = inline_attr(array) if is_inline(array) else None
    made = graph.ConstantOp.of(array, running_weights()) if attr is None else graph.ConstantOp(attr)
    return rewriter.insert(made).result


def _as_type_of(array: Array, dtype: np.dtype[np.generic]) -> Array:
    """An array in another type; floats may round, integers may not."""
    with np.errstate(invalid="ignore", over="ignore"):
        made = array.astype(dtype)
    if made.dtype.kind in "biu" and not np.array_equal(made, array):
        raise StepwellError("type-mismatch", None, f"{array} is no constant of type {dtype.name}")
    return made


class Call:
    """
    A call of a function or pattern of a plugin for an op, with errors that name the plugin.

    Args: `title` is the op or operator for errors; `defined` is what the plugin registered.
    """

    def __init__(self, op: Operation, title: str, defined: object):
        self._op, self._title, self._defined = op, title, defined

    def error(self, what: str, help: str | None = None) -> StepwellError:
        """The error for a result that cannot replace the op."""
        return StepwellError("bad-lowering", self._op, f"{self._title}: {what}", note=self._note(), help=help)

    def _note(self) -> str:
        return f"its plugin lowers it by {described(self._defined)}"

    @contextmanager
    def running(self, rewriter: PatternRewriter) -> Generator[None]:
        """
        Diagnose exceptions of the plugin, and check its inserted ops.

        Raises: StepwellError.
        """
        made: list[Operation] = []
        rewriter.operation_insertion_handler.append(made.append)
        try:
            yield
        except StepwellError as error:
            if self._note() not in error.notes:
                error.at(self._op).with_note(self._note())
            raise
        except VerifyException as error:
            raise StepwellError(
                "invalid-model" if self._op.name.startswith("onnx.") else "invalid-ir",
                self._op,
                f"{self._title}: {error}",
                note=self._note(),
            ) from error
        except Exception as error:
            failed = plugin_error(error, self._op)
            if failed is None:  # its function cannot be called so
                failed = StepwellError("plugin-failed", self._op, f"{type(error).__name__}: {error}")
            raise failed.with_note(self._note()) from error
        finally:
            rewriter.operation_insertion_handler.remove(made.append)
        self._expect_known_level(made)

    def _expect_known_level(self, made: Sequence[Operation]) -> None:
        known = {graph.Graph.name, *plugged_in_dialects()}
        for op in (inner for root in made for inner in outside_formulas(root)):
            name = op.op_name.data if isinstance(op, UnregisteredOp) else op.name
            if name.partition(".")[0] not in known:
                what = f"the lowering builds {name}, which is neither of `graph` nor of a plugin"
                raise self.error(what, "build ops of `graph`: docs/dialects.md lists them")

    def results(self, returned: object, rewriter: PatternRewriter) -> list[SSAValue | None]:
        """
        The values that a function returned, after inserting ops of it that are in no block yet.

        Raises: StepwellError `bad-lowering`.
        """
        if returned is None:
            raise self.error("the lowering returns nothing", "return the values that replace the outputs")
        is_many = isinstance(returned, Sequence) and not isinstance(returned, str)
        items = cast("Sequence[object]", returned if is_many else [returned])
        values: list[SSAValue | None] = []
        for item in items:
            if isinstance(item, Operation):
                _insert(item, rewriter)
                values += item.results
            elif item is None or isinstance(item, SSAValue):
                value = cast("SSAValue | None", item)
                if value is not None and isinstance(value.owner, Operation):
                    _insert(value.owner, rewriter)
                values.append(value)
            else:
                raise self.error(f"the lowering returns {item!r}, expected values or ops")
        return values

    def expect_types(self, op: Operation, values: Sequence[SSAValue | None]) -> None:
        """Require what replaces the op to have the types of its results. Raises: as `results`."""
        for position, (value, result) in enumerate(zip(values, op.results, strict=True)):
            if op is self._op and value is not None:
                self.expect_type(position, value, result.type)

    def expect_type(self, position: int, value: SSAValue, declared: Attribute) -> None:
        """Require a result to have the declared type, as far as that is known. Raises: as `results`."""
        try:
            _expect_type(value, declared)
        except VerifyException:
            what = f"output {position} is declared as {declared}, and the lowering makes {value.type}"
            raise self.error(what) from None


def _expect_type(value: SSAValue, declared: Attribute) -> None:
    if value.type != declared and not isinstance(cast("object", declared), TensorType):
        raise VerifyException("")
    expect_type(value, declared)


def _insert(op: Operation, rewriter: PatternRewriter) -> None:
    """Insert an op without a block, after operands' ops without one."""
    waiting = [op]
    while waiting:
        last = waiting[-1]
        owners = [operand.owner for operand in last.operands]
        if needed := [o for o in owners if isinstance(o, Operation) and o.parent is None]:
            waiting += needed
            continue
        waiting.pop()
        if last.parent is None:
            rewriter.insert(last)
