// RUN: stepwell-opt %s --split-input-file --verify-diagnostics

func.func private @main(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>}
// expected-error: the name must be an identifier of C that does not begin with stepwell, found 'my-model'
sched.entry @"my-model" of @main {weights = "embed", offsets = array<i64>}
// -----
func.func private @main(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>}
// expected-error: the name must be an identifier of C that does not begin with stepwell, found 'stepwell_m'
sched.entry @stepwell_m of @main {weights = "embed", offsets = array<i64>}
// -----
func.func private @main(tensor<4xf32>)
// expected-error: @main must be a function whose memory is planned (plan-memory)
sched.entry @m of @main {weights = "embed", offsets = array<i64>}
// -----
func.func private @main(memref<?xf32>, memref<?xi8>) attributes {sched.program = #sched.program<inputs = 1, outputs = 0, arena = "0", slots = 0>}
// expected-error: @main has a size without a name (graph.dims)
sched.entry @m of @main {weights = "embed", offsets = array<i64>}
// -----
// expected-error: @main must be a function whose memory is planned (plan-memory)
sched.entry @m of @main {weights = "embed", offsets = array<i64>}
// -----
func.func private @main(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>}
// expected-error: @main has another entry
sched.entry @a of @main {weights = "embed", offsets = array<i64>}
// expected-error: @main has another entry
sched.entry @b of @main {weights = "embed", offsets = array<i64>}
// -----
func.func private @main(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>}
// expected-error: weights must be embed, file, extern, found 'disk'
sched.entry @m of @main {weights = "disk", offsets = array<i64>}
// -----
func.func private @main(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>}
// expected-error: a check has two sizes and a message
sched.entry @m of @main {weights = "embed", offsets = array<i64>, checks = [["N", "M"]]}
// -----
func.func private @main(memref<?xi8>) attributes {sched.program = #sched.program<inputs = 0, outputs = 0, arena = "0", slots = 0>}
// expected-error: a check must have sizes
sched.entry @m of @main {weights = "embed", offsets = array<i64>, checks = [["N N", "M", "no"]]}
