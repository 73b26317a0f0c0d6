"""
Operators of other domains, which plugins bring: formal inputs and attributes, result types, lowering.

The nodes of such operators are `onnx.Call` ops; `convert-onnx-to-graph` looks them up here.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib import import_module
from typing import NamedTuple, TypeAlias, TypeVar

from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.irdl import IRDLOperation
from xdsl.pattern_rewriter import PatternRewriter, RewritePattern

from stepwell.dialects.attributes import AttributeLike
from stepwell.dialects.onnx.base import PREFIXES, opset_of
from stepwell.dialects.onnx.structure import CallOp
from stepwell.dialects.onnx.versions import VERSIONS
from stepwell.dialects.plugins.formal import Formal, formal_of_function, formal_of_op
from stepwell.dialects.plugins.ops import built
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.packages import entry_points
from stepwell.runtime.plugins import INSTALLED, Registry, loading, place_of

Lowering: TypeAlias = Callable[..., object]
"""`lower(rewriter, *inputs, **attributes)`: inserts ops, returns the values of a node's outputs."""
Types: TypeAlias = Callable[..., Attribute | Sequence[Attribute]]
"""`types(*inputs, **attributes)`: the types of a node's outputs."""
Reference: TypeAlias = Callable[..., object]
"""`reference(*arrays, **attributes)`: the outputs in numpy, which `stepwell run --check` compares with."""
DecoratedT = TypeVar("DecoratedT", bound=Callable[..., object])

ENTRY_POINTS = "stepwell.operators"
"""The entry point group by which other packages add operators: the domain = the module that has them."""


class OperatorName(NamedTuple):
    """The name of an operator, with the first opset of the domain where the operator is meant."""

    domain: str
    name: str
    since: int = 1

    def __str__(self) -> str:
        return f"{self.domain}.{self.name}" + (f" since opset {self.since}" if self.since > 1 else "")


@dataclass(frozen=True)
class Operator:
    """An operator of a plugin."""

    name: OperatorName
    defined: object
    """The function or class that the plugin registered."""
    formal: Formal | None
    """What a node must have; None where a pattern of the plugin's checks it."""
    types: Types | None
    """The declared result types; None for those that the lowering makes."""
    lower: Lowering | None
    pattern: type[RewritePattern] | None = None
    """The pattern on `onnx.Call` that lowers the operator, in place of `lower`."""
    reference: Reference | None = None


OPERATORS: Registry[OperatorName, Operator] = Registry("an operator named", changes_models=True)
"""The operators that plugins have registered."""


def onnx_op(
    domain: str, name: str, *, types: Types | None = None, reference: Reference | None = None, since: int = 1
) -> Callable[[DecoratedT], DecoratedT]:
    """
    Register the lowering of an operator of another ONNX domain, for this process.

    It decorates one of three things. For a function `lower(rewriter, *inputs, **attributes)`, positional
    parameters are a node's inputs (optional ones with the default None), keyword-only parameters its
    attributes. For an op class of a plugin, the op's operands and attributes are the node's. A rewrite
    pattern on `onnx.Call` gets the operator's nodes unchanged.

    Args: `types(*inputs, **attributes)` gives the result types, by default those of the ops that the function
    returns, or of the op's `infer`; `reference(*arrays, **attributes)` gives the outputs in numpy, for
    `--check`; `since` is the first opset of the domain with this meaning.
    Raises: StepwellError `bad-plugin` for another object, `name-taken`.
    """

    def decorate(decorated: DecoratedT) -> DecoratedT:
        key = _free_name(domain, name, since, decorated)
        operator = replace(_operator(key, decorated, types), reference=reference)
        OPERATORS.add(key, operator, decorated)
        return decorated

    return decorate


def _operator(key: OperatorName, decorated: Callable[..., object], types: Types | None) -> Operator:
    """The operator that a decorated object defines. Raises: StepwellError `bad-plugin`."""
    found: object = decorated
    if isinstance(found, type) and issubclass(found, RewritePattern):
        if types is not None:
            message = f"the pattern {found.__name__} gives its results their types: declare none"
            raise StepwellError("bad-plugin", place_of(decorated), message)
        return Operator(key, found, None, types, None, found)
    if isinstance(found, type) and issubclass(found, IRDLOperation):
        return Operator(key, found, formal_of_op(found), types, _builder(found, types))
    if callable(decorated) and not isinstance(found, type):
        return Operator(key, decorated, formal_of_function(decorated), types, decorated)
    message = f"@onnx_op decorates a function, an op class or a rewrite pattern, found {decorated!r}"
    raise StepwellError("bad-plugin", place_of(decorated), message)


def _builder(op_class: type[IRDLOperation], types: Types | None) -> Lowering:
    """
    The lowering of an operator to one op, whose operands and attributes are the node's.

    It raises VerifyException for a node that the op's definition does not allow.
    """

    def lower(
        rewriter: PatternRewriter, /, *inputs: SSAValue | None, **attributes: AttributeLike
    ) -> IRDLOperation:
        declared = () if types is None else as_sequence(types(*inputs, **attributes))
        made = built(op_class, inputs, attributes, declared)
        made.verify_()
        return rewriter.insert(made)

    return lower


def as_sequence(types: Attribute | Sequence[Attribute]) -> Sequence[Attribute]:
    """Types as a sequence, a single one too."""
    return (types,) if isinstance(types, Attribute) else types


def _free_name(domain: object, name: object, since: object, decorated: object) -> OperatorName:
    """The name of an operator that ONNX does not have. Raises: StepwellError `bad-plugin`, `name-taken`."""
    if not isinstance(domain, str) or not isinstance(name, str) or not isinstance(since, int) or since < 1:
        found = f"found {domain!r}, {name!r}, since={since!r}"
        message = f"@onnx_op has a domain and a name as text, and an opset from 1 on, {found}"
        raise StepwellError("bad-plugin", place_of(decorated), message)
    key = OperatorName(_plain(domain), name, since)
    if key.domain in PREFIXES and PREFIXES[key.domain] + key.name in VERSIONS:
        message = f"{key.name} is an operator of ONNX, which has its conversion already"
        help = "rewrite its graph ops by a pattern, or give the operator a domain of your own"
        raise StepwellError("name-taken", place_of(decorated), message, help=help)
    return key


def operator_of(call: Operation) -> Operator | None:
    """
    The operator of a plugin that a node is, at its opset; None for others.

    Raises: StepwellError `unknown-opset` for an operator of later opsets only, `bad-plugin`.
    """
    if not isinstance(call, CallOp):
        return None
    domain, name = call.domain.data, call.op_type.data
    _import_installed(domain)
    if not (known := _versions(domain, name)):
        return None
    opset = opset_of(call, domain)
    if (found := operator_at(domain, name, opset)) is None:
        message = f"{call.title} does not exist in opset {opset} of the domain {domain}"
        raise StepwellError("unknown-opset", call, message, note=f"it exists from opset {min(known)} on")
    return found


def operator_at(domain: str, name: str, opset: int) -> Operator | None:
    """The operator of a name at an opset of its domain; None for one that no plugin has registered."""
    newest = max((since for since in _versions(domain, name) if since <= opset), default=None)
    return None if newest is None else OPERATORS.get(OperatorName(_plain(domain), name, newest))


def _versions(domain: str, name: str) -> list[int]:
    return [key.since for key in OPERATORS if (key.domain, key.name) == (_plain(domain), name)]


def _plain(domain: str) -> str:
    """The domain under its shorter name."""
    return "" if domain == "ai.onnx" else domain


def _import_installed(domain: str) -> None:
    """Import the module of an installed package that registers the operators of a domain, if there is one."""
    if (place := _installed_modules().get(domain)) is None or place in sys.modules:
        return
    try:
        with loading():
            module = import_module(place)
    except Exception as error:
        note = f"an installed package adds operators of {domain} by an entry point of group {ENTRY_POINTS}"
        raise StepwellError("bad-plugin", place, f"{type(error).__name__}: {error}", note=note) from error
    INSTALLED.add(module.__file__ or place)


@cache
def _installed_modules() -> dict[str, str]:
    return {point.name: point.module for point in entry_points(ENTRY_POINTS)}
