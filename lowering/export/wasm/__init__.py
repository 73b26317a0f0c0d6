"""WebAssembly: objects as LLVM writes them to a module, and a module to a package of npm."""
