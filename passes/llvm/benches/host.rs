//! The time of a compiler that optimizes a module and generates its PTX, without and with the lowering around its
//! passes.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use ptx_atomics_link as _;
use ptx_atomics_llvm::{
    Errors, Input, host,
    inkwell::{
        OptimizationLevel,
        context::Context,
        passes::PassBuilderOptions,
        targets::{CodeModel, FileType, InitializationConfig, RelocMode, Target, TargetMachine, TargetTriple},
    },
};

/// Kernels that sum a row each, add the sum to a counter and signal a flag.
const KERNELS: usize = 20;

fn text() -> String {
    let mut text = "target triple = \"nvptx64-nvidia-cuda\"\n".to_owned();
    for number in 0..KERNELS {
        text += &format!(
            r#"define ptx_kernel void @sum{number}(ptr addrspace(1) %row, ptr addrspace(1) %total, ptr addrspace(1) %flag, i32 %length) {{
entry:
  br label %loop
loop:
  %i = phi i32 [ 0, %entry ], [ %next, %loop ]
  %sum = phi float [ 0.0, %entry ], [ %added, %loop ]
  %at = getelementptr float, ptr addrspace(1) %row, i32 %i
  %value = load float, ptr addrspace(1) %at
  %square = fmul float %value, %value
  %added = fadd float %sum, %square
  %next = add nuw i32 %i, 1
  %more = icmp ult i32 %next, %length
  br i1 %more, label %loop, label %done
done:
  %old = atomicrmw fadd ptr addrspace(1) %total, float %added syncscope("device") monotonic
  fence syncscope("device") release
  %ready = atomicrmw add ptr addrspace(1) %flag, i32 {number} syncscope("device") acq_rel
  store atomic i32 %ready, ptr addrspace(1) %flag syncscope("device") release, align 4
  ret void
}}
"#
        );
    }
    text
}

fn compile(text: &str, machine: &TargetMachine, lowers: bool) -> usize {
    let context = Context::create();
    let module = ptx_atomics_llvm::read(&context, &Input::new("sum.ll", text)).expect("the IR is valid");
    let optimize = || -> Result<(), Errors> {
        module.run_passes("default<O3>", machine, PassBuilderOptions::create()).expect("LLVM has the passes");
        Ok(())
    };
    if lowers {
        let options = host::options(machine).expect("the GPU is known");
        host::lower_around(&module, machine, &options, optimize).expect("each operation has a lowering");
    } else {
        optimize().expect("the passes run");
    }
    machine.write_to_memory_buffer(&module, FileType::Assembly).expect("LLVM has code for it").as_slice().len()
}

fn benches(criterion: &mut Criterion) {
    Target::initialize_nvptx(&InitializationConfig::default());
    let triple = TargetTriple::create("nvptx64-nvidia-cuda");
    let (level, reloc, model) = (OptimizationLevel::Aggressive, RelocMode::Default, CodeModel::Default);
    let machine = Target::from_triple(&triple)
        .expect("LLVM has the target")
        .create_target_machine(&triple, "sm_90", "+ptx80", level, reloc, model)
        .expect("LLVM has a code generator");
    let text = text();
    for (name, lowers) in [("LLVM alone", false), ("with the lowering", true)] {
        criterion.bench_function(name, |bencher| bencher.iter(|| compile(black_box(&text), &machine, lowers)));
    }
}

criterion_group!(host, benches);
criterion_main!(host);
