"""What is said of backends that raise, and of rows of their tables that do not match."""

from __future__ import annotations

import pytest

import stepwell
from stepwell.passes.context import PassContext
from stepwell.runtime.errors import StepwellError
from stepwell.tools.opt.explain_match import explain_match
from tests.patterns import elementwise
from tests.unit.runtime.test_backends import BrokenBackend, model
from tests.unit.runtime.test_backends import plugged_in as plugged_in


def test_what_a_backend_raises_on_made_up_sizes_is_a_remark(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BrokenBackend, "how", "hangs")
    with PassContext() as context:
        stepwell.compile(model(), backends=["broken"])
    said = [str(r) for r in context.remarks]
    assert any("'broken' raised on made-up inputs, N = 4: KeyError('device')" in text for text in said)
    assert not any("(pass" in text for text in said)


def test_why_a_row_of_a_table_does_not_match_is_explained() -> None:
    made = elementwise("r = tanh x")
    assert "(graph.matmul) fails at %x" in explain_match(made.module, "tanh@tanh.product", made.ctx)
    with pytest.raises(StepwellError, match="no pattern is named @tanh.produce"):
        explain_match(made.module, "tanh@tanh.produce", made.ctx)
