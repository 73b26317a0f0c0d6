// RUN: not stepwell-opt %s -p 'place-devices{default=gpu9}' 2>&1 | filecheck %s --check-prefix=DEFAULT
// RUN: not stepwell-opt %s -p 'place-devices{io=everywhere}' 2>&1 | filecheck %s --check-prefix=IO

// DEFAULT: error[bad-device]: the module has no device @gpu9
// DEFAULT: help: did you mean gpu0? there are: @host, @gpu0
// IO: error[bad-option]: io of place-devices is host or device, found 'everywhere'
dev.device @gpu0 #target.spec<"cuda", {}>
