//! The kinds of the modifiers of asynchronous instructions.

use crate::word::Space;

/// The kind of a modifier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ModifierKind {
    /// `.acquire`, `.release`, `.relaxed`, `.weak`
    Semantics,
    /// `.cta` to `.sys`
    Scope,
    /// A state space. If there are two, the first belongs to the destination.
    Space,
    /// A type. If there are several, the first belongs to the result.
    Type,
    /// `.cta_group::1`, `.cta_group::2`
    CtaGroup,
    /// The error report of the completion: `.mbarrier::report::…`.
    Report,
    /// The field of a tensor map that an operand overrides: `.override::…`.
    Override,
    /// The completion mechanism: `.mbarrier::…` or `.bulk_group`.
    Completion,
    /// `.multicast::cluster`, `.multicast::cluster::all`
    Multicast,
    /// `.1d` to `.5d`
    Dimension,
    /// The access mode of a tensor: `.tile`, `.im2col` and their variants.
    Mode,
    /// The shape of a matrix: `.32x32b`, `.m64n8k16`, `.128x256b`.
    Shape,
    /// `.x1` to `.x128`
    Repetition,
    /// The operation of a reduction.
    Operation,
    /// `.kind::f16`: the types of a `tcgen05.mma`.
    MatrixKind,
    /// `.collector::a::fill`: the use of the collector buffer by a `tcgen05.mma`.
    Collector,
    /// `.sync_restrict::…`: the memory to which a fence is restricted.
    Restriction,
    /// `.L2::cache_hint`, `.L2::128B`
    Cache,
    /// Any other modifier.
    Other,
}

/// The state spaces among modifiers. If there are two, the first belongs to the destination.
pub(super) fn spaces(modifiers: &[&'static str]) -> impl Iterator<Item = Space> {
    let spaces = modifiers.iter().filter(|word| ModifierKind::from_word(word) == ModifierKind::Space);
    spaces.filter_map(|word| word.parse().ok())
}

/// The words of each kind. A word that ends with `::` represents all words that begin with it.
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
    /// The kind of a modifier, given without its dot.
    pub fn from_word(word: &str) -> Self {
        let is = |own: &&str| word == *own || own.ends_with("::") && word.starts_with(*own);
        let known = KINDS.iter().find(|(_, words)| words.iter().any(is));
        // `wgmma` has a separate shape word for each size.
        let sized = || word.starts_with("m64n").then_some(Self::Shape);
        known.map(|(kind, _)| *kind).or_else(sized).unwrap_or(Self::Other)
    }
}
