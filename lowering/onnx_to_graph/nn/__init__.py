"""Neural network layers: convolutions, pools, normalizations, recurrent cells."""
