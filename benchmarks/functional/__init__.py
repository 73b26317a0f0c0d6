"""Programs with functions, data, cells and gradients: speed, memory, and the checks that take long."""
