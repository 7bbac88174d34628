//! The functions of a module: the threads, the kernels that call them, and parts of threads.

use itertools::Itertools;

use super::{
    body::Body,
    homes::{Homes, pointer_type},
    plan::{Form, Plan, Step},
};
use crate::random::Random;

/// Names of libdevice functions. The module defines them with other bodies.
const NAMES: [&str; 3] = ["__nv_max", "__nv_sad", "__nv_popc"];

/// Writes a module.
pub struct Writer<'p> {
    pub random: Random,
    pub plan: &'p Plan,
    pub homes: &'p Homes,
    /// Functions besides the functions of the threads.
    pub others: String,
    /// The number of these functions.
    parts: usize,
    /// The last written value. Each write has a different value.
    pub last: usize,
}

impl<'p> Writer<'p> {
    pub fn new(random: Random, plan: &'p Plan, homes: &'p Homes) -> Self {
        Self { random, plan, homes, others: String::new(), parts: 0, last: 0 }
    }

    /// The functions of all threads, and the kernel that calls them, if any.
    pub fn functions(&mut self) -> String {
        if self.plan.form == Form::Kernel {
            return self.kernel();
        }
        let functions = (0..self.plan.places.len()).map(|thread| self.function(thread)).collect_vec().concat();
        if self.plan.form == Form::Called { functions + &self.caller() } else { functions }
    }

    /// The body of a thread. Names begin with `prefix`.
    fn body(&mut self, thread: usize, prefix: String) -> Body {
        let mut body = Body::new(thread, prefix);
        let plan = self.plan;
        plan.threads[thread].iter().for_each(|step| self.step_or_part(&mut body, step));
        let mut sum = None;
        for (index, read) in std::mem::take(&mut body.read).into_iter().enumerate() {
            // Values are at most 15, so 4 bits hold each.
            let shifted = body.value(format!("shl i32 {read}, {}", 4 * index));
            sum = Some(sum.map_or(shifted.clone(), |sum| body.value(format!("or i32 {sum}, {shifted}"))));
        }
        if plan.returns {
            body.line(format!("ret i32 {}", sum.unwrap_or("0".into())));
        } else {
            sum.iter().for_each(|sum| body.line(format!("store i32 {sum}, ptr addrspace(1) %out")));
            body.line("ret void");
        }
        body
    }

    fn parameters(&self, thread: usize) -> String {
        self.homes.parameters(thread).iter().map(|(ty, name)| format!("{ty} %{name}")).join(", ")
    }

    fn result(&self) -> &'static str {
        if self.plan.returns { "i32" } else { "void" }
    }

    /// The function of a thread.
    fn function(&mut self, thread: usize) -> String {
        let body = self.body(thread, String::new()).text;
        let (head, attributes) = match self.plan.form {
            Form::Kernels => ("ptx_kernel ", self.of_kernel()),
            Form::Called => ("internal ", self.of_function()),
            _ => ("", self.of_function()),
        };
        let (result, parameters) = (self.result(), self.parameters(thread));
        format!("define {head}{result} @t{thread}({parameters}) {attributes} {{\nentry:\n{body}}}\n")
    }

    /// One kernel for all threads.
    fn kernel(&mut self) -> String {
        let plan = self.plan;
        let (mut text, mut cases) = (String::new(), Vec::new());
        for (thread, place) in plan.places.iter().enumerate() {
            let tid = plan.places[..thread].iter().filter(|other| *other == place).count();
            cases.push(format!("i32 {}, label %t{thread}", 4 * place.cta as usize + tid));
            text += &format!("t{thread}:\n{}", self.body(thread, format!("t{thread}")).text);
        }
        format!(
            "define ptx_kernel void @k({}) {} {{
  %cta = call i32 @llvm.nvvm.read.ptx.sreg.ctaid.x()
  %tid = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %first = mul i32 %cta, 4
  %thread = add i32 %first, %tid
  switch i32 %thread, label %none [ {} ]
{text}none:
  ret void
}}\n",
            self.parameters(0),
            self.of_kernel(),
            cases.join(" ")
        )
    }

    /// A kernel that calls the functions of the threads, with pointers into the shared memory of another CTA.
    fn caller(&mut self) -> String {
        let mut body = Body::new(0, "c");
        for thread in 0..self.plan.places.len() {
            let mut arguments = Vec::new();
            for (ty, name) in self.homes.parameters(thread) {
                let mapped = format!("call {ty} @llvm.nvvm.mapa.shared.cluster(ptr addrspace(3) @{name}, i32 0)");
                let value = if ty == pointer_type(7) { body.value(mapped) } else { format!("%{name}") };
                arguments.push(format!("{ty} {value}"));
            }
            body.line(format!("call {} @t{thread}({})", self.result(), arguments.join(", ")));
        }
        // The first thread has no pointer to another CTA's memory.
        let (parameters, attributes) = (self.parameters(0), self.of_kernel());
        format!("define ptx_kernel void @k({parameters}) {attributes} {{\n{}  ret void\n}}\n", body.text)
    }

    /// Launch attributes of a kernel, sometimes none.
    fn of_kernel(&mut self) -> String {
        let places = &self.plan.places;
        let threads = if places.iter().all_unique() { 1 } else { 3 };
        let ctas =
            if places[0].cluster.is_some() { 1 + places.iter().map(|place| place.cta).max().unwrap_or(0) } else { 1 };
        let mut attributes = Vec::new();
        if self.random.chance(2) {
            attributes.push(format!("\"nvvm.reqntid\"=\"{threads},1,1\""));
        }
        if self.plan.has_clusters() && self.random.chance(2) {
            attributes.push(format!("\"nvvm.cluster_dim\"=\"{ctas},1,1\""));
        }
        attributes.join(" ")
    }

    /// Attributes of a function that is not a kernel. Launch attributes have no meaning there.
    fn of_function(&mut self) -> String {
        let said = if self.random.chance(6) { " \"nvvm.reqntid\"=\"1,1,1\"" } else { "" };
        format!("noinline{said}")
    }

    /// Writes a step, sometimes as a separate function. The name of the function may be misleading.
    fn step_or_part(&mut self, caller: &mut Body, step: &Step) {
        if matches!(step, Step::Quiet) || !self.random.chance(7) {
            return self.step(caller, step);
        }
        let name = match NAMES.get(self.parts) {
            Some(name) if self.random.chance(2) => (*name).to_owned(),
            _ => format!("part{}", self.parts),
        };
        self.parts += 1;
        let mut body = Body::new(caller.thread, "");
        self.step(&mut body, step);
        let read = std::mem::take(&mut body.read);
        let result = format!("{{ {} }}", read.iter().map(|_| "i32").join(", "));
        let mut value = String::from("undef");
        for (index, read) in read.iter().enumerate() {
            value = body.value(format!("insertvalue {result} {value}, i32 {read}, {index}"));
        }
        let linkage = if self.random.chance(2) { "internal " } else { "" };
        let (parameters, attributes) = (self.parameters(caller.thread), self.of_function());
        self.others += &format!(
            "define {linkage}{result} @{name}({parameters}) {attributes} {{\nentry:\n{}  ret {result} {value}\n}}\n",
            body.text
        );
        let value = caller.value(format!("call {result} @{name}({parameters})"));
        for index in 0..read.len() {
            let read = caller.value(format!("extractvalue {result} {value}, {index}"));
            caller.read.push(read);
        }
    }
}
