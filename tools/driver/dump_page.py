"""The HTML page of a dumped compilation: a self-contained file, with links to the IR files in its folder."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from html import escape
from itertools import groupby
from typing import TYPE_CHECKING

from stepwell.tools.page import self_contained_page

if TYPE_CHECKING:
    from stepwell.tools.driver.dump import FusedGroup, Step

SHOWN_DIFF_LINES = 300


def page(
    title: str,
    steps: Sequence[Step],
    groups: Sequence[FusedGroup],
    remarks: Iterable[object],
    summary: Mapping[str, object],
) -> str:
    """The page as HTML: the summary, the passes by level, the kernels by kind, the remarks."""
    facts = ", ".join(f"{name}: {_shown(value)}" for name, value in summary.items())
    body = [f"<h1>{escape(title)}</h1>", f"<p>{escape(facts)}</p>"]
    body.append(
        '<p>The program as it came in: <a href="00-input.mlir">00-input.mlir</a>. As LLVM IR: '
        '<a href="llvm.ll">llvm.ll</a>; as machine code: <a href="assembly.s">assembly.s</a>. '
        "Passes that changed nothing are grey; a pass that another pass ran is listed above it, indented.</p>"
    )
    longest = max((step.milliseconds for step in steps), default=0.0)
    for level, some in groupby(steps, key=lambda step: step.level):
        body += [f"<h2>{escape(level)}</h2>", _passes(list(some), longest)]
    body += [f"<h2>{len(groups)} kernels, by kind</h2>", _groups(groups)]
    listed = Counter(str(remark) for remark in remarks)
    if listed:
        lines = "\n".join(
            f"{escape(text)}{f' ({times} times)' if times > 1 else ''}" for text, times in listed.items()
        )
        body.append(f"<h2>Remarks</h2><pre>{lines}</pre>")
    return self_contained_page(title, body)


def _passes(steps: Sequence[Step], longest: float) -> str:
    rows = [
        '<table><tr><th>pass</th><th class="n">ms</th><th></th><th class="n">ops</th><th>after it</th></tr>'
    ]
    for step in steps:
        width = round(120 * step.milliseconds / longest) if longest else 0
        links = "no change"
        if step.file is not None:
            stem = step.file.removesuffix(".mlir")
            links = f'<a href="{step.file}">{step.file}</a> <a href="{stem}.diff">diff</a>{_shown_diff(step)}'
        rows.append(
            f"<tr{'' if step.file is not None else ' class=same'}>"
            f'<td style="padding-left:{1.5 * step.depth}rem"><code>{escape(step.name)}</code></td>'
            f'<td class="n">{step.milliseconds:.1f}</td>'
            f'<td><span class="bar" style="width:{width}px"></span></td>'
            f'<td class="n">{step.ops_before} → {step.ops_after}</td><td>{links}</td></tr>'
        )
    total = sum(step.milliseconds for step in steps if step.depth == 0)
    rows.append(
        f'<tr><th>together</th><th class="n">{total:.1f}</th><th></th><th></th><th></th></tr></table>'
    )
    return "\n".join(rows)


def _shown_diff(step: Step) -> str:
    lines = step.diff.splitlines()
    if not lines:
        return ""
    shown = "\n".join(map(_coloured, lines[:SHOWN_DIFF_LINES]))
    rest = len(lines) - SHOWN_DIFF_LINES
    more = f"\n… {rest} more lines in the file" if rest > 0 else ""
    return f"<details><summary>{len(lines)} lines of changes</summary><pre>{shown}{more}</pre></details>"


def _coloured(line: str) -> str:
    tag = {"+": "ins", "-": "del"}.get(line[:1])
    return f"<{tag}>{escape(line)}</{tag}>" if tag else escape(line)


def _groups(groups: Sequence[FusedGroup]) -> str:
    rows = ['<table><tr><th class="n">#</th><th>kind</th><th>ops inside</th><th>nodes of the model</th></tr>']
    rows += [
        f'<tr><td class="n">{index}</td><td>{escape(group.kind)}</td>'
        f"<td><code>{escape(_counted(group.ops))}</code></td><td>{escape(', '.join(group.nodes))}</td></tr>"
        for index, group in enumerate(groups)
    ]
    return "\n".join(rows) + "</table>"


def _counted(names: Iterable[str]) -> str:
    """Names in order, with consecutive repetitions counted: `conv, relu × 2`."""
    runs = [(name, len(list(run))) for name, run in groupby(names)]
    return ", ".join(name if count == 1 else f"{name} × {count}" for name, count in runs)


def _shown(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {part}" for key, part in value.items())  # pyright: ignore[reportUnknownVariableType]
    return str(value)
