"""The server of `stepwell serve`: its address, its protection, and its life."""
