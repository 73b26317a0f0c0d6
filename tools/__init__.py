"""The commands, and the driver that they call."""
