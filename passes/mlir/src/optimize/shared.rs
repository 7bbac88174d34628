//! The functions of MLIR that may access shared memory of another CTA.

use std::collections::{HashMap, HashSet};

use melior::ir::{Attribute, ValueLike, operation::OperationLike};
use ptx_atomics_common::{
    address_space,
    cluster::{self, Function},
};
use ptx_lowering::{Target, ptx::Space};

use super::effect::{self, Bodies};
use crate::{
    ir::{self, Op},
    options::module_of,
    recognize,
};

/// Attributes of kernels that state the number of CTAs in a cluster, or its maximum.
const CTAS: [&str; 4] = ["nvvm.cluster_dim", "nvvm.cluster_max_blocks", "nvvm.maxclusterrank", "known_cluster_size"];

/// For each function of the device code in an op, the reason why its shared memory may be accessed by another CTA;
/// `None` if it is private to one CTA.
pub fn obstacles(
    device: Op<'_, '_>,
    functions: &[Op<'_, '_>],
    bodies: &Bodies,
    target: &Target,
) -> Vec<Option<String>> {
    let is_defined = |function| effect::has_body(function) && !is_replaceable(function);
    let defined = functions.iter().enumerate().filter(|(_, function)| is_defined(**function));
    let module = Module {
        bodies,
        defined: defined.filter_map(|(index, function)| Some((ir::symbol(*function)?, index))).collect(),
        taken: ir::all(device).into_iter().filter_map(taken).collect(),
        has_assembly: has_assembly(device),
    };
    let read: Vec<_> = functions.iter().map(|function| module.read(*function)).collect();
    cluster::obstacles(&read, target)
}

/// The facts about all functions together.
struct Module<'b> {
    bodies: &'b Bodies,
    /// The indices of the functions whose body no other definition can replace, by name.
    defined: HashMap<String, usize>,
    /// The names of the functions whose address is taken, with an `@`.
    taken: HashSet<String>,
    has_assembly: bool,
}

impl Module<'_> {
    fn read(&self, function: Op<'_, '_>) -> Function {
        let one = |attribute: &&str| product(function, attribute) == Some(1);
        let mut read = Function {
            name: ir::symbol(function).unwrap_or_default(),
            is_kernel: is_kernel(function),
            has_one_cta: CTAS.iter().any(one),
            is_private: self.is_private(function),
            obstacle: self.has_assembly.then(|| "assembly of the module may use mapa".to_owned()),
            calls: Vec::new(),
        };
        for op in ir::all(function).into_iter().skip(1) {
            match effect::callee_of(op).and_then(|callee| self.defined.get(&callee)) {
                Some(index) => read.calls.push(*index),
                None => read.obstacle = read.obstacle.or_else(|| effect::obstacle(op, self.bodies)),
            }
            if read.obstacle.is_none() && has_cluster_pointer(op) {
                read.obstacle = Some(format!("`{}` has pointers to shared::cluster memory", read.name));
            }
        }
        read
    }

    /// Whether only calls in the module reach a function.
    fn is_private(&self, function: Op<'_, '_>) -> bool {
        let own = text(function, "sym_visibility") == "\"private\"" || has_linkage(function, &["internal", "private"]);
        own && ir::symbol(function).is_some_and(|name| !self.taken.contains(&format!("@{name}")))
    }
}

/// Whether another definition may replace the function's definition when modules are linked.
fn is_replaceable(function: Op<'_, '_>) -> bool {
    has_linkage(function, &["weak", "linkonce", "extern_weak"])
}

fn has_linkage(function: Op<'_, '_>, linkages: &[&str]) -> bool {
    let linkage = text(function, "linkage");
    linkages.iter().any(|word| linkage == format!("#llvm.linkage<{word}>"))
}

/// The text of an attribute; empty if there is none.
fn text(op: Op<'_, '_>, name: &str) -> String {
    op.attribute(name).map(|found: Attribute<'_>| found.to_string()).unwrap_or_default()
}

/// The function whose address an op takes, with an `@`.
fn taken(op: Op<'_, '_>) -> Option<String> {
    let name = match ir::name(op) {
        "llvm.mlir.addressof" => "global_name",
        "func.constant" => "value",
        _ => return None,
    };
    ir::inherent(op, name).map(|taken| taken.to_string())
}

/// Whether the module that contains an op has module-level assembly.
fn has_assembly(op: Op<'_, '_>) -> bool {
    module_of(op).attribute("llvm.module_asm").is_ok_and(|lines| lines.to_string() != "[]")
}

/// Whether the host launches a function.
pub fn is_kernel(function: Op<'_, '_>) -> bool {
    ir::name(function) == "gpu.launch"
        || ["gpu.kernel", "nvvm.kernel"].iter().any(|mark| function.has_attribute(mark))
        || ir::name(function) == "gpu.func" && function.has_attribute("kernel")
        || ir::inherent(function, "CConv")
            .is_some_and(|convention| convention.to_string() == "#llvm.cconv<ptx_kernelcc>")
}

/// The product of the numbers in an attribute such as `array<i32: 32, 2, 1>`, `1 : i32`, or `"32,2"`, which is passed
/// through to LLVM; `None` if the attribute has another form.
pub fn product(function: Op<'_, '_>, attribute: &str) -> Option<i64> {
    let text = match function.attribute(attribute) {
        Ok(found) => found.to_string(),
        Err(_) => recognize::passed_through(function, attribute)?,
    };
    let list = text.strip_prefix("array<i32:").and_then(|text| text.strip_suffix('>'));
    let list = list.or_else(|| text.split_once(" :").map(|(number, _)| number)).unwrap_or(&text);
    list.split(',').map(|number| number.trim().parse::<i64>().ok()).product()
}

/// Whether an op produces or uses a pointer to the shared memory of a cluster.
fn has_cluster_pointer(op: Op<'_, '_>) -> bool {
    let number = address_space::number(Space::SharedCluster);
    let is_one = |ty| ir::address_space(ty) == Some(number);
    op.operands().any(|operand| is_one(operand.r#type())) || op.results().any(|result| is_one(result.r#type()))
}
