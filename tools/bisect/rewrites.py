"""The search for the rewrite of a pass that makes a module wrong."""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import ModuleOp

from stepwell.dialects._xdsl import StepwellContext
from stepwell.passes import PassContext, run_pipeline
from stepwell.passes.pass_limit import RewriteLimit
from stepwell.runtime.errors import StepwellError
from stepwell.tools.bisect.finding import Rewrite

IsWrong = Callable[[ModuleOp], bool]


def wrong_rewrite(before: ModuleOp, step: str, ctx: StepwellContext, is_wrong: IsWrong) -> Rewrite | None:
    """
    The first rewrite of a pass after which a module is wrong, by a binary search.

    Args: `before` is right, and wrong after the pass `step`.
    Returns: None where the pass makes no rewrites, or is wrong without them: it edits by hand.
    """
    name = step.partition("{")[0]
    whole, limit = _after(before, step, ctx, None)
    count = limit.counts[name]
    if not count or _is_wrong(before, step, ctx, 0, is_wrong) or not is_wrong(whole):
        return None
    right, wrong = 0, count
    while wrong - right > 1:
        middle = (right + wrong) // 2
        if _is_wrong(before, step, ctx, middle, is_wrong):
            wrong = middle
        else:
            right = middle
    record = next(record for record in limit.records if record.number == wrong)
    return Rewrite(record, count)


def _is_wrong(before: ModuleOp, step: str, ctx: StepwellContext, count: int, is_wrong: IsWrong) -> bool:
    """Whether a module is wrong after some rewrites of a pass, which may break without the others."""
    try:
        return is_wrong(_after(before, step, ctx, count)[0])
    except StepwellError:
        return False


def _after(
    before: ModuleOp, step: str, ctx: StepwellContext, count: int | None
) -> tuple[ModuleOp, RewriteLimit]:
    """A copy of a module after the first rewrites of a pass, with the records of these."""
    name = step.partition("{")[0]
    limit = RewriteLimit({} if count is None else {name: count}, recorded=[name])
    module = before.clone()
    with PassContext.current().watched_by([limit]):
        run_pipeline(module, step, ctx)
    return module, limit
