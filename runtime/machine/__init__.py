"""The machine at run time: target description, loaded object code, thread pool, tile registers."""
