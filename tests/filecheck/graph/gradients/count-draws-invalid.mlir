// RUN: stepwell-opt %s -p count-draws --split-input-file --verify-diagnostics

// expected-error: training is of @main, and there is none with one block
builtin.module {
}
