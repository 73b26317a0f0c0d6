"""The log: which messages a specification selects, and that the others cost nothing."""

from __future__ import annotations

import io
import json
import logging

import pytest

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.log import collecting, logger, logging_to, report, spec_data, use_spec_data
from stepwell.runtime.log.spec import Spec, read_spec
from stepwell.tools.driver.log_spec import named_passes

FUSE_OPS = "stepwell.passes.graph.fusion.fuse_ops"
GROUPS = "stepwell.passes.graph.fusion.groups"


def spec_of(*texts: str) -> Spec:
    return read_spec([("--log", text) for text in texts], named_passes())


@pytest.mark.parametrize(
    ("text", "logger", "running", "level"),
    [
        ("", FUSE_OPS, (), 0),
        ("2", FUSE_OPS, (), 2),
        ("DEFAULT=1", FUSE_OPS, (), 1),
        ("passes/graph=2", FUSE_OPS, (), 2),
        ("passes.graph=2", FUSE_OPS, (), 2),
        ("passes/graph/fuse_ops=2", FUSE_OPS, (), 2),  # what is between may be left out
        ("fusion=2", FUSE_OPS, (), 2),
        ("passes/graph/fuse_ops=2", GROUPS, (), 0),
        ("graph/fusion=1,passes=3", FUSE_OPS, (), 1),  # most parts win, whatever the order
        ("passes=3,graph/fusion=1", FUSE_OPS, (), 1),
        ("fuse-ops=2", FUSE_OPS, (), 0),  # a pass is meant while it runs
        ("fuse-ops=2", GROUPS, ("fuse-ops",), 2),
        ("FuseOps=2", GROUPS, ("fuse-ops",), 2),
        ("fuse-ops=2", FUSE_OPS, ("inline",), 0),
        ("passes/graph=0,fuse-ops=2", GROUPS, ("fuse-ops",), 2),
        ("passes/graph/fusion/groups=3,fuse-ops=1", GROUPS, ("fuse-ops",), 1),
        ("canonicalize=2", "xdsl.transforms.canonicalize", ("canonicalize",), 2),
    ],
)
def test_levels(text: str, logger: str, running: tuple[str, ...], level: int) -> None:
    assert spec_of(text).limit(logger, running) == level


def test_a_later_text_wins_by_entry() -> None:
    spec = spec_of("fuse-ops=2,inline=1,DEFAULT=1", "inline=3")
    assert [spec.limit(FUSE_OPS, (step,)) for step in ("fuse-ops", "inline", "cse")] == [2, 3, 1]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("passes/graph/fuse_op=1", "no module passes/graph/fuse_op; nearest: passes/graph/fusion/fuse_ops"),
        ("fuse-op=1", "no pass or module fuse-op; nearest: fuse-ops"),
        ("fuse-ops", "expected NAME=LEVEL, with a level from 0 to 3, found 'fuse-ops'"),
        ("fuse-ops=4", "expected NAME=LEVEL, with a level from 0 to 3, found 'fuse-ops=4'"),
        ("fuse-ops=-1", "expected NAME=LEVEL, with a level from 0 to 3, found 'fuse-ops=-1'"),
        ("=1", "no pass or module ; nearest: "),
    ],
)
def test_errors(text: str, message: str) -> None:
    with pytest.raises(StepwellError) as caught:
        spec_of(text)
    assert caught.value.code == "bad-option" and caught.value.where == "--log"
    assert caught.value.message.startswith(message)


class _Unprintable:
    def __format__(self, spec: str) -> str:
        raise AssertionError("formatted although the level is off")


def test_only_what_is_selected_is_formatted() -> None:
    log, stream = logger(FUSE_OPS), io.StringIO()
    with logging_to(spec_of("passes/graph=1"), stream):
        log(2, "{}", _Unprintable())
        log(1, "{} kernels", 3)
        logger("stepwell.tools.cli")(1, "{}", _Unprintable())
    log(1, "{}", _Unprintable())
    assert stream.getvalue().partition(" ")[2] == "1 passes/graph/fusion/fuse_ops: 3 kernels\n"


def test_lines_of_json() -> None:
    stream = io.StringIO()
    with logging_to(spec_of("2"), stream, as_json=True):
        logger(GROUPS)(2, "grouped", node='m.onnx: node "a"')
    record = json.loads(stream.getvalue())
    assert record.pop("time") > 1.7e9
    assert record == {
        "level": 2,
        "module": "passes/graph/fusion/groups",
        "pass": "",
        "node": 'm.onnx: node "a"',
        "message": "grouped",
    }


def test_applications_route_it(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, "stepwell.passes.graph"):
        logger(FUSE_OPS)(1, "decided")
        logger(FUSE_OPS)(2, "{}", _Unprintable())
        logger("stepwell.tools.cli")(1, "{}", _Unprintable())
    (record,) = caplog.records
    assert (record.name, record.levelname, record.getMessage()) == (FUSE_OPS, "INFO", "decided")


def test_a_specification_gets_to_other_processes_and_messages_back() -> None:
    stream = io.StringIO()
    with logging_to(spec_of("passes/graph=2,fuse-ops=1,DEFAULT=1"), stream):
        data = json.loads(json.dumps(spec_data()))
        with collecting() as messages:
            logger(GROUPS)(2, "from there")
        assert not stream.getvalue()
        report(messages)
        assert stream.getvalue().endswith(": from there\n")
        use_spec_data(data)
        assert spec_data() == [1, *spec_of("passes/graph=2,fuse-ops=1").entries]
