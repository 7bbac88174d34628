//! The targets of the reference: a GPU of each family.

use ptx_lowering::Target;

/// The families of GPUs, each represented by its first GPU, with PTX 9.0; sm_90 is also listed without the one-sided
/// fences of PTX 8.6. With older PTX, forms that it lacks are replaced; the requirements of each type name them.
pub const TARGETS: [(&str, &str); 9] = [
    ("sm_20", "ptx90"),
    ("sm_32", "ptx90"),
    ("sm_50", "ptx90"),
    ("sm_60", "ptx90"),
    ("sm_70", "ptx90"),
    ("sm_80", "ptx90"),
    ("sm_90", "ptx85"),
    ("sm_90", "ptx90"),
    ("sm_100", "ptx90"),
];

/// The targets of [`TARGETS`].
pub fn targets() -> Vec<Target> {
    let target = |(sm, ptx): (&str, &str)| Target::new(sm.parse().ok()?, Some(ptx.parse().ok()?)).ok();
    TARGETS.into_iter().filter_map(target).collect()
}

/// The names of the targets; if a GPU has several targets, with the PTX version.
pub fn target_names() -> Vec<String> {
    let name = |(sm, ptx): &(&str, &str)| match TARGETS.iter().filter(|(other, _)| other == sm).count() {
        1 => (*sm).to_owned(),
        _ => format!("{sm} with {ptx}"),
    };
    TARGETS.iter().map(name).collect()
}
