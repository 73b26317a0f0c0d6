"""Printed IR with the line of each op."""

from __future__ import annotations

from xdsl.dialects.builtin import StringAttr

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.dialects.printed_lines import AttributeTexts, printed_lines

TEXT = """builtin.module {
  func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
    %y = graph.relu %x : tensor<4xf32> -> tensor<4xf32>
    func.return %y : tensor<4xf32>
  }
}
"""


def test_each_op_begins_on_its_line() -> None:
    text, lines = printed_lines(parse_module(StepwellContext(), TEXT))
    assert text == TEXT
    assert {op.name: line for op, line in lines.items()} == {
        "builtin.module": 1, "func.func": 2, "graph.relu": 3, "func.return": 4
    }  # fmt: skip


def test_versions_of_a_program_share_the_texts_of_attributes() -> None:
    module = parse_module(StepwellContext(), TEXT)
    texts: AttributeTexts = {}
    first = printed_lines(module, texts)
    assert texts and first == printed_lines(module, texts)
    relu = next(op for op in module.walk() if op.name == "graph.relu")
    relu.attributes["note"] = StringAttr("a line\nand another")
    assert printed_lines(module, texts) == printed_lines(module)
