"""From one level to the next, one conversion a folder."""
