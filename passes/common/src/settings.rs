//! Options as text, such as `strategy=fence,default-scope=gpu`, for users without a command line.
//!
//! Options come from several sources. A later source overrides an earlier one, option by option: first the flag of a
//! module, then the host of the pass (the environment, the parameters of a pass, the arguments of a command). The
//! source closest to the code overrides all of them: the attribute `"ptx-atomics-strategy"` of a function.

use std::path::PathBuf;

use ptx_lowering::{Policy, PtxVersion, Sm, Strategies, Target, UnknownTarget, ptx::Scope};
use ptx_optimize::{Rewrites, UnknownRewrite};
use strum::VariantNames;

use crate::{
    fp_atomics::FpChoice,
    message::{Diagnostic, Errors},
    options::{AsyncMode, Embed, Options},
};

/// The key of the module flag, a string.
pub const MODULE_FLAG: &str = "ptx-atomics";

/// The options that were set; `None` takes the default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// The GPU.
    pub mcpu: Option<Sm>,
    /// The PTX version.
    pub mattr: Option<PtxVersion>,
    /// The sequence for each row of the ABI.
    pub strategies: Strategies,
    /// See [`Options::default_scope`].
    pub default_scope: Option<Scope>,
    /// The settings for floating-point operations.
    pub fp_atomics: FpChoice,
    /// See [`Options::generic_may_be_local`].
    pub generic_may_be_local: Option<bool>,
    /// Whether volatile accesses of global memory become `.mmio`.
    pub volatile_as_mmio: Option<bool>,
    /// See [`Options::cuda_atomics`].
    pub cuda_atomics: Option<bool>,
    /// See [`Options::optimize`].
    pub optimize: Option<Rewrites>,
    /// See [`Options::asynchronous`].
    pub asynchronous: Option<AsyncMode>,
    /// See [`Options::embed`].
    pub embed: Option<Embed>,
    /// See [`Options::verify_native`].
    pub verify_native: Option<bool>,
    /// The file for remarks.
    pub remarks: Option<PathBuf>,
}

/// The description of an option.
pub struct Setting {
    /// The name of the option, on the command line and in MLIR.
    pub name: &'static str,
    /// The form of the value after `=`.
    pub takes: Takes,
    /// The effect of the option, and its values.
    pub help: &'static str,
    /// Whether the pass in MLIR has the option. It lacks the options that concern only functions that clang emits.
    pub in_mlir: bool,
    read: fn(&mut Settings, &str) -> Result<(), String>,
}

/// The form of an option's value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub enum Takes {
    /// One value.
    One,
    /// Several values; a later value overrides an earlier one.
    List,
    /// True or false; true without a value.
    Flag,
}

/// Every option.
#[rustfmt::skip]
pub const SETTINGS: [Setting; 15] = {
    use Takes::{Flag, List, One};
    const fn setting(
        name: &'static str,
        takes: Takes,
        help: &'static str,
        read: fn(&mut Settings, &str) -> Result<(), String>,
    ) -> Setting {
        Setting { name, takes, help, in_mlir: true, read }
    }
    [
        setting("mcpu", One, "The GPU, sm_20 to sm_121f", |to, value| set(&mut to.mcpu, sm(value))),
        setting("chip", One, "The same, under MLIR's name", |to, value| set(&mut to.mcpu, sm(value))),
        setting("mattr", One, "The PTX version, such as +ptx86", Settings::set_features),
        setting("features", One, "The same, under MLIR's name", Settings::set_features),
        setting("strategy", List, "recommended, fence, fence-acquire, proven, auto; for one row: rmw.acq_rel=fence",
            |to, value| to.strategies.override_with(value).map_err(|error| error.to_string())),
        setting("default-scope", One, "The meaning of the default synchronization scope: sys, cluster, gpu or cta",
            |to, value| set(&mut to.default_scope, scope(value))),
        setting("fp-atomics", List, "native, ieee: the result of additions; no-nans, nans: the operands of minima and maxima",
            |to, value| value.parse().map(|choice: FpChoice| to.fp_atomics = choice.or(to.fp_atomics))),
        setting("generic-may-be-local", Flag, "Test generic addresses of unknown origin for local memory",
            |to, value| set(&mut to.generic_may_be_local, yes(value))),
        setting("volatile-as-mmio", Flag, "Volatile atomic loads and stores of global memory become .mmio",
            |to, value| set(&mut to.volatile_as_mmio, yes(value))),
        setting("cuda-atomics", One, "on: CUDA's own atomics are relaxed, of CUDA's scope; off: as clang writes them",
            |to, value| set(&mut to.cuda_atomics, on(value))).in_llvm_ir(),
        setting("optimize", One, "on, all, off, or rewrites (scope+loops) that make atomics and fences cheaper",
            |to, value| set(&mut to.optimize, rewrites(value))),
        setting("async", One, "off, check, deny, insert: waits and proxy fences that asynchronous operations lack",
            |to, value| set(&mut to.asynchronous, asynchronous(value))),
        setting("embed", One, "native: LLVM's own instruction if it prints the chosen sequence; assembly: never",
            |to, value| set(&mut to.embed, embed(value))).in_llvm_ir(),
        setting("verify-native", One, "on, off: compare each native operation with the PTX that LLVM prints",
            |to, value| set(&mut to.verify_native, on(value))).in_llvm_ir(),
        setting("remarks", One, "The file to which a remark for each operation is added, in LLVM's YAML",
            |to, value| set(&mut to.remarks, Ok(value.into()))),
    ]
};

impl Setting {
    /// The same option, restricted to the pass over LLVM IR.
    const fn in_llvm_ir(self) -> Self {
        Self { in_mlir: false, ..self }
    }
}

impl Settings {
    /// The settings of a module's flag.
    ///
    /// # Errors
    /// An error if the text is not a list of options, or names a file.
    pub fn of_flag(text: &str) -> Result<Self, Errors> {
        let mut settings = Self::default();
        let place = format!("the module flag \"{MODULE_FLAG}\"");
        settings.override_with(text, &place)?;
        // A module may come from an untrusted source, so it must not choose files on the machine that reads it.
        if settings.remarks.is_some() {
            return Err(Diagnostic::new(format!("in {place}: a module cannot name a file for remarks")).into());
        }
        Ok(settings)
    }

    /// Applies a list of options: items `name=value`, or `name` for a flag, separated by commas or semicolons. An item
    /// with the name of a row of the ABI, such as `rmw.acq_rel=fence`, is a strategy for the row.
    ///
    /// # Errors
    /// All invalid items. `place` names the source of the list in the messages.
    pub fn override_with(&mut self, list: &str, place: &str) -> Result<(), Errors> {
        let mut errors = Errors::new();
        for item in list.split([',', ';']).map(str::trim).filter(|item| !item.is_empty()) {
            if let Err(reason) = self.item(item) {
                errors.push(Diagnostic::new(format!("in {place}: {reason}")));
            }
        }
        errors.or(())
    }

    fn item(&mut self, item: &str) -> Result<(), String> {
        if let Some(separated) = with_commas(item) {
            return Err(format!("options are separated by commas or semicolons, not by spaces: '{separated}'"));
        }
        let (name, value) = item.split_once('=').map_or((item, ""), |(name, value)| (name.trim(), value.trim()));
        match SETTINGS.iter().find(|known| known.name == name) {
            Some(setting) => (setting.read)(self, value),
            // The next item of a list of features, which commas separate, too.
            None if name.starts_with('+') && value.is_empty() => self.set_features(name),
            None if name.contains('.') => self.strategies.override_with(item).map_err(|error| error.to_string()),
            None => {
                let known = SETTINGS.map(|known| known.name).join(", ");
                Err(format!("unknown option '{name}'; the known options are {known}"))
            }
        }
    }

    fn set_features(&mut self, list: &str) -> Result<(), String> {
        let Features { ptx, sm } = features(list)?;
        self.mattr = ptx.or(self.mattr);
        self.mcpu = self.mcpu.or(sm);
        Ok(())
    }

    /// The target that is set, else the target of a module, else sm_90. A PTX version that a module requests is raised
    /// to the lowest version that has the GPU; a version that is set is not raised.
    ///
    /// # Errors
    /// An error if the version does not have the GPU.
    pub fn target(&self, gpu: Option<Sm>, version: Option<PtxVersion>) -> Result<Target, UnknownTarget> {
        let sm = self.mcpu.or(gpu).map_or_else(|| "sm_90".parse(), Ok)?;
        Target::new(sm, self.mattr.or(version.map(|version| version.max(sm.lowest_ptx()))))
    }

    /// The options for a target.
    pub fn options(&self, target: Target) -> Options {
        let defaults = Options::new(target);
        Options {
            policy: self.fp_atomics.apply(Policy {
                strategies: self.strategies,
                volatile_as_mmio: self.volatile_as_mmio.unwrap_or(defaults.policy.volatile_as_mmio),
                ..defaults.policy
            }),
            default_scope: self.default_scope.unwrap_or(defaults.default_scope),
            generic_may_be_local: self.generic_may_be_local.unwrap_or(defaults.generic_may_be_local),
            cuda_atomics: self.cuda_atomics.unwrap_or(defaults.cuda_atomics),
            optimize: self.optimize.unwrap_or(defaults.optimize),
            asynchronous: self.asynchronous.unwrap_or(defaults.asynchronous),
            embed: self.embed.unwrap_or(defaults.embed),
            verify_native: self.verify_native.unwrap_or(defaults.verify_native),
            ..defaults
        }
    }
}

/// Several options that spaces separate, rewritten with commas; `None` otherwise, because the name of a file may have
/// spaces, too.
fn with_commas(item: &str) -> Option<String> {
    let is_option = |word: &&str| match word.split_once('=') {
        Some((name, _)) => {
            SETTINGS.iter().any(|known| known.name == name)
                || name.contains('.') && Strategies::default().override_with(word).is_ok()
        }
        None => SETTINGS.iter().any(|known| known.name == *word && known.takes == Takes::Flag),
    };
    let mut words = item.split_whitespace();
    let first = words.next()?.to_owned();
    let separated = || words.clone().fold(first, |all, word| all + if is_option(&word) { "," } else { " " } + word);
    words.clone().any(|word| is_option(&word)).then(separated)
}

fn set<T>(to: &mut Option<T>, value: Result<T, String>) -> Result<(), String> {
    *to = Some(value?);
    Ok(())
}

/// Parses the name of a GPU.
///
/// # Errors
/// An error on an unknown name, as in all of these functions.
pub fn sm(name: &str) -> Result<Sm, String> {
    name.parse().map_err(|error: UnknownTarget| error.to_string())
}

/// The facts that a list of LLVM's features gives.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Features {
    /// The highest PTX version: rustc lists every version up to the one that it means.
    pub ptx: Option<PtxVersion>,
    /// The GPU, if the list names one.
    pub sm: Option<Sm>,
}

/// Parses a list of LLVM's features, with or without `+`: `+ptx86,+sm_90`.
pub fn features(list: &str) -> Result<Features, String> {
    let mut features = Features::default();
    for feature in list.split(',').map(str::trim) {
        let name = feature.strip_prefix('+').unwrap_or(feature);
        if name.starts_with("sm_") {
            features.sm = Some(sm(name)?);
        } else {
            let version = name.parse().map_err(|error: UnknownTarget| error.to_string())?;
            features.ptx = features.ptx.max(Some(version));
        }
    }
    Ok(features)
}

/// The PTX version in a list of LLVM's features. rustc lists every version up to the one that it means.
pub fn ptx_feature(features: &str) -> Option<&str> {
    let number = |feature: &&str| feature.strip_prefix("+ptx")?.parse::<u32>().ok();
    features.split(',').filter(|feature| number(feature).is_some()).max_by_key(number).map(|feature| &feature[1..])
}

/// Parses a list of strategies.
pub fn strategies(list: &str) -> Result<Strategies, String> {
    list.parse().map_err(|error: ptx_lowering::UnknownStrategy| error.to_string())
}

/// Parses the name of a scope in PTX.
pub fn scope(name: &str) -> Result<Scope, String> {
    name.parse().map_err(|_| format!("unknown scope '{name}'; the scopes are sys, cluster, gpu and cta"))
}

/// Parses the names of rewrites.
pub fn rewrites(list: &str) -> Result<Rewrites, String> {
    list.parse().map_err(|error: UnknownRewrite| error.to_string())
}

/// Parses the handling of asynchronous operations.
pub fn asynchronous(value: &str) -> Result<AsyncMode, String> {
    value.parse().map_err(|_| format!("expected one of {}, found '{value}'", AsyncMode::VARIANTS.join(", ")))
}

/// Parses the form of lowered operations.
pub fn embed(value: &str) -> Result<Embed, String> {
    value.parse().map_err(|_| format!("expected one of {}, found '{value}'", Embed::VARIANTS.join(", ")))
}

/// Parses `on` or `off`.
pub fn on(value: &str) -> Result<bool, String> {
    match value {
        "on" => Ok(true),
        "off" => Ok(false),
        _ => Err(format!("expected on or off, found '{value}'")),
    }
}

fn yes(value: &str) -> Result<bool, String> {
    match value {
        "" | "true" => Ok(true),
        "false" => Ok(false),
        _ => Err(format!("expected true or false, found '{value}'")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Checks that the errors about a list contain `said`; an empty `said` expects no errors.
    fn check(list: &str, said: &str) {
        let errors = Settings::default().override_with(list, "x").err().unwrap_or_default();
        assert!(errors.to_string().contains(said) && errors.is_empty() == said.is_empty(), "{list}: {errors}");
    }

    #[test]
    fn commas_separate_options() {
        check("strategy=fence,remarks=x; mcpu=sm_90", "");
        check("strategy=fence remarks=x", "not by spaces: 'strategy=fence,remarks=x'");
        check(
            "remarks=a b.yaml strategy=fence rmw.acq_rel=fence",
            "'remarks=a b.yaml,strategy=fence,rmw.acq_rel=fence'",
        );
        check("volatile-as-mmio generic-may-be-local", "'volatile-as-mmio,generic-may-be-local'");
        check("remarks=/tmp/my remarks of.a=b", "");
        check("strategy=fence fast", "unknown strategy 'fence fast'");
    }
}
