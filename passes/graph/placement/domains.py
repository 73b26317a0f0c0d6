"""Sets of values and ops on the same device, joined as uses require."""

from __future__ import annotations


class Domain:
    """
    A set of values and ops on one device, which may not be known yet.

    Source: union-find with path halving (Tarjan & van Leeuwen, "Worst-case analysis of set union algorithms",
    1984), in nearly linear time.
    """

    __slots__ = ("_device", "_parent", "_size")

    def __init__(self, device: str | None = None):
        self._parent = self
        self._device = device
        self._size = 1

    def root(self) -> Domain:
        """The domain that stands for all joined ones."""
        found = self
        while found._parent is not found:
            found._parent = found = found._parent._parent
        return found

    @property
    def device(self) -> str | None:
        """The name of the device; None while nothing has decided it."""
        return self.root()._device

    def join(self, other: Domain) -> bool:
        """Join two sets; False, and nothing is done, where both are on devices that differ."""
        one, two = self.root(), other.root()
        if one is two:
            return True
        if one._device is not None and two._device is not None and one._device != two._device:
            return False
        if one._size < two._size:
            one, two = two, one
        two._parent = one
        one._size += two._size
        one._device = one._device if one._device is not None else two._device
        return True
