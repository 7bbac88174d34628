//! The pairs of accesses whose second access may need an ordering after the first, according to their addresses.

use std::collections::BTreeMap;

use rustc_hash::FxHashMap;

use super::{
    alias::{self, Overlap},
    classes::Class,
    graph::EventGraph,
    need::conflict,
    token::{Round, Token, TokenKind},
};
use crate::kernel::{ObjectKind, Space};

/// Two accesses, by their numbers; the second may need an ordering after the first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Partner {
    pub second: usize,
    pub first: usize,
}

/// All accesses that may need an ordering, and the accesses that they may need it after.
pub struct Partners<'k> {
    /// The accesses that may need an ordering, in the order of the blocks and their events.
    pub seconds: Vec<Token<'k>>,
    /// For each access, by its number, the accesses that may need an ordering after it.
    all: Vec<Vec<usize>>,
    /// For each access, whether one of these uses another proxy.
    pub crosses: Vec<bool>,
}

impl<'k> Partners<'k> {
    pub fn new(graph: &EventGraph<'_>, tokens: &[Token<'_>], seconds: Vec<Token<'k>>) -> Self {
        // Accesses of different objects do not overlap, unless an object is unknown.
        let mut places: FxHashMap<(Space, Option<usize>), Vec<usize>> = FxHashMap::default();
        let place = |token: &Token<'_>| {
            let object = token.access.address.object;
            let is_known = graph.kernel.objects[object].kind != ObjectKind::Unknown;
            (token.access.space, is_known.then_some(object))
        };
        for (number, second) in seconds.iter().enumerate() {
            places.entry(place(second)).or_default().push(number);
        }
        let mut by_space: FxHashMap<Space, Vec<usize>> = FxHashMap::default();
        for (number, second) in seconds.iter().enumerate() {
            by_space.entry(second.access.space).or_default().push(number);
        }
        let none = Vec::new();
        let of = |token: &Token<'_>| {
            let (space, object) = place(token);
            let lists = match object {
                Some(_) => [places.get(&(space, object)), places.get(&(space, None))],
                None => [by_space.get(&space), None],
            };
            let meets = |second: &Token<'_>| {
                let are_initialized = token.kind == TokenKind::Initialized && second.kind == TokenKind::Initialized;
                (conflict(token, second) || are_initialized)
                    && alias::overlap(graph.kernel, token, Round::Any, second) != Overlap::No
            };
            let lists = lists.into_iter().map(|list| list.unwrap_or(&none));
            let mut found: Vec<usize> = lists.flatten().copied().filter(|number| meets(&seconds[*number])).collect();
            found.sort_unstable();
            let other = |number: &usize| seconds[*number].access.proxy != token.access.proxy;
            let own = matches!(token.kind, TokenKind::Initialized | TokenKind::Allocated);
            let crosses = own || found.iter().any(other);
            (found, crosses)
        };
        let (all, crosses) = tokens.iter().map(of).unzip();
        Self { seconds, all, crosses }
    }

    /// For each block, the accesses that may need an ordering after an access of a class.
    pub fn find_partners(&self, class: &Class) -> BTreeMap<usize, Vec<Partner>> {
        let mut blocks: BTreeMap<usize, Vec<Partner>> = BTreeMap::new();
        for &first in &class.numbers {
            for &second in &self.all[first] {
                blocks.entry(self.seconds[second].point.0).or_default().push(Partner { second, first });
            }
        }
        blocks.values_mut().for_each(|partners| partners.sort_unstable());
        blocks
    }
}
