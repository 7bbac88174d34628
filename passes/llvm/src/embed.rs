//! The replacement of each atomic instruction by one call to inline assembly.

use std::{cell::RefCell, rc::Rc};

use inkwell::{
    GlobalVisibility,
    context::{AsContextRef, ContextRef},
    llvm_sys::{
        LLVMAttributeFunctionIndex, LLVMInlineAsmDialect, LLVMIntPredicate, LLVMTypeKind, core::*,
        debuginfo::LLVMInstructionSetDebugLoc, prelude::*,
    },
    module::{Linkage, Module},
    values::{AsValueRef, GlobalValue},
};
use ptx_lowering::{A, Argument, B, Type, ptx::Name};

use ptx_atomics_common::{
    address_space,
    operation::{IGNORES_SUBNORMALS, Opcode, Replacement},
};
use rustc_hash::FxHashMap;

use crate::{
    instruction::Instruction,
    memory::number_of,
    recognize::Planned,
    value::{Value, ValueType, take_name, users},
};

/// The flag of a module that sets the level of position-independent executables.
const PIE_LEVEL: &str = "PIE Level";

/// Keeps LLVM from printing a `dso_local` variable in inline assembly as `x$local`, an ELF symbol that it does not
/// define in PTX. In a position-independent executable LLVM does not use that symbol
/// (`AsmPrinter::getSymbolPreferLocal`), and the PTX is otherwise the same.
pub fn spell_symbols_plainly(module: &Module<'_>) {
    let spelled = |global: GlobalValue<'_>| {
        global.get_linkage() == Linkage::External
            && global.get_visibility() == GlobalVisibility::Default
            && !global.is_declaration()
    };
    if module.get_flag(PIE_LEVEL).is_some() || !module.get_globals().any(spelled) {
        return;
    }
    let context = module.get_context();
    // When modules are linked, the greater value wins, as with LLVM's own flag of this name ('Module Flags Metadata').
    let (max, level) = (context.i32_type().const_int(7, false), context.i32_type().const_int(2, false));
    let flag = context.metadata_node(&[max.into(), context.metadata_string(PIE_LEVEL).into(), level.into()]);
    // A flag is a node of three operands, and any named metadata accepts such a node.
    let added = module.add_global_metadata("llvm.module.flags", &flag);
    debug_assert!(added.is_ok());
}

/// The kinds of metadata of this crate.
const OURS: [&str; 3] = [crate::source::NUMBER, crate::cuda::KIND, crate::instruction::MAY_SKIP_WRITE];

/// The kinds of metadata that LLVM defines only for the replaced instruction, not for a call.
const NOT_ON_CALLS: [&str; 10] = [
    "nonnull",
    "align",
    "dereferenceable",
    "dereferenceable_or_null",
    "invariant.load",
    "invariant.group",
    "noundef",
    "nontemporal",
    IGNORES_SUBNORMALS[0],
    IGNORES_SUBNORMALS[1],
];

/// The kinds of metadata that describe the accessed memory. On a call, LLVM takes them as a promise that the call
/// accesses no other memory, and moves other accesses across it. An operation that orders other accesses must not make
/// this promise.
const ALIASING: [&str; 4] = ["tbaa", "tbaa.struct", "noalias", "alias.scope"];

/// `memory(argmem: readwrite)` in LLVM's encoding (`MemoryEffectsBase`). A load has the write effect, too: otherwise
/// LLVM would merge two loads.
const ARGMEM_READWRITE: u64 = 3;

/// The values that all replacements in one context share.
pub struct Embedder {
    context: LLVMContextRef,
    builder: LLVMBuilderRef,
    void: LLVMTypeRef,
    nounwind: LLVMAttributeRef,
    /// The attribute that LLVM assumes for the address of any access. It implies facts about offsets between addresses:
    /// an index whose computation must not overflow did not overflow.
    noundef: LLVMAttributeRef,
    /// The attributes that LLVM assumes for a relaxed atomic: it accesses only the memory at its operand, and does not
    /// synchronize.
    relaxed: [LLVMAttributeRef; 3],
    elementtype: u32,
    ours: [u32; OURS.len()],
    not_on_calls: [u32; NOT_ON_CALLS.len()],
    aliasing: [u32; ALIASING.len()],
    /// The kind of metadata that refers to the type of the result. It becomes invalid if the value is in a wider
    /// register.
    range: u32,
    /// A call for each replacement and type of the value in memory, in no block and without arguments. LLVM copies such
    /// a call faster than it builds a new one.
    templates: RefCell<FxHashMap<(*const Replacement, LLVMTypeRef), LLVMValueRef>>,
}

impl Drop for Embedder {
    fn drop(&mut self) {
        // SAFETY: this value owns the builder and the calls.
        unsafe {
            self.templates.get_mut().values().for_each(|call| LLVMDeleteInstruction(*call));
            LLVMDisposeBuilder(self.builder);
        }
    }
}

// SAFETY of all calls below: the instruction is in a block of a live module; new values belong to its context;
// arguments have the types of the parameters, because the parameter types are taken from them.
impl Embedder {
    pub fn new(context: &ContextRef<'_>) -> Self {
        let ours = OURS.map(|name| context.get_kind_id(name));
        let not_on_calls = NOT_ON_CALLS.map(|name| context.get_kind_id(name));
        let aliasing = ALIASING.map(|name| context.get_kind_id(name));
        let range = context.get_kind_id("range");
        let context = context.as_ctx_ref();
        unsafe {
            let kind = |name: &str| LLVMGetEnumAttributeKindForName(name.as_ptr().cast(), name.len());
            let attribute = |name, value| LLVMCreateEnumAttribute(context, kind(name), value);
            Self {
                context,
                builder: LLVMCreateBuilderInContext(context),
                void: LLVMVoidTypeInContext(context),
                nounwind: attribute("nounwind", 0),
                noundef: attribute("noundef", 0),
                relaxed: [attribute("nosync", 0), attribute("willreturn", 0), attribute("memory", ARGMEM_READWRITE)],
                elementtype: kind("elementtype"),
                ours,
                not_on_calls,
                aliasing,
                range,
                templates: RefCell::default(),
            }
        }
    }

    /// Replaces the instruction by one call, or keeps it.
    pub fn embed(&self, planned: &Planned<'_>) {
        match planned.native {
            Some(scope) => self.keep(planned, scope),
            None => self.replace(planned),
        }
    }

    /// Keeps the instruction, with the address and the scope of the operation that it represents.
    fn keep(&self, planned: &Planned<'_>, scope: u32) {
        let instruction = planned.instruction;
        let raw = instruction.raw();
        unsafe {
            LLVMPositionBuilderBefore(self.builder, raw);
            if let Some(index) = instruction.opcode().pointer() {
                LLVMSetOperand(raw, index as u32, self.pointer(planned));
            }
            LLVMSetAtomicSyncScopeID(raw, scope);
            for kind in self.ours {
                LLVMSetMetadata(raw, kind, std::ptr::null_mut());
            }
        }
    }

    /// Replaces the instruction by one call.
    fn replace(&self, planned: &Planned<'_>) {
        let instruction = planned.instruction;
        let raw = instruction.raw();
        unsafe {
            LLVMPositionBuilderBefore(self.builder, raw);
            let (call, result) = self.call(planned);
            let breaks = |kind| {
                let orders = planned.replacement.orders() && self.aliasing.contains(&kind);
                orders || call != result && kind == self.range
            };
            self.copy_metadata(raw, call, breaks);
            if planned.replacement.asm().has_result() {
                take_name(raw, result);
            }
            match instruction.opcode() {
                Opcode::Fence | Opcode::Store => {}
                Opcode::Load | Opcode::Rmw(_) => LLVMReplaceAllUsesWith(raw, result),
                Opcode::CmpXchg => replace_pair(self.builder, instruction, result),
            }
            let negation = planned.negated.and_then(|_| instruction.sources().next()).map(Value::raw);
            LLVMInstructionEraseFromParent(raw);
            if let Some(negation) = negation.filter(|negation| LLVMGetFirstUse(*negation).is_null()) {
                LLVMInstructionEraseFromParent(negation);
            }
        }
    }

    /// The call, and its result as a value of the instruction's type.
    unsafe fn call(&self, planned: &Planned<'_>) -> (LLVMValueRef, LLVMValueRef) {
        let Planned { instruction, replacement, negated, .. } = planned;
        let asm = replacement.asm();
        let value_type = instruction.value_type().map_or(self.void, ValueType::raw);
        unsafe {
            let value = |slot: &Name| {
                let source = instruction.sources().nth(usize::from(*slot != B));
                let source = negated.or(source).map(Value::raw).expect("the sequence has the slots of its kind");
                self.in_register(replacement, source)
            };
            let argument = |argument: &Argument| match argument {
                Argument::Whole(slot) if *slot == A => self.address(planned),
                Argument::Whole(slot) => value(slot),
                Argument::Low(slot) => self.low_half(value(slot)),
                Argument::High(slot) => self.high_half(value(slot)),
            };
            let arguments: Vec<_> = asm.arguments().iter().map(argument).collect();
            let key = (Rc::as_ptr(replacement), value_type);
            let template = *self.templates.borrow_mut().entry(key).or_insert_with(|| {
                let parameters = arguments.iter().map(|argument| LLVMTypeOf(*argument)).collect();
                self.template(replacement, value_type, parameters)
            });
            let call = LLVMInstructionClone(template);
            (0..).zip(&arguments).for_each(|(index, argument)| LLVMSetOperand(call, index, *argument));
            LLVMInsertIntoBuilder(self.builder, call);
            let value = if asm.has_result() { self.value_of(replacement, call, value_type) } else { call };
            (call, value)
        }
    }

    /// A call with parameters of these types, in no block and without arguments.
    unsafe fn template(
        &self,
        replacement: &Replacement,
        value_type: LLVMTypeRef,
        mut parameters: Vec<LLVMTypeRef>,
    ) -> LLVMValueRef {
        let asm = replacement.asm();
        unsafe {
            let result = if asm.has_result() { self.register_type(replacement, value_type) } else { self.void };
            let ty = LLVMFunctionType(result, parameters.as_mut_ptr(), parameters.len() as u32, 0);
            let (template, constraints) = (asm.template(), asm.constraints());
            let dialect = LLVMInlineAsmDialect::LLVMInlineAsmDialectATT;
            let (template, template_len) = (template.as_ptr().cast(), template.len());
            let (constraints, constraints_len) = (constraints.as_ptr().cast(), constraints.len());
            let asm_value =
                LLVMGetInlineAsm(ty, template, template_len, constraints, constraints_len, 1, 0, dialect, 0);
            let mut arguments: Vec<_> = parameters.iter().map(|ty| LLVMGetPoison(*ty)).collect();
            let count = arguments.len() as u32;
            let call = LLVMBuildCall2(self.builder, ty, asm_value, arguments.as_mut_ptr(), count, c"".as_ptr());
            LLVMInstructionRemoveFromParent(call);
            LLVMInstructionSetDebugLoc(call, std::ptr::null_mut());
            LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, self.nounwind);
            if asm.takes_address() {
                LLVMAddCallSiteAttribute(call, 1, self.noundef);
            }
            if asm.has_memory_operand() {
                let element = LLVMCreateTypeAttribute(self.context, self.elementtype, value_type);
                LLVMAddCallSiteAttribute(call, 1, element);
                let volatile = replacement.op.operation.access().is_some_and(|access| access.volatile);
                if !replacement.orders() && !volatile {
                    let add = |attribute| LLVMAddCallSiteAttribute(call, LLVMAttributeFunctionIndex, attribute);
                    self.relaxed.into_iter().for_each(add);
                }
            }
            call
        }
    }

    /// The address in the address space that the sequence accesses.
    unsafe fn pointer(&self, planned: &Planned<'_>) -> LLVMValueRef {
        let Planned { instruction, replacement, .. } = planned;
        let pointer = instruction.pointer().expect("the sequence has an address");
        let (found, wanted) = (number_of(pointer), address_space::number(replacement.space()));
        let pointer = pointer.as_value_ref();
        if found == wanted {
            return pointer;
        }
        unsafe {
            let ty = LLVMPointerTypeInContext(self.context, wanted);
            LLVMBuildAddrSpaceCast(self.builder, pointer, ty, c"".as_ptr())
        }
    }

    /// The same address, as an integer if the sequence computes with it.
    unsafe fn address(&self, planned: &Planned<'_>) -> LLVMValueRef {
        let replacement = &planned.replacement;
        unsafe {
            let pointer = self.pointer(planned);
            if replacement.asm().address_is_integer() {
                LLVMBuildPtrToInt(self.builder, pointer, LLVMInt64TypeInContext(self.context), c"".as_ptr())
            } else {
                pointer
            }
        }
    }

    /// The type of the register that holds a value.
    unsafe fn register_type(&self, replacement: &Replacement, ty: LLVMTypeRef) -> LLVMTypeRef {
        let model = replacement.op.operation.access().map_or(Type::I32, |access| access.ty);
        unsafe {
            match (LLVMGetTypeKind(ty), model) {
                (LLVMTypeKind::LLVMPointerTypeKind, _) => ty,
                (_, Type::F32) => LLVMFloatTypeInContext(self.context),
                (_, Type::F64) => LLVMDoubleTypeInContext(self.context),
                _ => LLVMIntTypeInContext(self.context, model.bits().max(16)),
            }
        }
    }

    unsafe fn in_register(&self, replacement: &Replacement, value: LLVMValueRef) -> LLVMValueRef {
        unsafe {
            let value = self.without_pointers(value);
            let (ty, wanted) = (LLVMTypeOf(value), self.register_type(replacement, LLVMTypeOf(value)));
            if ty == wanted {
                return value;
            }
            let bits = replacement.op.operation.access().map_or(32, |access| access.ty.bits());
            let integer = LLVMIntTypeInContext(self.context, bits);
            if bits == 8 {
                let byte = LLVMBuildBitCast(self.builder, value, integer, c"".as_ptr());
                return LLVMBuildZExt(self.builder, byte, wanted, c"".as_ptr());
            }
            LLVMBuildBitCast(self.builder, value, wanted, c"".as_ptr())
        }
    }

    /// The lower 64 bits of an integer.
    unsafe fn low_half(&self, value: LLVMValueRef) -> LLVMValueRef {
        unsafe { LLVMBuildTrunc(self.builder, value, LLVMInt64TypeInContext(self.context), c"".as_ptr()) }
    }

    /// The upper 64 bits of an integer of 128.
    unsafe fn high_half(&self, value: LLVMValueRef) -> LLVMValueRef {
        unsafe {
            let bits = LLVMConstInt(LLVMTypeOf(value), 64, 0);
            self.low_half(LLVMBuildLShr(self.builder, value, bits, c"".as_ptr()))
        }
    }

    /// A vector of pointers converted to a vector of integers; any other value unchanged.
    unsafe fn without_pointers(&self, value: LLVMValueRef) -> LLVMValueRef {
        unsafe {
            match self.integers_for(LLVMTypeOf(value)) {
                Some(integers) => LLVMBuildPtrToInt(self.builder, value, integers, c"".as_ptr()),
                None => value,
            }
        }
    }

    /// The type of the vector of integers to which a vector of pointers is converted.
    unsafe fn integers_for(&self, ty: LLVMTypeRef) -> Option<LLVMTypeRef> {
        unsafe {
            if LLVMGetTypeKind(ty) != LLVMTypeKind::LLVMVectorTypeKind
                || LLVMGetTypeKind(LLVMGetElementType(ty)) != LLVMTypeKind::LLVMPointerTypeKind
            {
                return None;
            }
            Some(LLVMVectorType(LLVMInt64TypeInContext(self.context), LLVMGetVectorSize(ty)))
        }
    }

    unsafe fn value_of(&self, replacement: &Replacement, value: LLVMValueRef, ty: LLVMTypeRef) -> LLVMValueRef {
        unsafe {
            if LLVMTypeOf(value) == ty {
                return value;
            }
            if let Some(integers) = self.integers_for(ty) {
                let vector = LLVMBuildBitCast(self.builder, value, integers, c"".as_ptr());
                return LLVMBuildIntToPtr(self.builder, vector, ty, c"".as_ptr());
            }
            let byte = LLVMInt8TypeInContext(self.context);
            let narrow = replacement.op.operation.access().is_some_and(|access| access.ty.bits() == 8);
            let value = if narrow { LLVMBuildTrunc(self.builder, value, byte, c"".as_ptr()) } else { value };
            LLVMBuildBitCast(self.builder, value, ty, c"".as_ptr())
        }
    }

    /// Copies all metadata that has a meaning on a call, except promises that the call breaks. The builder's position
    /// has already set the debug location.
    unsafe fn copy_metadata(&self, from: LLVMValueRef, to: LLVMValueRef, breaks: impl Fn(u32) -> bool) {
        unsafe {
            if LLVMHasMetadata(from) == 0 {
                return;
            }
            let mut count = 0;
            let entries = LLVMInstructionGetAllMetadataOtherThanDebugLoc(from, &mut count);
            for index in 0..count as u32 {
                let kind = LLVMValueMetadataEntriesGetKind(entries, index);
                if !breaks(kind) && !self.not_on_calls.contains(&kind) && !self.ours.contains(&kind) {
                    let metadata = LLVMValueMetadataEntriesGetMetadata(entries, index);
                    LLVMSetMetadata(to, kind, LLVMMetadataAsValue(self.context, metadata));
                }
            }
            LLVMDisposeValueMetadataEntries(entries);
        }
    }
}

/// Replaces the uses of a `cmpxchg`'s pair: the old value is `old`, and success is its equality with the expected
/// value.
unsafe fn replace_pair(builder: LLVMBuilderRef, instruction: Instruction<'_>, old: LLVMValueRef) {
    let raw = instruction.raw();
    unsafe {
        let equal = LLVMIntPredicate::LLVMIntEQ;
        let success = LLVMBuildICmp(builder, equal, old, LLVMGetOperand(raw, 1), c"success".as_ptr());
        for user in users(raw).collect::<Vec<_>>() {
            if !LLVMIsAExtractValueInst(user).is_null() {
                let index = *LLVMGetIndices(user);
                LLVMReplaceAllUsesWith(user, if index == 0 { old } else { success });
                LLVMInstructionEraseFromParent(user);
            }
        }
        if !LLVMGetFirstUse(raw).is_null() {
            let pair = LLVMGetPoison(LLVMTypeOf(raw));
            let pair = LLVMBuildInsertValue(builder, pair, old, 0, c"".as_ptr());
            let pair = LLVMBuildInsertValue(builder, pair, success, 1, c"".as_ptr());
            LLVMReplaceAllUsesWith(raw, pair);
        }
        if LLVMGetFirstUse(success).is_null() && !LLVMIsAInstruction(success).is_null() {
            LLVMInstructionEraseFromParent(success);
        }
    }
}
