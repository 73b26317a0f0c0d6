"""The commands and the driver behind them."""
