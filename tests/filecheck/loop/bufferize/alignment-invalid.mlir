// RUN: stepwell-opt %s --verify-diagnostics -p 'bufferize{alignment=32}'

// expected-error: alignment must be a power of two from 64 on, found 32
builtin.module {
  func.func @main(%x: tensor<16xf32>) -> tensor<16xf32> {
    func.return %x : tensor<16xf32>
  }
}
