"""The language server of `.mlir` files: an index of tokens, a worker that parses, and the protocol."""
