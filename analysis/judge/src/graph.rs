//! Control-flow graphs on numbered nodes: their traversal orders, and the relations between their nodes.

use ptx_lowering::ptx::graph::{self, reverse_post_order};

/// A directed graph. The first node is the entry, the last one the exit.
pub struct Graph {
    next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

/// The bit of [`Graph::relations`] for a path from a node to another.
pub const LEADS_TO: u8 = 0b100;

/// The bit for a node that is on every path from the entry to another.
const DOMINATES: u8 = 0b010;

/// The bit for a node that is on every path from another to the exit.
const POST_DOMINATES: u8 = 0b001;

/// An exchange of two successors of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Exchange {
    node: usize,
    places: (usize, usize),
}

impl Graph {
    /// The graph with these successors of each node.
    pub fn new(next: Vec<Vec<usize>>) -> Self {
        let previous = graph::previous(next.len(), |node| next[node].iter().copied());
        Self { next, previous }
    }

    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// The exchanges from which every other order of successors can be composed.
    pub fn exchanges(&self) -> Vec<Exchange> {
        let exchanges = |(node, next): (usize, &Vec<usize>)| {
            let upper = 1..next.len();
            upper.flat_map(move |second| (0..second).map(move |first| Exchange { node, places: (first, second) }))
        };
        self.next.iter().enumerate().flat_map(exchanges).collect()
    }

    /// The reachable nodes, in [`reverse_post_order`], after these exchanges.
    pub fn order(&self, exchanges: impl IntoIterator<Item = Exchange>) -> Vec<usize> {
        let mut next = self.next.clone();
        exchanges.into_iter().for_each(|Exchange { node, places }| next[node].swap(places.0, places.1));
        reverse_post_order(next.len(), 0, |node| next[node].iter().copied())
    }

    /// The relations of a node to each of the given nodes, as bits: [`LEADS_TO`], [`DOMINATES`], [`POST_DOMINATES`].
    pub fn relations(&self, node: usize, others: &[usize]) -> Vec<u8> {
        let led_to = reached(&self.next, &self.next[node], None);
        let entered_without = reached(&self.next, &[0], Some(node));
        let left_without = reached(&self.previous, &[self.len() - 1], Some(node));
        let bits = |&other: &usize| {
            [(LEADS_TO, led_to[other]), (DOMINATES, !entered_without[other]), (POST_DOMINATES, !left_without[other])]
                .iter()
                .map(|(bit, holds)| if *holds { *bit } else { 0 })
                .sum()
        };
        others.iter().map(bits).collect()
    }
}

/// The nodes to which paths lead from `starts`, these included, but not through `without`.
fn reached(edges: &[Vec<usize>], starts: &[usize], without: Option<usize>) -> Vec<bool> {
    let is_kept = |node: &usize| Some(*node) != without;
    let starts = starts.iter().copied().filter(is_kept);
    graph::reached(edges.len(), starts, |node| edges[node].iter().copied().filter(is_kept), |_| false)
}
