"""Webs: live ranges of the elements of a buffer, from an overwriting instruction to the last access."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from stepwell.lowering.backends.npu.accesses import Access

Numbers = npt.NDArray[np.int64]


@dataclass
class Webs:
    """
    The webs of a buffer, found access by access in the order of a program.

    Elements that an operand accesses together belong to one web, since an instruction has one first element
    for them. A web that reuses the elements of an earlier web is one generation later.

    Source: live ranges of variables in register allocation (Chaitin, 1982).
    """

    size: int
    generations: list[int] = field(default_factory=lambda: [0])
    """By number of a web; 0 is the web of what was there before the program."""

    def __post_init__(self) -> None:
        self._parents = [0]
        self._now = np.zeros(self.size, np.int64)

    def note(self, access: Access) -> list[int]:
        """The web of each row of an access."""
        rows = access.elements
        if access.overwrites:
            return [self._begin(np.unique(row)) for row in rows]
        found = self._now[rows]
        is_whole = (found == found[:, :1]).all(1)
        return [
            web if whole else self._join(row)
            for web, whole, row in zip(found[:, 0].tolist(), is_whole, found, strict=True)
        ]

    def generation(self, web: int) -> int:
        """The length of the chain of earlier webs with elements of a web."""
        return self.generations[self._root(web)]

    def _begin(self, elements: Numbers) -> int:
        earlier = {self._root(web) for web in np.unique(self._now[elements]).tolist()} - {0}
        web = len(self._parents)
        self._parents.append(web)
        self.generations.append(max((self.generations[each] + 1 for each in earlier), default=0))
        self._now[elements] = web
        return web

    def _join(self, found: Numbers) -> int:
        """Make one web of several."""
        roots = sorted({self._root(web) for web in np.unique(found).tolist()})
        for root in roots[1:]:
            self._parents[root] = roots[0]
        return roots[0]

    def _root(self, web: int) -> int:
        while (parent := self._parents[web]) != web:
            web = parent
        return web
