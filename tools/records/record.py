"""Records of a tuning database: tasks, trials and plans."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from math import isfinite
from typing import Literal, TypeAlias, get_args

from stepwell.runtime.json_values import as_int, as_list, as_mapping, as_size, as_sizes, as_text

FORMAT = 1
"""The `v` of each line."""
MAX_LINE_BYTES = 64 << 10
MAX_SCRIPT_CHARS = 32 << 10
"""Longer scripts are recorded as lists of schedules, which are shorter; a line has room for either."""
LEAST_GAIN = 1.02
"""A record is used when the lower bound of its ratio exceeds this."""
Status: TypeAlias = Literal[
    "ok", "slower", "illegal", "build-error", "spills", "duplicate",
    "crash", "timeout", "wrong", "unwritten", "noisy", "stale",
]  # fmt: skip
STATUSES: tuple[str, ...] = get_args(Status)


@dataclass(frozen=True)
class TaskRecord:
    """A tuned kernel: text without schedules, work, and nodes."""

    task: str
    text: str
    flops: int = 0
    bytes: int = 0
    nodes: str = ""
    """The names of the model's nodes that it computes."""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keys of another version, which are kept."""
    cold: tuple[int, ...] = ()
    """The numbers of inputs that the model reads from memory, as its weights exceed the last-level cache."""

    def line(self) -> bytes:
        """The line of the file; a long text is left out."""
        head = {"v": FORMAT, "kind": "task", "task": self.task}
        rest: dict[str, object] = {"flops": self.flops, "bytes": self.bytes, "nodes": self.nodes}
        rest |= {"cold": list(self.cold)} if self.cold else {}
        rest |= self.more
        whole = _line({**head, "text": self.text, **rest})
        return whole if len(whole) <= MAX_LINE_BYTES else _line({**head, "text": "", **rest})


@dataclass(frozen=True)
class Trial:
    """
    A schedule of a kernel that was tried on a machine.

    `script` is the value of `sched.tuned`; `ratio` the chooser's time over this one's, with a 95 % interval.
    """

    task: str
    target: str
    machine: str
    threads: int
    script: str
    status: Status
    why: str = ""
    ratio: tuple[float, float, float] | None = None
    us: float = 0.0
    base_us: float = 0.0
    rounds: int = 0
    confirmed: bool = False
    exact: bool = False
    seed: int = 0
    number: int = 0
    code: str = ""
    stepwell: str = ""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keys of another version, which are kept."""

    @property
    def is_gain(self) -> bool:
        """Whether the schedule may be used: confirmed, and faster beyond noise."""
        return (
            self.status == "ok" and self.confirmed and self.ratio is not None and self.ratio[1] > LEAST_GAIN
        )

    @property
    def is_choice(self) -> bool:
        """Whether it is a choice of a template, which `tuning.build` uses, and no schedule of a kernel."""
        return self.script.startswith('{"')

    @property
    def low(self) -> float:
        """The lower bound of the ratio; 0 without one."""
        return self.ratio[1] if self.ratio is not None else 0.0

    def line(self) -> bytes:
        """The line of the file."""
        row: dict[str, object] = {"v": FORMAT, "kind": "trial", "task": self.task}
        row |= {"target": self.target, "machine": self.machine, "threads": self.threads}
        row |= {"seed": self.seed, "trial": self.number, "script": self.script, "status": self.status}
        if self.why:
            row["why"] = self.why
        if self.ratio is not None:
            row["ratio"] = [round(x, 4) for x in self.ratio]
            row |= {"us": round(self.us, 3), "base_us": round(self.base_us, 3), "rounds": self.rounds}
        row |= {"confirmed": self.confirmed, "exact": self.exact, "code": self.code}
        return _line({**row, "stepwell": self.stepwell, **self.more})


@dataclass(frozen=True)
class Plan:
    """Options of level 1 with which a whole model is faster."""

    graph: str
    target: str
    machine: str
    threads: int
    choices: Mapping[str, object]
    ratio: tuple[float, float, float]
    """The time of the model without them over that with them, with a 95 % interval."""
    stepwell: str = ""
    more: Mapping[str, object] = field(default_factory=dict[str, object])
    """Keys of another version, which are kept."""

    @property
    def is_gain(self) -> bool:
        """Whether the model is faster beyond noise."""
        return self.ratio[1] > 1.0

    def line(self) -> bytes:
        """The line of the file."""
        row: dict[str, object] = {"v": FORMAT, "kind": "plan", "graph": self.graph, "target": self.target}
        row |= {"machine": self.machine, "threads": self.threads, "choices": dict(self.choices)}
        row |= {"ratio": [round(x, 4) for x in self.ratio], "stepwell": self.stepwell}
        return _line({**row, **self.more})


Record: TypeAlias = TaskRecord | Trial | Plan


def _line(row: Mapping[str, object]) -> bytes:
    return json.dumps(row, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"


class UnknownRecord(Exception):
    """A line of another version or kind, which is skipped."""


def record_of(line: bytes) -> Record:
    """
    The record of a line.

    Raises: UnknownRecord; ValueError or TypeError with the reason for a line that is none.
    """
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line has at most {MAX_LINE_BYTES} bytes, found {len(line)}")
    try:
        row = dict(as_mapping(json.loads(line)))
    except RecursionError:
        raise ValueError("JSON is nested too deeply") from None
    except UnicodeDecodeError:
        raise ValueError("the line is not UTF-8") from None
    version, kind = row.pop("v", None), row.pop("kind", None)
    if version != FORMAT or kind not in ("task", "trial", "plan"):
        raise UnknownRecord(f"version {version!r:.20}, kind {kind!r:.20}")
    if kind == "task":
        return _task_of(row)
    return _trial_of(row) if kind == "trial" else _plan_of(row)


def _task_of(row: dict[str, object]) -> TaskRecord:
    return TaskRecord(
        task=as_text(row.pop("task", None)),
        text=as_text(row.pop("text", "")),
        flops=as_size(row.pop("flops", 0)),
        bytes=as_size(row.pop("bytes", 0)),
        nodes=as_text(row.pop("nodes", "")),
        cold=as_sizes(row.pop("cold", [])),
        more=row,
    )


def _trial_of(row: dict[str, object]) -> Trial:
    status = as_text(row.pop("status", None))
    if status not in STATUSES:
        raise ValueError(f"the status is one of {', '.join(STATUSES)}, found {status!r:.40}")
    ratio = row.pop("ratio", None)
    return Trial(
        task=as_text(row.pop("task", None)),
        target=as_text(row.pop("target", "")),
        machine=as_text(row.pop("machine", "")),
        threads=as_size(row.pop("threads", 1)),
        script=as_text(row.pop("script", None)),
        status=status,  # pyright: ignore[reportArgumentType]  # one of the names, see above
        why=as_text(row.pop("why", "")),
        ratio=None if ratio is None else _ratio(ratio),
        us=_number(row.pop("us", 0.0)),
        base_us=_number(row.pop("base_us", 0.0)),
        rounds=as_size(row.pop("rounds", 0)),
        confirmed=row.pop("confirmed", False) is True,
        exact=row.pop("exact", False) is True,
        seed=as_int(row.pop("seed", 0)),
        number=as_size(row.pop("trial", 0)),
        code=as_text(row.pop("code", "")),
        stepwell=as_text(row.pop("stepwell", "")),
        more=row,
    )


def _plan_of(row: dict[str, object]) -> Plan:
    return Plan(
        as_text(row.pop("graph", None)),
        as_text(row.pop("target", "")),
        as_text(row.pop("machine", "")),
        as_size(row.pop("threads", 1)),
        as_mapping(row.pop("choices", None)),
        _ratio(row.pop("ratio", None)),
        as_text(row.pop("stepwell", "")),
        row,
    )


def _ratio(value: object) -> tuple[float, float, float]:
    """A ratio with its interval. Raises: ValueError, TypeError."""
    median, low, high = map(_number, as_list(value, 3))
    if not 0 < low <= median <= high:
        raise ValueError(f"a ratio is [median, low, high], found {[median, low, high]}")
    return median, low, high


def _number(value: object) -> float:
    if type(value) not in (int, float) or not isfinite(number := float(value)) or number < 0:  # pyright: ignore
        raise ValueError(f"expected a number from 0 on, found {value!r:.40}")
    return number
