//! Addresses as a base and an offset from the base.

use ptx_isa::{
    Space, Special,
    flat::{Flat, Symbol},
};

use rustc_hash::FxHashSet;

use crate::eval::MAPPED;
use ptx_solver::term::{Binary, Leaf, LeafName, Node, Term, Terms};

/// The base of an address.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Base {
    /// A pointer parameter: the pointer lies this many bytes into the parameter.
    Parameter(Symbol, i64),
    /// A variable.
    Variable(Symbol),
    /// Memory that special registers of the environment point to, as cooperative groups use it.
    Environment,
    /// The base is unknown; only the whole address is available.
    Unknown,
}

impl Base {
    /// The base of an address, unless the base depends on a condition.
    pub fn from_address(terms: &Terms, flat: &Flat, address: Term) -> Self {
        Beginning::from_address(terms, flat, address).map_or(Self::Unknown, |own| own.base)
    }
}

fn leaf_base(terms: &Terms, term: Term) -> Option<Base> {
    match terms.node(term) {
        Node::Leaf(Leaf { name: LeafName::Parameter(symbol, at), .. }) if terms.bits(term) == 64 => {
            Some(Base::Parameter(*symbol, *at))
        }
        Node::Leaf(Leaf { name: LeafName::Variable(symbol), .. }) => Some(Base::Variable(*symbol)),
        _ => is_of_environment(terms, term).then_some(Base::Environment),
    }
}

/// Whether a term consists of special registers of the environment and has no other unknown.
fn is_of_environment(terms: &Terms, term: Term) -> bool {
    let leaves = terms.leaves(term);
    let is_such = |leaf: &Term| {
        let node = terms.node(*leaf);
        matches!(node, Node::Leaf(Leaf { name: LeafName::Special(Special::Environment(_)), .. }))
    };
    !leaves.is_empty() && leaves.iter().all(is_such)
}

/// The base of an address, with the terms that make up the rest of the address.
struct Beginning {
    base: Base,
    /// The whole address: 64 bits, or 32 bits for an address of shared memory.
    whole: Term,
    /// The term of the base within the address.
    leaf: Term,
    /// Of an address that `mapa` maps to another CTA of the cluster: the distance from the thread's own shared memory,
    /// and the rank of that CTA.
    mapped: Option<(Term, Term)>,
}

impl Beginning {
    fn from_address(terms: &Terms, flat: &Flat, address: Term) -> Option<Self> {
        let whole = narrow(terms, address);
        let (base, leaf) = base(terms, flat, whole)?;
        let is_of_cta = matches!(base, Base::Variable(symbol) if flat.symbols[symbol].variable.space.is_some_and(Space::is_shared_cta));
        if whole != address && !is_of_cta {
            return None;
        }
        let mapped = |(factor, part): &(u64, Term)| {
            let operands = terms.operands_of(MAPPED, wide(terms, *part))?;
            (*factor == 1).then_some((*part, *operands.first()?))
        };
        let single = [(1, whole)];
        let mut mapped = parts(terms, &single).iter().filter_map(mapped);
        let first = mapped.next();
        // An address that is mapped twice has no known base.
        mapped.next().is_none().then_some(Self { base, whole, leaf, mapped: first })
    }

    /// The offset from the base, in 64 bits.
    fn offset(&self, terms: &mut Terms) -> Term {
        let mut offset = terms.sub(self.whole, self.leaf);
        if let Some((window, _)) = self.mapped {
            offset = terms.sub(offset, window);
        }
        terms.widen(offset, 64, false)
    }
}

/// An address without the zeros above its low 32 bits, the width of shared-memory addresses.
fn narrow(terms: &Terms, address: Term) -> Term {
    match *terms.node(address) {
        Node::Zeros(of) if terms.bits(of) == 32 => of,
        _ => address,
    }
}

/// The summands of a term.
fn parts<'t>(terms: &'t Terms, single: &'t [(u64, Term); 1]) -> &'t [(u64, Term)] {
    match terms.node(single[0].1) {
        Node::Sum(_, parts) => parts,
        _ => single,
    }
}

/// The wider term whose low 32 bits the given term is.
fn wide(terms: &Terms, term: Term) -> Term {
    match *terms.node(term) {
        Node::Extract(of, 0) if terms.bits(term) == 32 => of,
        _ => term,
    }
}

/// The base, and its term.
fn base(terms: &Terms, flat: &Flat, address: Term) -> Option<(Base, Term)> {
    let single = [(1, address)];
    let found = parts(terms, &single).iter().filter(|(factor, _)| *factor == 1);
    let found = found.filter_map(|(_, term)| Some((leaf_base(terms, wide(terms, *term))?, *term)));
    let found: Vec<(Base, Term)> = found.collect();
    let is_pointer = |base: &Base| match base {
        Base::Variable(_) | Base::Environment => true,
        Base::Parameter(symbol, _) => {
            let name = &flat.symbols[*symbol].variable.name;
            flat.head.parameters.iter().any(|parameter| parameter.name == *name && parameter.is_pointer)
        }
        Base::Unknown => false,
    };
    match found[..] {
        [one]
            if is_pointer(&one.0)
                || !parts(terms, &single).iter().any(|part| part.1 != one.1 && may_be_pointer(terms, part)) =>
        {
            Some(one)
        }
        _ => {
            let mut sure = found.into_iter().filter(|(base, _)| is_pointer(base));
            sure.next().filter(|_| sure.next().is_none())
        }
    }
}

/// Whether a part of a sum may itself be the base of an address, or contain one: a value read from memory, an unknown
/// value, or a value computed from parameters and variables (a choice of two pointers, a rounded pointer). Numbers of
/// fewer than 64 bits and multiples are not bases.
fn may_be_pointer(terms: &Terms, (factor, part): &(u64, Term)) -> bool {
    let (mut seen, mut open) = (FxHashSet::default(), vec![(*factor, *part)]);
    while let Some((factor, part)) = open.pop() {
        if factor != 1 || terms.bits(part) != 64 || !seen.insert(part) {
            continue;
        }
        match terms.node(part) {
            Node::Function(..)
            | Node::Leaf(Leaf { name: LeafName::Any(_) | LeafName::Parameter(..) | LeafName::Variable(_), .. }) => {
                return true;
            }
            Node::Sum(_, parts) => open.extend(parts),
            Node::If(_, a, b) | Node::Binary(Binary::And | Binary::Or | Binary::Xor, a, b) => {
                open.extend([(1, *a), (1, *b)]);
            }
            _ => {}
        }
    }
    false
}

/// The variable of local memory that an address points into, and the offset in it, if the offset is known.
pub fn local_of(terms: &Terms, flat: &Flat, address: Term) -> Option<(Symbol, Option<i64>)> {
    let is_local = |symbol: Symbol| flat.symbols[symbol].variable.space == Some(Space::Local);
    match terms.node(address) {
        Node::Leaf(Leaf { name: LeafName::Variable(symbol), .. }) => is_local(*symbol).then_some((*symbol, Some(0))),
        Node::Sum(constant, parts) => {
            let mut own = parts.iter().filter_map(|(factor, term)| match leaf_base(terms, *term)? {
                Base::Variable(symbol) if *factor == 1 && is_local(symbol) => Some(symbol),
                _ => None,
            });
            let symbol = own.next().filter(|_| own.next().is_none())?;
            Some((symbol, (parts.len() == 1).then_some(*constant as i64)))
        }
        _ => None,
    }
}

/// An address that an access may have, with the condition under which the access has it.
#[derive(Clone, Debug)]
pub struct PossibleAddress {
    /// The conditions under which the access has this address.
    pub holds: Vec<Term>,
    pub base: Base,
    /// The offset from the base in 64 bits, or the whole address if the base is unknown.
    pub offset: Term,
    /// For shared memory: the rank of the CTA that owns it, if that may differ from the thread's own CTA.
    pub owner: Option<Term>,
}

/// The largest number of addresses of one access that are distinguished.
const PLACES: usize = 8;

/// The addresses that an access may have, where the address depends on conditions.
pub fn places(terms: &mut Terms, flat: &Flat, address: Term) -> Vec<PossibleAddress> {
    let mut done = Vec::new();
    let mut open = vec![(Vec::new(), address)];
    while let Some((holds, address)) = open.pop() {
        if let Some(own) = Beginning::from_address(terms, flat, address) {
            let (base, offset, owner) = (own.base, own.offset(terms), own.mapped.map(|(_, rank)| rank));
            done.push(PossibleAddress { holds, base, offset, owner });
            continue;
        }
        // The address contains a choice of pointers.
        let whole = narrow(terms, address);
        let is_choice = |(factor, part): &(u64, Term)| *factor == 1 && matches!(terms.node(*part), Node::If(..));
        let single = [(1, whole)];
        let choice = parts(terms, &single).iter().copied().find(is_choice);
        match choice {
            Some((_, part)) if done.len() + open.len() < PLACES => {
                let Node::If(condition, a, b) = *terms.node(part) else { continue };
                let rest = terms.sub(whole, part);
                let not = terms.not(condition);
                for (condition, of) in [(condition, a), (not, b)] {
                    let address = terms.add(rest, of);
                    let address = terms.widen(address, 64, false);
                    let holds = holds.iter().copied().chain([condition]).collect();
                    open.push((holds, address));
                }
            }
            _ => done.push(PossibleAddress { holds, base: Base::Unknown, offset: address, owner: None }),
        }
    }
    done
}
