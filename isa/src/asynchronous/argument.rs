//! The operands of asynchronous instructions.

use std::fmt::{self, Display, Formatter};

use strum::{Display, EnumIter, EnumString};

use crate::instruction::{Address, Name, Operand};

/// An operand of an asynchronous instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Argument {
    /// A register, a constant, the sink, or a vector of registers.
    Value(Operand),
    /// A predicate.
    Predicate {
        /// The register.
        p: Name,
        /// `!p`
        negated: bool,
    },
    /// `[base+offset]`
    Address(Address),
    /// `[map, {x, y}]`, `[map, address, {x, y}]`, `[map, address, {sizes}, {strides}, strides, {x, y}]`: a place in a tensor.
    Tensor {
        /// The address of the tensor map.
        map: Name,
        /// What stands in place of fields of the map: the address of the tensor, its sizes in 16 bits, the lower 32 bits of its strides,
        /// and the upper bits of all of them in 16.
        overrides: Vec<Operand>,
        /// As many as the tensor has dimensions.
        coordinates: Vec<Operand>,
    },
    /// `[endpoint, offset]`, `[endpoint, offset, counter]`: a place behind a fabric handle, and the counter of what arrived.
    Handle(Vec<Operand>),
    /// `p|q`: two predicates that are written.
    Pair(Name, Name),
}

/// What an operand is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// What is written: an address, a tensor with coordinates, or registers.
    Destination,
    /// What is read: an address, a tensor with coordinates, a matrix descriptor, or registers.
    Source,
    /// The address of a tensor in place of that of its map.
    Override,
    /// The number of bytes that are copied or covered.
    Size,
    /// The number of bytes that are read; the rest is zero. As a predicate: whether nothing is read.
    SourceSize,
    /// The barrier in shared memory that the instruction works on, or that learns of its completion.
    Barrier,
    /// The state of a barrier, of which a wait waits for the end.
    State,
    /// Whether the phase is even or odd.
    Parity,
    /// Whether the phase has ended; or another predicate that is written.
    Done,
    /// What a barrier reports of errors.
    Report,
    /// How long a wait may take, in nanoseconds.
    TimeLimit,
    /// How many threads arrive, or are expected.
    Count,
    /// How many bytes a barrier is to expect, or has received.
    Bytes,
    /// How many groups may still be in flight.
    Pending,
    /// Which threads of the warp take part.
    Members,
    /// Which CTAs of the cluster receive the data or the signal.
    CtaMask,
    /// Which bytes of every 16 are written.
    ByteMask,
    /// How the caches are to treat the data.
    Policy,
    /// How many bytes at the beginning are not read.
    IgnoredLeft,
    /// How many bytes at the end are not read.
    IgnoredRight,
    /// Offsets of `im2col`.
    Offsets,
    /// The value that a store, a reduction or a replacement takes.
    Value,
    /// Which of several fields is replaced.
    Ordinal,
    /// An address in the memory of the tensor cores.
    Tmem,
    /// A number of columns of that memory.
    Columns,
    /// The distance in columns of the two halves of a `16x32bx2`.
    Split,
    /// What was reduced.
    Reduced,
    /// The accumulator of a matrix instruction.
    D,
    /// The left matrix: its descriptor, its registers, or its place in the memory of the tensor cores.
    A,
    /// The descriptor of the right matrix.
    B,
    /// Where nothing of a sparse matrix is zero.
    Metadata,
    /// Which threads have the metadata.
    Selector,
    /// The instruction descriptor.
    Descriptor,
    /// The scales of the left matrix.
    ScaleA,
    /// The scales of the right matrix.
    ScaleB,
    /// Lanes of the accumulator that are not written.
    DisabledLanes,
    /// Columns of the right matrix that are taken as zero.
    ZeroColumns,
    /// Whether the accumulator is added to, or overwritten.
    Accumulate,
    /// How the accumulator is scaled in front of the addition.
    ScaleD,
    /// 1 or -1, by which the left matrix is multiplied.
    SignA,
    /// 1 or -1, by which the right matrix is multiplied.
    SignB,
    /// Whether the left matrix is transposed.
    TransposeA,
    /// Whether the right matrix is transposed.
    TransposeB,
}

impl Display for Argument {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Value(operand) => print(f, operand),
            Self::Predicate { p, negated } => write!(f, "{}{}", if *negated { "!" } else { "" }, p.0),
            Self::Address(Address { base, offset: 0 }) => write!(f, "[{}]", base.0),
            Self::Address(Address { base, offset }) => write!(f, "[{}+{offset}]", base.0),
            Self::Tensor { map, overrides, coordinates } => {
                write!(f, "[{}, ", map.0)?;
                for part in overrides {
                    print(f, part)?;
                    f.write_str(", ")?;
                }
                vector(f, coordinates)?;
                f.write_str("]")
            }
            Self::Handle(parts) => {
                f.write_str("[")?;
                list(f, parts)?;
                f.write_str("]")
            }
            Self::Pair(p, q) => write!(f, "{}|{}", p.0, q.0),
        }
    }
}

fn print(f: &mut Formatter<'_>, operand: &Operand) -> fmt::Result {
    match operand {
        Operand::Register(name) => f.write_str(&name.0),
        // A constant beyond the signed ones was written as a negative one, or means the same.
        Operand::Immediate(bits) => write!(f, "{}", bits.cast_signed()),
        Operand::Sink => f.write_str("_"),
        Operand::Vector(elements) => vector(f, elements),
    }
}

fn vector(f: &mut Formatter<'_>, elements: &[Operand]) -> fmt::Result {
    f.write_str("{")?;
    list(f, elements)?;
    f.write_str("}")
}

fn list(f: &mut Formatter<'_>, elements: &[Operand]) -> fmt::Result {
    for (index, element) in elements.iter().enumerate() {
        f.write_str(if index == 0 { "" } else { ", " })?;
        print(f, element)?;
    }
    Ok(())
}
