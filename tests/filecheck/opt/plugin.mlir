// RUN: stepwell-opt %s --load %S/plugin.py -p ping-talk | filecheck %s
// RUN: stepwell-opt %s --load %S/plugin.py -p ping-talk --remarks 2>&1 | filecheck %s --check-prefix=REMARK
// RUN: stepwell-opt %s --load %S/plugin.py -p ping-talk --verify-diagnostics
// RUN: stepwell-opt --load %S/plugin.py --list-passes | filecheck %s --check-prefix=LIST
// RUN: not stepwell-opt %s --load no.such.plugin 2>&1 | filecheck %s --check-prefix=MISSING

// CHECK: ping.ping
// REMARK: remark: not ponged: nobody is there
// REMARK-NEXT: plugin.mlir:14:1 (pass ping-talk)
// REMARK-NEXT: counters of ping-talk: pings 1
// LIST: ping-talk {{.*}}Remarks on every ping.
// MISSING: error[bad-plugin]: ModuleNotFoundError: No module named 'no'
// expected-remark: not ponged
ping.ping
