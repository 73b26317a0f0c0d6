// RUN: stepwell-opt %s -p narrow-indices | filecheck %s

gpu.module @m {
  // CHECK-LABEL: @known
  // CHECK: %[[T:.*]] = arith.index_cast %t : index to i32
  // CHECK: arith.muli %{{.*}}, %{{.*}} : i32
  // CHECK: arith.addi %{{.*}}, %[[T]] : i32
  // CHECK: arith.cmpi ult, %{{.*}}, %{{.*}} : i32
  // CHECK: %[[Q:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
  // CHECK: %[[I:.*]] = arith.index_cast %[[Q]] : i32 to index
  // CHECK: memref.load %x[%[[I]]
  gpu.func @known(%x: memref<10x7xf32>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %b = gpu.block_id x
    %t = gpu.thread_id x
    %c7 = arith.constant 7 : index
    %c32 = arith.constant 32 : index
    %c70 = arith.constant 70 : index
    %f = arith.muli %b, %c32 : index
    %n = arith.addi %f, %t : index
    %in = arith.cmpi ult, %n, %c70 : index
    scf.if %in {
      %i = arith.divui %n, %c7 : index
      %j = arith.remui %n, %c7 : index
      %v = memref.load %x[%i, %j] : memref<10x7xf32>
      memref.store %v, %x[%i, %j] : memref<10x7xf32>
    }
    gpu.return
  }

  // Quotients that are rounded up are computed by 64 bits.
  // CHECK-LABEL: @rounded
  // CHECK: arith.ceildivsi %{{.*}}, %{{.*}} : index
  // CHECK: arith.floordivsi %{{.*}}, %{{.*}} : index
  gpu.func @rounded(%x: memref<64xf32>) kernel attributes {gpu.known_block_size = array<i32: 32, 1, 1>} {
    %t = gpu.thread_id x
    %c7 = arith.constant 7 : index
    %i = arith.ceildivsi %t, %c7 : index
    %j = arith.floordivsi %t, %c7 : index
    %v = memref.load %x[%i] : memref<64xf32>
    memref.store %v, %x[%j] : memref<64xf32>
    gpu.return
  }

  // Sizes that the launch decides, and buffers above 2^30 elements, keep 64 bits.
  // CHECK-LABEL: @open
  // CHECK-NOT: i32
  // CHECK-LABEL: @large
  // CHECK-NOT: index_cast
  gpu.func @open(%x: memref<?xf32>, %n: index) kernel {
    %t = gpu.thread_id x
    %i = arith.remui %t, %n : index
    %v = memref.load %x[%i] : memref<?xf32>
    memref.store %v, %x[%i] : memref<?xf32>
    gpu.return
  }
  gpu.func @large(%x: memref<65536x65536xi8>) kernel {
    %t = gpu.thread_id x
    %c7 = arith.constant 7 : index
    %i = arith.remui %t, %c7 : index
    %v = memref.load %x[%i, %i] : memref<65536x65536xi8>
    memref.store %v, %x[%i, %i] : memref<65536x65536xi8>
    gpu.return
  }
}
