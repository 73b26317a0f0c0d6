"""Names of values in source text: the IR's names, made unique and different from the language's keywords."""

from __future__ import annotations

import re

from xdsl.ir import SSAValue


class Names:
    """The names of one kernel."""

    def __init__(self, reserved: frozenset[str]):
        self._taken = set(reserved)

    def reserve(self, name: str) -> None:
        """Keep a name from values."""
        self._taken.add(name)

    def of(self, value: SSAValue) -> str:
        """A name for a value, after its name in the IR."""
        return self.fresh(value.name_hint or "v")

    def fresh(self, wanted: str) -> str:
        """A name that is not taken, like another one."""
        base = re.sub(r"\W", "_", wanted, flags=re.ASCII)
        base = re.sub(r"_{2,}", "_", base).strip("_") or "v"
        base = base if base[0].isalpha() else f"v{base}"
        name, number = base, 0
        while name in self._taken:
            number += 1
            name = f"{base}_{number}"
        self._taken.add(name)
        return name
