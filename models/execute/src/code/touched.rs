//! The registers that operations read.

use ptx_isa::Family;

use super::{Given, Op, Reg, Source};

/// Whether an operation is a `wgmma` instruction.
pub fn is_wgmma(family: Family) -> bool {
    use Family::{WgmmaCommitGroup, WgmmaFence, WgmmaMmaAsync, WgmmaMmaAsyncSp, WgmmaWaitGroup};
    matches!(family, WgmmaFence | WgmmaCommitGroup | WgmmaWaitGroup | WgmmaMmaAsync | WgmmaMmaAsyncSp)
}

fn given(operand: &Given) -> Vec<Source> {
    match operand {
        Given::One(source) => vec![*source],
        Given::Address(address) => vec![address.base],
        Given::Tensor(map, place) => std::iter::once(*map).chain(place.iter().copied()).collect(),
        Given::Many(sources) => sources.clone(),
    }
}

/// The registers that an operation reads.
pub fn reads(op: &Op) -> Vec<Reg> {
    let sources = match op {
        Op::Compute(of) => of.sources[..of.count].to_vec(),
        Op::Pack(_, _, parts, _) => parts.clone(),
        Op::Unpack(_, source, _) | Op::Move128(_, source) => vec![*source],
        Op::Moves(all) => all.iter().map(|(_, source)| *source).collect(),
        Op::Access(of) => of.data.iter().copied().chain(of.swap).chain([of.address.base]).collect(),
        Op::Collective(of, mask, _) => {
            let operands = match &**of {
                super::Collective::Of(_, operands) => &operands[..],
                super::Collective::Barrier => &[],
            };
            mask.iter().chain(operands).copied().collect()
        }
        Op::Cvta { a, .. } | Op::Isspacep { a, .. } | Op::Getctarank { a, .. } => vec![*a],
        Op::Mapa { a, rank, .. } => vec![*a, *rank],
        Op::Asynchronous(of) if !is_wgmma(of.form.family()) => {
            of.arguments.iter().flat_map(|(_, operand)| given(operand)).collect()
        }
        Op::Texture(of) => of.address().chain(of.memory.data.iter().copied()).collect(),
        Op::Matrix(of) => of.operands.iter().flat_map(given).collect(),
        _ => Vec::new(),
    };
    let register = |source: Source| match source {
        Source::Reg(register) | Source::Not(register) => Some(register),
        _ => None,
    };
    sources.into_iter().filter_map(register).collect()
}
