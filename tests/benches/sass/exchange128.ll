; Exchanges a pointer with its version, 16 bytes.
target datalayout = "e-p6:32:32-i64:64-i128:128-i256:256-v16:16-v32:32-n16:32:64"
target triple = "nvptx64-nvidia-cuda"

%struct.Versioned = type { i64, i64 }

define ptx_kernel void @exchange128(ptr noundef %head, ptr noundef byval(%struct.Versioned) align 16 %next, ptr noundef %out) {
entry:
  %0 = load i128, ptr %next, align 16
  %1 = atomicrmw xchg ptr %head, i128 %0 syncscope("device") acq_rel, align 16
  store i128 %1, ptr %out, align 16
  ret void
}
