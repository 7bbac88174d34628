//! Asynchronous instructions and the instructions that order them (PTX ISA 9.2, sections 9.7.9 and 9.7.13 to 9.7.16):
//! copies, barriers in memory, fences between proxies, `wgmma`, `tcgen05`.
//!
//! A table has one entry for each form, with its modifiers, operands and requirements. The reader, the printer, and the
//! tests against the assemblers all use this table.
//!
//! ```
//! use ptx_isa::{Asynchronous, Family, Role, Scope, Target};
//!
//! let arrive: Asynchronous = "mbarrier.arrive.shared::cta.release.cluster.b64 _, [bar+8]".parse()?;
//! assert_eq!((arrive.family(), arrive.scope()), (Family::MbarrierArrive, Some(Scope::Cluster)));
//! assert_eq!(arrive.address(Role::Barrier).map(|address| address.offset), Some(8));
//! assert_eq!(arrive.to_string(), "mbarrier.arrive.release.cluster.shared::cta.b64 _, [bar+8]");
//! let old = Target::new("sm_80".parse()?, "ptx80".parse().ok())?;
//! assert!(!old.meets(arrive.requirement()));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod argument;
pub mod effects;
mod family;
mod forms;
mod grammar;
mod kind;
mod outline;
mod table;

use std::{
    fmt::{self, Display, Formatter},
    str::FromStr,
};

use self::forms::{Row, rows};
pub use self::{
    argument::{Argument, Role},
    family::Family,
    kind::ModifierKind,
    outline::Outline,
};
use crate::{
    instruction::Address,
    parse::{ParseError, ParseErrors},
    syntax,
    target::{Requirement, Sm},
    word::{Scope, Space},
};

/// The machine code that ptxas generates for an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Assembled {
    /// The instruction as written.
    AsWritten,
    /// A trap.
    Trap,
    /// A barrier, and a synchronous store or reduction.
    Synchronous,
}

/// An asynchronous instruction, or an instruction that orders asynchronous ones, without its guard.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Asynchronous {
    family: Family,
    modifiers: Vec<&'static str>,
    /// The kind of each modifier.
    kinds: Vec<ModifierKind>,
    arguments: Vec<(Role, Argument)>,
    requirement: Requirement,
    scope: Option<Scope>,
}

impl Asynchronous {
    /// Reads an instruction without its guard, which the caller handles.
    ///
    /// Like the assembler, this function accepts modifiers in any order after the words of the family, except that
    /// state spaces and types must be in the manual's order.
    ///
    /// # Errors
    /// If the instruction belongs to no family, or PTX has no such form.
    pub fn read(instruction: &syntax::Instruction<'_>) -> Result<Self, ParseError> {
        let error = |reason| ParseError { span: instruction.text.span(), text: instruction.text.text.into(), reason };
        let modifiers = instruction.modifiers.iter().map(|word| word.text);
        let words: Vec<_> = std::iter::once(instruction.mnemonic.text).chain(modifiers).collect();
        let (family, words) =
            Family::from_words(&words).ok_or_else(|| error("no asynchronous instruction has this name".into()))?;
        Self::of_family(family, words, &instruction.operands).map_err(error)
    }

    fn of_row(row: &Row, modifiers: Vec<&'static str>, arguments: Vec<(Role, Argument)>) -> Self {
        let (family, requirement) = (row.family, row.requirement(&modifiers));
        let kinds = modifiers.iter().map(|word| ModifierKind::from_word(word)).collect();
        let mut form = Self { family, modifiers, kinds, arguments, requirement, scope: None };
        form.scope = form.modifier(ModifierKind::Scope).and_then(|word| word.parse().ok());
        form
    }

    fn of_family(family: Family, words: &[&str], operands: &[syntax::Operand<'_>]) -> Result<Self, String> {
        let mut misfit: Option<grammar::Misfit> = None;
        for row in family.rows() {
            let filled = row.modifiers.fill(words);
            if filled.distance() > 0 {
                continue;
            }
            match grammar::arguments(&row.parameters, operands, &filled.words) {
                Ok(arguments) => return Ok(Self::of_row(row, filled.words, arguments)),
                Err(other) if misfit.as_ref().is_none_or(|misfit| other.left < misfit.left) => misfit = Some(other),
                Err(_) => {}
            }
        }
        Err(misfit.map_or_else(|| forms::no_form(family, words).0, |misfit| misfit.reason))
    }

    /// Every form of the table, with registers as operands that are named by their types, such as `%b64_1`.
    pub fn all() -> impl Iterator<Item = Self> {
        rows().iter().flat_map(|row| {
            row.modifiers.all().into_iter().flat_map(move |modifiers| {
                let lists = grammar::examples(&row.parameters, &modifiers);
                lists.into_iter().map(move |arguments| Self::of_row(row, modifiers.clone(), arguments))
            })
        })
    }

    /// The family, which the first words of the instruction name.
    pub fn family(&self) -> Family {
        self.family
    }

    /// The words after the words of the family, without their dots, in the manual's order.
    pub fn modifiers(&self) -> &[&'static str] {
        &self.modifiers
    }

    /// The mnemonic with its modifiers: `mbarrier.inval.shared::cta.b64`.
    pub fn mnemonic(&self) -> String {
        std::iter::once(self.family.words()).chain(self.modifiers.iter().copied()).collect::<Vec<_>>().join(".")
    }

    /// The first modifier of a kind.
    pub fn modifier(&self, kind: ModifierKind) -> Option<&'static str> {
        self.of_kind(kind).next()
    }

    fn of_kind(&self, kind: ModifierKind) -> impl Iterator<Item = &'static str> {
        self.modifiers.iter().zip(&self.kinds).filter(move |(_, own)| **own == kind).map(|(word, _)| *word)
    }

    /// Whether the instruction has a modifier, given without its dot.
    pub fn has(&self, modifier: &str) -> bool {
        self.modifiers.contains(&modifier)
    }

    /// The scope that the instruction names.
    pub fn scope(&self) -> Option<Scope> {
        self.scope
    }

    /// The state spaces that the instruction names. If there are two, the first belongs to the destination.
    pub fn spaces(&self) -> impl Iterator<Item = Space> {
        self.of_kind(ModifierKind::Space).filter_map(|word| word.parse().ok())
    }

    /// The number of participating CTAs: the number in `.cta_group::`.
    pub fn cta_group(&self) -> Option<u8> {
        self.modifier(ModifierKind::CtaGroup)?.strip_prefix("cta_group::")?.parse().ok()
    }

    /// The operands, in their order.
    pub fn arguments(&self) -> &[(Role, Argument)] {
        &self.arguments
    }

    /// The operand of this role.
    pub fn argument(&self, role: Role) -> Option<&Argument> {
        self.arguments.iter().find(|(own, _)| *own == role).map(|(_, argument)| argument)
    }

    /// The operand of this role, if it is an address.
    pub fn address(&self, role: Role) -> Option<&Address> {
        match self.argument(role)? {
            Argument::Address(address) => Some(address),
            _ => None,
        }
    }

    /// The machine code that ptxas 13.5 generates for the instruction on a GPU.
    pub fn assembled_for(&self, sm: Sm) -> Assembled {
        // GPUs without tensor cores of the fifth generation have no asynchronous stores to global memory and no fabric.
        let is_consumer = sm.number() >= 120;
        match self.family {
            _ if !is_consumer => Assembled::AsWritten,
            Family::FabricTryGetAsync | Family::FabricTryPutAsync | Family::FabricTryRedAsync => Assembled::Trap,
            Family::MultimemStAsync | Family::MultimemRedAsync => Assembled::Synchronous,
            Family::StAsync | Family::RedAsync if self.argument(Role::Barrier).is_none() => Assembled::Synchronous,
            _ => Assembled::AsWritten,
        }
    }

    /// The requirement of the form on the target.
    pub fn requirement(&self) -> Requirement {
        self.requirement
    }
}

/// Reads one instruction, with or without its `;`.
impl FromStr for Asynchronous {
    type Err = ParseErrors;

    fn from_str(text: &str) -> Result<Self, ParseErrors> {
        let statement = syntax::statement(text).map_err(|errors| ParseErrors(ParseErrors::of_syntax(text, errors)))?;
        let other = || {
            let reason = "no instruction".into();
            Err(ParseError { span: statement.text().span(), text: statement.text().text.into(), reason })
        };
        let read = match &statement {
            syntax::Statement::Instruction(instruction) => Self::read(instruction),
            _ => other(),
        };
        read.map_err(|error| ParseErrors(vec![error]))
    }
}

/// Prints the instruction without its `;`.
impl Display for Asynchronous {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.family)?;
        self.modifiers.iter().try_for_each(|word| write!(f, ".{word}"))?;
        for (index, (_, argument)) in self.arguments.iter().enumerate() {
            write!(f, "{}{argument}", if index == 0 { " " } else { ", " })?;
        }
        Ok(())
    }
}
