//! What the modifiers of asynchronous instructions say.

use crate::word::Space;

/// What a modifier says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModifierKind {
    /// `.acquire`, `.release`, `.relaxed`, `.weak`
    Semantics,
    /// `.cta` to `.sys`
    Scope,
    /// A state space. Of two, the first is that of the destination.
    Space,
    /// A type. Of several, the first is that of the result.
    Type,
    /// `.cta_group::1`, `.cta_group::2`
    CtaGroup,
    /// What the completion reports of errors: `.mbarrier::report::…`.
    Report,
    /// What stands in place of a field of a tensor map: `.override::…`.
    Override,
    /// How the completion is observed: `.mbarrier::…` or `.bulk_group`.
    Completion,
    /// `.multicast::cluster`, `.multicast::cluster::all`
    Multicast,
    /// `.1d` to `.5d`
    Dimension,
    /// How a tensor is walked: `.tile`, `.im2col` and their variants.
    Mode,
    /// The shape of a matrix: `.32x32b`, `.m64n8k16`, `.128x256b`.
    Shape,
    /// `.x1` to `.x128`
    Repetition,
    /// What a reduction computes.
    Operation,
    /// `.kind::f16`: the types of a `tcgen05.mma`.
    MatrixKind,
    /// `.collector::a::fill`: what is done with the buffer of a `tcgen05.mma`.
    Collector,
    /// `.sync_restrict::…`: to which memory a fence is restricted.
    Restriction,
    /// `.L2::cache_hint`, `.L2::128B`
    Cache,
    /// Anything else.
    Other,
}

/// The state spaces among modifiers; of two, the first is for the destination.
pub(super) fn spaces(modifiers: &[&'static str]) -> impl Iterator<Item = Space> {
    let spaces = modifiers.iter().filter(|word| ModifierKind::of(word) == ModifierKind::Space);
    spaces.filter_map(|word| word.parse().ok())
}

/// The words of each kind. One that ends with `::` stands for all that begin so.
#[rustfmt::skip]
const KINDS: &[(ModifierKind, &[&str])] = &[
    (ModifierKind::Semantics,   &["acquire", "release", "relaxed", "weak"]),
    (ModifierKind::Scope,       &["cta", "cluster", "gpu", "sys"]),
    (ModifierKind::Space,       &["global", "shared", "shared::"]),
    (ModifierKind::Type,        &["b1", "b8", "b16", "b32", "b64", "b128", "b1024", "u8", "u16", "u32", "u64", "s8", "s16", "s32", "s64",
                          "f16", "bf16", "f16x2", "bf16x2", "tf32", "f32", "f64", "e4m3", "e5m2", "pred"]),
    (ModifierKind::CtaGroup,    &["cta_group::"]),
    (ModifierKind::Report,      &["mbarrier::report::"]),
    (ModifierKind::Override,    &["override::"]),
    (ModifierKind::Completion,  &["mbarrier::", "bulk_group"]),
    (ModifierKind::Multicast,   &["multicast::"]),
    (ModifierKind::Dimension,   &["1d", "2d", "3d", "4d", "5d"]),
    (ModifierKind::Mode,        &["tile", "tile::", "im2col", "im2col::", "im2col_no_offs", "im2col_no_offs::"]),
    (ModifierKind::Shape,       &["32x32b", "16x64b", "16x128b", "16x256b", "16x32bx2", "128x256b", "4x256b", "128x128b", "64x128b",
                          "32x128b"]),
    (ModifierKind::Repetition,  &["x1", "x2", "x4", "x8", "x16", "x32", "x64", "x128"]),
    (ModifierKind::Operation,   &["add", "min", "max", "inc", "dec", "and", "or", "xor", "exch", "cas"]),
    (ModifierKind::MatrixKind,  &["kind::"]),
    (ModifierKind::Collector,   &["collector::"]),
    (ModifierKind::Restriction, &["sync_restrict::"]),
    (ModifierKind::Cache,       &["L2", "L2::"]),
];

impl ModifierKind {
    /// What a modifier says, without its dot.
    pub fn of(word: &str) -> Self {
        let is = |own: &&str| word == *own || own.ends_with("::") && word.starts_with(*own);
        let known = KINDS.iter().find(|(_, words)| words.iter().any(is));
        // A shape of `wgmma` has one word for each size.
        let sized = || word.starts_with("m64n").then_some(Self::Shape);
        known.map(|(kind, _)| *kind).or_else(sized).unwrap_or(Self::Other)
    }
}
