"""The options of `stepwell tune` about databases: show, check, merge, prune, export, suggest."""

from __future__ import annotations

import sys
from argparse import ArgumentParser, Namespace
from collections.abc import Callable, Mapping
from dataclasses import asdict
from pathlib import Path

from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.whole_files import check_place, write_text
from stepwell.tools.records.database import (
    Database,
    best_of,
    file_bytes,
    live_trials,
    merged,
    parsed,
    pruned,
    write_records,
)
from stepwell.tools.records.record import Trial
from stepwell.tools.report import shortened, table_text

_WHERE = "stepwell tune"
_NAME_CHARS = 40


def add_database_arguments(parser: ArgumentParser) -> None:
    """Add the options that work on databases instead of a model."""
    group = parser.add_argument_group("databases", "in place of MODEL")
    group.add_argument("--show", type=Path, metavar="DB", help="print the best record of each kernel")
    group.add_argument("--check", type=Path, metavar="DB", help="measure its records again, mark stale ones")
    group.add_argument("--merge", type=Path, nargs="+", metavar="DB", help="write several as one, to -o")
    group.add_argument("--prune", type=Path, metavar="DB", help="keep only what compilations use")
    group.add_argument("--export", type=Path, metavar="DB", help="write the best schedules as text, to -o")
    group.add_argument("--suggest", type=Path, metavar="DB", help="what wins in most kernels of a kind")
    parser.add_argument("-o", "--output", type=Path, metavar="FILE", help="of --merge and --export")


def chosen_work(args: Namespace) -> Callable[[Namespace], int] | None:
    """The work on databases that the arguments ask for; None for none. Raises: StepwellError `bad-usage`."""
    asked = [name for name in _WORK if getattr(args, name) is not None]
    if len(asked) + (args.model is not None) > 1:
        names = ", ".join(f"--{name}" for name in asked)
        raise StepwellError("bad-usage", _WHERE, f"{names}: one of them at a time, and without a MODEL")
    if asked and asked[0] in ("merge", "export") and args.output is None:
        raise StepwellError("bad-usage", _WHERE, f"--{asked[0]} writes a file", help="name it: -o FILE")
    return _WORK[asked[0]] if asked else None


def _best(trials: list[Trial]) -> dict[tuple[str, str, int], Trial]:
    """The best trial of each task, machine and number of threads."""
    groups: dict[tuple[str, str, int], list[Trial]] = {}
    for trial in live_trials(trials):
        groups.setdefault((trial.task, trial.machine, trial.threads), []).append(trial)
    return {key: best for key, group in groups.items() if (best := best_of(group)) is not None}


def _show(args: Namespace) -> int:
    content = parsed(args.show, file_bytes(args.show))
    content.warn(args.show)
    best, tried = _best(content.trials), len(live_trials(content.trials))
    args.facts |= {
        "tasks": len(content.tasks),
        "trials": tried,
        "best": [asdict(trial) for trial in best.values()],
        "bad": content.bad,
        "unknown": content.unknown,
    }
    names = (shortened(_name(content.tasks, trial), _NAME_CHARS) for trial in best.values())
    rows = [
        [name, trial.machine, str(trial.threads), _ratio(trial)]
        for name, trial in zip(names, best.values(), strict=True)
    ]
    if rows:
        print(table_text(["kernel", "machine", "threads", "gain"], rows))
    print(f"{len(content.tasks)} kernels, {tried} trials, {len(rows)} gains that are used")
    return 0


def _name(tasks: Mapping[str, object], trial: Trial) -> str:
    nodes = getattr(tasks.get(trial.task), "nodes", "")
    return nodes or trial.task[:8]


def _ratio(trial: Trial) -> str:
    return "-" if trial.ratio is None else "{:.2f} ({:.2f}-{:.2f})".format(*trial.ratio)


def _check(args: Namespace) -> int:
    from stepwell.tools.tuning.fleet import LocalRunner
    from stepwell.tools.tuning.recheck import recheck, rows_of

    file_bytes(args.check)
    runner = LocalRunner()
    try:
        found = recheck(Database(args.check), runner)
    finally:
        runner.close()
    if found:
        print(table_text(["kernel", "before", "now", "verdict"], rows_of(found)))
    holding = sum(row.holds for row in found)
    args.facts |= {"checked": [asdict(row) for row in found], "holding": holding}
    print(f"{holding} of {len(found)} records of this machine hold")
    return 0


def _merge(args: Namespace) -> int:
    check_place(args.output)
    contents = [parsed(path, file_bytes(path)) for path in args.merge]
    for path, content in zip(args.merge, contents, strict=True):
        content.warn(path)
    records = merged(contents)
    write_records(args.output, records)
    args.facts |= {"records": len(records), "output": args.output}
    print(f"wrote {len(records)} records to {args.output}", file=sys.stderr)
    return 0


def _prune(args: Namespace) -> int:
    content = parsed(args.prune, file_bytes(args.prune))
    content.warn(args.prune)
    records = pruned(content)
    write_records(args.prune, records)
    args.facts |= {"records": len(records)}
    print(f"kept {len(records)} records of {len(content.trials) + len(content.tasks)}", file=sys.stderr)
    return 0


def _export(args: Namespace) -> int:
    check_place(args.output)
    content = parsed(args.export, file_bytes(args.export))
    content.warn(args.export)
    best = list(_best(content.trials).values())
    texts: list[str] = []
    for number, trial in enumerate(best):
        place = f"on {trial.machine}, {trial.threads} threads"
        texts.append(
            f"// {_name(content.tasks, trial)}: {_ratio(trial)} {place}\n{_exported(trial, number)}\n"
        )
    write_text(args.output, "\n".join(texts))
    args.facts |= {"schedules": len(texts), "output": args.output}
    print(f"wrote {len(texts)} schedules to {args.output}", file=sys.stderr)
    return 0


def _exported(trial: Trial, number: int) -> str:
    """A schedule as a script for its kernel, which `--schedules` finds by the digest; others as comments."""
    from stepwell.dialects.sched_attributes import is_script

    if is_script(trial.script):
        body = trial.script.partition(" {")[2]
        return f'sched.script @tuned_{number} for "{trial.task}" {{{body}'
    key = "choice" if trial.is_choice else "sched.tuned"
    return f"// task {trial.task}\n// {key} = {trial.script}"


def _suggest(args: Namespace) -> int:
    from stepwell.tools.tuning.fleet import LocalRunner
    from stepwell.tools.tuning.suggest import LEAST_TASKS, suggestions

    content = parsed(args.suggest, file_bytes(args.suggest))
    content.warn(args.suggest)
    runner = LocalRunner()
    try:
        found = suggestions(content, runner)
    finally:
        runner.close()
    args.facts["suggestions"] = [{**asdict(each), "is_rule": each.is_rule} for each in found]
    rules = [each for each in found if each.is_rule]
    for each in rules:
        print(each)
    if not rules:
        print(f"no decision wins in most of at least {LEAST_TASKS} kernels of a kind")
    for each in found:
        if not each.is_rule:
            print(f"  {each}")
    return 0


_WORK: Mapping[str, Callable[[Namespace], int]] = {
    "show": _show,
    "check": _check,
    "merge": _merge,
    "prune": _prune,
    "export": _export,
    "suggest": _suggest,
}
