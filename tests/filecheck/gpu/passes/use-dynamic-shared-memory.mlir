// RUN: stepwell-opt %s -p use-dynamic-shared-memory | filecheck %s

// More than 48 KiB: both arrays are views of what the launch passes, each at a multiple of 16 bytes.

// CHECK-LABEL: gpu.func @large
// CHECK-SAME: (%x: memref<4xf32>) kernel
// CHECK: %[[M:.*]] = gpu.dynamic_shared_memory : memref<?xi8, #gpu.address_space<workgroup>>
// CHECK: %a = memref.view %[[M]][%{{.*}}][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<5xf16, #gpu.address_space<workgroup>>
// CHECK: %[[C16:.*]] = arith.constant 16 : index
// CHECK: %b = memref.view %[[M]][%[[C16]]][] : memref<?xi8, #gpu.address_space<workgroup>> to memref<128x128xf32, #gpu.address_space<workgroup>>
// CHECK: memref.store %{{.*}}, %b
gpu.module @m attributes {sched.target = #target.spec<"cuda", {}>} {
  gpu.func @large(%x: memref<4xf32>) workgroup(%a: memref<5xf16, #gpu.address_space<workgroup>>,
      %b: memref<128x128xf32, #gpu.address_space<workgroup>>) kernel {
    %c0 = arith.constant 0 : index
    %v = memref.load %x[%c0] : memref<4xf32>
    memref.store %v, %b[%c0, %c0] : memref<128x128xf32, #gpu.address_space<workgroup>>
    gpu.return
  }
  // CHECK-LABEL: gpu.func @small
  // CHECK-SAME: workgroup(
  gpu.func @small() workgroup(%a: memref<96x128xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// GPUs of AMD declare all that they have.

// CHECK-LABEL: gpu.func @other
// CHECK-SAME: workgroup(
gpu.module @n attributes {sched.target = #target.spec<"rocm", {}>} {
  gpu.func @other() workgroup(%a: memref<128x128xf32, #gpu.address_space<workgroup>>) kernel {
    gpu.return
  }
}

// CHECK-LABEL: @main
// CHECK: %[[BYTES:.*]] = arith.constant 65552 : i32
// CHECK: gpu.launch_func @m::@large blocks in (%n, %n, %n) threads in (%n, %n, %n) dynamic_shared_memory_size %[[BYTES]] args(%x : memref<4xf32>)
// CHECK: gpu.launch_func @m::@small blocks in (%n, %n, %n) threads in (%n, %n, %n)
// CHECK-NOT: dynamic_shared_memory_size
// CHECK: gpu.launch_func @n::@other
func.func @main(%x: memref<4xf32>, %n: index) {
  gpu.launch_func @m::@large blocks in (%n, %n, %n) threads in (%n, %n, %n) args(%x : memref<4xf32>)
  gpu.launch_func @m::@small blocks in (%n, %n, %n) threads in (%n, %n, %n)
  gpu.launch_func @n::@other blocks in (%n, %n, %n) threads in (%n, %n, %n)
  func.return
}
