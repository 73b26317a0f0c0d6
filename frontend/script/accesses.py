"""Numbers of accesses in scripts, by which messages at run time name them."""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.builtin import FileLineColLoc, IntAttr, StringAttr

from stepwell.frontend.te.expressions import Read


class Accesses:
    """The accesses of a script that are not provably inside, numbered from 1 on."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}

    def number_of(self, access: Read) -> int:
        """The number of an access, by text and place."""
        return self._numbers.setdefault((str(access), access.where), len(self._numbers) + 1)

    def rows(self) -> Iterator[tuple[int, str, FileLineColLoc]]:
        """Each number with the text and the place of its access."""
        for (text, where), number in self._numbers.items():
            file, line, column = where.rsplit(":", 2)
            yield number, text, FileLineColLoc(StringAttr(file), IntAttr(int(line)), IntAttr(int(column)))
