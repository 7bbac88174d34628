//! The memory of variables, and the threads that can name them.

use std::fmt::Write;

use itertools::Itertools;

use super::plan::{Form, Plan, SYS, ThreadPlace};
use crate::random::Random;

/// The names of variables.
const NAMES: [&str; 3] = ["x", "y", "z"];

/// A parameter that is always 0, which no analysis of the module can prove.
pub const ZERO: &str = "n";

/// The means by which threads name a variable.
#[derive(Clone, Copy, PartialEq)]
enum Home {
    /// A pointer parameter, of address space 1 or generic.
    Given { generic: bool },
    /// The symbol; on another GPU, a pointer.
    Global { internal: bool, declaration: Declaration },
    /// The symbol in shared memory; in another CTA of the cluster, a pointer.
    Shared { internal: bool },
    /// The element after the first variable.
    NextElement,
}

/// The declaration that lets other GPUs name an internal variable.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Declaration {
    None,
    Managed,
    Initialized,
    Used,
    Stored,
    Passed,
    Returned,
}

/// The variables of a plan.
pub struct Homes {
    homes: Vec<Home>,
    /// The threads that use each variable.
    users: Vec<Vec<usize>>,
    places: Vec<ThreadPlace>,
}

/// A pointer with its address space.
#[derive(Clone)]
pub struct Pointer {
    pub space: u32,
    pub name: String,
}

impl Pointer {
    pub fn ty(&self) -> String {
        pointer_type(self.space)
    }
}

impl std::fmt::Display for Pointer {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} {}", self.ty(), self.name)
    }
}

pub fn pointer_type(space: u32) -> String {
    if space == 0 { "ptr".into() } else { format!("ptr addrspace({space})") }
}

impl Homes {
    pub fn new(random: &mut Random, plan: &Plan) -> Self {
        let mut homes = Self { homes: Vec::new(), users: plan.users(), places: plan.places.clone() };
        for users in &homes.users {
            let places = users.iter().map(|user| plan.places[*user]).collect_vec();
            homes.homes.push(home(random, plan, &places));
        }
        let all_on_one_gpu = homes.users.iter().take(2).flatten().all(|user| plan.places[*user].gpu == 0);
        let has_room = match homes.homes[0] {
            Home::Given { .. } => true,
            Home::Global { declaration: Declaration::None, .. } => all_on_one_gpu,
            _ => false,
        };
        if has_room && homes.homes.len() > 1 && random.chance(3) {
            homes.homes[1] = Home::NextElement;
            let more = homes.users[1].clone();
            homes.users[0].extend(more);
        }
        homes
    }

    /// The parameters of a thread's function, with their types: variables, the output for read values, and [`ZERO`].
    pub fn parameters(&self, thread: usize) -> Vec<(String, String)> {
        let of = |variable| {
            let space = match self.homes[variable] {
                Home::Given { generic: true } => 0,
                Home::Shared { .. } if self.is_remote(thread, variable) => 7,
                _ => 1,
            };
            (pointer_type(space), NAMES[variable].to_owned())
        };
        let others = [(pointer_type(1), "out".to_owned()), ("i32".to_owned(), ZERO.to_owned())];
        (0..self.homes.len()).map(of).chain(others).collect()
    }

    /// Whether a thread uses a variable through a pointer parameter.
    fn is_remote(&self, thread: usize, variable: usize) -> bool {
        let is_far = match self.homes[variable] {
            Home::Given { .. } => true,
            Home::Global { .. } => self.places[thread].gpu != 0,
            Home::Shared { .. } => self.places[thread] != self.places[0],
            Home::NextElement => self.is_remote(thread, 0),
        };
        is_far && self.users[variable].contains(&thread)
    }

    /// The pointer by which a thread names a variable. For `NextElement`, a pointer to the first variable.
    pub fn pointer(&self, thread: usize, variable: usize) -> Pointer {
        let variable = if self.is_next_element(variable) { 0 } else { variable };
        let is_remote = self.is_remote(thread, variable);
        let space = match self.homes[variable] {
            Home::Given { generic: true } => 0,
            Home::Shared { .. } if is_remote => 7,
            Home::Shared { .. } => 3,
            _ => 1,
        };
        Pointer { space, name: format!("{}{}", if is_remote { '%' } else { '@' }, NAMES[variable]) }
    }

    /// Whether a variable is the element after the first variable.
    pub fn is_next_element(&self, variable: usize) -> bool {
        self.homes[variable] == Home::NextElement
    }

    /// The variables of the module, and the declarations that let other GPUs name them.
    pub fn variables(&self) -> String {
        let (mut text, mut used, mut annotations) = (String::new(), Vec::new(), Vec::new());
        let pair = self.homes.contains(&Home::NextElement);
        for ((index, home), name) in self.homes.iter().enumerate().zip(NAMES) {
            let linkage = |internal: bool| if internal { "internal " } else { "" };
            let (internal, declaration) = match *home {
                Home::Given { .. } | Home::NextElement => continue,
                Home::Shared { internal } => {
                    let _ = writeln!(text, "@{name} = {}addrspace(3) global i32 undef", linkage(internal));
                    continue;
                }
                Home::Global { internal, declaration } => (internal, declaration),
            };
            let ty = if pair && index == 0 { "[2 x i32]" } else { "i32" };
            let initialized = if declaration == Declaration::Initialized { "externally_initialized " } else { "" };
            let linkage = linkage(internal);
            let _ = writeln!(text, "@{name} = {linkage}addrspace(1) {initialized}global {ty} zeroinitializer");
            let generic = format!("ptr addrspacecast (ptr addrspace(1) @{name} to ptr)");
            let mut define = |function: String| text.push_str(&format!("define {function} }}\n"));
            match declaration {
                Declaration::None | Declaration::Initialized => {}
                Declaration::Managed => annotations.push(format!("!{{ptr addrspace(1) @{name}, !\"managed\", i32 1}}")),
                Declaration::Used => used.push(generic),
                Declaration::Stored => {
                    define(format!("void @tell_{name}(ptr %box) {{ store {generic}, ptr %box ret void"))
                }
                Declaration::Passed => {
                    define(format!("void @tell_{name}() {{ call void @elsewhere({generic}) ret void"))
                }
                Declaration::Returned => define(format!("ptr @tell_{name}() {{ ret {generic}")),
            }
        }
        if !used.is_empty() {
            let (count, list) = (used.len(), used.join(", "));
            let _ = writeln!(text, "@llvm.used = appending global [{count} x ptr] [{list}], section \"llvm.metadata\"");
        }
        if !annotations.is_empty() {
            let all = (0..annotations.len()).map(|number| format!("!{number}")).join(", ");
            let each = annotations.iter().enumerate().map(|(number, annotation)| format!("!{number} = {annotation}\n"));
            let _ = writeln!(text, "!nvvm.annotations = !{{{all}}}");
            text.extend(each);
        }
        text
    }

    /// The threads and their places as a litmus test of kernels. Its condition is about the read values.
    pub fn words(&self, plan: &Plan) -> String {
        let mut lines = Vec::new();
        let size = if self.homes.contains(&Home::NextElement) { "[2]" } else { "" };
        let given = |(home, _): &(&Home, usize)| matches!(home, Home::Given { .. });
        for (_, variable) in self.homes.iter().zip(0..).filter(given) {
            lines.push(format!("u32 {}{}", NAMES[variable], if variable == 0 { size } else { "" }));
        }
        let outs = (0..plan.places.len()).map(|thread| format!("o{thread}")).collect_vec();
        if !plan.returns {
            lines.push(format!("u32 {}", outs.join(", ")));
        }
        for (thread, ThreadPlace { gpu, cluster, cta }) in plan.places.iter().enumerate() {
            let argument = |variable| match self.homes[variable] {
                _ if !self.is_remote(thread, variable) => "0".to_owned(),
                Home::Shared { .. } => format!("{}$cta0", NAMES[variable]),
                Home::NextElement => "0".to_owned(),
                _ => NAMES[variable].to_owned(),
            };
            let out = if plan.returns { "0" } else { &outs[thread] };
            let arguments = (0..self.homes.len()).map(argument).join(", ");
            let function = if plan.form == Form::Kernel { "k".to_owned() } else { format!("t{thread}") };
            let cluster = cluster.map(|cluster| format!(", cluster {cluster}")).unwrap_or_default();
            lines.push(format!("thread P{thread} = {function}({arguments}, {out}, 0) @ cta {cta}, gpu {gpu}{cluster}"));
        }
        let read = |(thread, out): (usize, &String)| match plan.returns {
            true => format!("P{thread}:return == 0"),
            false => format!("{out} == 0"),
        };
        lines.push(format!("exists {}", outs.iter().enumerate().map(read).join(" /\\ ")));
        lines.iter().map(|line| format!("; litmus: {line}\n")).collect()
    }
}

/// A random home that threads at these places can use.
fn home(random: &mut Random, plan: &Plan, places: &[ThreadPlace]) -> Home {
    let apart = places.iter().map(|place| places[0].scope(*place)).max().unwrap_or(0);
    // Only functions accept a pointer to the shared memory of another CTA.
    let is_called = matches!(plan.form, Form::Functions | Form::Called);
    let near = apart == 0 || apart == 1 && is_called;
    if near && places[0] == plan.places[0] && !random.chance(3) {
        return Home::Shared { internal: random.chance(2) };
    }
    if random.chance(3) {
        return Home::Given { generic: random.chance(2) };
    }
    let internal = !random.chance(5);
    let ways = [
        Declaration::Managed,
        Declaration::Initialized,
        Declaration::Used,
        Declaration::Stored,
        Declaration::Passed,
        Declaration::Returned,
    ];
    let is_declared = apart == SYS && internal || random.chance(3);
    Home::Global { internal, declaration: if is_declared { random.pick(&ways) } else { Declaration::None } }
}
