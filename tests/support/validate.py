"""Validation of pipelines in tests: rows that differ or failed are assertion errors."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from stepwell.dialects._xdsl import StepwellContext
from stepwell.dialects.parser import parse_module
from stepwell.passes import parse_passes, run_pipeline
from stepwell.passes.base import Numerics
from stepwell.runtime.meaning import Array
from stepwell.tools.check.rows import Row, Status, is_right, table_of
from stepwell.tools.check.validation import Validate, known_functions, numerics_of, validated_pipeline


def run_before_after(
    text: str,
    pipeline: str,
    inputs: Mapping[str, Sequence[Array]] | None = None,
    symbols: Mapping[str, int] | None = None,
) -> list[str]:
    """
    Run a pipeline on a module, and its functions before and after each pass.

    Returns: the names of the functions that ran; one that the interpreter cannot run before is left out.
    Raises: AssertionError when a result differs.
    """
    validation = Validation(text, inputs, symbols)
    rows = validated_pipeline(validation.module, pipeline, validation.ctx, validation.instrument)
    return _names(rows or validation.instrument.judge(validation.module, "", Numerics.EXACT))


class Validation:
    """
    A module on which pipelines run one after another; all functions are compared after each pipeline.

    Args: `inputs` by function name; others are made up, with `symbols` as sizes of dynamic dimensions.
    """

    def __init__(
        self,
        text: str,
        inputs: Mapping[str, Sequence[Array]] | None = None,
        symbols: Mapping[str, int] | None = None,
    ):
        self.ctx = StepwellContext()
        self.module = parse_module(self.ctx, text)
        known, unknown = known_functions(self.module, self.ctx, inputs, symbols)
        assert not (inputs or {}).keys() & {row.kernel for row in unknown}, table_of(unknown)
        self.instrument = Validate(self.ctx, known, full=True)

    def run(self, pipeline: str) -> list[str]:
        """As `run_before_after`, with results as good as the loosest class of the passes promises."""
        numerics = Numerics.EXACT.or_more(*map(numerics_of, parse_passes(pipeline)))
        run_pipeline(self.module, pipeline, self.ctx)
        return _names(self.instrument.judge(self.module, pipeline, numerics))


def _names(rows: Sequence[Row]) -> list[str]:
    """The functions that ran after the last pass that changed something. Raises: AssertionError."""
    ours = [row for row in rows if not row.note.startswith("unsupported-op")]
    assert is_right(rows) and len(ours) == len(rows), table_of(rows)
    ran = {str(row.kernel): row.status is Status.RIGHT for row in rows if row.status is not Status.SAME}
    return sorted(name for name, right in ran.items() if right)
