//! The options for a part of a module, from the module and from the user's settings.

use melior::ir::{OperationRef, attribute::ArrayAttribute, operation::OperationLike};
use ptx_atomics_common::{
    Diagnostic, Errors, Options, Settings,
    settings::{MODULE_FLAG, ptx_feature},
};
use ptx_lowering::{PtxVersion, Sm};

use crate::{
    diagnostic::{diagnostic, error_at, location_of},
    ir,
};

/// The settings of the flag `ptx-atomics` of the module that contains an op, as in LLVM IR.
///
/// # Errors
/// An error if the flag is not a string, is not a list of options, or names a file.
pub fn settings_of(op: OperationRef<'_, '_>) -> Result<Settings, Errors> {
    for op in ir::children(module_of(op)).filter(|op| ir::name(*op) == "llvm.module_flags") {
        let text = ir::inherent(op, "flags").map(|flags| flags.to_string()).unwrap_or_default();
        if let Some((_, value)) = text.split_once(&format!("\"{MODULE_FLAG}\", ")) {
            let list = value.strip_prefix('"').and_then(|rest| rest.split_once('"'));
            let help = format!("write #llvm.mlir.module_flag<override, \"{MODULE_FLAG}\", \"strategy=fence\">");
            let no_string = || error_at(op, format!("the module flag \"{MODULE_FLAG}\" is not a string"), &help);
            return Settings::of_flag(list.ok_or_else(no_string)?.0).map_err(|errors| {
                let at = |error| Diagnostic { location: location_of(op), ..error };
                errors.into_iter().map(at).collect()
            });
        }
    }
    Ok(Settings::default())
}

/// The options for the code in an op. The GPU and the PTX version come from the settings, else from the module that
/// contains the op, else from [`Settings::target`].
///
/// # Errors
/// An error if the module requests several targets, or one that does not exist.
pub fn options(settings: &Settings, op: OperationRef<'_, '_>) -> Result<Options, Errors> {
    let module = module_of(op);
    let requested = if settings.mcpu.is_some() { Vec::new() } else { requested_targets(module)? };
    if let [_, _, ..] = requested[..] {
        let targets = requested.iter().map(|(sm, _)| sm.name()).collect::<Vec<_>>().join(", ");
        let help = "PTX text has one target: give it by --mcpu, or to the pass by chip";
        return Err(error_at(module, format!("the module asks for several GPUs: {targets}"), help).into());
    }
    let (gpu, version) = requested.first().copied().unzip();
    let target = settings.target(gpu, version).map_err(|error| Diagnostic::new(error.to_string()))?;
    Ok(settings.options(target))
}

/// The innermost module that contains an op, or the op itself.
pub fn module_of<'c, 'a>(op: OperationRef<'c, 'a>) -> OperationRef<'c, 'a> {
    ir::parents(op).find(|parent| matches!(ir::name(*parent), "gpu.module" | "builtin.module")).unwrap_or(op)
}

/// The GPU and PTX version of each `#nvvm.target` of a `gpu.module`.
///
/// # Errors
/// All unknown names.
pub fn requested_targets(op: OperationRef<'_, '_>) -> Result<Vec<(Sm, PtxVersion)>, Errors> {
    let targets = op.attribute("targets").ok().and_then(|targets| ArrayAttribute::try_from(targets).ok());
    let (mut found, mut errors) = (Vec::new(), Errors::new());
    for target in targets.iter().flat_map(|targets| (0..targets.len()).filter_map(|index| targets.element(index).ok()))
    {
        let text = target.to_string();
        if !text.starts_with("#nvvm.target") {
            continue;
        }
        // MLIR does not print a parameter with its default value.
        let chip = parameter(&text, "chip").unwrap_or("sm_50");
        let features = parameter(&text, "features").unwrap_or("+ptx60");
        let version = ptx_feature(features).map(str::parse::<PtxVersion>).transpose();
        match (chip.parse::<Sm>(), version) {
            (Ok(sm), Ok(version)) => found.push((sm, version.map_or(sm.lowest_ptx(), |ptx| ptx.max(sm.lowest_ptx())))),
            (sm, version) => {
                let problems = [sm.err(), version.err()].into_iter().flatten();
                let help = || Some("give a supported one by --mcpu and --mattr".to_owned());
                let problems = problems.map(|error| (format!("the module's target: {error}"), help()));
                errors.extend(problems.map(|problem| diagnostic(op, problem)));
            }
        }
    }
    found.dedup();
    errors.or(found)
}

/// The text of a parameter of an attribute, such as `chip = "sm_90"`.
fn parameter<'t>(attribute: &'t str, name: &str) -> Option<&'t str> {
    let (_, rest) = attribute.split_once(&format!("{name} = \""))?;
    rest.split_once('"').map(|(value, _)| value)
}
