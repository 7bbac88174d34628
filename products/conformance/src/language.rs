//! The functions of the suite as source text, in the input language of a compiler.

use ptx_lowering::{
    Operation, Ordering, RmwOp, SyncScope, Target, Type,
    ptx::{Scope, Space},
};
use strum::{Display, EnumString, IntoStaticStr, VariantNames};

use crate::{
    cell::{self, CONSTANTS, Cell, Form, OFFSET},
    llvm_ir::{self, Spelling},
};

/// The input language of a compiler.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Display, EnumString, IntoStaticStr, VariantNames)]
#[strum(serialize_all = "kebab-case")]
pub enum Language {
    /// LLVM IR.
    #[default]
    Llvm,
    /// LLVM IR with typed pointers, as in LLVM 7: the input of libNVVM for GPUs before sm_100.
    Llvm7,
    /// Rust with the atomics of `core`.
    Rust,
    /// Rust with the crate `ptx-atomics-scope`.
    RustScope,
    /// C++ with the builtin functions `__scoped_atomic_*` of clang.
    #[strum(serialize = "c++")]
    Cpp,
    /// CUDA C++ with `cuda::atomic_ref` of libcu++.
    Cuda,
}

/// The names of a type in each language, indexed by its word in the name of a function.
struct TypeWords {
    word: &'static str,
    rust: &'static str,
    rust_signed: &'static str,
    /// The types of `core`.
    atomic: &'static str,
    atomic_signed: &'static str,
    cpp: &'static str,
    cpp_signed: &'static str,
}

#[rustfmt::skip]
const TYPES: [TypeWords; 7] = [
    TypeWords { word: "i8",     rust: "u8",  rust_signed: "i8",  atomic: "AtomicU8",  atomic_signed: "AtomicI8",  cpp: "unsigned char",      cpp_signed: "signed char" },
    TypeWords { word: "i16",    rust: "u16", rust_signed: "i16", atomic: "AtomicU16", atomic_signed: "AtomicI16", cpp: "unsigned short",     cpp_signed: "short" },
    TypeWords { word: "i32",    rust: "u32", rust_signed: "i32", atomic: "AtomicU32", atomic_signed: "AtomicI32", cpp: "unsigned",           cpp_signed: "int" },
    TypeWords { word: "i64",    rust: "u64", rust_signed: "i64", atomic: "AtomicU64", atomic_signed: "AtomicI64", cpp: "unsigned long long", cpp_signed: "long long" },
    TypeWords { word: "ptr",    rust: "*mut ()", rust_signed: "", atomic: "AtomicPtr<()>", atomic_signed: "",     cpp: "void *",             cpp_signed: "" },
    TypeWords { word: "float",  rust: "",    rust_signed: "",    atomic: "",          atomic_signed: "",          cpp: "float",              cpp_signed: "" },
    TypeWords { word: "double", rust: "",    rust_signed: "",    atomic: "",          atomic_signed: "",          cpp: "double",             cpp_signed: "" },
];

/// The names of a read-modify-write in each language: empty if a language lacks the operation.
struct Method {
    op: RmwOp,
    rust: &'static str,
    cpp: &'static str,
    cuda: &'static str,
    is_signed: bool,
}

#[rustfmt::skip]
const METHODS: [Method; 15] = [
    Method { op: RmwOp::Xchg,     rust: "swap",       cpp: "exchange",   cuda: "exchange",  is_signed: false },
    Method { op: RmwOp::Add,      rust: "fetch_add",  cpp: "fetch_add",  cuda: "fetch_add", is_signed: false },
    Method { op: RmwOp::Sub,      rust: "fetch_sub",  cpp: "fetch_sub",  cuda: "fetch_sub", is_signed: false },
    Method { op: RmwOp::And,      rust: "fetch_and",  cpp: "fetch_and",  cuda: "fetch_and", is_signed: false },
    Method { op: RmwOp::Nand,     rust: "fetch_nand", cpp: "fetch_nand", cuda: "",          is_signed: false },
    Method { op: RmwOp::Or,       rust: "fetch_or",   cpp: "fetch_or",   cuda: "fetch_or",  is_signed: false },
    Method { op: RmwOp::Xor,      rust: "fetch_xor",  cpp: "fetch_xor",  cuda: "fetch_xor", is_signed: false },
    Method { op: RmwOp::Max,      rust: "fetch_max",  cpp: "fetch_max",  cuda: "fetch_max", is_signed: true },
    Method { op: RmwOp::Min,      rust: "fetch_min",  cpp: "fetch_min",  cuda: "fetch_min", is_signed: true },
    Method { op: RmwOp::UMax,     rust: "fetch_max",  cpp: "fetch_max",  cuda: "fetch_max", is_signed: false },
    Method { op: RmwOp::UMin,     rust: "fetch_min",  cpp: "fetch_min",  cuda: "fetch_min", is_signed: false },
    Method { op: RmwOp::UIncWrap, rust: "",           cpp: "fetch_uinc", cuda: "",          is_signed: false },
    Method { op: RmwOp::UDecWrap, rust: "",           cpp: "fetch_udec", cuda: "",          is_signed: false },
    Method { op: RmwOp::FAdd,     rust: "",           cpp: "fetch_add",  cuda: "fetch_add", is_signed: false },
    Method { op: RmwOp::FSub,     rust: "",           cpp: "fetch_sub",  cuda: "fetch_sub", is_signed: false },
];

impl Method {
    fn name(&self, language: Language) -> &'static str {
        match language {
            Language::Rust | Language::RustScope => self.rust,
            Language::Cpp => self.cpp,
            Language::Cuda => self.cuda,
            Language::Llvm | Language::Llvm7 => self.op.into(),
        }
    }
}

/// The name of a scope in each language: empty if a language lacks the scope.
fn scope(language: Language, scope: SyncScope) -> &'static str {
    use Scope::{Cluster, Cta, Gpu, Sys};
    use SyncScope::{SingleThread, Threads};
    match (language, scope) {
        (Language::Rust, Threads(Sys)) => "core",
        (Language::Rust, _) => "",
        (Language::RustScope, Threads(Sys)) => "System",
        (Language::RustScope, Threads(Gpu)) => "Device",
        (Language::RustScope, Threads(Cluster)) => "Cluster",
        (Language::RustScope, Threads(Cta)) => "Block",
        (Language::RustScope, SingleThread) => "",
        (Language::Cpp, Threads(Sys)) => "__MEMORY_SCOPE_SYSTEM",
        (Language::Cpp, Threads(Gpu)) => "__MEMORY_SCOPE_DEVICE",
        (Language::Cpp, Threads(Cluster)) => "__MEMORY_SCOPE_CLUSTR",
        (Language::Cpp, Threads(Cta)) => "__MEMORY_SCOPE_WRKGRP",
        (Language::Cpp, SingleThread) => "__MEMORY_SCOPE_SINGLE",
        (Language::Cuda, Threads(Sys)) => "cuda::thread_scope_system",
        (Language::Cuda, Threads(Gpu)) => "cuda::thread_scope_device",
        (Language::Cuda, Threads(Cluster)) => "",
        (Language::Cuda, Threads(Cta)) => "cuda::thread_scope_block",
        (Language::Cuda, SingleThread) => "cuda::thread_scope_thread",
        (Language::Llvm | Language::Llvm7, scope) => llvm_ir::scope_name(scope),
    }
}

/// The names that the source of one function uses.
struct Words {
    ty: &'static TypeWords,
    method: &'static str,
    is_signed: bool,
    scope: &'static str,
    success: Ordering,
    failure: Ordering,
}

impl Words {
    /// `None` if the language lacks the operation.
    fn from_cell(language: Language, cell: &Cell) -> Option<Self> {
        let ty = TYPES.iter().find(|ty| ty.word == cell.ty.word)?;
        let is_rust = matches!(language, Language::Rust | Language::RustScope);
        let success = cell.op.ordering;
        let (method, is_signed) = match cell.rmw() {
            None => ("", false),
            Some(op) => {
                METHODS.iter().find(|method| method.op == op).map(|method| (method.name(language), method.is_signed))?
            }
        };
        let failure = if let Operation::CmpXchg { failure, .. } = cell.op.operation { failure } else { success };
        let scope = scope(language, cell.op.scope);
        let has_type = !is_rust || !ty.rust.is_empty();
        let has_method = cell.rmw().is_none() || !method.is_empty();
        let has = has_type && has_method && !scope.is_empty() && success != Ordering::Unordered && !cell.is_volatile();
        has.then_some(Self { ty, method, is_signed, scope, success, failure })
    }
}

impl Language {
    /// The extension of file names.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Llvm | Self::Llvm7 => "ll",
            Self::Rust | Self::RustScope => "rs",
            Self::Cpp => "cpp",
            Self::Cuda => "cu",
        }
    }

    /// The functions that the language can express, with the operations of the compiler's version of LLVM. Languages
    /// other than LLVM IR have generic addresses, with every scope.
    pub fn cells(self, target: &Target, llvm: u32) -> Vec<Cell> {
        match self {
            Self::Llvm | Self::Llvm7 => cell::of_llvm(target, llvm),
            _ => {
                let cells = cell::cells(target, llvm, &[Space::Generic], |_| true);
                cell::with_forms(cells.into_iter().filter(|cell| Words::from_cell(self, cell).is_some()).collect())
            }
        }
    }

    /// A source file with these functions.
    pub fn source<'c>(self, cells: impl IntoIterator<Item = &'c Cell>) -> String {
        let head = match self {
            Self::Llvm | Self::Llvm7 => "target triple = \"nvptx64-nvidia-cuda\"\n",
            Self::Rust => "#![no_std]\nuse core::sync::atomic::*;\n",
            Self::RustScope => "#![no_std]\nuse core::sync::atomic::*;\nuse ptx_atomics_scope::*;\n",
            Self::Cpp => "",
            Self::Cuda => "#include <cuda/atomic>\n",
        };
        let mut source = head.to_owned();
        source.extend(cells.into_iter().map(|cell| self.function(cell)));
        source
    }

    fn function(self, cell: &Cell) -> String {
        match self {
            Self::Llvm => llvm(cell, false),
            Self::Llvm7 => llvm(cell, true),
            // The functions of a language are the operations that it can express.
            _ => Words::from_cell(self, cell).map_or(String::new(), |words| match self {
                Self::Cpp | Self::Cuda => cpp(self, cell, &words),
                _ => rust(self, cell, &words),
            }),
        }
    }
}

fn llvm(cell: &Cell, typed_pointers: bool) -> String {
    let ty = if typed_pointers && cell.ty.llvm == "ptr" { "i8*" } else { cell.ty.llvm };
    // A fence also has an address as its parameter, and does not use it.
    let space = cell.space().unwrap_or(Space::Global);
    let pointer = if typed_pointers { format!("{ty}{}*", llvm_ir::qualifier(space)) } else { llvm_ir::pointer(space) };
    let address = match (cell.form, cell.variable()) {
        (Form::Offset, _) => "%q".to_owned(),
        (_, Some(variable)) => format!("@{variable}"),
        _ => "%p".to_owned(),
    };
    // A variable is in the memory of its address space, and a generic address of the variable is a cast.
    let (pointer_of, own) = (
        |space| if typed_pointers { format!("{ty}{}*", llvm_ir::qualifier(space)) } else { llvm_ir::pointer(space) },
        if space == Space::Generic { Space::Global } else { space },
    );
    let is_cast = cell.form == Form::Variable && own != space;
    let address = if is_cast { format!("addrspacecast ({} {address} to {pointer})", pointer_of(own)) } else { address };
    let spelling = Spelling {
        ty,
        align: cell.ty.ty.bits() / 8,
        aligned_rmw: !typed_pointers,
        pointer: &format!("{pointer} {address}"),
        weak: false,
    };
    let constants = CONSTANTS.map(|value| llvm_constant(cell, value, typed_pointers));
    let operands = if cell.form == Form::Constant { constants.each_ref().map(|value| &**value) } else { ["%b", "%c"] };
    let body = llvm_ir::instructions_on(&cell.op, &spelling, operands);
    let front = match cell.form {
        Form::Offset if typed_pointers => {
            let byte = format!("i8{}*", llvm_ir::qualifier(space));
            let cast = format!("%i = bitcast {pointer} %p to {byte}\n  %o = getelementptr i8, {byte} %i, i64 {OFFSET}");
            format!("{cast}\n  %q = bitcast {byte} %o to {pointer}\n  ")
        }
        Form::Offset => format!("%q = getelementptr i8, {pointer} %p, i64 {OFFSET}\n  "),
        _ => String::new(),
    };
    let (result, end) = match cell.form {
        Form::Success => {
            ("i32", format!("%s = extractvalue {{ {ty}, i1 }} %pair, 1\n  %z = zext i1 %s to i32\n  ret i32 %z"))
        }
        _ if cell.returns().is_some() => (ty, format!("ret {ty} %r")),
        _ => ("void", "ret void".to_owned()),
    };
    let variable = cell.variable().map(|name| {
        let initial = if own == Space::Shared { "undef" } else { "zeroinitializer" };
        format!(
            "@{name} = {}global {ty} {initial}, align {}\n",
            llvm_ir::qualifier(own).trim_start().to_owned() + " ",
            spelling.align
        )
    });
    let head = variable.unwrap_or_default();
    format!(
        "{head}define {result} @{}({pointer} %p, {ty} %b, {ty} %c) {{\n  {front}{body}\n  {end}\n}}\n",
        cell.symbol()
    )
}

/// A constant of the type of a function.
fn llvm_constant(cell: &Cell, value: i8, typed_pointers: bool) -> String {
    let element = match cell.ty.ty.scalar() {
        Type::F16 | Type::Bf16 | Type::F32 | Type::F64 => format!("{value}.0"),
        _ if cell.ty.llvm == "ptr" && typed_pointers => format!("inttoptr (i64 {value} to i8*)"),
        _ if cell.ty.llvm == "ptr" => format!("inttoptr (i64 {value} to ptr)"),
        _ => value.to_string(),
    };
    let ty = cell.ty.llvm.rsplit_once(' ').map(|(_, element)| element.trim_end_matches('>'));
    match ty {
        Some(ty) => format!("<{}>", vec![format!("{ty} {element}"); cell.ty.ty.lanes()].join(", ")),
        None => element,
    }
}

fn rust(language: Language, cell: &Cell, words: &Words) -> String {
    let Words { ty, method, is_signed, scope, success, failure } = words;
    let rust = ty.rust;
    let (atomic, signed) = if *is_signed { (ty.atomic_signed, ty.rust_signed) } else { (ty.atomic, rust) };
    let with_scope = language == Language::RustScope;
    let variable = cell.variable();
    let pointer = match (cell.form, &variable) {
        (Form::Offset, _) => format!("p.byte_add({OFFSET})"),
        (_, Some(variable)) => format!("(&raw mut {variable})"),
        _ => "p".to_owned(),
    };
    let place = match with_scope {
        true => format!("Scoped::<{atomic}, {scope}>::from_ptr({pointer}.cast())"),
        false => format!("<{atomic}>::from_ptr({pointer}.cast())"),
    };
    let place = format!("unsafe {{ {place} }}");
    let order = |ordering: &Ordering| format!("Ordering::{ordering:?}");
    let (success, failure) = (order(success), order(failure));
    let constant = |value: i8| match ty.rust {
        pointer if pointer.starts_with('*') => format!("({value}isize as {pointer})"),
        number => format!("({value}i8 as {number})"),
    };
    let [b, c] = if cell.form == Form::Constant { CONSTANTS.map(constant) } else { ["b", "c"].map(str::to_owned) };
    let body = match cell.op.operation {
        Operation::Fence if with_scope => format!("ptx_atomics_scope::fence::<{scope}>({success});"),
        Operation::Fence => format!("core::sync::atomic::fence({success});"),
        Operation::Load(_) => format!("{place}.load({success})"),
        Operation::Store(_) => format!("{place}.store({b}, {success});"),
        Operation::Rmw(..) => format!("{place}.{method}({b} as {signed}, {success}) as {rust}"),
        Operation::CmpXchg { .. } => {
            let exchange = format!("{place}.compare_exchange({b}, {c}, {success}, {failure})");
            match cell.form {
                Form::Success => format!("{exchange}.is_ok() as u32"),
                _ => format!("let (Ok(old) | Err(old)) = {exchange}; old"),
            }
        }
    };
    let body = if cell.form == Form::Unread { format!("{{ {body} }};") } else { body };
    let result = match (cell.form, cell.returns()) {
        (Form::Success, _) => " -> u32".to_owned(),
        (_, Some(_)) => format!(" -> {rust}"),
        (_, None) => String::new(),
    };
    let head = format!("pub unsafe extern \"C\" fn {}(p: *mut {rust}, b: {rust}, c: {rust}){result}", cell.symbol());
    let variable = variable.map_or(String::new(), |name| {
        format!("#[unsafe(no_mangle)]\npub static mut {name}: {rust} = unsafe {{ core::mem::zeroed() }};\n")
    });
    format!("{variable}#[unsafe(no_mangle)]\n{head} {{ {body} }}\n")
}

fn cpp(language: Language, cell: &Cell, words: &Words) -> String {
    let Words { ty, method, is_signed, scope, success, failure } = words;
    let is_cuda = language == Language::Cuda;
    let value = ty.cpp;
    let operand = if *is_signed { ty.cpp_signed } else { value };
    let order = |ordering: &Ordering| match is_cuda {
        true => format!("cuda::memory_order_{ordering}"),
        false => format!("__ATOMIC_{ordering}").to_uppercase(),
    };
    let (success, failure) = (order(success), order(failure));
    let variable = cell.variable();
    let pointer = match (cell.form, &variable) {
        (Form::Offset, _) => format!("((char *)p + {OFFSET})"),
        (_, Some(variable)) => format!("&{variable}"),
        _ => "p".to_owned(),
    };
    let place = format!("cuda::atomic_ref<{operand}, {scope}>(*({operand} *){pointer})");
    let place = if is_cuda { place } else { format!("({operand} *){pointer}") };
    let front = match cell.form {
        Form::Constant => {
            let [b, c] = CONSTANTS.map(|value| match ty.word {
                "ptr" => format!("(void *)(long long){value}"),
                _ => format!("({operand}){value}"),
            });
            format!("b = {b}; c = {c}; ")
        }
        _ => String::new(),
    };
    let body = match (cell.op.operation, is_cuda) {
        (Operation::Fence, true) => format!("cuda::atomic_thread_fence({success}, {scope});"),
        (Operation::Fence, false) => format!("__scoped_atomic_thread_fence({success}, {scope});"),
        (Operation::Load(_), true) => format!("return {place}.load({success});"),
        (Operation::Load(_), false) => format!("__scoped_atomic_load({place}, &b, {success}, {scope}); return b;"),
        (Operation::Store(_), true) => format!("{place}.store(b, {success});"),
        (Operation::Store(_), false) => format!("__scoped_atomic_store({place}, &b, {success}, {scope});"),
        (Operation::Rmw(..), true) => format!("return {place}.{method}(b, {success});"),
        (Operation::Rmw(RmwOp::Xchg, _), false) => {
            format!("__scoped_atomic_exchange({place}, &b, &c, {success}, {scope}); return c;")
        }
        (Operation::Rmw(..), false) => format!("return __scoped_atomic_{method}({place}, b, {success}, {scope});"),
        (Operation::CmpXchg { .. }, true) => {
            format!("{place}.compare_exchange_strong(b, c, {success}, {failure})")
        }
        (Operation::CmpXchg { .. }, false) => {
            let operands = format!("{place}, &b, &c, false, {success}, {failure}, {scope}");
            format!("__scoped_atomic_compare_exchange({operands})")
        }
    };
    let body = match (cell.op.operation, cell.form) {
        (Operation::CmpXchg { .. }, Form::Success) => format!("return {body};"),
        (Operation::CmpXchg { .. }, Form::Unread) => format!("{body};"),
        (Operation::CmpXchg { .. }, _) => format!("{body}; return b;"),
        (_, Form::Unread) => body.replace("return c;", "").replace("return ", ""),
        _ => body,
    };
    let result = match (cell.form, cell.returns()) {
        (Form::Success, _) => "unsigned",
        (_, Some(_)) => value,
        (_, None) => "void",
    };
    let device = if is_cuda { "__device__ " } else { "" };
    let parameters = format!("{value} *p, {value} b, {value} c");
    let variable = variable.map_or(String::new(), |name| format!("{device}{value} {name};\n"));
    format!("{variable}extern \"C\" {device}{result} {}({parameters}) {{ {front}{body} }}\n", cell.symbol())
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// The number of functions of each language. Each function has a unique name and one definition.
    #[test]
    fn functions() {
        let check = |sm: &str, ptx: &str, language: Language, llvm: u32, count: usize| {
            let target = Target::new(sm.parse().expect(sm), ptx.parse().ok()).expect(sm);
            let cells = language.cells(&target, llvm);
            let names: HashSet<_> = cells.iter().map(Cell::symbol).collect();
            let source = language.source(&cells);
            // Each operation has each form with each type and memory.
            let of = |cell: &Cell| {
                (cell.kind(), cell.rmw().map(<&str>::from), cell.ty.llvm, cell.space().map(|space| space.to_string()))
            };
            for form in [Form::Offset, Form::Constant, Form::Unread, Form::Variable, Form::Success] {
                let with: HashSet<_> = cells.iter().filter(|cell| cell.form == form).map(of).collect();
                let lacks = cells.iter().find(|cell| form.is_of(&cell.op) && !with.contains(&of(cell)));
                assert_eq!(lacks, None, "{sm} {language} {llvm} {form:?}");
            }
            let defined = cells.iter().filter(|cell| source.contains(&format!("{}(", cell.symbol()))).count();
            assert_eq!((cells.len(), names.len(), defined), (count, count, count), "{sm} {language} {llvm}");
        };
        check("sm_60", "ptx88", Language::Llvm, 22, 7_544);
        check("sm_70", "ptx88", Language::Llvm, 22, 7_630);
        check("sm_80", "ptx90", Language::Llvm7, 22, 7_630);
        check("sm_90", "ptx90", Language::Llvm, 22, 9_808);
        check("sm_90", "ptx90", Language::Llvm, 23, 10_676);
        check("sm_90", "ptx90", Language::Rust, 22, 577);
        check("sm_90", "ptx90", Language::RustScope, 22, 1_636);
        check("sm_90", "ptx90", Language::Cpp, 22, 2_465);
        check("sm_90", "ptx90", Language::Cuda, 22, 1_742);
    }
}
