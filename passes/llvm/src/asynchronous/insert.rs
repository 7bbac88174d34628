//! The insertion of PTX instructions into LLVM IR, as LLVM's intrinsics or as inline assembly.

use inkwell::{
    attributes::{Attribute, AttributeLoc},
    builder::Builder,
    intrinsics::Intrinsic,
    llvm_sys::{
        core::*,
        debuginfo::{LLVMInstructionGetDebugLoc, LLVMInstructionSetDebugLoc},
    },
    module::Module,
    values::{AsValueRef, CallSiteValue, InstructionValue},
};
use ptx_hazards::Position;

/// PTX instructions with no operand except a number, and the equivalent intrinsics, without `llvm.nvvm.`
#[rustfmt::skip]
const INTRINSICS: [(&str, &str); 23] = [
    ("cp.async.bulk.commit_group",             "cp.async.bulk.commit.group"),
    ("cp.async.bulk.wait_group",               "cp.async.bulk.wait.group"),
    ("cp.async.bulk.wait_group.read",          "cp.async.bulk.wait.group.read"),
    ("cp.async.commit_group",                  "cp.async.commit.group"),
    ("cp.async.wait_all",                      "cp.async.wait.all"),
    ("cp.async.wait_group",                    "cp.async.wait.group"),
    ("fence.mbarrier_init.release.cluster",    "fence.mbarrier_init.release.cluster"),
    ("fence.proxy.alias",                      "fence.proxy.alias"),
    ("fence.proxy.async",                      "fence.proxy.async"),
    ("fence.proxy.async.global",               "fence.proxy.async.global"),
    ("fence.proxy.async.shared::cluster",      "fence.proxy.async.shared_cluster"),
    ("fence.proxy.async.shared::cta",          "fence.proxy.async.shared_cta"),
    ("fence.proxy.tensormap::generic.release.cluster", "fence.proxy.tensormap_generic.release.cluster"),
    ("fence.proxy.tensormap::generic.release.cta",     "fence.proxy.tensormap_generic.release.cta"),
    ("fence.proxy.tensormap::generic.release.gpu",     "fence.proxy.tensormap_generic.release.gpu"),
    ("fence.proxy.tensormap::generic.release.sys",     "fence.proxy.tensormap_generic.release.sys"),
    ("tcgen05.fence::after_thread_sync",       "tcgen05.fence.after.thread.sync"),
    ("tcgen05.fence::before_thread_sync",      "tcgen05.fence.before.thread.sync"),
    ("tcgen05.wait::ld.sync.aligned",          "tcgen05.wait.ld"),
    ("tcgen05.wait::st.sync.aligned",          "tcgen05.wait.st"),
    ("wgmma.commit_group.sync.aligned",        "wgmma.commit_group.sync.aligned"),
    ("wgmma.fence.sync.aligned",               "wgmma.fence.sync.aligned"),
    ("wgmma.wait_group.sync.aligned",          "wgmma.wait_group.sync.aligned"),
];

/// Inserts an instruction before or after an instruction of a module; `None` if that position does not exist, such as
/// after the end of a basic block.
pub fn insert<'c>(
    module: &Module<'c>,
    beside: InstructionValue<'c>,
    position: Position,
    instruction: &str,
) -> Option<InstructionValue<'c>> {
    // SAFETY: the instruction belongs to a live module.
    let next = unsafe {
        let next = match position {
            Position::Before => beside.as_value_ref(),
            Position::After => LLVMGetNextInstruction(beside.as_value_ref()),
        };
        // Phis precede all other instructions of a block.
        let mut places = std::iter::successors((!next.is_null()).then_some(next), |place| {
            let next = LLVMGetNextInstruction(*place);
            (!next.is_null()).then_some(next)
        });
        InstructionValue::new(places.find(|place| LLVMIsAPHINode(*place).is_null())?)
    };
    let context = module.get_context();
    let builder = context.create_builder();
    builder.position_before(&next);
    let call = intrinsic(module, &builder, instruction).unwrap_or_else(|| assembly(module, &builder, instruction));
    // SAFETY: the value of a call is an instruction, and both belong to one function.
    unsafe {
        let location = LLVMInstructionGetDebugLoc(beside.as_value_ref());
        LLVMInstructionSetDebugLoc(call.as_value_ref(), location);
        Some(InstructionValue::new(call.as_value_ref()))
    }
}

/// A call of the equivalent intrinsic, if this LLVM has it.
fn intrinsic<'c>(module: &Module<'c>, builder: &Builder<'c>, instruction: &str) -> Option<CallSiteValue<'c>> {
    let (words, number) = instruction.split_once(char::is_whitespace).unwrap_or((instruction, ""));
    let (_, name) = INTRINSICS.into_iter().find(|(ptx, _)| *ptx == words)?;
    let declared = Intrinsic::find(&format!("llvm.nvvm.{name}"))?.get_declaration(module, &[])?;
    let parameters = declared.get_type().get_param_types();
    let arguments: Vec<_> = match (&parameters[..], number.trim()) {
        ([], "") => Vec::new(),
        ([ty], number) if ty.is_int_type() => {
            vec![ty.into_int_type().const_int(number.parse().ok()?, false).into()]
        }
        _ => return None,
    };
    Some(builder.build_call(declared, &arguments, "").expect("the builder has a place"))
}

fn assembly<'c>(module: &Module<'c>, builder: &Builder<'c>, instruction: &str) -> CallSiteValue<'c> {
    let context = module.get_context();
    let ty = context.void_type().fn_type(&[], false);
    let text = format!("{instruction};");
    let assembly = context.create_inline_asm(ty, text, "~{memory}".to_owned(), true, false, None, false);
    let call = builder.build_indirect_call(ty, assembly, &[], "").expect("the builder has a place");
    for name in ["convergent", "nounwind"] {
        let attribute = context.create_enum_attribute(Attribute::get_named_enum_kind_id(name), 0);
        call.add_attribute(AttributeLoc::Function, attribute);
    }
    call
}

#[cfg(test)]
mod tests {
    use inkwell::{OptimizationLevel, context::Context};
    use ptx_atomics_common::{Input, Options, Settings};

    use super::*;
    use crate::{asynchronous::listing::Listing, value::instructions};

    /// Every intrinsic becomes its instruction, and an instruction without an intrinsic is emitted as it is.
    #[test]
    fn calls_are_the_instructions() {
        let context = Context::create();
        let input = Input::new("f.ll", "define void @f() { ret void }");
        for words in INTRINSICS.into_iter().map(|(words, _)| words).chain(["fence.proxy.async.shared::cta.new"]) {
            let takes_number = words.ends_with("wait_group") || words.contains("wait_group.");
            let ptx = format!("{words}{}", if takes_number { " 3" } else { "" });
            let gpu = if words.starts_with("wgmma") { "sm_90a" } else { "sm_100a" };
            let target = Settings::default().target(gpu.parse().ok(), None).expect("a target");
            let module = crate::read(&context, &input).expect("LLVM IR");
            crate::machine(&module, &target, OptimizationLevel::None).expect("a code generator");
            let ret = module.get_functions().flat_map(instructions).next().expect("an instruction");
            assert!(insert(&module, ret, Position::After, &ptx).is_none(), "no instruction follows the end");
            let call = insert(&module, ret, Position::Before, &ptx).expect("there is a place");
            assert_eq!(crate::value::inline_assembly(call).is_some(), words.ends_with(".new"), "{ptx}");
            let listing = Listing::compile(&module, &Options::new(target)).expect("it is compiled");
            let written = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ") == format!("{ptx};");
            assert!(listing.ptx.lines().any(written), "{ptx}:\n{}", listing.ptx);
        }
    }
}
