"""The requests of the protocol, answered from the open files and the worker processes."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Protocol, cast

from stepwell.tools.lsp.actions import code_actions, code_lenses, other_form
from stepwell.tools.lsp.completion import completions
from stepwell.tools.lsp.document import Document, Json
from stepwell.tools.lsp.hover import hover
from stepwell.tools.lsp.workers import RequestError, Workers

SETTINGS = ".stepwell.toml"
"""The file of a workspace that names plugins, as `load = ["plugin.py"]`."""
_FAILED = re.compile(r":(\d+)(?::\d+)?: error: (.*)")


class Editor(Protocol):
    """The editor, as far as the server asks for anything."""

    def publish(self, document: Document) -> None:
        """Show the diagnostics of a file."""
        ...

    def say(self, message: str, *, is_error: bool = False) -> None:
        """Show a message."""
        ...

    def show(self, name: str, text: str) -> None:
        """Open a text under a name, unless the editor shows the results of commands by itself."""
        ...

    def apply(self, edit: Json) -> None:
        """Change files."""
        ...


class Session:
    """The state of a server: open files, workers, and whether the user trusts the workspace."""

    def __init__(self, workers: Workers, editor: Editor):
        self.workers = workers
        self.editor = editor
        self.documents: dict[str, Document] = {}
        self.folders: list[Path] = []
        self.is_trusted = False
        self._being_read: tuple[Document, str] | None = None
        self.requests: Mapping[str, Callable[[Json], object]] = {
            "textDocument/definition": self._definition,
            "textDocument/references": self._references,
            "textDocument/documentHighlight": self._highlight,
            "textDocument/documentSymbol": lambda params: self._document(params).outline(),
            "textDocument/foldingRange": lambda params: self._document(params).folds(),
            "textDocument/rename": self._rename,
            "textDocument/hover": self._hover,
            "textDocument/completion": self._completion,
            "textDocument/codeAction": self._actions,
            "textDocument/codeLens": lambda params: code_lenses(self._document(params)),
        }
        self.commands: Mapping[str, Callable[..., object]] = {
            "stepwell.runPass": self._run_pass,
            "stepwell.emit": self._emit,
            "stepwell.runTest": self._run_test,
            "stepwell.explore": self._explore,
            "stepwell.changeForm": self._change_form,
            "stepwell.passes": lambda: self.workers.ask("passes"),
            "stepwell.trust": self._trust,
        }

    def _document(self, params: Json) -> Document:
        return self.documents[str(cast("Json", params["textDocument"])["uri"])]

    def _place(self, params: Json) -> tuple[Document, int]:
        document = self._document(params)
        return document, document.offset(params["position"])

    def _definition(self, params: Json) -> Json | None:
        document, offset = self._place(params)
        found = document.index.definition_at(offset)
        return None if found is None else document.location(found)

    def _references(self, params: Json) -> list[Json]:
        document, offset = self._place(params)
        spans = document.index.spans_at(offset)
        declared = document.index.definition_at(offset) is not None
        wanted = cast("Json", params["context"])["includeDeclaration"]
        return [document.location(span) for span in (spans if wanted or not declared else spans[1:])]

    def _highlight(self, params: Json) -> list[Json]:
        document, offset = self._place(params)
        return [{"range": document.range(span)} for span in document.index.spans_at(offset)]

    def _rename(self, params: Json) -> Json:
        document, offset = self._place(params)
        try:
            return document.edit(document.index.renamed(offset, str(params["newName"])))
        except ValueError as error:
            raise RequestError(str(error)) from None

    def _hover(self, params: Json) -> Json | None:
        document, offset = self._place(params)
        return hover(document, offset, self.workers.ask)

    def _completion(self, params: Json) -> list[Json]:
        document, offset = self._place(params)
        return completions(document, offset, self.workers.ask)

    def _actions(self, params: Json) -> list[Json]:
        document = self._document(params)
        start = document.offset(cast("Json", params["range"])["start"])
        given = cast("list[Json]", cast("Json", params["context"])["diagnostics"])
        return code_actions(document, start, [d for d in given if d.get("source") == "stepwell"])

    def update(self, document: Document, text: str) -> None:
        """Take over a new text, and end the reading of a part that it no longer has."""
        document.update(text)
        if self._being_read is not None and self._being_read[0] is document:
            if self._being_read[1] not in map(document.text_of, document.index.parts):
                self.workers.cancel()

    def read(self, document: Document) -> bool:
        """Parse what has changed of a file; returns whether it has not changed meanwhile."""
        for text in map(document.text_of, document.unread()):
            self._being_read = document, text
            try:
                reading = self.workers.read(text, str(document.path))
            except RequestError as error:
                self.editor.say(str(error), is_error=True)
                return False
            finally:
                self._being_read = None
            if reading is None:
                return False
            document.readings[text] = cast("Json", reading)
        return True

    def _text_at(self, uri: str, line: int) -> tuple[Document, str]:
        """A file, and the text of its part at a line."""
        document = self.documents[uri]
        starts = document.index.lines.starts
        return document, document.text_of(document.index.part_at(starts[min(line, len(starts) - 1)]))

    def _run_pass(self, uri: str, line: int, pipeline: str = "") -> object:
        if not pipeline:
            raise RequestError("stepwell.runPass takes a file, a line and passes, such as canonicalize")
        document, text = self._text_at(uri, line)
        found = self.workers.ask("pass", text, file=str(document.path), pipeline=pipeline)
        changed = cast("dict[str, str]", found)
        if changed["messages"]:
            self.editor.say(changed["messages"])
        self.editor.show(f"{document.path.stem}.diff", changed["diff"] or f"{pipeline} changes nothing\n")
        return found

    def _emit(self, uri: str, line: int, level: str) -> str:
        document, text = self._text_at(uri, line)
        names = [s.name for s in document.index.outline() for s in (s, *s.children)]
        at = document.index.lines.line(line)
        symbol = next((name for name in names if name[0] == "@" and re.search(rf"{name}\b", at)), "@main")
        file = str(document.path)
        found = str(self.workers.ask("lower", text, file=file, symbol=symbol[1:], level=level))
        self.editor.show(f"{symbol[1:]}.{'s' if level == 'asm' else f'{level}.mlir'}", found)
        return found

    def _run_test(self, uri: str, line: int) -> object:
        document = self.documents[uri]
        places = document.index.lines.place
        command = next((r.command for r in document.run_lines() if places(r.span.start).line == line), "")
        if not command:
            raise RequestError("there is no `// RUN:` in this line")
        arguments = {"file": str(document.path), "line": command, "trusted": self.is_trusted}
        found = cast("Json", self.workers.ask("test", document.index.text, **arguments))
        output = str(found["output"])
        document.failures.clear()
        if found["status"]:
            failed = _FAILED.search(output)
            document.fail(int(failed[1]) - 1 if failed else line, failed[2] if failed else output)
            self.editor.say(f"failed: {command}\n{output}", is_error=True)
        else:
            self.editor.say(f"passed: {command}")
        self.editor.publish(document)
        return found

    def _explore(self, path: str, *options: str) -> object:
        status, output = cast(
            "tuple[int, str]", self.workers.ask("command", argv=["explore", path, *options])
        )
        self.editor.say(output or "done", is_error=status != 0)
        return {"status": status, "output": output}

    def _change_form(self, uri: str, line: int, to: str) -> None:
        if (edit := other_form(self.documents[uri], line, to, self.workers.ask)) is None:
            raise RequestError("this op cannot be written in another form")
        self.editor.apply(edit)

    def _trust(self) -> list[str]:
        """Load the plugins that the workspace names; this runs their code."""
        self.is_trusted = True
        plugins = self.named_plugins()
        for plugin in plugins:
            if plugin not in self.workers.plugins:
                self.workers.load(plugin)
        for document in self.documents.values():
            document.readings.clear()
            if self.read(document):
                self.editor.publish(document)
        return plugins

    def named_plugins(self) -> list[str]:
        """The plugins that the folders of the workspace name. Raises: RequestError."""
        found: list[str] = []
        for folder in self.folders:
            text = ""
            with suppress(OSError):
                text = (folder / SETTINGS).read_text(encoding="utf-8")
            try:
                named: object = tomllib.loads(text).get("load", [])
            except tomllib.TOMLDecodeError as error:
                raise RequestError(f"{folder / SETTINGS}: {error}") from None
            names = cast("list[object]", named) if isinstance(named, list) else [None]
            if not all(isinstance(name, str) for name in names):
                raise RequestError(f'{folder / SETTINGS}: `load` is a list of texts, such as ["plugin.py"]')
            for name in cast("list[str]", named):
                found.append(str(folder / name) if name.endswith(".py") else name)
        return found
