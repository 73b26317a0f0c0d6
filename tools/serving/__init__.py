"""The server of `stepwell serve`: address, protection, signals."""
