// Starts `stepwell lsp`, asks for what commands need, and shows their results.
const vscode = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

async function show(text, language) {
  const document = await vscode.workspace.openTextDocument({ content: text, language });
  await vscode.window.showTextDocument(document, vscode.ViewColumn.Beside, true);
}

async function withPass(args, next) {
  if (args.length >= 3) return args;
  const passes = await next("stepwell.passes", []);
  const items = Object.entries(passes).map(([label, detail]) => ({ label, detail }));
  const chosen = await vscode.window.showQuickPick(items, { matchOnDetail: true });
  return chosen && [...args, chosen.label];
}

async function executeCommand(command, args, next) {
  if (command === "stepwell.runPass") {
    args = await withPass(args, next);
    if (!args) return;
  }
  const result = await next(command, args);
  if (command === "stepwell.runPass" && result) await show(result.diff || "no change\n", "diff");
  if (command === "stepwell.emit" && result) await show(result, args[2] === "asm" ? "asm" : "mlir");
  return result;
}

exports.activate = async () => {
  const settings = vscode.workspace.getConfiguration("stepwell");
  const load = settings.get("load").flatMap((plugin) => ["--load", plugin]);
  client = new LanguageClient(
    "stepwell",
    "Stepwell",
    { command: settings.get("command"), args: ["lsp", ...load] },
    {
      documentSelector: [{ language: "mlir" }],
      initializationOptions: { showsResults: true },
      middleware: { executeCommand },
    }
  );
  await client.start();
};

exports.deactivate = () => client && client.stop();
