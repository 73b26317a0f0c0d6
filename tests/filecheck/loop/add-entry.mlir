// RUN: stepwell-opt %s -p 'add-entry{entry=mlp}' | filecheck %s
// RUN: stepwell-opt %s -p 'add-entry{entry=mlp},add-entry{entry=other}' | filecheck %s
// RUN: stepwell-opt %s -p 'add-entry{entry=mlp weights=file}' | filecheck %s --check-prefix FILE

// Weights follow one another, each on a cache line; a second entry is not added.
"memref.global"() <{initial_value, sym_name = "w0", type = memref<17xf32>, sym_visibility = "private"}> : () -> ()
"memref.global"() <{initial_value, sym_name = "w1", type = memref<3xi8>, sym_visibility = "private"}> : () -> ()
"memref.global"() <{initial_value, sym_name = "w2", type = memref<2xf64>, sym_visibility = "private"}> : () -> ()
// CHECK: func.func @main
// CHECK: sched.entry @mlp of @main {weights = "embed", offsets = array<i64: 0, 128, 192>}
// CHECK-NOT: sched.entry
// FILE: sched.entry @mlp of @main {weights = "file", offsets = array<i64: 0, 128, 192>}
func.func @main(%x: memref<4xf32>, %y: memref<4xf32>, %arena: memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 1, symbols = [], arena = "64", slots = 0>} {
  func.return
}
