// RUN: not stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=4"}' 2>&1 | filecheck %s --check-prefix MISSING
// RUN: not stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=4 column=16"}' 2>&1 | filecheck %s --check-prefix UNKNOWN
// RUN: not stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=0 columns=16"}' 2>&1 | filecheck %s --check-prefix ZERO
// RUN: not stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="rows=4 columns=1099511627776"}' 2>&1 | filecheck %s --check-prefix LARGE
// RUN: not stepwell-opt %s -p 'bind-kernels{file="%S/none.mlir"}' 2>&1 | filecheck %s --check-prefix FILE
// RUN: not stepwell-opt %s -p 'bind-kernels{file="%s"}' 2>&1 | filecheck %s --check-prefix TEXT
// RUN: not stepwell-opt %s -p 'bind-kernels{file="%S/blocked.mlir" sizes="four"}' 2>&1 | filecheck %s --check-prefix OPTION

// MISSING: error[bad-schedule]: kernel @blocked of {{.*}}blocked.mlir needs the size columns
// MISSING: --> {{.*}}bind-kernels-invalid.mlir:{{[0-9]+}}:3
// MISSING: note: given are rows
// UNKNOWN: error[bad-schedule]: kernel @blocked of {{.*}}blocked.mlir has no size column
// UNKNOWN: note: did you mean columns? the sizes are rows, columns
// ZERO: error[bad-schedule]: kernel @blocked of {{.*}} needs a positive number below 2^31 for rows, found 0
// LARGE: error[bad-schedule]: kernel @blocked of {{.*}} needs a positive number below 2^31 for columns, found 1099511627776
// FILE: error[no-file]: cannot read the kernel
// TEXT: error[syntax]: expected a pattern, a line
// OPTION: error[bad-option]: sizes must be like rows=4 columns=32, found 'four'

func.func @main(%x: tensor<4x3xf32>, %w: tensor<3x2xf32>) -> tensor<4x2xf32> {
  %y = graph.matmul %x, %w : (tensor<4x3xf32>, tensor<3x2xf32>) -> tensor<4x2xf32>
  func.return %y : tensor<4x2xf32>
}
