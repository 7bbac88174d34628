//! The functions of LLVM IR that may access shared memory of another CTA.

use inkwell::{
    attributes::AttributeLoc,
    llvm_sys::{LLVMCallConv, LLVMLinkage, LLVMTypeKind, core::*, prelude::*},
    module::Module,
    values::{AsValueRef, FunctionValue, InstructionValue},
};
use ptx_atomics_common::{
    Condition, Options, address_space, assembly,
    callee::Declared,
    cluster::{self, Function},
};
use ptx_lowering::ptx::Space;
use rustc_hash::FxHashMap;

use crate::call;
use crate::value::{callee, inline_assembly, instructions, is_call, name, users};

/// For each function, the reason why its shared memory may be accessed by another CTA.
pub struct Obstacles(FxHashMap<LLVMValueRef, String>);

impl Obstacles {
    pub fn from_module(module: &Module<'_>, options: &Options) -> Self {
        let defined: Vec<_> = module.get_functions().filter(|function| call::has_body(*function)).collect();
        let indices = defined.iter().map(|function| function.as_value_ref()).zip(0..).collect();
        let of_module = has_assembly(module).then_some("assembly of the module may use mapa");
        let read = |function: &FunctionValue<'_>| read(*function, &indices, of_module, options);
        let functions: Vec<_> = defined.iter().map(read).collect();
        let obstacles = cluster::obstacles(&functions, &options.target);
        let known = defined.iter().zip(obstacles);
        Self(known.filter_map(|(function, obstacle)| Some((function.as_value_ref(), obstacle?))).collect())
    }

    pub fn get(&self, function: FunctionValue<'_>) -> Option<&str> {
        self.0.get(&function.as_value_ref()).map(String::as_str)
    }
}

/// Whether a module has module-level assembly.
fn has_assembly(module: &Module<'_>) -> bool {
    let mut length = 0;
    // SAFETY: the module is live.
    unsafe { LLVMGetModuleInlineAsm(module.as_mut_ptr(), &mut length) };
    length > 0
}

/// Whether the host launches a function.
pub fn is_kernel(function: FunctionValue<'_>) -> bool {
    function.get_call_conventions() == LLVMCallConv::LLVMPTXKernelCallConv as u32
}

/// The product of the numbers in an attribute such as `"nvvm.reqntid"="32,2"`; `None` if the attribute has another
/// form.
pub fn product(function: FunctionValue<'_>, attribute: &str) -> Option<u64> {
    let attribute = function.get_string_attribute(AttributeLoc::Function, attribute)?;
    let text = attribute.get_string_value().to_string_lossy();
    text.split(',').map(|number| number.trim().parse::<u64>().ok()).product()
}

fn read(
    function: FunctionValue<'_>,
    indices: &FxHashMap<LLVMValueRef, usize>,
    obstacle: Option<&str>,
    options: &Options,
) -> Function {
    let one = |attribute: &&str| product(function, attribute) == Some(1);
    let mut read = Function {
        name: name(&function),
        is_kernel: is_kernel(function),
        has_one_cta: options
            .is_met_or_assumed(Condition::OneCta, ["nvvm.cluster_dim", "nvvm.maxclusterrank"].iter().any(one)),
        is_private: options.is_met_or_assumed(Condition::CalledHere, is_private(function)),
        obstacle: obstacle.map(str::to_owned),
        calls: Vec::new(),
    };
    for instruction in instructions(function) {
        let called = callee(instruction).filter(|callee| !is_replaceable(*callee));
        match called.and_then(|callee| indices.get(&callee.as_value_ref())) {
            Some(index) => read.calls.push(*index),
            None => read.obstacle = read.obstacle.or_else(|| self::obstacle(instruction)),
        }
        if read.obstacle.is_none() && has_cluster_pointer(instruction) {
            read.obstacle = Some(format!("`{}` has pointers to shared::cluster memory", read.name));
        }
    }
    read.obstacle = read.obstacle.filter(|_| !options.is_met_or_assumed(Condition::Unmapped, false));
    read
}

/// Whether only calls in the module reach a function.
fn is_private(function: FunctionValue<'_>) -> bool {
    let raw = function.as_value_ref();
    // SAFETY: the function and its users are live.
    unsafe {
        let is_local =
            matches!(LLVMGetLinkage(raw), LLVMLinkage::LLVMInternalLinkage | LLVMLinkage::LLVMPrivateLinkage);
        is_local
            && users(raw).all(|user| {
                let call = LLVMIsACallInst(user);
                // A function may be an argument of its own call.
                let arguments = || (0..LLVMGetNumArgOperands(call)).map(|index| LLVMGetOperand(call, index));
                !call.is_null() && LLVMGetCalledValue(call) == raw && arguments().all(|argument| argument != raw)
            })
    }
}

/// Whether another definition may replace the function's definition when modules are linked.
fn is_replaceable(function: FunctionValue<'_>) -> bool {
    use LLVMLinkage::*;
    // SAFETY: the function is live.
    let linkage = unsafe { LLVMGetLinkage(function.as_value_ref()) };
    [LLVMWeakAnyLinkage, LLVMLinkOnceAnyLinkage, LLVMExternalWeakLinkage].contains(&linkage)
}

/// The reason why an instruction may reach shared memory of other CTAs: it calls assembly or a function whose effect
/// the module does not determine.
fn obstacle(instruction: InstructionValue<'_>) -> Option<String> {
    if let Some(text) = inline_assembly(instruction) {
        return (!assembly::stays_in_cta(&text)).then(|| "inline assembly may use mapa".into());
    }
    let Some(callee) = callee(instruction) else {
        return is_call(instruction).then(|| "a call through a pointer may use mapa".into());
    };
    let name = name(&callee);
    let computes = call::effects(instruction, Some(callee)) == Some(0);
    let stays = Declared::new(&name, call::has_body(callee)).is_some_and(|declared| declared.stays_in_cta(computes));
    (!stays).then(|| format!("the call to `{name}` may use mapa"))
}

/// Whether an instruction produces or uses a pointer to the shared memory of a cluster.
fn has_cluster_pointer(instruction: InstructionValue<'_>) -> bool {
    let raw = instruction.as_value_ref();
    let number = address_space::number(Space::SharedCluster);
    // SAFETY: the instruction is live, and the index is below the number of its operands.
    unsafe {
        let is_one = |value| {
            let ty = LLVMTypeOf(value);
            let is_vector = LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMVectorTypeKind;
            let ty = if is_vector { LLVMGetElementType(ty) } else { ty };
            LLVMGetTypeKind(ty) == LLVMTypeKind::LLVMPointerTypeKind && LLVMGetPointerAddressSpace(ty) == number
        };
        is_one(raw) || (0..LLVMGetNumOperands(raw).cast_unsigned()).any(|index| is_one(LLVMGetOperand(raw, index)))
    }
}
