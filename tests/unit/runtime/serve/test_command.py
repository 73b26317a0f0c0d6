"""`stepwell serve` before the first answer: the port, and the certificate."""

from __future__ import annotations

import socket
import sys
from pathlib import Path
from types import ModuleType

import pytest

from stepwell.tools import cli
from stepwell.tools.serving.listen import listen


class Connected(Exception):
    """A client has a connection."""


def test_clients_connect_while_models_are_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", ModuleType("uvicorn"))
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = int(free.getsockname()[1])

    def compiled() -> object:
        socket.create_connection(("127.0.0.1", port), timeout=5).close()
        raise Connected

    with pytest.raises(Connected):
        listen(compiled, "127.0.0.1", port, None)
    with pytest.raises(ConnectionRefusedError):  # it ends with the server
        socket.create_connection(("127.0.0.1", port), timeout=5)


def test_a_taken_port_is_refused_before_models_are_read(capsys: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        assert cli.main(["serve", "none.onnx", "--port", str(taken.getsockname()[1])]) == 1
    assert "error[cannot-serve]" in (shown := capsys.readouterr().err) and "in use" in shown


@pytest.mark.parametrize(("text", "reason"), [(None, "No such file"), ("no certificate", "PEM")])
def test_a_bad_certificate_is_refused_by_its_name(
    text: str | None, reason: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    if text is not None:
        cert.write_text(text)
        key.write_text(text)
    assert cli.main(["serve", "none.onnx", "--port", "0", "--tls", str(cert), str(key)]) == 1
    shown = capsys.readouterr().err
    assert "error[bad-option]: cannot use" in shown and "cert.pem" in shown and reason in shown
