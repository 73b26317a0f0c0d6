// RUN: not stepwell-opt %S/pin-composites-invalid.mlir -p 'annotate-devices{file="%s" by=table}' 2>&1 | filecheck %s

// Rules for the devices of another module.
// CHECK: error[bad-device]: the module has no device @gpu1
pattern.def @tanh {
  %root = pattern.op "graph.tanh"(...)
  pattern.yield %root
}
pattern.def @unary {
  %tanh = pattern.op "graph.tanh"(...)
  %root = pattern.op "graph.exp"(%tanh)
  pattern.yield %root
}
pattern.def @neg {
  %root = pattern.op "graph.neg"(...)
  pattern.yield %root
}
pattern.table @gpu1 [@tanh]
pattern.table @gpu0 [@unary]
pattern.table @host [@neg]
