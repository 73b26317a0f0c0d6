"""An editor for the tests: pygls' own client, in a thread, with the diagnostics that it got."""

# pyright: reportMissingImports=false

from __future__ import annotations

import asyncio
import sys
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from threading import Condition, Thread
from typing import Any

from lsprotocol import types
from pygls.lsp.client import LanguageClient

SECONDS = 60


class Editor:
    """An editor with files that are open."""

    def __init__(self, folder: Path, arguments: Sequence[str], shows_results: bool, encoding: str):
        self.folder = folder
        self.loop = asyncio.new_event_loop()
        self.client = LanguageClient("tests", "1")
        self.found: dict[str, Any] = {}
        self.messages: list[str] = []
        self.edits: list[Any] = []
        self.news = Condition()
        self.client.feature("textDocument/publishDiagnostics")(lambda params: self._published(params))
        self.client.feature("window/showMessage")(lambda params: self._told(params))
        self.client.feature("workspace/applyEdit")(lambda params: self._edited(params))
        Thread(target=self.loop.run_forever, daemon=True).start()
        command = [sys.executable, "-m", "stepwell.tools.cli", "lsp", *arguments]
        self._await(self.client.start_io(*command))
        options = {"showsResults": shows_results}
        general = types.GeneralClientCapabilities(position_encodings=[types.PositionEncodingKind(encoding)])
        capabilities = types.ClientCapabilities(general=general)
        root = types.InitializeParams(capabilities, root_uri=folder.as_uri(), initialization_options=options)
        self.capabilities = self.ask("initialize", root).capabilities
        self.client.initialized(types.InitializedParams())

    def _await(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(SECONDS)

    def _published(self, params: Any) -> None:
        with self.news:
            self.found[params.uri] = list(params.diagnostics)
            self.news.notify_all()

    def _told(self, params: Any) -> None:
        with self.news:
            self.messages.append(params.message)
            self.news.notify_all()

    def _edited(self, params: Any) -> Any:
        self.edits.append(params.edit)
        return types.ApplyWorkspaceEditResult(applied=True)

    def ask(self, name: str, params: Any) -> Any:
        """The answer to a request, by the name of the client's method."""

        async def asked() -> Any:
            return await getattr(self.client, f"{name}_async")(params)

        return self._await(asked())

    def open(self, name: str, text: str) -> str:
        """Open a file that is not on disk; returns its address."""
        uri = (self.folder / name).as_uri()
        item = types.TextDocumentItem(uri, "mlir", 1, text)
        self.client.text_document_did_open(types.DidOpenTextDocumentParams(item))
        return uri

    def change(self, uri: str, text: str) -> None:
        """Give a file another text."""
        self.found.pop(uri, None)
        document = types.VersionedTextDocumentIdentifier(2, uri)
        change = types.TextDocumentContentChangeWholeDocument(text)
        self.client.text_document_did_change(types.DidChangeTextDocumentParams(document, [change]))

    def diagnostics(self, uri: str) -> Any:
        """The diagnostics of a file as soon as there are any."""
        with self.news:
            assert self.news.wait_for(lambda: uri in self.found, SECONDS), self.messages
            return self.found[uri]

    def told(self, part: str) -> str:
        """The message that has a text in it, as soon as it is there."""
        with self.news:
            assert self.news.wait_for(lambda: any(part in m for m in self.messages), SECONDS), self.messages
            return next(m for m in self.messages if part in m)

    def run(self, command: str, *arguments: object) -> Any:
        """The result of a command of the server."""
        return self.ask("workspace_execute_command", types.ExecuteCommandParams(command, list(arguments)))

    def close(self) -> None:
        """End the server."""
        self.ask("shutdown", None)
        self.client.exit(None)
        self._await(self.client.stop())
        self.loop.call_soon_threadsafe(self.loop.stop)


@contextmanager
def editor(
    folder: Path, *arguments: str, shows_results: bool = True, encoding: str = "utf-16"
) -> Generator[Editor]:
    """An editor with a server, which ends with the block."""
    made = Editor(folder, arguments, shows_results, encoding)
    try:
        yield made
    finally:
        made.close()
