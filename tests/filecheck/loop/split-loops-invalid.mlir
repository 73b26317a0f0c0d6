// RUN: stepwell-opt %s --verify-diagnostics -p split-loops{factor=1}

// expected-error@unknown: factor is a number from 2 on, found 1
func.func @f() {
  func.return
}
