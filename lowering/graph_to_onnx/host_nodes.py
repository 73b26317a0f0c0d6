"""Calls of host functions as the patterns of their operators see them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import TypeAlias, cast

from xdsl.dialects.builtin import DenseArrayBase, DictionaryAttr, StringAttr, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from stepwell.dialects import onnx
from stepwell.lowering.graph_to_onnx.nodes import AttributeLike, insert_nodes
from stepwell.lowering.graph_to_onnx.support import OnnxExport

MICROSOFT = "com.microsoft"
OWN_OPSET = 1
"""The opset of a domain without operators of ONNX."""


@dataclass(frozen=True)
class HostNode:
    """A call of a numpy meaning: its operands by position, its keyword arguments, and the types to give."""

    function: str
    attributes: Mapping[str, object]
    operands: Sequence[SSAValue | None]
    types: Sequence[Attribute]
    rewriter: PatternRewriter
    export: OnnxExport

    def insert(
        self,
        op_class: type[onnx.OnnxOp],
        attributes: Mapping[str, object] = MappingProxyType({}),
        operands: Sequence[SSAValue | None] | None = None,
    ) -> Sequence[SSAValue]:
        """
        Insert an operator with the results of the call, on its operands unless others are given.

        Args: `attributes` are numbers, text and lists, as in a payload.
        """
        given = self.operands if operands is None else operands
        named = cast("Mapping[str, AttributeLike]", attributes)
        return insert_nodes(self.rewriter, op_class, given, self.types, **named)

    def insert_call(
        self, domain: str, op_type: str, attributes: Mapping[str, Attribute]
    ) -> Sequence[SSAValue]:
        """Insert an operator of another domain."""
        absent = [place for place, value in enumerate(self.operands) if value is None]
        made = onnx.CallOp.build(
            operands=[[value for value in self.operands if value is not None]],
            result_types=[self.types],
            regions=[[]],
            properties={
                "domain": StringAttr(domain),
                "op_type": StringAttr(op_type),
                "arguments": DictionaryAttr(dict(attributes)),
                **({"absent": DenseArrayBase.from_list(i64, absent)} if absent else {}),
            },
        )
        return self.rewriter.insert(made).results

    @property
    def first(self) -> SSAValue:
        """The first operand."""
        value = self.operands[0]
        assert value is not None
        return value

    def text(self, name: str) -> str:
        """A keyword argument that is text."""
        return str(self.attributes[name])

    def number(self, name: str) -> int:
        """A keyword argument that is an integer."""
        return cast(int, self.attributes[name])

    def list(self, name: str) -> Sequence[object]:
        """A keyword argument that is a list."""
        return cast("Sequence[object]", self.attributes[name])


HostForm: TypeAlias = Callable[[HostNode], Sequence[SSAValue]]
