"""Copies between host and device through pinned memory, which the device accesses by itself."""

from __future__ import annotations

import ctypes
from ctypes import byref, c_size_t, c_uint, c_ulonglong, c_void_p
from typing import Any

import numpy as np

from stepwell.runtime.devices.base import Bytes
from stepwell.runtime.devices.driver.calls import Driver

STAGING_BYTES = 4 << 20
"""Inputs and outputs of most models fit; larger ones go in pieces."""
_ALIGNMENT = 256


class Staging:
    """A piece of pinned memory that copies use from begin to end, and again after the stream has ended."""

    def __init__(self, driver: Driver, stream: c_void_p, nbytes: int = STAGING_BYTES):
        """Raises: StepwellError `driver`, `device-memory`."""
        self._driver, self._stream, self._nbytes = driver, stream, nbytes
        self._pointer = c_void_p()
        driver.call(driver.names.pin, byref(self._pointer), c_size_t(nbytes), c_uint(0))
        assert self._pointer.value is not None
        memory: Any = (ctypes.c_uint8 * nbytes).from_address(self._pointer.value)
        self._array: Bytes = np.ctypeslib.as_array(memory)
        self._used = 0

    def close(self) -> None:
        """Give the memory back."""
        self._driver.call(self._driver.names.unpin, self._pointer)

    def wait(self) -> None:
        """Wait for all copies and launches; the memory is free then."""
        self._driver.call(self._driver.names.wait, self._stream)
        self._used = 0

    def copy_in(self, address: int, array: Bytes) -> None:
        """Copy bytes of the host to an address of the device; the array may change after the call."""
        for begin, size, place in self._pieces(array.size):
            self._array[place : place + size] = array[begin : begin + size]
            to, source = c_ulonglong(address + begin), c_void_p(self._address(place))
            self._driver.call(self._driver.names.copy_in, to, source, c_size_t(size), self._stream)

    def copy_out(self, address: int, array: Bytes) -> None:
        """Copy bytes at an address of the device to the host, after all that runs there."""
        for begin, size, place in self._pieces(array.size):
            source, to = c_ulonglong(address + begin), c_void_p(self._address(place))
            self._driver.call(self._driver.names.copy_out, to, source, c_size_t(size), self._stream)
            self.wait()
            array[begin : begin + size] = self._array[place : place + size]

    def _address(self, place: int) -> int:
        assert self._pointer.value is not None
        return self._pointer.value + place

    def _pieces(self, nbytes: int) -> Any:
        """The pieces of a copy: first byte, number of bytes, offset in the pinned memory."""
        begin = 0
        while begin < nbytes:
            if self._used == self._nbytes:
                self.wait()
            size, place = min(nbytes - begin, self._nbytes - self._used), self._used
            self._used = min(self._nbytes, -(-(place + size) // _ALIGNMENT) * _ALIGNMENT)
            yield begin, size, place
            begin += size
