//! The number that represents the kind and the shape of a `tcgen05.mma`.

use strum::{Display, EnumIter, EnumString, FromRepr};

/// The properties that distinguish one `tcgen05.mma` from another, except for the operands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MmaShape {
    /// The instruction descriptor, which contains the shape (section 9.7.16.4.2).
    pub(super) idesc: u32,
    /// `.kind`
    pub(super) kind: MmaKind,
    /// `.ws`
    pub(super) ws: bool,
}

/// `.kind` of `tcgen05.mma`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Display, EnumIter, EnumString, FromRepr)]
#[repr(u8)]
pub(super) enum MmaKind {
    #[strum(serialize = "kind::f16")]
    F16,
    #[strum(serialize = "kind::tf32")]
    Tf32,
    #[strum(serialize = "kind::f8f6f4")]
    F8f6f4,
    #[strum(serialize = "kind::i8")]
    I8,
    #[strum(serialize = "kind::mxf8f6f4")]
    Mxf8f6f4,
    #[strum(serialize = "kind::mxf4")]
    Mxf4,
    #[strum(serialize = "kind::mxf4nvf4")]
    Mxf4nvf4,
}

impl MmaKind {
    /// Whether it takes scales, which are in tensor memory.
    pub(super) fn has_scales(self) -> bool {
        matches!(self, Self::Mxf8f6f4 | Self::Mxf4 | Self::Mxf4nvf4)
    }
}

impl From<MmaShape> for u64 {
    fn from(MmaShape { idesc, kind, ws }: MmaShape) -> Self {
        Self::from(idesc) | Self::from(kind as u8) << 32 | Self::from(ws) << 40
    }
}

impl From<u64> for MmaShape {
    fn from(number: u64) -> Self {
        let kind = MmaKind::from_repr((number >> 32) as u8).unwrap_or(MmaKind::F16);
        Self { idesc: number as u32, kind, ws: number >> 40 & 1 == 1 }
    }
}
