//! The findings of modules as views for the outputs.

use ptx_atomics::{
    check::{Document, View},
    pass::Input,
};

use super::read::{Module, Program};

/// The findings of a module as views.
pub struct ModuleViews<'m> {
    pub program: &'m Program,
    pub module: &'m Module,
    /// The views of each kernel, in the order of the report.
    pub views: Vec<Vec<View<'m>>>,
}

impl<'m> ModuleViews<'m> {
    pub fn collect(program: &'m Program) -> Vec<Self> {
        let Some(input) = &program.input else { return Vec::new() };
        let of_module = |module: &'m Module| {
            let document: Document<'m> = module.document(input);
            let views = module.report.kernels.iter().map(|kernel| document.views(kernel)).collect();
            Self { program, module, views }
        };
        program.modules.iter().map(of_module).collect()
    }

    pub fn name(&self) -> &'m str {
        self.program.input.as_ref().map_or("", Input::name)
    }

    /// The views of all kernels.
    pub fn iter(&self) -> impl Iterator<Item = &View<'m>> {
        self.views.iter().flatten()
    }
}
