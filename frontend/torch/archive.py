"""The members of a `.pt2` file, which is a zip archive: bounded, mapped, nothing unpacked and nothing run."""

from __future__ import annotations

import json
import struct
import zipfile
from pathlib import Path
from typing import cast

from stepwell.frontend.mapped_file import mapped_file
from stepwell.runtime.errors import StepwellError
from stepwell.runtime.files.unreadable import unreadable

MAX_JSON_BYTES = 1 << 28
MAX_MEMBERS = 1 << 20
_LOCAL_HEADER = struct.Struct("<4s22xHH")


class Archive:
    """
    An opened file.

    Raises: StepwellError `no-file`, `invalid-model`.
    """

    def __init__(self, path: Path):
        self.name = path.name
        self._data, self.state = mapped_file(path)
        try:
            with zipfile.ZipFile(path) as opened:
                members = opened.infolist()
        except OSError as error:
            raise unreadable(path, "model", error) from None
        except (ValueError, zipfile.BadZipFile, struct.error, NotImplementedError) as error:
            raise self.invalid(f"the file is no archive, or is cut off: {error}") from None
        if len(members) > MAX_MEMBERS:
            raise self.invalid(f"the archive has {len(members)} members")
        self._prefix = members[0].filename.partition("/")[0] + "/" if members else ""
        self._members = {each.filename.removeprefix(self._prefix): each for each in members}

    def __contains__(self, member: str) -> bool:
        return member in self._members

    def members(self, folder: str, suffix: str = "") -> list[str]:
        """The names of the members in a folder of the archive."""
        return [name for name in self._members if name.startswith(folder) and name.endswith(suffix)]

    def json(self, member: str) -> dict[str, object]:
        """A member that is an object of JSON. Raises: StepwellError `invalid-model`."""
        data = self.bytes(member)
        if len(data) > MAX_JSON_BYTES:
            raise self.invalid(f"{member} has {len(data)} bytes, at most {MAX_JSON_BYTES} are read")
        try:
            value = json.loads(bytes(data))
        except (ValueError, RecursionError) as error:
            raise self.invalid(f"{member} is no JSON: {type(error).__name__}: {error}") from None
        if not isinstance(value, dict):
            raise self.invalid(f"{member} is no object of JSON")
        return cast("dict[str, object]", value)

    def bytes(self, member: str) -> memoryview:
        """The bytes of a member where they are in the file. Raises: StepwellError `invalid-model`."""
        if (found := self._members.get(member)) is None:
            raise self.invalid(f"the archive has no member {member!r}")
        if found.compress_type != zipfile.ZIP_STORED or found.flag_bits & 1:
            raise self.invalid(f"{member} is compressed or encrypted, and torch stores members as they are")
        start = found.header_offset
        header = self._data[start : start + _LOCAL_HEADER.size] if start >= 0 else b""
        if len(header) < _LOCAL_HEADER.size:
            raise self.invalid(f"the header of {member} is outside of the file")
        magic, name_bytes, extra_bytes = _LOCAL_HEADER.unpack(header)
        begin = start + _LOCAL_HEADER.size + name_bytes + extra_bytes
        if magic != b"PK\x03\x04" or begin + found.file_size > len(self._data):
            raise self.invalid(f"{member} is outside of the file")
        return self._data[begin : begin + found.file_size]

    def invalid(self, message: str, help: str | None = None) -> StepwellError:
        """The error for a file that is damaged."""
        return StepwellError("invalid-model", self.name, message, help=help)
