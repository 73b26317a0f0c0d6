// RUN: not stepwell-opt %s -p 'pin-composites{table=npu device=npu1}' 2>&1 | filecheck %s --check-prefix=DEVICE
// RUN: not stepwell-opt %s -p 'pin-composites{table=nputs device=npu0}' 2>&1 | filecheck %s --check-prefix=TABLE

// DEVICE: error[bad-device]: the module has no device @npu1
// TABLE: error[unknown-backend]
dev.device @npu0 #target.spec<"npu", {}>
