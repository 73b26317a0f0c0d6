// RUN: stepwell-opt %s -p count-draws --split-input-file --verify-diagnostics

// expected-error: training needs a function @main of one block, and the module has none
builtin.module {
}
