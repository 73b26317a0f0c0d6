"""The mutants of a run: drawn evenly over folders, and in a folder over operators, by a seed."""

from __future__ import annotations

import ast
import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from difflib import unified_diff
from itertools import count
from pathlib import PurePosixPath

from tests.mutants.operators import Mutation, mutations
from tests.support.imports import ROOT


@dataclass(frozen=True, order=True)
class Mutant:
    """A fault in a file, which is relative to the root, with the text that the file had when it was drawn."""

    file: str
    mutation: Mutation
    source: str = field(compare=False, repr=False)

    @property
    def name(self) -> str:
        """The file, the line and the kind of the fault."""
        return f"{self.file}:{self.mutation.line}: {self.mutation.operator}"

    @property
    def key(self) -> str:
        """The fault as text without its position, which another change of the file moves."""
        removed, added = ("\n".join(lines) for lines in changed_lines(self))
        return f"{self.file}\n{removed}\n{added}"

    def text(self) -> str:
        """The file with the fault."""
        return self.mutation.apply(self.source)

    def diff(self) -> str:
        """The fault as a diff without context."""
        removed, added = changed_lines(self)
        return "\n".join([*(f"- {line}" for line in removed), *(f"+ {line}" for line in added)])


def changed_lines(mutant: Mutant) -> tuple[list[str], list[str]]:
    """The lines that a fault removes, and those that it adds, without indentation."""
    old, new = mutant.source.splitlines(), mutant.text().splitlines()
    changes = [
        line for line in unified_diff(old, new, n=0, lineterm="") if not line.startswith(("---", "+++", "@"))
    ]
    removed = [line[1:].strip() for line in changes if line.startswith("-")]
    return removed, [line[1:].strip() for line in changes if line.startswith("+")]


def draw(files: Sequence[str], size: int, seed: int) -> list[Mutant]:
    """
    Mutants in an order in which each beginning is even over the folders of the files.

    A folder's first ones are of an operator each; two mutants are never of one line.
    """
    chance = random.Random(seed)
    folders: dict[str, list[str]] = {}
    for file in sorted(files):
        folders.setdefault(PurePosixPath(file).parent.as_posix(), []).append(file)
    drawn = [_drawn_from(names, f"{seed} {folder}") for folder, names in folders.items()]
    chance.shuffle(drawn)
    found: list[Mutant] = []
    while drawn and len(found) < size:
        for source in list(drawn):
            if (mutant := next(source, None)) is None:
                drawn.remove(source)
            else:
                found.append(mutant)
    return found[:size]


def _drawn_from(files: Sequence[str], seed: str) -> Iterator[Mutant]:
    """All mutants of some files, by operators in turn; a change of a line leaves the order of the others."""
    ranked: dict[str, list[tuple[float, Mutant]]] = {}
    for file in files:
        text = (ROOT / file).read_text(encoding="utf-8")
        lines_of_file = text.splitlines()
        for mutation in mutations(text):
            about = f"{seed} {file} {lines_of_file[mutation.line - 1].strip()} {mutation.text}"
            found = ranked.setdefault(mutation.operator, [])
            found.append((random.Random(about).random(), Mutant(file, mutation, text)))
    by_operator = {operator: [m for _, m in sorted(found)] for operator, found in ranked.items()}
    lines: set[tuple[str, int]] = set()
    for turn in count():
        order = [operator for operator, waiting in by_operator.items() if waiting]
        if not order:
            return
        for operator in random.Random(f"{seed} {turn}").sample(sorted(order), len(order)):
            mutant = by_operator[operator].pop()
            line = (mutant.file, mutant.mutation.line)
            if line not in lines and _parses(mutant.text()):
                lines.add(line)
                yield mutant


def _parses(text: str) -> bool:
    try:
        ast.parse(text)
    except SyntaxError:
        return False
    return True
