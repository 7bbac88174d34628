// A whole module of SPIR-V: a kernel with its variables and its block's size. PTX has no place in it.
// EMIT: ptx
spirv.module Physical64 OpenCL requires #spirv.vce<v1.4, [Kernel, Addresses, Int64, Int64Atomics], []> {
  spirv.GlobalVariable @counts : !spirv.ptr<!spirv.struct<(!spirv.array<64 x i32>)>, Workgroup>
  spirv.GlobalVariable @total : !spirv.ptr<i64, CrossWorkgroup>
  spirv.GlobalVariable @id built_in("LocalInvocationId") : !spirv.ptr<vector<3xi32>, Input>
  spirv.func @kernel(%values: !spirv.ptr<i32, CrossWorkgroup>) "None"
      attributes {spirv.entry_point_abi = #spirv.entry_point_abi<workgroup_size = [64, 1, 1]>} {
    %zero = spirv.Constant 0 : i32
    %address = spirv.mlir.addressof @id : !spirv.ptr<vector<3xi32>, Input>
    %id = spirv.Load "Input" %address : vector<3xi32>
    %x = spirv.CompositeExtract %id[0 : i32] : vector<3xi32>
    %counts = spirv.mlir.addressof @counts : !spirv.ptr<!spirv.struct<(!spirv.array<64 x i32>)>, Workgroup>
    %slot = spirv.AccessChain %counts[%zero, %x]
      : !spirv.ptr<!spirv.struct<(!spirv.array<64 x i32>)>, Workgroup>, i32, i32 -> !spirv.ptr<i32, Workgroup>
    spirv.Store "Workgroup" %slot, %zero : i32
    spirv.ControlBarrier <Workgroup>, <Workgroup>, <AcquireRelease|WorkgroupMemory>
    %old = spirv.AtomicIIncrement <Workgroup> <None> %slot : !spirv.ptr<i32, Workgroup>
    spirv.ControlBarrier <Workgroup>, <Device>, <AcquireRelease|CrossWorkgroupMemory>
    %wide = spirv.UConvert %old : i32 to i64
    %total = spirv.mlir.addressof @total : !spirv.ptr<i64, CrossWorkgroup>
    %sum = spirv.AtomicIAdd <Device> <Release> %total, %wide : !spirv.ptr<i64, CrossWorkgroup>
    spirv.Return
  }
}
