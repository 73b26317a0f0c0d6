"""
The language server over standard input and output, by pygls.

pygls and its types are an extra: the type checker knows nothing of them, and everything else of the server
is written without them.
"""
# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownParameterType=false, reportUnknownArgumentType=false, reportUntypedBaseClass=false
# pyright: reportUnknownLambdaType=false

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from urllib.parse import unquote, urlparse

from lsprotocol import types
from lsprotocol.converters import get_converter
from pygls.exceptions import JsonRpcException
from pygls.lsp.server import LanguageServer

from stepwell import __version__
from stepwell.tools.lsp.document import Document, Json
from stepwell.tools.lsp.session import SETTINGS, Session
from stepwell.tools.lsp.workers import RequestError, Workers

_PAUSE_SECONDS = 0.2
"""How long after the last key a file is parsed."""
_OPTIONS: dict[str, Any] = {
    "textDocument/completion": types.CompletionOptions(trigger_characters=[".", "%", "@", "#", "!", '"', "{"])
}
_CONVERTER = get_converter()
_FAILED = -32803
"""The protocol's number of a request that failed."""


class Server(LanguageServer):
    """A server with a session; it is the session's editor."""

    def __init__(self, plugins: Sequence[str]):
        super().__init__("stepwell", __version__)
        self.session = Session(Workers(plugins), self)
        self.folder = TemporaryDirectory(prefix="stepwell-lsp-")
        self.shows_results = False
        self.waiting: dict[str, asyncio.Task[None]] = {}
        self.loop: asyncio.AbstractEventLoop | None = None
        for method, handler in self.session.requests.items():
            self.feature(method, _OPTIONS.get(method))(self._request(method, handler))
        for name, command in self.session.commands.items():
            self.command(name)(self._command(command))
        # pygls notes the method's name on a function, which a method does not allow.
        self.feature(types.INITIALIZE)(lambda params: self._initialize(params))
        self.feature(types.INITIALIZED)(lambda params: self._initialized(params))
        self.feature(types.TEXT_DOCUMENT_DID_OPEN)(lambda params: self._changed(params))
        self.feature(types.TEXT_DOCUMENT_DID_CHANGE)(lambda params: self._changed(params))
        self.feature(types.TEXT_DOCUMENT_DID_CLOSE)(lambda params: self._closed(params))

    def _request(self, method: str, handler: Callable[[Json], object]) -> Callable[..., Any]:
        """A handler of the protocol's objects for one of JSON's."""
        response = types.METHOD_TO_TYPES[method][1]

        async def answer(params: Any) -> Any:
            given = _CONVERTER.unstructure(params)
            found = await self._outside(lambda: handler(given))
            message = {"id": 0, "jsonrpc": "2.0", "result": found}
            return _CONVERTER.structure(message, response).result

        return answer

    def _command(self, command: Callable[..., object]) -> Callable[..., Any]:
        async def answer(*args: Any) -> Any:
            return await self._outside(lambda: command(*args))

        return answer

    async def _outside(self, work: Callable[[], object]) -> object:
        """Work in a thread, so that the next keys are read meanwhile. Raises: JsonRpcException."""
        try:
            return await asyncio.to_thread(work)
        except RequestError as error:
            self.say(str(error), is_error=True)
            raise JsonRpcException(str(error), code=_FAILED) from None

    def _initialize(self, params: Any) -> None:
        self.loop = asyncio.get_running_loop()
        options = params.initialization_options
        self.shows_results = isinstance(options, dict) and bool(options.get("showsResults"))

    def _initialized(self, params: object) -> None:
        self.session.folders = [
            Path(unquote(urlparse(folder).path)) for folder in self.workspace.folders
        ] or ([Path(self.workspace.root_path)] if self.workspace.root_path else [])
        try:
            named = [p for p in self.session.named_plugins() if p not in self.session.workers.plugins]
        except RequestError as error:
            self.say(str(error), is_error=True)
            return
        if named:
            self.say(f"{SETTINGS} names plugins, which the command stepwell.trust loads: {', '.join(named)}")

    def _changed(self, params: Any) -> None:
        uri = params.text_document.uri
        text = self.workspace.get_text_document(uri).source
        if (document := self.session.documents.get(uri)) is None:
            encoding = self.workspace.position_encoding or "utf-16"
            encoding = str(getattr(encoding, "value", encoding))  # an enumeration, or a text from the client
            self.session.documents[uri] = document = Document(uri, text, encoding)
        else:
            self.session.update(document, text)
        if (task := self.waiting.pop(uri, None)) is not None:
            task.cancel()
        self.waiting[uri] = asyncio.ensure_future(self._read(document))

    async def _read(self, document: Document) -> None:
        await asyncio.sleep(_PAUSE_SECONDS)
        if await asyncio.to_thread(self.session.read, document):
            self.publish(document)

    def _closed(self, params: Any) -> None:
        uri = params.text_document.uri
        self.session.documents.pop(uri, None)
        if (task := self.waiting.pop(uri, None)) is not None:
            task.cancel()
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri=uri, diagnostics=[]))

    def _soon(self, work: Callable[[], object]) -> None:
        """Do something in the thread of the event loop: the protocol's writer belongs to it."""
        (self.loop or asyncio.get_running_loop()).call_soon_threadsafe(work)

    def publish(self, document: Document) -> None:
        """Show the diagnostics of a file."""
        found = {"uri": document.uri, "diagnostics": document.diagnostics()}
        params = _CONVERTER.structure(found, types.PublishDiagnosticsParams)
        self._soon(lambda: self.text_document_publish_diagnostics(params))

    def say(self, message: str, *, is_error: bool = False) -> None:
        """Show a message."""
        kind = types.MessageType.Error if is_error else types.MessageType.Info
        self._soon(lambda: self.window_show_message(types.ShowMessageParams(kind, message)))

    def show(self, name: str, text: str) -> None:
        """Open a text as a file of a temporary folder, unless the editor shows the results of commands."""
        if self.shows_results:
            return
        path = Path(self.folder.name) / name
        path.write_text(text, encoding="utf-8")
        window = self.client_capabilities.window
        if window is not None and window.show_document is not None and window.show_document.support:
            self._soon(lambda: self.window_show_document(types.ShowDocumentParams(uri=path.as_uri())))
        else:
            self.say(f"written to {path}")

    def apply(self, edit: Json) -> None:
        """Change files."""
        made = _CONVERTER.structure(edit, types.WorkspaceEdit)
        self._soon(lambda: self.workspace_apply_edit(types.ApplyWorkspaceEditParams(edit=made)))


def serve(plugins: Sequence[str]) -> None:
    """Answer requests from standard input until it ends."""
    server = Server(plugins)
    try:
        server.start_io()
    finally:
        server.session.workers.close()
        server.folder.cleanup()
