// Starts `ptx-atomics lsp` for files of PTX and litmus tests.

const { workspace } = require("vscode");
const { LanguageClient } = require("vscode-languageclient/node");

let client;

exports.activate = () => {
  const settings = workspace.getConfiguration("ptx-atomics");
  const server = { command: settings.get("command"), args: ["lsp", ...settings.get("arguments")] };
  const documentSelector = [{ language: "ptx" }, { language: "litmus" }];
  client = new LanguageClient("ptx-atomics", "ptx-atomics", server, { documentSelector });
  return client.start();
};

exports.deactivate = () => client?.stop();
