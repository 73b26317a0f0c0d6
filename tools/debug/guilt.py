"""The pass run at fault for a departure, by the search of `bisect` at the levels in question."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.tools.check.rows import LEVELS
from stepwell.tools.debug.compare import Comparison
from stepwell.tools.debug.session import DebugSession

_GRAPH = "graph"


def with_guilt(
    session: DebugSession, comparison: Comparison, options: list[str], inputs: list[str]
) -> Comparison:
    """
    A comparison whose departure has the pass run that makes the model wrong, where a single one does.

    Args: `options` and `inputs` are words of the command line, for the commands that show it.
    """
    path, first = session.source, comparison.first
    if first is None or first.is_rounding or not isinstance(path, str | Path):
        return comparison
    from stepwell.tools.bisect.replay import Replay
    from stepwell.tools.bisect.search import Search

    levels = [level for level in LEVELS if (level == _GRAPH) == first.is_of_graph]
    search = Search(Path(path), replace(session.options, keep_values=False), levels)
    try:
        finding = search.run(session.recorded.feeds, comparison.wanted)
    except StepwellError:  # the interpreter cannot run the program
        return comparison
    if finding is None:
        return comparison
    finding = Replay(Path(path), options, inputs).of(finding, search.kernel, search.compilation.ctx)
    return replace(comparison, first=replace(first, guilty=finding))
