"""The playground: the explorer's page from a local server, which tries edits of kernels."""
