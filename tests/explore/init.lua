-- Neovim 0.7 or newer, in the test: the configuration of docs/editors.md, then a question and its answer.
vim.cmd("set noswapfile")
vim.lsp.set_log_level("ERROR")
local function start()
  return vim.lsp.start_client({
    name = "stepwell",
    cmd = vim.split(vim.env.SERVER_COMMAND, " "),
    root_dir = vim.fn.getcwd(),
  })
end
vim.api.nvim_create_autocmd("FileType", {
  pattern = "mlir",
  callback = function(args) vim.lsp.buf_attach_client(args.buf, start()) end,
})
vim.cmd("edit test.mlir")
vim.cmd("set filetype=mlir")
local function answered()
  local found = vim.lsp.buf_request_sync(0, "textDocument/definition", {
    textDocument = vim.lsp.util.make_text_document_params(),
    position = { line = 2, character = 17 },
  }, 20000)
  for _, answer in pairs(found or {}) do
    if answer.result then return answer.result end
  end
end
local ready = vim.wait(30000, function() return next(vim.lsp.buf_get_clients(0)) ~= nil end, 50)
local found = ready and answered()
local diagnosed = vim.wait(30000, function() return #vim.diagnostic.get(0) > 0 end, 50)
local lines = {
  found and ("defined in line " .. found.range.start.line + 1) or "no answer",
  diagnosed and vim.diagnostic.get(0)[1].message or "no diagnostics",
}
vim.fn.writefile(lines, "out.txt")
vim.lsp.stop_client(vim.lsp.get_active_clients())
vim.cmd("qall!")
