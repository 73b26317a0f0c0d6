"""Passes that give loops on buffers to the blocks and threads of a GPU."""
