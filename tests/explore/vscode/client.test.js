// Runs the client with stand-ins for VS Code and its client library; fails with a message.
const assert = require("node:assert");
const Module = require("node:module");

const shown = [];
let options, server;
const vscode = {
  workspace: {
    getConfiguration: () => ({ get: (name) => (name === "load" ? ["a.py"] : "stepwell") }),
    openTextDocument: async (document) => document,
  },
  window: {
    showTextDocument: async (document) => shown.push(document),
    showQuickPick: async (items) => items[0],
  },
  ViewColumn: { Beside: 2 },
};
class LanguageClient {
  constructor(id, name, serverOptions, clientOptions) {
    server = serverOptions;
    options = clientOptions;
  }
  async start() {}
  stop() {}
}
const stands = { vscode, "vscode-languageclient/node": { LanguageClient } };
const load = Module._load;
Module._load = (name, ...rest) => stands[name] || load(name, ...rest);

(async () => {
  const client = require(process.argv[2]);
  await client.activate();
  assert.deepStrictEqual(server, { command: "stepwell", args: ["lsp", "--load", "a.py"] });
  assert.strictEqual(options.initializationOptions.showsResults, true);
  const asked = [];
  const next = async (command, args) => {
    asked.push([command, args]);
    return { "stepwell.passes": { cse: "" }, "stepwell.emit": "text" }[command] || { diff: "- a\n+ b\n" };
  };
  const run = options.middleware.executeCommand;
  await run("stepwell.runPass", ["file:///a.mlir", 3], next);
  assert.deepStrictEqual(asked.pop(), ["stepwell.runPass", ["file:///a.mlir", 3, "cse"]]);
  assert.deepStrictEqual(shown.pop(), { content: "- a\n+ b\n", language: "diff" });
  await run("stepwell.emit", ["file:///a.mlir", 3, "asm"], next);
  assert.deepStrictEqual(shown.pop(), { content: "text", language: "asm" });
  client.deactivate();
})().catch((error) => {
  console.error(error);
  process.exit(1);
});
