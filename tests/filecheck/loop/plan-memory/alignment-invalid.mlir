// RUN: stepwell-opt %s --verify-diagnostics -p 'plan-memory{alignment=96}'

// expected-error: alignment must be a power of two from 64 on, found 96
builtin.module {
  func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
    func.return %x : tensor<16xf32>
  }
}
