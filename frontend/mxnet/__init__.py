"""Symbols of MXNet, which are NNVM's graphs: a bounded reader of them and their parameters, without MXNet."""
