//! A cell of the grid in MLIR's LLVM dialect, with variables or constants as operands.

use ptx_lowering::{
    Operation, Ordering, RmwOp, SyncScope, Type,
    ptx::{Scope, Space},
};

use testing::cells::{self, Cell, Pointer};

/// A cell whose values are arguments of the function or constants.
pub struct Program {
    pub cell: Cell,
    constants: Option<[Constant; 2]>,
}

/// A value in the syntax of LLVM IR, and the MLIR op that makes it.
type Constant = (&'static str, &'static str);

/// The constants of a type. `TYPE` in an op is a placeholder for the type.
#[rustfmt::skip]
fn constants(ty: &str) -> &'static [Constant] {
    match ty {
        "i8" | "i16" | "i32" | "i64" | "i128" => &[
            ("0", "constant(0 : TYPE)"), ("1", "constant(1 : TYPE)"), ("-1", "constant(-1 : TYPE)"),
            ("-128", "constant(-128 : TYPE)"), ("0", "zero"), ("100", "constant(100 : TYPE)"),
        ],
        "ptr" => &[("null", "zero")],
        "half" => &[("0.0", "zero"), ("0xH3C00", "constant(1.0 : TYPE)")],
        "bfloat" => &[("0.0", "zero"), ("0xR3F80", "constant(1.0 : TYPE)")],
        "float" => &[
            ("0.0", "constant(0.0 : TYPE)"), ("-0.0", "constant(-0.0 : TYPE)"), ("1.5", "constant(1.5 : TYPE)"),
            ("0x7FF0000000000000", "constant(0x7F800000 : TYPE)"), ("0x7FF8000000000000", "constant(0x7FC00000 : TYPE)"),
            ("0x36A0000000000000", "constant(0x00000001 : TYPE)"), ("0.0", "zero"),
        ],
        "double" => &[
            ("0.0", "constant(0.0 : TYPE)"), ("-0.0", "constant(-0.0 : TYPE)"), ("0.1", "constant(0.1 : TYPE)"),
            ("0xFFF0000000000000", "constant(0xFFF0000000000000 : TYPE)"),
            ("0x7FF8000000000000", "constant(0x7FF8000000000000 : TYPE)"), ("0.0", "zero"),
        ],
        vector if vector.contains("half") => &[("zeroinitializer", "zero"), ("splat (half 0xH3C00)", "constant(dense<1.0> : TYPE)")],
        vector if vector.contains("bfloat") => &[("zeroinitializer", "zero"), ("splat (bfloat 0xR3F80)", "constant(dense<1.0> : TYPE)")],
        vector if vector.contains("float") => &[("zeroinitializer", "zero"), ("splat (float 1.5)", "constant(dense<1.5> : TYPE)")],
        _ => &[("zeroinitializer", "zero"), ("splat (double 1.5)", "constant(dense<1.5> : TYPE)")],
    }
}

/// The MLIR spelling of an LLVM type.
fn mlir_type(llvm: &str) -> String {
    let scalar = |name: &str| match name {
        "ptr" => "!llvm.ptr".to_owned(),
        "half" => "f16".to_owned(),
        "bfloat" => "bf16".to_owned(),
        "float" => "f32".to_owned(),
        "double" => "f64".to_owned(),
        integer => integer.to_owned(),
    };
    let vector = llvm.strip_prefix('<').and_then(|rest| rest.strip_suffix('>')).and_then(|rest| rest.split_once(" x "));
    match vector {
        Some((lanes, element)) => format!("vector<{lanes}x{}>", scalar(element)),
        None => scalar(llvm),
    }
}

/// The name of a `bin_op`.
fn bin_op(op: RmwOp) -> &'static str {
    match op {
        RmwOp::And => "_and",
        RmwOp::Or => "_or",
        RmwOp::Xor => "_xor",
        op => op.into(),
    }
}

/// Whether the dialect has the operation. Its verifier requires scalars, except for arithmetic on floats, and rejects
/// arithmetic on 128-bit integers.
pub fn has(cell: &Cell) -> bool {
    match cell.op.operation {
        Operation::Fence => true,
        Operation::Rmw(op, access) => op == RmwOp::Xchg || access.ty != Type::I128,
        _ => !cell.ty.0.starts_with('<'),
    }
}

impl Program {
    pub fn new(cell: Cell) -> Self {
        Self { cell, constants: None }
    }

    /// A program whose operands are the constants with this number.
    pub fn constant(cell: Cell, number: usize) -> Self {
        let known = constants(cell.ty.0);
        // A file may also have the variant with variables.
        let name = format!("{}_constant", cell.name);
        Self {
            constants: Some([0, 1].map(|operand| known[(number + operand) % known.len()])),
            cell: Cell { name, ..cell },
        }
    }

    /// Whether an operand is a constant vector that is not zero.
    pub fn has_constant_vector(&self) -> bool {
        let splat = |constant: &Constant| constant.0.starts_with("splat");
        self.constants.is_some_and(|constants| constants.iter().any(splat))
    }

    /// The program as a function of LLVM IR.
    pub fn llvm_ir(&self) -> String {
        let text = cells::llvm_ir(&self.cell);
        let Some([b, c]) = self.constants else { return text };
        let (head, body) = text.split_once("{\n").expect("a body");
        format!("{head}{{\n{}", body.replace("%b", b.0).replace("%c", c.0))
    }

    /// The program as a function of the LLVM dialect.
    pub fn mlir(&self) -> String {
        let Cell { name, op, ty: (ty, align, _), pointer, weak, read } = &self.cell;
        let ty = mlir_type(ty);
        let order = |ordering: Ordering| if ordering == Ordering::Relaxed { "monotonic" } else { ordering.into() };
        let scope = match op.scope {
            SyncScope::SingleThread => r#"syncscope("singlethread") "#,
            SyncScope::Threads(Scope::Cta) => r#"syncscope("block") "#,
            SyncScope::Threads(Scope::Cluster) => r#"syncscope("cluster") "#,
            SyncScope::Threads(Scope::Gpu) => r#"syncscope("device") "#,
            SyncScope::Threads(Scope::Sys) => "",
        };
        let space = match (pointer, op.operation.access().map(|access| access.space)) {
            (Pointer::Argument(_), Some(Space::Global)) => "<1>",
            (Pointer::Argument(_), Some(Space::Shared)) => "<3>",
            (Pointer::Argument(_), Some(Space::Const)) => "<4>",
            (Pointer::Argument(_), Some(Space::Local)) => "<5>",
            (Pointer::Argument(_), Some(Space::SharedCluster)) => "<7>",
            _ => "",
        };
        let pointer_type = format!("!llvm.ptr{space}");
        let (argument, alloca) = match pointer {
            Pointer::Alloca => {
                let alloca = format!("%p = llvm.alloca %one x {ty} {{alignment = {align} : i64}} : (i32) -> !llvm.ptr");
                (String::new(), format!("%one = llvm.mlir.constant(1 : i32) : i32\n  {alloca}\n  "))
            }
            _ => (format!("%p: {pointer_type}, "), String::new()),
        };
        let constants = self.constants.iter().flatten().zip(["b", "c"]);
        let constants =
            constants.map(|((_, op), name)| format!("%{name} = llvm.mlir.{} : {ty}\n  ", op.replace("TYPE", &ty)));
        let constants = constants.collect::<String>();
        let named = if constants.is_empty() { ["b", "c"] } else { ["b_unused", "c_unused"] };
        let [b, c] = named.map(|name| format!("%{name}: {ty}"));
        let volatile = if op.operation.access().is_some_and(|access| access.volatile) { "volatile " } else { "" };
        let ordering = order(op.ordering);
        let body = match op.operation {
            Operation::Fence => format!("llvm.fence {scope}{ordering}"),
            Operation::Load(_) => format!(
                "%r = llvm.load {volatile}%p atomic {scope}{ordering} {{alignment = {align} : i64}} : {pointer_type} -> {ty}"
            ),
            Operation::Store(_) => format!(
                "llvm.store {volatile}%b, %p atomic {scope}{ordering} {{alignment = {align} : i64}} : {ty}, {pointer_type}"
            ),
            Operation::Rmw(rmw, _) => format!(
                "%r = llvm.atomicrmw {volatile}{} %p, %b {scope}{ordering} {{alignment = {align} : i64}} : {pointer_type}, {ty}",
                bin_op(rmw)
            ),
            Operation::CmpXchg { failure, .. } => {
                let weak = if *weak { "weak " } else { "" };
                let orderings = format!("{scope}{ordering} {}", order(failure));
                format!(
                    "%pair = llvm.cmpxchg {weak}{volatile}%p, %b, %c {orderings} {{alignment = {align} : i64}} \
                     : {pointer_type}, {ty}\n  %r = llvm.extractvalue %pair[0] : !llvm.struct<({ty}, i1)>"
                )
            }
        };
        let (result, returned) = if *read { (format!(" -> {ty}"), format!(" %r : {ty}")) } else { Default::default() };
        format!(
            "llvm.func @{name}({argument}{b}, {c}){result} {{\n  {alloca}{constants}{body}\n  llvm.return{returned}\n}}\n"
        )
    }
}
