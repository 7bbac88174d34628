//! Jobs and their results: the modules to lower or to judge, with options, and the lowered modules.

use crate::{Diagnostic, Embed, Errors, Input, Outcome, Remark, Settings, remarks};
use ptx_lowering::Target;
use ptx_optimize::Rewrites;
use serde::{Deserialize, Serialize};
use strum::{Display, EnumString, VariantNames};

use crate::helper::data::diagnostics;

/// A module to lower, with the options that `ptx-atomics lower` takes as arguments.
///
/// ```
/// use ptx_atomics_common::helper::{Emit, Job};
/// use ptx_atomics_common::Input;
///
/// let input = Input::new("fence.ll", "define void @f() { fence seq_cst\n ret void }");
/// let mut job = Job::new(input);
/// job.emit = Emit::LlvmIr;
/// job.options = "mcpu=sm_90,strategy=fence".into();
/// assert_eq!(job.language.to_string(), "llvm");
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Job {
    /// The module. With [`Input::keep_lines`], the result includes remarks.
    pub input: Input,
    /// The language of the input.
    pub language: Language,
    /// The form of the output.
    pub emit: Emit,
    /// The name of the `gpu.module` of MLIR to lower; `None` lowers all of them.
    pub module: Option<String>,
    /// The options, separated by commas: `mcpu=sm_90,mattr=+ptx86,strategy=fence`. They override the options of the
    /// module's own flag. [`crate::settings::SETTINGS`] lists all of them.
    pub options: String,
    /// The level of LLVM's optimization pipeline, 0 to 3, which runs first; `None` runs no pipeline.
    pub level: Option<u8>,
    /// The level of LLVM's code generator, 0 to 3; `None` takes the level of the pipeline, or 2 without a pipeline.
    pub codegen_level: Option<u8>,
    /// Whether the PTX contains LLVM's comments: the comment for a line of the source names the place where the line
    /// was inlined.
    pub comments: bool,
    /// The number of processes that may generate the code of a large module in parallel. The output does not depend on
    /// it.
    pub processes: usize,
}

/// PTX to judge by the IR from which it was generated: the job of `ptx-atomics check --ir`.
#[derive(Clone)]
#[non_exhaustive]
pub struct Pair {
    /// The IR.
    pub ir: Input,
    /// The language of the IR.
    pub language: Language,
    /// The `gpu.module` of MLIR that became the PTX.
    pub module: Option<String>,
    /// The PTX.
    pub ptx: Input,
    /// The options, in the form of [`Job::options`]: `default-scope=gpu,cuda-atomics=off`.
    pub options: String,
    /// Whether the PTX may omit ordering that no thread can observe, as LLVM's optimizer and `ptx-optimize` do.
    pub may_be_optimized: bool,
}

impl Pair {
    /// A pair with default options. The language of the IR is derived from the input.
    pub fn new(ir: Input, ptx: Input) -> Self {
        let language = Language::from_input(&ir);
        Self { ir, language, module: None, ptx, options: String::new(), may_be_optimized: true }
    }

    /// The settings that the options request.
    ///
    /// # Errors
    /// Unknown options.
    pub fn settings(&self) -> Result<Settings, Errors> {
        let mut settings = Settings { cuda_atomics: Some(true), ..Settings::default() };
        settings.override_with(&self.options, "the options")?;
        Ok(settings)
    }
}

/// The language of an input.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames, Serialize, Deserialize)]
#[strum(serialize_all = "kebab-case")]
pub enum Language {
    /// LLVM IR, as text or as bitcode.
    Llvm,
    /// MLIR, as text or as bytecode. It needs the feature `mlir`.
    Mlir,
}

/// The form of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumString, VariantNames, Serialize, Deserialize)]
#[strum(serialize_all = "kebab-case")]
pub enum Emit {
    /// PTX text.
    Ptx,
    /// LLVM IR with the PTX of atomics and fences in it, as text.
    LlvmIr,
    /// LLVM IR with the PTX of atomics and fences in it, as bitcode.
    LlvmBc,
    /// MLIR with the PTX of atomics and fences in it, as text.
    Mlir,
    /// MLIR with the PTX of atomics and fences in it, as bytecode.
    MlirBc,
}

/// The result of lowering one module.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct Lowered {
    /// The name of the `gpu.module`.
    pub name: Option<String>,
    /// Text or bitcode, as [`Job::emit`] requests.
    #[serde(skip)]
    pub bytes: Vec<u8>,
    /// A remark for each operation, in LLVM's YAML, if the input keeps its lines.
    pub remarks: String,
    /// The remarks as readable lines, and a line with the number of operations.
    pub report: Vec<String>,
    /// The findings about asynchronous operations, or the reason why these were not checked.
    #[serde(with = "diagnostics")]
    pub warnings: Vec<Diagnostic>,
}

/// The first bytes of MLIR's bytecode.
pub const MLIR_BYTECODE: &[u8] = b"ML\xefR";

impl Lowered {
    /// An output, with a remark for each operation and the number of operations.
    pub fn new(name: Option<String>, bytes: Vec<u8>, made: &[Remark], target: Option<Target>) -> Self {
        let mut report = Vec::new();
        for remark in made {
            let place = remark.location.as_ref().map_or(String::new(), |at| format!("{}:{}: ", at.file, at.line));
            let mut lines = remarks::lines(remark).into_iter();
            report.extend(lines.next().map(|line| format!("{place}in '{}': {line}", remark.function)));
            report.extend(lines.map(|line| format!("  {line}")));
        }
        let target = target.map(|target| format!(" for {target}")).unwrap_or_default();
        let module = name.as_ref().map(|name| format!("{name}: ")).unwrap_or_default();
        let lowered = made.iter().filter(|remark| matches!(remark.outcome, Outcome::Lowered { .. })).count();
        report.push(format!("{module}{lowered} atomics and fences lowered{target}"));
        Self { name, bytes, remarks: remarks::yaml(made), report, warnings: Vec::new() }
    }

    /// The same output, with other warnings.
    pub fn with_warnings(self, warnings: Vec<Diagnostic>) -> Self {
        Self { warnings, ..self }
    }
}

impl Language {
    /// MLIR, if the input is MLIR bytecode or its name ends with `.mlir` or `.mlirbc`; LLVM IR otherwise.
    pub fn from_input(input: &Input) -> Self {
        let by_name = [".mlir", ".mlirbc"].iter().any(|ending| input.name().ends_with(ending));
        if by_name || input.bytes().starts_with(MLIR_BYTECODE) { Self::Mlir } else { Self::Llvm }
    }
}

impl Emit {
    /// The extension of the names of files in this form.
    pub fn extension(self) -> &'static str {
        match self {
            Self::Ptx => "ptx",
            Self::LlvmIr => "ll",
            Self::LlvmBc => "bc",
            Self::Mlir => "mlir",
            Self::MlirBc => "mlirbc",
        }
    }

    /// Whether this is LLVM IR.
    pub fn is_llvm_ir(self) -> bool {
        matches!(self, Self::LlvmIr | Self::LlvmBc)
    }

    /// Whether this is MLIR.
    pub fn is_mlir(self) -> bool {
        matches!(self, Self::Mlir | Self::MlirBc)
    }
}

impl Job {
    /// A job that lowers an input to PTX, in the language that is derived from the input, for the target that the
    /// module names, or sm_90 by default.
    pub fn new(input: Input) -> Self {
        Self {
            language: Language::from_input(&input),
            input,
            emit: Emit::Ptx,
            module: None,
            options: String::new(),
            level: None,
            codegen_level: None,
            comments: false,
            processes: 1,
        }
    }

    /// The same job, whose input keeps its lines.
    pub fn keeping_lines(self) -> Self {
        Self { input: self.input.keeping_lines(), ..self }
    }

    /// The same job, with other options.
    pub fn with_options(&self, options: String) -> Self {
        Self { options, ..self.clone() }
    }

    /// The same job, without the check of asynchronous operations.
    pub fn unchecked(&self) -> Self {
        self.with_options(format!("{},async=off", self.options))
    }

    /// The settings of a module, overridden by the options of this job. Unless an option is set explicitly, a job with
    /// a level of LLVM's optimization runs `ptx-optimize`, too, and a job that emits PTX keeps LLVM's own instructions
    /// where this LLVM prints exactly the chosen sequence.
    pub fn settings(&self, mut of_module: Settings) -> Result<Settings, Errors> {
        of_module.override_with(&self.options, "the options")?;
        let optimized = self.level.is_some_and(|level| level > 0);
        of_module.optimize = of_module.optimize.or(optimized.then(Rewrites::on));
        if self.emit == Emit::Ptx {
            of_module.embed = of_module.embed.or(Some(Embed::Native));
        }
        Ok(of_module)
    }
}

#[cfg(test)]
#[test]
fn operations_in_ptx_may_stay_native() {
    let check = |emit, options: &str, flag: &str, expected| {
        let job = Job { emit, ..Job::new(Input::new("a.ll", "")).with_options(options.into()) };
        let settings = job.settings(Settings::of_flag(flag).expect("options")).expect("options");
        assert_eq!(settings.embed, expected, "{emit} {options} {flag}");
    };
    check(Emit::Ptx, "", "", Some(Embed::Native));
    check(Emit::Ptx, "embed=assembly", "", Some(Embed::Assembly));
    check(Emit::Ptx, "", "embed=assembly", Some(Embed::Assembly));
    check(Emit::Ptx, "embed=native", "embed=assembly", Some(Embed::Native));
    for emit in [Emit::LlvmIr, Emit::LlvmBc, Emit::Mlir, Emit::MlirBc] {
        check(emit, "", "", None);
    }
}
