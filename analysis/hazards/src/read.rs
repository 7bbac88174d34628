//! The translation of PTX modules to kernel models.
//!
//! The code of a kernel, with inlined functions, becomes a graph of blocks. Values are numbered along it, and every
//! instruction that matters becomes events. Plain accesses of global memory are left out, except accesses of objects
//! that an asynchronous operation also accesses.

mod bases;
mod causes;
mod code;
mod compute;
mod events;
mod graph;
mod iterations;
mod print;
mod ranges;
mod registers;
mod rows;
mod terms;
mod threads;
mod waits;
mod walk;

use ptx_isa::{
    LaunchSize, Module,
    flat::{Flat, Library, Limits},
    short_name,
};

use self::graph::Graph;
use crate::{kernel::Kernel, options::HazardOptions};

/// The kernels of a module: each `.entry`, and each `.func` with a body that none of its functions calls.
pub fn read(module: &Module) -> Vec<Kernel> {
    read_with(module, &HazardOptions::default())
}

/// The kernels of a module, with known facts about their launch.
pub fn read_with(module: &Module, options: &HazardOptions) -> Vec<Kernel> {
    read_each(module, |_| options.clone())
}

/// The kernels of a module, with known facts about the launch of each by its name.
pub fn read_each(module: &Module, options: impl Fn(&str) -> HazardOptions) -> Vec<Kernel> {
    let library = Library::new(module);
    let called = library.called();
    let has_body = module.functions().filter(|function| function.body.is_some());
    let own = has_body.filter(|function| function.head.is_entry || !called.contains(&*function.name));
    let mut kernels: Vec<Kernel> = own
        .map(|function| {
            let options = options(&function.name);
            let mut code = Flat::inline_calls(&library, function, Limits::default());
            if code.head.required_threads.is_none() && options.size.block.is_some() {
                code.head.required_threads = options.size.block;
                code.head.most_threads = Some(options.size.threads().unwrap_or(u32::MAX));
            }
            // Parameters are named as users name them: a mangled name by its end.
            let name = &function.name;
            for symbol in &mut code.symbols {
                let own = &mut symbol.variable.name;
                if code.head.parameters.iter().any(|parameter| parameter.name == *own) {
                    *own = short_name(name, own).to_owned();
                }
            }
            let parameters = options.parameters.iter();
            let parameters = parameters.map(|(own, number)| (short_name(name, own).to_owned(), *number)).collect();
            let graph = Graph::new(&code);
            let options = HazardOptions { parameters, ..options };
            let mut kernel = events::kernel(&code, &graph, &walk::walk(&code, &graph, &options));
            let says_most = kernel.has_block;
            if code.head.most_threads.is_none() && kernel.most.is_some() {
                code.head.most_threads = kernel.most;
                kernel = events::kernel(&code, &graph, &walk::walk(&code, &graph, &options));
            }
            let threads = LaunchSize::from_head(&code.head).threads();
            let line = function.body.iter().flatten().next().map_or(0, |line| line.number);
            Kernel {
                name: function.name.clone(),
                line,
                threads,
                has_block: threads.is_some() || says_most,
                counts_exited: !code.barriers_skip_exited(),
                assembled: code.steps.iter().filter_map(|step| code::assembled(step, &module.target)).collect(),
                changes_registers: code.steps.iter().any(|step| code::changes_registers(&step.action)),
                has_unknown_order: code.steps.iter().any(|step| code::has_unknown_order(&step.action)),
                unread: code.steps.iter().filter_map(|step| Some((step.at, code::unread(step)?))).collect(),
                ..kernel
            }
        })
        .collect();
    let mut written: Vec<_> = kernels.iter().flat_map(|kernel| kernel.written.clone()).collect();
    written.sort_unstable();
    written.dedup();
    kernels.iter_mut().for_each(|kernel| kernel.written.clone_from(&written));
    kernels
}
