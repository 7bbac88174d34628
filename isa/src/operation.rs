//! Instructions on registers by type: computations, conversions of addresses, and exchanges between the lanes of a warp.

use std::sync::Arc;

use strum::EnumString;

use crate::{
    arithmetic::Computation,
    matrix::MatrixForm,
    word::{AluOp, AtomOp, Space, Type},
};

/// The result of `vote`, from the predicates of all lanes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Vote {
    /// Whether all predicates are true.
    All,
    /// Whether any predicate is true.
    Any,
    /// Whether all predicates are equal.
    Uni,
    /// A mask with one bit for each lane.
    Ballot,
}

/// The lane from which `shfl` takes the value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
#[strum(serialize_all = "lowercase")]
pub enum Shuffle {
    /// A lower lane, at a distance.
    Up,
    /// A higher lane, at a distance.
    Down,
    /// The lane whose number differs in given bits.
    #[strum(serialize = "bfly")]
    Butterfly,
    /// The lane with a given number.
    #[strum(serialize = "idx")]
    Index,
}

/// A collective operation of the lanes of a warp.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `vote`
    Vote(Vote),
    /// `shfl`
    Shuffle(Shuffle),
    /// `match`: the lanes with an equal value.
    Match {
        /// `.any`, instead of `.all`.
        any: bool,
        /// The type of the value.
        ty: Type,
    },
    /// `redux`
    Redux {
        /// The operation that combines the values.
        op: AtomOp,
        /// The type of the value.
        ty: Type,
        /// `.abs`
        abs: bool,
        /// `.NaN`
        nan: bool,
    },
    /// `elect`
    Elect,
}

/// The direction in which `setmaxnreg` changes the number of registers of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, EnumString)]
pub enum RegisterChange {
    /// `.inc`
    #[strum(serialize = "inc")]
    Increase,
    /// `.dec`
    #[strum(serialize = "dec")]
    Decrease,
}

/// An instruction on the stack of a thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Stack {
    /// `stacksave`
    Save,
    /// `stackrestore`
    Restore,
    /// `alloca`
    Allocate,
}

/// A kind of instruction whose result is not modelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Opaque {
    /// A property of a texture or a surface: `txq`, `suq`, `istypep`.
    TextureQuery,
    /// `createpolicy`
    CachePolicy,
    /// `nanosleep`
    Sleep,
    /// An instruction without results, for a debugger or a profiler: `brkpt`, `pmevent`.
    Control,
    /// A scalar video instruction, or a form of another instruction that PTX ISA 9.2 does not have.
    Form,
}

/// An instruction that reads and writes registers, and accesses no memory.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
    /// Arithmetic, a comparison, a selection or a conversion of numbers.
    Arithmetic(Computation),
    /// `mov`: of a value, or between a register and the parts of a vector.
    Mov(Type),
    /// `cvta`: the conversion of an address in a state space into a generic address.
    Cvta {
        /// `.to`: the conversion of a generic address into an address in the state space.
        to: bool,
        /// The state space; `None` is parameter space.
        space: Option<Space>,
    },
    /// `isspacep`: a test whether a generic address is in a state space; `None` is parameter space.
    Isspacep(Option<Space>),
    /// `mapa`: the address in the shared memory of another CTA of the cluster.
    Mapa(Option<Space>),
    /// `getctarank`: the CTA of the cluster that an address belongs to.
    Getctarank(Option<Space>),
    /// An exchange between the lanes of a warp.
    Collective {
        /// The exchange.
        of: Collective,
        /// `.sync`: the last operand is the mask of the lanes that wait for each other.
        is_sync: bool,
    },
    /// `activemask`
    Activemask,
    /// A product of matrices, or a transposition.
    Matrix(MatrixForm),
    /// The stack of the thread.
    Stack(Stack),
    /// `setmaxnreg`: the operand is the new number of registers of each thread of the warpgroup.
    Setmaxnreg(RegisterChange),
    /// An instruction whose result is not modelled, with its mnemonic and all modifiers. Instructions with equal
    /// mnemonics have the same effect.
    Opaque(Opaque, Arc<str>),
}

/// Whether the word is parameter space, for `cvta` and `isspacep`.
fn is_parameter(word: &str) -> bool {
    word.split("::").next() == Some("param")
}

impl Operation {
    /// The operation that the words of an instruction spell. `mnemonic` is the words with dots.
    pub(crate) fn from_words(words: &[&str], mnemonic: &Arc<str>) -> Self {
        Self::read(words).unwrap_or_else(|| {
            let kind = match words.first().copied().unwrap_or_default() {
                "txq" | "suq" | "istypep" => Opaque::TextureQuery,
                "createpolicy" => Opaque::CachePolicy,
                "nanosleep" => Opaque::Sleep,
                "brkpt" | "pmevent" => Opaque::Control,
                _ => Opaque::Form,
            };
            Self::Opaque(kind, mnemonic.clone())
        })
    }

    fn read(words: &[&str]) -> Option<Self> {
        let (base, modifiers) = words.split_first()?;
        let has = |word: &str| modifiers.contains(&word);
        let last_type = || modifiers.iter().rev().find_map(|word| word.parse().ok());
        let space = || modifiers.iter().find_map(|word| word.parse::<Space>().ok());
        let space_or_parameters = || match modifiers.iter().any(|word| is_parameter(word)) {
            true => Some(None),
            false => space().map(Some),
        };
        let collective = |of| Some(Self::Collective { of, is_sync: has("sync") });
        match *base {
            "mov" => last_type().map(Self::Mov),
            "cvta" => Some(Self::Cvta { to: has("to"), space: space_or_parameters()? }),
            "isspacep" => Some(Self::Isspacep(space_or_parameters()?)),
            "mapa" => Some(Self::Mapa(space())),
            "getctarank" => Some(Self::Getctarank(space())),
            "vote" => collective(Collective::Vote(modifiers.iter().find_map(|word| word.parse().ok())?)),
            "shfl" => collective(Collective::Shuffle(modifiers.iter().find_map(|word| word.parse().ok())?)),
            "match" => collective(Collective::Match { any: has("any"), ty: last_type()? }),
            "redux" => {
                let op = modifiers.iter().find_map(|word| word.parse().ok())?;
                collective(Collective::Redux { op, ty: last_type()?, abs: has("abs"), nan: has("NaN") })
            }
            "elect" => collective(Collective::Elect),
            "activemask" => Some(Self::Activemask),
            "stacksave" => Some(Self::Stack(Stack::Save)),
            "stackrestore" => Some(Self::Stack(Stack::Restore)),
            "alloca" => Some(Self::Stack(Stack::Allocate)),
            "setmaxnreg" => modifiers.iter().find_map(|word| word.parse().ok()).map(Self::Setmaxnreg),
            "mma" | "wmma" | "movmatrix" => MatrixForm::from_words(words).map(Self::Matrix),
            _ => Computation::from_mnemonic(base, modifiers).map(Self::Arithmetic),
        }
    }

    /// The computation of one or two values from the operands. A `mov` of a whole value counts as a computation.
    pub fn computation(&self) -> Option<Computation> {
        match self {
            Self::Arithmetic(computation) => Some(*computation),
            Self::Mov(ty) => Some(Computation::Alu(AluOp::Mov, *ty)),
            _ => None,
        }
    }

    /// Whether the result with an index is a predicate.
    pub fn gives_predicate(&self, index: usize) -> bool {
        match self {
            Self::Arithmetic(computation) => computation.result_types().nth(index) == Some(Type::Pred),
            Self::Mov(ty) => *ty == Type::Pred,
            Self::Isspacep(_) => true,
            Self::Collective { of: Collective::Vote(vote), .. } => *vote != Vote::Ballot,
            Self::Collective { of: Collective::Redux { .. }, .. } => false,
            Self::Collective { .. } => index == 1,
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operation(mnemonic: &str) -> Operation {
        Operation::from_words(&mnemonic.split('.').collect::<Vec<_>>(), &Arc::from(mnemonic))
    }

    /// Checks the operation, without the computation and the form, which have separate tests, and the predicates among
    /// its results.
    #[track_caller]
    fn check(mnemonic: &str, expected: &str) {
        let found = operation(mnemonic);
        let shown = match &found {
            Operation::Arithmetic(computation) => {
                assert_eq!(found.computation(), Some(*computation));
                "Arithmetic".to_owned()
            }
            Operation::Matrix(_) => "Matrix".to_owned(),
            other => format!("{other:?}"),
        };
        let predicates: String = (0..2).map(|index| if found.gives_predicate(index) { 'p' } else { '-' }).collect();
        assert_eq!(format!("{shown} {predicates}"), expected);
    }

    #[test]
    fn words_become_the_parts_of_an_operation() {
        check("add.s32", "Arithmetic --");
        check("setp.lt.and.f32", "Arithmetic pp");
        check("and.pred", "Arithmetic p-");
        check("lop3.or.b32", "Arithmetic -p");
        check("mov.b64", "Mov(B64) --");
        check("mov.pred", "Mov(Pred) pp");
        check("cvta.to.global.u64", "Cvta { to: true, space: Some(Global) } --");
        check("cvta.param.u64", "Cvta { to: false, space: None } --");
        check("isspacep.shared::cluster", "Isspacep(Some(SharedCluster)) pp");
        check("isspacep.param::entry", "Isspacep(None) pp");
        check("mapa.shared::cluster.u32", "Mapa(Some(SharedCluster)) --");
        check("getctarank.u64", "Getctarank(None) --");
        check("vote.sync.any.pred", "Collective { of: Vote(Any), is_sync: true } pp");
        check("vote.ballot.b32", "Collective { of: Vote(Ballot), is_sync: false } --");
        check("shfl.sync.bfly.b32", "Collective { of: Shuffle(Butterfly), is_sync: true } -p");
        check("match.any.sync.b64", "Collective { of: Match { any: true, ty: B64 }, is_sync: true } -p");
        check(
            "redux.sync.max.abs.NaN.f32",
            "Collective { of: Redux { op: Max, ty: F32, abs: true, nan: true }, is_sync: true } --",
        );
        check("elect.sync", "Collective { of: Elect, is_sync: true } -p");
        check("activemask.b32", "Activemask --");
        check("alloca.u64", "Stack(Allocate) --");
        check("setmaxnreg.inc.sync.aligned.u32", "Setmaxnreg(Increase) --");
        check("setmaxnreg.dec.sync.aligned.u32", "Setmaxnreg(Decrease) --");
        check("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32", "Matrix --");
    }

    #[test]
    fn unknown_forms_keep_their_mnemonic() {
        check("txq.width.b32", "Opaque(TextureQuery, \"txq.width.b32\") --");
        check(
            "createpolicy.fractional.L2::evict_last.b64",
            "Opaque(CachePolicy, \"createpolicy.fractional.L2::evict_last.b64\") --",
        );
        check("nanosleep.u32", "Opaque(Sleep, \"nanosleep.u32\") --");
        check("pmevent.mask", "Opaque(Control, \"pmevent.mask\") --");
        check("vadd.u32.u32.u32", "Opaque(Form, \"vadd.u32.u32.u32\") --");
        check("add.quickly.s32", "Opaque(Form, \"add.quickly.s32\") --");
        check("cvta.nowhere.u64", "Opaque(Form, \"cvta.nowhere.u64\") --");
        assert_ne!(operation("txq.width.b32"), operation("txq.height.b32"));
        assert_eq!(operation("add.rn.f32"), operation("add.f32"));
    }
}
