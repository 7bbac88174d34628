// RUN: --mcpu sm_60 --mattr +ptx63
gpu.module @kernels {
  llvm.func @f(%p: !llvm.ptr<1>, %v: i32, %barrier: !llvm.ptr<3>, %n: i32) {
    llvm.fence syncscope("cluster") acq_rel
    %0 = llvm.atomicrmw add %p, %v syncscope("cluster") monotonic : !llvm.ptr<1>, i32
    nvvm.mbarrier.init %barrier, %n : !llvm.ptr<3>, i32
    nvvm.cluster.arrive
    nvvm.fence.mbarrier.init
    nvvm.tcgen05.fence <before>
    llvm.return
  }
  gpu.func @g(%m: memref<i128, 1>, %v: i128) kernel {
    %old = memref.atomic_rmw assign %v, %m[] : (i128, memref<i128, 1>) -> i128
    gpu.return
  }
}
