"""The explorer: a model's nodes, kernels, IR of each pass, assembly and times, as data and as a page."""
