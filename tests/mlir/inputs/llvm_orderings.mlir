// Every ordering × scope × memory space of the LLVM dialect's atomics.

llvm.func @fence_acquire_sys() {
  llvm.fence acquire
  llvm.return
}
llvm.func @fence_release_sys() {
  llvm.fence release
  llvm.return
}
llvm.func @fence_acq_rel_sys() {
  llvm.fence acq_rel
  llvm.return
}
llvm.func @fence_seq_cst_sys() {
  llvm.fence seq_cst
  llvm.return
}
llvm.func @fence_acquire_gpu() {
  llvm.fence syncscope("device") acquire
  llvm.return
}
llvm.func @fence_release_gpu() {
  llvm.fence syncscope("device") release
  llvm.return
}
llvm.func @fence_acq_rel_gpu() {
  llvm.fence syncscope("device") acq_rel
  llvm.return
}
llvm.func @fence_seq_cst_gpu() {
  llvm.fence syncscope("device") seq_cst
  llvm.return
}
llvm.func @fence_acquire_cta() {
  llvm.fence syncscope("block") acquire
  llvm.return
}
llvm.func @fence_release_cta() {
  llvm.fence syncscope("block") release
  llvm.return
}
llvm.func @fence_acq_rel_cta() {
  llvm.fence syncscope("block") acq_rel
  llvm.return
}
llvm.func @fence_seq_cst_cta() {
  llvm.fence syncscope("block") seq_cst
  llvm.return
}
llvm.func @load_unordered_sys_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_monotonic_sys_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_sys_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_sys_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic seq_cst {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @store_unordered_sys_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic unordered {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_monotonic_sys_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_release_sys_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_seq_cst_sys_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic seq_cst {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @add_monotonic_sys_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_sys_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v monotonic monotonic : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_sys_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v acquire : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_sys_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v acquire acquire : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_sys_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v release : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_sys_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v release monotonic : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_sys_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_sys_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v acq_rel acquire : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_sys_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v seq_cst : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_sys_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v seq_cst seq_cst : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_monotonic_gpu_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_gpu_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_gpu_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @store_monotonic_gpu_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_release_gpu_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_seq_cst_gpu_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @add_monotonic_gpu_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_gpu_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") monotonic monotonic : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_gpu_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acquire : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_gpu_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") acquire acquire : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_gpu_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") release : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_gpu_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") release monotonic : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_gpu_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_gpu_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") acq_rel acquire : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_gpu_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") seq_cst : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_gpu_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") seq_cst seq_cst : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_monotonic_cta_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic syncscope("block") monotonic {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_cta_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic syncscope("block") acquire {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_cta_generic(%p: !llvm.ptr) -> i32 {
  %r = llvm.load %p atomic syncscope("block") seq_cst {alignment = 4 : i64} : !llvm.ptr -> i32
  llvm.return %r : i32
}
llvm.func @store_monotonic_cta_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") monotonic {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_release_cta_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @store_seq_cst_cta_generic(%p: !llvm.ptr, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") seq_cst {alignment = 4 : i64} : i32, !llvm.ptr
  llvm.return
}
llvm.func @add_monotonic_cta_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") monotonic : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_cta_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") monotonic monotonic : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_cta_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") acquire : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_cta_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") acquire acquire : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_cta_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") release : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_cta_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") release monotonic : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_cta_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") acq_rel : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_cta_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_cta_generic(%p: !llvm.ptr, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") seq_cst : !llvm.ptr, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_cta_generic(%p: !llvm.ptr, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") seq_cst seq_cst : !llvm.ptr, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_unordered_sys_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_monotonic_sys_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_sys_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_sys_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic seq_cst {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @store_unordered_sys_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic unordered {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_monotonic_sys_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_release_sys_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_seq_cst_sys_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @add_monotonic_sys_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_sys_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v monotonic monotonic : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_sys_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v acquire : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_sys_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v acquire acquire : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_sys_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v release : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_sys_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v release monotonic : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_sys_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_sys_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v acq_rel acquire : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_sys_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v seq_cst : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_sys_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v seq_cst seq_cst : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_monotonic_gpu_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_gpu_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_gpu_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @store_monotonic_gpu_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_release_gpu_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_seq_cst_gpu_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @add_monotonic_gpu_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_gpu_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") monotonic monotonic : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_gpu_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acquire : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_gpu_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") acquire acquire : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_gpu_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") release : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_gpu_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") release monotonic : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_gpu_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_gpu_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") acq_rel acquire : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_gpu_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") seq_cst : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_gpu_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") seq_cst seq_cst : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_monotonic_cta_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic syncscope("block") monotonic {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_cta_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic syncscope("block") acquire {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_cta_global(%p: !llvm.ptr<1>) -> i32 {
  %r = llvm.load %p atomic syncscope("block") seq_cst {alignment = 4 : i64} : !llvm.ptr<1> -> i32
  llvm.return %r : i32
}
llvm.func @store_monotonic_cta_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_release_cta_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @store_seq_cst_cta_global(%p: !llvm.ptr<1>, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<1>
  llvm.return
}
llvm.func @add_monotonic_cta_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") monotonic : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_cta_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") monotonic monotonic : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_cta_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") acquire : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_cta_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") acquire acquire : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_cta_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") release : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_cta_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") release monotonic : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_cta_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") acq_rel : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_cta_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_cta_global(%p: !llvm.ptr<1>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") seq_cst : !llvm.ptr<1>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_cta_global(%p: !llvm.ptr<1>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") seq_cst seq_cst : !llvm.ptr<1>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_unordered_sys_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic unordered {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_monotonic_sys_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic monotonic {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_sys_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_sys_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic seq_cst {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @store_unordered_sys_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic unordered {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_monotonic_sys_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic monotonic {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_release_sys_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic release {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_seq_cst_sys_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @add_monotonic_sys_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v monotonic : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_sys_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v monotonic monotonic : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_sys_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v acquire : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_sys_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v acquire acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_sys_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v release : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_sys_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v release monotonic : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_sys_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v acq_rel : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_sys_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v acq_rel acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_sys_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v seq_cst : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_sys_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v seq_cst seq_cst : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_monotonic_gpu_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic syncscope("device") monotonic {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_gpu_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic syncscope("device") acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_gpu_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @store_monotonic_gpu_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_release_gpu_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") release {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_seq_cst_gpu_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic syncscope("device") seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @add_monotonic_gpu_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") monotonic : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_gpu_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") monotonic monotonic : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_gpu_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acquire : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_gpu_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") acquire acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_gpu_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") release : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_gpu_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") release monotonic : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_gpu_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") acq_rel : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_gpu_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") acq_rel acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_gpu_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("device") seq_cst : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_gpu_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("device") seq_cst seq_cst : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @load_monotonic_cta_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic syncscope("block") monotonic {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_acquire_cta_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic syncscope("block") acquire {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @load_seq_cst_cta_shared(%p: !llvm.ptr<3>) -> i32 {
  %r = llvm.load %p atomic syncscope("block") seq_cst {alignment = 4 : i64} : !llvm.ptr<3> -> i32
  llvm.return %r : i32
}
llvm.func @store_monotonic_cta_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") monotonic {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_release_cta_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") release {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @store_seq_cst_cta_shared(%p: !llvm.ptr<3>, %v: i32) {
  llvm.store %v, %p atomic syncscope("block") seq_cst {alignment = 4 : i64} : i32, !llvm.ptr<3>
  llvm.return
}
llvm.func @add_monotonic_cta_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") monotonic : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_monotonic_monotonic_cta_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") monotonic monotonic : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acquire_cta_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") acquire : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acquire_acquire_cta_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") acquire acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_release_cta_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") release : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_release_monotonic_cta_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") release monotonic : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_acq_rel_cta_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") acq_rel : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_acq_rel_acquire_cta_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") acq_rel acquire : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
llvm.func @add_seq_cst_cta_shared(%p: !llvm.ptr<3>, %v: i32) -> i32 {
  %r = llvm.atomicrmw add %p, %v syncscope("block") seq_cst : !llvm.ptr<3>, i32
  llvm.return %r : i32
}
llvm.func @cmpxchg_seq_cst_seq_cst_cta_shared(%p: !llvm.ptr<3>, %c: i32, %v: i32) -> i32 {
  %pair = llvm.cmpxchg %p, %c, %v syncscope("block") seq_cst seq_cst : !llvm.ptr<3>, i32
  %r = llvm.extractvalue %pair[0] : !llvm.struct<(i32, i1)>
  llvm.return %r : i32
}
