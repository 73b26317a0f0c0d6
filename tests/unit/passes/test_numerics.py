"""What passes may do to the digits, and that the default pipelines keep to it."""

from __future__ import annotations

import pytest

from stepwell.passes import Pass, parse_passes
from stepwell.passes.base import Numerics
from stepwell.passes.registry import PASSES, load_pass
from stepwell.runtime.machine.target import host_target
from tests.support.pipelines import graph_pipeline

GRAPH_PASSES = [name for name, entry in PASSES.items() if ".passes.graph." in entry.place]


@pytest.mark.parametrize("name", GRAPH_PASSES)
def test_what_is_not_exact_runs_at_higher_levels_only(name: str) -> None:
    """`test_translation_validation` holds each pass to its class, on its FileCheck inputs."""
    pass_class = load_pass(name)
    assert issubclass(pass_class, Pass)
    assert pass_class.numerics is Numerics.EXACT or pass_class.opt_level >= 1


@pytest.mark.parametrize("opt_level", range(4))
def test_default_pipelines_keep_to_their_class(opt_level: int) -> None:
    allowed = [Numerics.EXACT] if opt_level == 0 else [Numerics.EXACT, Numerics.ROUNDING, Numerics.QUANTIZED]
    for step in parse_passes(graph_pipeline(opt_level, host_target())):
        assert isinstance(step, Pass)
        assert step.numerics in allowed, step.name
