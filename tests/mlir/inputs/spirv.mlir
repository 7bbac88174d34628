// Every atomic of SPIR-V × storage class, every semantics × scope, and the barriers.

spirv.func @And_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicAnd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @Exchange_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicExchange <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @ISub_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicISub <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @Or_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicOr <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @SMax_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicSMax <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @SMin_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicSMin <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @UMax_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicUMax <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @UMin_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicUMin <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @Xor_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicXor <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IDecrement_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>) -> i32 "None" {
  %r = spirv.AtomicIDecrement <Workgroup> <None> %p : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IIncrement_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>) -> i32 "None" {
  %r = spirv.AtomicIIncrement <Workgroup> <None> %p : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @CompareExchange_crossworkgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32, %c: i32) -> i32 "None" {
  %r = spirv.AtomicCompareExchange <Device> <AcquireRelease> <Acquire> %p, %v, %c : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @FAdd_crossworkgroup(%p: !spirv.ptr<f32, CrossWorkgroup>, %v: f32) -> f32 "None" {
  %r = spirv.EXT.AtomicFAdd <Device> <Acquire> %p, %v : !spirv.ptr<f32, CrossWorkgroup>
  spirv.ReturnValue %r : f32
}
spirv.func @And_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicAnd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @Exchange_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicExchange <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @ISub_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicISub <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @Or_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicOr <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @SMax_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicSMax <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @SMin_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicSMin <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @UMax_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicUMax <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @UMin_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicUMin <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @Xor_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicXor <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IDecrement_workgroup(%p: !spirv.ptr<i32, Workgroup>) -> i32 "None" {
  %r = spirv.AtomicIDecrement <Workgroup> <None> %p : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IIncrement_workgroup(%p: !spirv.ptr<i32, Workgroup>) -> i32 "None" {
  %r = spirv.AtomicIIncrement <Workgroup> <None> %p : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @CompareExchange_workgroup(%p: !spirv.ptr<i32, Workgroup>, %v: i32, %c: i32) -> i32 "None" {
  %r = spirv.AtomicCompareExchange <Device> <AcquireRelease> <Acquire> %p, %v, %c : !spirv.ptr<i32, Workgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @FAdd_workgroup(%p: !spirv.ptr<f32, Workgroup>, %v: f32) -> f32 "None" {
  %r = spirv.EXT.AtomicFAdd <Device> <Acquire> %p, %v : !spirv.ptr<f32, Workgroup>
  spirv.ReturnValue %r : f32
}
spirv.func @And_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicAnd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @Exchange_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicExchange <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @ISub_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicISub <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @Or_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicOr <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @SMax_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicSMax <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @SMin_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicSMin <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @UMax_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicUMax <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @UMin_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicUMin <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @Xor_generic(%p: !spirv.ptr<i32, Generic>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicXor <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @IDecrement_generic(%p: !spirv.ptr<i32, Generic>) -> i32 "None" {
  %r = spirv.AtomicIDecrement <Workgroup> <None> %p : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @IIncrement_generic(%p: !spirv.ptr<i32, Generic>) -> i32 "None" {
  %r = spirv.AtomicIIncrement <Workgroup> <None> %p : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @CompareExchange_generic(%p: !spirv.ptr<i32, Generic>, %v: i32, %c: i32) -> i32 "None" {
  %r = spirv.AtomicCompareExchange <Device> <AcquireRelease> <Acquire> %p, %v, %c : !spirv.ptr<i32, Generic>
  spirv.ReturnValue %r : i32
}
spirv.func @FAdd_generic(%p: !spirv.ptr<f32, Generic>, %v: f32) -> f32 "None" {
  %r = spirv.EXT.AtomicFAdd <Device> <Acquire> %p, %v : !spirv.ptr<f32, Generic>
  spirv.ReturnValue %r : f32
}
spirv.func @IAdd_None_CrossDevice(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <CrossDevice> <None> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_Acquire_CrossDevice(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <CrossDevice> <Acquire> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Acquire_CrossDevice() "None" {
  spirv.MemoryBarrier <CrossDevice>, <Acquire|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_Release_CrossDevice(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <CrossDevice> <Release> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Release_CrossDevice() "None" {
  spirv.MemoryBarrier <CrossDevice>, <Release|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_AcquireRelease_CrossDevice(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <CrossDevice> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_AcquireRelease_CrossDevice() "None" {
  spirv.MemoryBarrier <CrossDevice>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_SequentiallyConsistent_CrossDevice(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <CrossDevice> <SequentiallyConsistent> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_SequentiallyConsistent_CrossDevice() "None" {
  spirv.MemoryBarrier <CrossDevice>, <SequentiallyConsistent|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_None_Device(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <None> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_Acquire_Device(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <Acquire> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Acquire_Device() "None" {
  spirv.MemoryBarrier <Device>, <Acquire|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_Release_Device(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <Release> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Release_Device() "None" {
  spirv.MemoryBarrier <Device>, <Release|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_AcquireRelease_Device(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_AcquireRelease_Device() "None" {
  spirv.MemoryBarrier <Device>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_SequentiallyConsistent_Device(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Device> <SequentiallyConsistent> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_SequentiallyConsistent_Device() "None" {
  spirv.MemoryBarrier <Device>, <SequentiallyConsistent|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_None_Workgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Workgroup> <None> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_Acquire_Workgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Workgroup> <Acquire> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Acquire_Workgroup() "None" {
  spirv.MemoryBarrier <Workgroup>, <Acquire|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_Release_Workgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Workgroup> <Release> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Release_Workgroup() "None" {
  spirv.MemoryBarrier <Workgroup>, <Release|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_AcquireRelease_Workgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Workgroup> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_AcquireRelease_Workgroup() "None" {
  spirv.MemoryBarrier <Workgroup>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_SequentiallyConsistent_Workgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Workgroup> <SequentiallyConsistent> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_SequentiallyConsistent_Workgroup() "None" {
  spirv.MemoryBarrier <Workgroup>, <SequentiallyConsistent|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_None_Subgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Subgroup> <None> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_Acquire_Subgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Subgroup> <Acquire> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Acquire_Subgroup() "None" {
  spirv.MemoryBarrier <Subgroup>, <Acquire|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_Release_Subgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Subgroup> <Release> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Release_Subgroup() "None" {
  spirv.MemoryBarrier <Subgroup>, <Release|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_AcquireRelease_Subgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Subgroup> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_AcquireRelease_Subgroup() "None" {
  spirv.MemoryBarrier <Subgroup>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_SequentiallyConsistent_Subgroup(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Subgroup> <SequentiallyConsistent> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_SequentiallyConsistent_Subgroup() "None" {
  spirv.MemoryBarrier <Subgroup>, <SequentiallyConsistent|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_None_Invocation(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Invocation> <None> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @IAdd_Acquire_Invocation(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Invocation> <Acquire> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Acquire_Invocation() "None" {
  spirv.MemoryBarrier <Invocation>, <Acquire|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_Release_Invocation(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Invocation> <Release> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_Release_Invocation() "None" {
  spirv.MemoryBarrier <Invocation>, <Release|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_AcquireRelease_Invocation(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Invocation> <AcquireRelease> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_AcquireRelease_Invocation() "None" {
  spirv.MemoryBarrier <Invocation>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @IAdd_SequentiallyConsistent_Invocation(%p: !spirv.ptr<i32, CrossWorkgroup>, %v: i32) -> i32 "None" {
  %r = spirv.AtomicIAdd <Invocation> <SequentiallyConsistent> %p, %v : !spirv.ptr<i32, CrossWorkgroup>
  spirv.ReturnValue %r : i32
}
spirv.func @MemoryBarrier_SequentiallyConsistent_Invocation() "None" {
  spirv.MemoryBarrier <Invocation>, <SequentiallyConsistent|WorkgroupMemory>
  spirv.Return
}
spirv.func @ControlBarrier_Workgroup_Workgroup_AcquireRelease() "None" {
  spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @ControlBarrier_Workgroup_Device_AcquireRelease() "None" {
  spirv.ControlBarrier <Workgroup>, <Device>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @ControlBarrier_Workgroup_Device_SequentiallyConsistent() "None" {
  spirv.ControlBarrier <Workgroup>, <Device>, <SequentiallyConsistent|WorkgroupMemory>
  spirv.Return
}
spirv.func @ControlBarrier_Subgroup_Subgroup_AcquireRelease() "None" {
  spirv.ControlBarrier <Subgroup>, <Subgroup>, <AcquireRelease|WorkgroupMemory>
  spirv.Return
}
spirv.func @ControlBarrier_Subgroup_Workgroup_Acquire() "None" {
  spirv.ControlBarrier <Subgroup>, <Workgroup>, <Acquire|WorkgroupMemory>
  spirv.Return
}
spirv.func @ControlBarrier_Workgroup_Workgroup_None() "None" {
  spirv.ControlBarrier <Workgroup>, <Workgroup>, <None>
  spirv.Return
}
