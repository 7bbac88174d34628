//! Which functions of MLIR may meet shared memory of another CTA.

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

/// Attributes of kernels that state how many CTAs a cluster has, or at most has.
const CTAS: [&str; 4] = ["nvvm.cluster_dim", "nvvm.cluster_max_blocks", "nvvm.maxclusterrank", "known_cluster_size"];

/// What keeps shared memory from being known to one CTA alone, for each of the functions of the device code in an op.
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

/// What is known of all functions together.
struct Module<'b> {
    bodies: &'b Bodies,
    /// The indices of those with a body that is theirs for good, by their names.
    defined: HashMap<String, usize>,
    /// The names of those whose address is taken, with an `@`.
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

/// Whether another definition may take the place of a function's own.
fn is_replaceable(function: Op<'_, '_>) -> bool {
    has_linkage(function, &["weak", "linkonce", "extern_weak"])
}

fn has_linkage(function: Op<'_, '_>, linkages: &[&str]) -> bool {
    let linkage = text(function, "linkage");
    linkages.iter().any(|word| linkage == format!("#llvm.linkage<{word}>"))
}

/// An attribute as it is printed; empty if there is none.
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

/// Whether the module around an op has assembly outside of its functions.
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

/// The product of the numbers in an attribute, as of `array<i32: 32, 2, 1>`, `1 : i32` or `"32,2"`, which is passed through to
/// LLVM; nothing, if it has others.
pub fn product(function: Op<'_, '_>, attribute: &str) -> Option<i64> {
    let text = match function.attribute(attribute) {
        Ok(found) => found.to_string(),
        Err(_) => recognize::passed_through(function, attribute)?,
    };
    let list = text.strip_prefix("array<i32:").and_then(|text| text.strip_suffix('>'));
    let list = list.or_else(|| text.split_once(" :").map(|(number, _)| number)).unwrap_or(&text);
    list.split(',').map(|number| number.trim().parse::<i64>().ok()).product()
}

/// Whether an op makes or takes a pointer to the shared memory of a cluster.
fn has_cluster_pointer(op: Op<'_, '_>) -> bool {
    let number = address_space::number(Space::SharedCluster);
    let is_one = |ty| ir::address_space(ty) == Some(number);
    op.operands().any(|operand| is_one(operand.r#type())) || op.results().any(|result| is_one(result.r#type()))
}
