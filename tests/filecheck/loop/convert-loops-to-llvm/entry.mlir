// RUN: stepwell-opt %s -p convert-loops-to-llvm --split-input-file | filecheck %s

// An open size: the caller passes it, products are checked for overflow, and what must be equal is compared.
// CHECK-NOT: sched.entry
// CHECK: llvm.mlir.global internal constant @mlp_messages("{{.*}}ok\00bad-index: too large (node \22g\22)\00shape-mismatch: N and M\00unknown status\00")
// CHECK: llvm.mlir.global external constant @mlp_weights() {{.*}}visibility_ = 1
// CHECK: llvm.func hidden @stepwell_1_parallel_for(!llvm.ptr, !llvm.ptr, !llvm.ptr, i64)
// CHECK-LABEL: llvm.func @mlp_workspace_bytes(
// CHECK-SAME: -> i64
// CHECK: %[[N:.*]] = llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr -> i64
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %{{.*}}[1] : (!llvm.ptr) -> !llvm.ptr, i64
// CHECK: %[[M:.*]] = llvm.load %[[AT]]
// CHECK: llvm.icmp "sge" %[[N]],
// CHECK: llvm.intr.smul.with.overflow(%[[N]],
// CHECK: llvm.icmp "eq" %[[N]], %[[M]] : i64
// CHECK: llvm.mlir.constant(-65538) : i64
// CHECK-LABEL: llvm.func @mlp_run(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %{{.*}}: !llvm.ptr, %call: !llvm.ptr) -> i32
// CHECK: llvm.alloca %{{.*}} x !llvm.array<12 x i64>
// CHECK: llvm.alloca %{{.*}} x !llvm.array<3 x !llvm.ptr>
// CHECK: llvm.alloca %{{.*}} x !llvm.array<1 x i64>
// CHECK: llvm.call @mlp_workspace_bytes(
// CHECK: llvm.mlir.addressof @mlp_weights
// CHECK: llvm.mlir.addressof @stepwell_1_parallel_for
// CHECK: %[[STATUS:.*]] = llvm.call @main(
// CHECK: llvm.icmp "eq" %[[STATUS]],
// CHECK-LABEL: llvm.func @mlp_message(%status: i32) -> !llvm.ptr
// CHECK-NOT: @mlp_json
func.func @main(%x: memref<?xf32> {graph.dims = #graph.dims<["N"]>}, %y: memref<?xf32> {graph.dims = #graph.dims<["M"]>},
                %arena: memref<?xi8>, %N: index)
    attributes {sched.program = #sched.program<inputs = 2, outputs = 0, symbols = ["N"], arena = "64 * N", slots = 0>} {
  func.return
}
sched.entry @mlp of @main {
  weights = "embed", offsets = array<i64: 0>, messages = ["bad-index: too large (node \"g\")"],
  checks = [["N", "M", "shape-mismatch: N and M"]]
}
// -----
// No open size: no `dims`. Memory that depends on data and calls of the host go to functions of the caller's.
// CHECK-LABEL: llvm.func internal @m_allocate(%ctx: !llvm.ptr, %slot: i64, %bytes: i64) -> !llvm.ptr
// CHECK: llvm.call %{{.*}}(%{{.*}}, %slot, %bytes) : !llvm.ptr, (!llvm.ptr, i64, i64) -> !llvm.ptr
// CHECK: llvm.icmp "ult" %slot,
// CHECK-LABEL: llvm.func internal @m_host(%{{.*}}: !llvm.ptr, %callee: i64, %words: !llvm.ptr, %n: i64) -> i32
// CHECK: llvm.call %{{.*}}(%{{.*}}, %callee, %words, %n) : !llvm.ptr, (!llvm.ptr, i64, !llvm.ptr, i64) -> i32
// CHECK-LABEL: llvm.func @m_workspace_bytes() -> i64
// CHECK-LABEL: llvm.func @m_run(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %shapes: !llvm.ptr, %call: !llvm.ptr) -> i32
// CHECK: llvm.mlir.addressof @m_allocate
// CHECK: llvm.mlir.addressof @m_host
// CHECK: llvm.call @main(
// CHECK: llvm.store %{{.*}}, %shapes
// CHECK-LABEL: llvm.func @m_message
// CHECK-LABEL: llvm.func @m_json() -> !llvm.ptr
func.func private @main(memref<4xf32>, memref<?xi8>, memref<?xi8>)
    attributes {sched.program = #sched.program<inputs = 1, outputs = 1, published = ["D"], arena = "0", slots = 1>}
sched.entry @m of @main {weights = "file", offsets = array<i64>, host_calls, json = "{}"}
// -----
// Memory pools: each that is used is there and aligned, and all are arguments after inputs and outputs.
// CHECK-LABEL: llvm.func @p_workspace_bytes() -> i64
// CHECK: %[[NONE:.*]] = llvm.mlir.constant(0) : i64
// CHECK: llvm.return %[[NONE]]
// CHECK-LABEL: llvm.func @p_run(%inputs: !llvm.ptr, %outputs: !llvm.ptr, %call: !llvm.ptr) -> i32
// CHECK: %[[ARGS:.*]] = llvm.alloca %{{.*}} x !llvm.array<5 x !llvm.ptr>
// CHECK: %[[MEMORIES:.*]] = llvm.getelementptr inbounds %call[72]
// CHECK: %[[TCM:.*]] = llvm.load %[[MEMORIES]] {alignment = 8 : i64} : !llvm.ptr -> !llvm.ptr
// CHECK: %[[AT:.*]] = llvm.getelementptr inbounds %[[MEMORIES]][1]
// CHECK: %[[UNUSED:.*]] = llvm.load %[[AT]]
// CHECK-NOT: llvm.ptrtoint %[[UNUSED]]
// CHECK: llvm.ptrtoint %[[TCM]]
// CHECK-NOT: llvm.ptrtoint %[[UNUSED]]
// CHECK: %[[PLACE:.*]] = llvm.getelementptr inbounds %[[ARGS]][2]
// CHECK: llvm.store %[[TCM]], %[[PLACE]]
// CHECK: %[[NEXT:.*]] = llvm.getelementptr inbounds %[[ARGS]][3]
// CHECK: llvm.store %[[UNUSED]], %[[NEXT]]
func.func private @main(memref<4xf32>, memref<4xf32>, memref<?xi8>, memref<?xi8>, memref<?xi8>) attributes {
  sched.program = #sched.program<inputs = 1, outputs = 1, symbols = [], arena = "192", slots = 0,
                                 pools = ["tcm=64", "none=0", "sram=128"]>
}
sched.entry @p of @main {weights = "embed", offsets = array<i64>}
