//! Control flow as numbers: in which orders it can be gone through, and how its nodes stand to each other.

/// The first node is the entry, the last one the exit.
pub struct Graph {
    next: Vec<Vec<usize>>,
    previous: Vec<Vec<usize>>,
}

/// The bit of [`Graph::relations`] that says that a node leads to another.
pub const LEADS: u8 = 0b100;

/// The successors at two places of a node's list, exchanged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Swap {
    node: usize,
    places: (usize, usize),
}

impl Graph {
    pub fn new(next: Vec<Vec<usize>>) -> Self {
        let mut previous = vec![Vec::new(); next.len()];
        for (node, next) in next.iter().enumerate() {
            next.iter().for_each(|next| previous[*next].push(node));
        }
        Self { next, previous }
    }

    pub fn len(&self) -> usize {
        self.next.len()
    }

    /// What leads from one order of successors to every other one.
    pub fn swaps(&self) -> Vec<Swap> {
        let swaps = |(node, next): (usize, &Vec<usize>)| {
            let upper = 1..next.len();
            upper.flat_map(move |second| (0..second).map(move |first| Swap { node, places: (first, second) }))
        };
        self.next.iter().enumerate().flat_map(swaps).collect()
    }

    /// The nodes that control reaches, each behind those that lead to it as far as there is no loop.
    pub fn order(&self, swaps: impl IntoIterator<Item = Swap>) -> Vec<usize> {
        let mut next = self.next.clone();
        swaps.into_iter().for_each(|Swap { node, places }| next[node].swap(places.0, places.1));
        reverse_post_order(next.len(), |node| &next[node])
    }

    /// How a node stands to each of the others, one bit for each relation: whether it [leads there](LEADS), whether it is on every
    /// way there, and whether it is on every way from there to the exit.
    pub fn relations(&self, node: usize, others: &[usize]) -> Vec<u8> {
        let led_to = reached(&self.next, &self.next[node], None);
        let avoided = reached(&self.next, &[0], Some(node));
        let left = reached(&self.previous, &[self.len() - 1], Some(node));
        let bits = |other: &usize| {
            let other = *other;
            [(LEADS, led_to[other]), (0b10, !avoided[other]), (0b1, !left[other])]
                .iter()
                .map(|(bit, holds)| if *holds { *bit } else { 0 })
                .sum()
        };
        others.iter().map(bits).collect()
    }
}

/// The nodes to which ways lead from `starts`, these included, but not through `without`.
fn reached(ways: &[Vec<usize>], starts: &[usize], without: Option<usize>) -> Vec<bool> {
    let mut seen = vec![false; ways.len()];
    let mut stack = starts.to_vec();
    while let Some(node) = stack.pop() {
        if Some(node) != without && !std::mem::replace(&mut seen[node], true) {
            stack.extend(&ways[node]);
        }
    }
    seen
}

/// The nodes that ways from node 0 reach, each behind those that lead to it as far as there is no loop. Of the ways from a
/// node, the first one is walked first, so that what is on the last one comes first in the order.
pub fn reverse_post_order<'a>(nodes: usize, next: impl Fn(usize) -> &'a [usize]) -> Vec<usize> {
    let mut seen = vec![false; nodes];
    let mut order = Vec::new();
    // A node, and how many of its successors are done.
    let mut stack = vec![(0, 0)];
    seen[0] = true;
    while let Some((node, done)) = stack.last_mut() {
        match next(*node).get(*done) {
            Some(&next) => {
                *done += 1;
                if !std::mem::replace(&mut seen[next], true) {
                    stack.push((next, 0));
                }
            }
            None => {
                order.push(*node);
                stack.pop();
            }
        }
    }
    order.reverse();
    order
}
