//! Inputs that need a lowering: their PTX, and the operations that their source asks for.

pub use imp::{Lowering, Source, serve};

#[cfg(feature = "llvm")]
mod imp {
    use std::{collections::HashMap, io, sync::LazyLock};

    use itertools::Itertools;
    use ptx_atomics::{
        isolated::{self, Helper, Job, Language},
        llvm::{Errors, Input, Recognized, Settings, inkwell::context::Context, ptx_name},
        order,
        ptx::{Module, Target},
    };

    use crate::change::Asked;

    /// Makes this program the helper that lowers.
    pub fn serve() {
        isolated::serve();
    }

    /// An input for a GPU, with a strategy.
    pub struct Lowering {
        job: Job,
    }

    impl Lowering {
        pub fn new(name: String, bytes: Vec<u8>, target: &Target, strategy: &str, options: &str) -> Self {
            let mut job = Job::new(Input::new(name, bytes));
            if job.input.text().is_some_and(is_mlir) {
                job.language = Language::Mlir;
            }
            let own = format!("mcpu={},mattr=+{},strategy={strategy}", target.sm, target.ptx.feature());
            job.options = if options.is_empty() { own } else { format!("{own},{options}") };
            Self { job }
        }

        /// The PTX of each module, with its name.
        pub fn ptx(&self) -> Result<Vec<(Option<String>, String)>, String> {
            static HELPER: LazyLock<io::Result<Helper>> = LazyLock::new(Helper::this_program);
            let helper = HELPER.as_ref().map_err(ToString::to_string)?;
            let lowered = helper.lower(&self.job, |_| ()).map_err(render_errors)?;
            let text = |bytes| String::from_utf8(bytes).map_err(|error| error.to_string());
            lowered.into_iter().map(|lowered| Ok((lowered.name, text(lowered.bytes)?))).collect()
        }

        /// The operations that a module asks for.
        pub fn source(&self, ptx: &Module, module: Option<&str>) -> Result<Source, String> {
            let mut settings = Settings::default();
            settings.override_with(&self.job.options, "the options").map_err(render_errors)?;
            let module = module.filter(|_| self.job.language == Language::Mlir);
            let context = Context::create();
            let functions = order::operations(&context, &self.job.input, self.job.language, ptx, &settings, module);
            Ok(Source { functions: functions.map_err(render_errors)? })
        }
    }

    /// Whether the text that a command wrote begins as MLIR does, and as LLVM IR does not.
    fn is_mlir(text: &str) -> bool {
        let lines = text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("//"));
        let starts = ["module", "builtin.module", "\"builtin.module\"", "gpu.module", "#"];
        lines.take(1).any(|line| starts.iter().any(|start| line.starts_with(start)))
    }

    fn render_errors(errors: Errors) -> String {
        errors.to_string()
    }

    /// The operations of a source, by function.
    pub struct Source {
        functions: Vec<Recognized>,
    }

    impl Source {
        /// The operations that each function asks for, by its name in PTX.
        pub fn asked(&self) -> HashMap<String, Asked> {
            let of = |function: &Recognized| {
                let names = function.named.iter().map(|named| match &named.location {
                    Some(at) => format!("{} ({}:{})", named.operation, at.file, at.line),
                    None => named.operation.clone(),
                });
                let asked = Asked { blocks: function.blocks.clone(), names: names.collect() };
                (ptx_name(&function.function).to_string(), asked)
            };
            self.functions.iter().map(of).collect()
        }

        /// Succeeds if the PTX keeps every operation of the source.
        ///
        /// # Errors
        /// The lost operations, a line for each.
        pub fn lost(&self, ptx: &str) -> Result<(), String> {
            let module: Module = ptx.parse().map_err(|errors| format!("the PTX: {errors}"))?;
            let judged = order::judge(&self.functions, &module, ptx).map_err(render_errors)?;
            let mut lost = judged.operations.iter().filter_map(|found| {
                let judgement = found.judgement.as_ref().filter(|judgement| judgement.loss().is_some())?;
                let reasons = judgement.violations.iter().join(", ");
                Some(format!("lost in '{}': {}: {reasons}", found.function, found.named.operation))
            });
            let lost = lost.join("\n");
            if lost.is_empty() { Ok(()) } else { Err(lost) }
        }
    }
}

#[cfg(not(feature = "llvm"))]
mod imp {
    use std::collections::HashMap;

    use ptx_atomics::ptx::{Module, Target};

    use crate::change::Asked;

    /// Does nothing: this build cannot lower.
    pub fn serve() {}

    /// An input that cannot be lowered.
    pub struct Lowering {
        name: String,
    }

    /// The operations of a source: this build has none.
    pub enum Source {}

    impl Lowering {
        pub fn new(name: String, _: Vec<u8>, _: &Target, _: &str, _: &str) -> Self {
            Self { name }
        }

        pub fn ptx(&self) -> Result<Vec<(Option<String>, String)>, String> {
            Err(format!("this build cannot lower '{}': enable the feature `llvm`", self.name))
        }

        pub fn source(&self, _: &Module, _: Option<&str>) -> Result<Source, String> {
            self.ptx().map(|_| unreachable!("nothing is lowered"))
        }
    }

    impl Source {
        pub fn asked(&self) -> HashMap<String, Asked> {
            match *self {}
        }

        pub fn lost(&self, _: &str) -> Result<(), String> {
            match *self {}
        }
    }
}
