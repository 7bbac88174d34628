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
    /// `[map, {x, y}]`, `[map, address, {x, y}]`, `[map, address, {sizes}, {strides}, strides, {x, y}]`: an element of
    /// a tensor.
    Tensor {
        /// The address of the tensor map.
        map: Name,
        /// The values that override fields of the map: the address of the tensor, its sizes in 16 bits each, the lower
        /// 32 bits of its strides, and the upper bits of all strides in 16 bits.
        overrides: Vec<Operand>,
        /// The coordinates, one for each dimension of the tensor.
        coordinates: Vec<Operand>,
    },
    /// `[endpoint, offset]`, `[endpoint, offset, counter]`: memory that a fabric handle refers to, and the counter of
    /// arrivals.
    Handle(Vec<Operand>),
    /// `p|q`: two predicates that the instruction writes.
    Pair(Name, Name),
}

/// The purpose of an operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Display, EnumIter, EnumString)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Role {
    /// The destination: an address, a tensor with coordinates, or registers.
    Destination,
    /// The source: an address, a tensor with coordinates, a matrix descriptor, or registers.
    Source,
    /// The tensor address that overrides the address in the tensor map.
    Override,
    /// The number of bytes that the instruction copies or covers.
    Size,
    /// The number of bytes that are read; the remaining bytes are zero. As a predicate: whether no byte is read.
    SourceSize,
    /// The mbarrier that the instruction operates on, or that tracks its completion.
    Barrier,
    /// The mbarrier state that identifies the phase whose end a wait waits for.
    State,
    /// The parity of the phase: even or odd.
    Parity,
    /// The predicate that tells whether the phase has ended, or another predicate that the instruction writes.
    Done,
    /// The error report of an mbarrier.
    Report,
    /// The time limit of a wait, in nanoseconds.
    TimeLimit,
    /// The number of threads that arrive, or that are expected.
    Count,
    /// The number of bytes that an mbarrier is to expect, or has received.
    Bytes,
    /// The maximum number of groups that may still be pending.
    Pending,
    /// The participating threads of the warp.
    Members,
    /// The CTAs of the cluster that receive the data or the signal.
    CtaMask,
    /// The mask of the bytes written in every 16 bytes.
    ByteMask,
    /// The cache policy for the data.
    Policy,
    /// The number of bytes at the beginning that are not read.
    IgnoredLeft,
    /// The number of bytes at the end that are not read.
    IgnoredRight,
    /// Offsets of `im2col`.
    Offsets,
    /// The value of a store, a reduction or a replacement.
    Value,
    /// The index of the replaced field, if there are several.
    Ordinal,
    /// An address in the memory of the tensor cores.
    Tmem,
    /// A number of columns of that memory.
    Columns,
    /// The distance in columns of the two halves of a `16x32bx2`.
    Split,
    /// The result of a reduction.
    Reduced,
    /// The accumulator of a matrix instruction.
    D,
    /// The left matrix: its descriptor, its registers, or its address in the memory of the tensor cores.
    A,
    /// The descriptor of the right matrix.
    B,
    /// The positions of the nonzero elements of a sparse matrix.
    Metadata,
    /// The threads that hold the metadata.
    Selector,
    /// The instruction descriptor.
    Descriptor,
    /// The scales of the left matrix.
    ScaleA,
    /// The scales of the right matrix.
    ScaleB,
    /// Lanes of the accumulator that are not written.
    DisabledLanes,
    /// The columns of the right matrix that are treated as zero.
    ZeroColumns,
    /// Whether the product is added to the accumulator, or overwrites it.
    Accumulate,
    /// The scale of the accumulator before the addition.
    ScaleD,
    /// The factor of the left matrix: 1 or -1.
    SignA,
    /// The factor of the right matrix: 1 or -1.
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
        // A constant above the signed range was written as a negative number, or is equivalent to it.
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
