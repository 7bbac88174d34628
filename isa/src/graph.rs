//! Directed graphs whose nodes are numbers: orders, paths, dominators and loops.
//!
//! A graph is a function from a node to its successors, so that a caller with blocks, statements or events makes no
//! copy of them. With predecessors instead of successors, the same functions search backward from an end.

/// The nodes reachable from `start` in reverse postorder: `start` first, and each node after its predecessors, except
/// for back edges. The first successor of a node is visited first, so that the last successor comes first in the order.
pub fn reverse_post_order<N: IntoIterator<Item = usize>>(
    count: usize,
    start: usize,
    next: impl Fn(usize) -> N,
) -> Vec<usize> {
    let mut seen = vec![false; count];
    let mut order = Vec::new();
    // A node, and its successors that are not yet visited.
    let mut stack = vec![(start, next(start).into_iter())];
    seen[start] = true;
    while let Some((node, left)) = stack.last_mut() {
        match left.next() {
            Some(to) => {
                if !std::mem::replace(&mut seen[to], true) {
                    stack.push((to, next(to).into_iter()));
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

/// The predecessors of each node, in ascending order. A multiple edge lists its predecessor several times.
pub fn previous<N: IntoIterator<Item = usize>>(count: usize, next: impl Fn(usize) -> N) -> Vec<Vec<usize>> {
    let mut previous = vec![Vec::new(); count];
    (0..count).for_each(|from| next(from).into_iter().for_each(|to| previous[to].push(from)));
    previous
}

/// The nodes reachable from `from`, including `from`. A path ends at a node for which `stops` holds.
pub fn reached<N: IntoIterator<Item = usize>>(
    count: usize,
    from: impl IntoIterator<Item = usize>,
    next: impl Fn(usize) -> N,
    stops: impl Fn(usize) -> bool,
) -> Vec<bool> {
    let mut seen = vec![false; count];
    let mut open: Vec<usize> = from.into_iter().collect();
    while let Some(node) = open.pop() {
        if !std::mem::replace(&mut seen[node], true) && !stops(node) {
            open.extend(next(node));
        }
    }
    seen
}

/// The immediate dominator of each node: the last node except itself that is on every path from `start`. It is `None`
/// for `start` and for unreachable nodes. (The algorithm Semi-NCA of 'Linear-Time Algorithms for Dominators and Related
/// Problems', Georgiadis, 2005.)
///
/// With predecessors instead of successors, and an end as `start`, the result is the post-dominators.
pub fn dominators<N: IntoIterator<Item = usize>>(
    count: usize,
    start: usize,
    next: impl Fn(usize) -> N,
) -> Vec<Option<usize>> {
    const UNSEEN: usize = usize::MAX;
    // A depth-first search: nodes are numbered in the order of their visits.
    let mut number = vec![UNSEEN; count];
    let (mut nodes, mut parent) = (vec![start], vec![0]);
    number[start] = 0;
    let mut stack = vec![(0, next(start).into_iter())];
    while let Some((from, left)) = stack.last_mut() {
        match left.next() {
            Some(to) if number[to] == UNSEEN => {
                number[to] = nodes.len();
                nodes.push(to);
                parent.push(*from);
                stack.push((number[to], next(to).into_iter()));
            }
            Some(_) => {}
            None => drop(stack.pop()),
        }
    }
    let previous = previous(nodes.len(), |from| next(nodes[from]).into_iter().map(|to| number[to]).collect::<Vec<_>>());
    let mut above = parent.clone();
    let mut semi: Vec<usize> = (0..nodes.len()).collect();
    let mut label = semi.clone();
    for node in (1..nodes.len()).rev() {
        let lowest = previous[node].iter().map(|from| {
            let label = lowest(*from, node + 1, &mut parent, &mut label, &semi);
            semi[label]
        });
        semi[node] = lowest.min().unwrap_or(0).min(above[node]);
    }
    for node in 1..nodes.len() {
        while above[node] > semi[node] {
            above[node] = above[above[node]];
        }
    }
    let mut all = vec![None; count];
    (1..nodes.len()).for_each(|node| all[nodes[node]] = Some(nodes[above[node]]));
    all
}

/// The node with the lowest semidominator among a node and its ancestors down to a number. Results for ancestors are
/// cached.
fn lowest(node: usize, from: usize, parent: &mut [usize], label: &mut [usize], semi: &[usize]) -> usize {
    let (mut path, mut at) = (Vec::new(), node);
    while parent[at] >= from {
        path.push(at);
        at = parent[at];
    }
    let top = parent[at];
    for below in path.into_iter().rev() {
        if semi[label[at]] < semi[label[below]] {
            label[below] = label[at];
        }
        parent[below] = top;
        at = below;
    }
    label[node]
}

/// The dominance relation. A query compares numbers.
#[derive(Clone, Debug)]
pub struct Dominance {
    /// The number of each node in a preorder walk of the dominator tree, and the end of the numbers in its subtree.
    numbers: Vec<[usize; 2]>,
}

impl Dominance {
    /// Builds the relation from the immediate [`dominators`] of each node.
    pub fn from_dominators(above: &[Option<usize>]) -> Self {
        let mut below: Vec<Vec<usize>> = vec![Vec::new(); above.len()];
        above.iter().enumerate().for_each(|(node, up)| up.iter().for_each(|up| below[*up].push(node)));
        let mut numbers = vec![[0; 2]; above.len()];
        let mut next = 0;
        // The walk leaves a node when it pops the node's second entry.
        let mut open: Vec<(usize, bool)> = Vec::new();
        for root in (0..above.len()).filter(|node| above[*node].is_none()) {
            open.push((root, false));
            while let Some((node, is_done)) = open.pop() {
                if is_done {
                    numbers[node][1] = next;
                    continue;
                }
                numbers[node][0] = next;
                next += 1;
                open.push((node, true));
                open.extend(below[node].iter().map(|below| (*below, false)));
            }
        }
        Self { numbers }
    }

    /// Whether node `one` is on every path from the start to node `other`. A node dominates itself.
    pub fn dominates(&self, one: usize, other: usize) -> bool {
        let [first, end] = self.numbers[one];
        (first..end).contains(&self.numbers[other][0])
    }
}

/// The strongly connected components among the nodes for which `within` holds (Tarjan, 'Depth-First Search and Linear
/// Graph Algorithms', 1972), each component after its successors.
pub fn components<N: IntoIterator<Item = usize>>(
    count: usize,
    next: impl Fn(usize) -> N,
    within: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    const UNSEEN: usize = usize::MAX;
    let (mut number, mut lowest, mut on_stack) = (vec![UNSEEN; count], vec![0; count], vec![false; count]);
    let (mut seen, mut stack, mut found) = (0, Vec::new(), Vec::new());
    for root in (0..count).filter(|node| within(*node)) {
        if number[root] != UNSEEN {
            continue;
        }
        let mut calls: Vec<(usize, N::IntoIter)> = Vec::new();
        let mut called = Some(root);
        loop {
            if let Some(node) = called.take() {
                (number[node], lowest[node], on_stack[node]) = (seen, seen, true);
                seen += 1;
                stack.push(node);
                calls.push((node, next(node).into_iter()));
            }
            let Some((node, left)) = calls.last_mut() else { break };
            let node = *node;
            match left.find(|to| within(*to) && (number[*to] == UNSEEN || on_stack[*to])) {
                Some(to) if number[to] == UNSEEN => called = Some(to),
                Some(to) => lowest[node] = lowest[node].min(number[to]),
                None => {
                    if lowest[node] == number[node] {
                        let start = stack.iter().rposition(|other| *other == node).unwrap_or(0);
                        let component = stack.split_off(start);
                        component.iter().for_each(|node| on_stack[*node] = false);
                        found.push(component);
                    }
                    calls.pop();
                    if let Some((caller, _)) = calls.last() {
                        lowest[*caller] = lowest[*caller].min(lowest[node]);
                    }
                }
            }
        }
    }
    found
}

/// The [`components`] that contain a cycle.
pub fn loops<N: IntoIterator<Item = usize>>(
    count: usize,
    next: impl Fn(usize) -> N,
    within: impl Fn(usize) -> bool,
) -> Vec<Vec<usize>> {
    let mut found = components(count, &next, within);
    found.retain(|nodes| nodes.len() > 1 || next(nodes[0]).into_iter().any(|to| to == nodes[0]));
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All graphs with this number of nodes, as the successors of each node.
    fn graphs(count: usize) -> impl Iterator<Item = Vec<Vec<usize>>> {
        (0..1u32 << (count * count)).map(move |edges| {
            let has = move |from: usize, to: usize| edges >> (from * count + to) & 1 == 1;
            (0..count).map(|from| (0..count).filter(|to| has(from, *to)).collect()).collect()
        })
    }

    fn leads(next: &[Vec<usize>], from: &[usize], without: Option<usize>) -> Vec<bool> {
        reached(
            next.len(),
            from.iter().copied().filter(|node| Some(*node) != without),
            |node| next[node].iter().copied().filter(move |to| Some(*to) != without),
            |_| false,
        )
    }

    /// Compares the results with the definitions, on every graph of four nodes.
    #[test]
    fn dominators_and_components_match_their_definitions() {
        let mut graphs_with_both = 0;
        for next in graphs(4) {
            let count = next.len();
            let of = |node: usize| next[node].iter().copied();
            let from_start = leads(&next, &[0], None);
            let dominates = |one: usize, other: usize| !leads(&next, &[0], Some(one))[other];
            let above = dominators(count, 0, of);
            for node in 0..count {
                let own: Vec<usize> =
                    (0..count).filter(|one| *one != node && from_start[node] && dominates(*one, node)).collect();
                // The immediate dominator is dominated by all other dominators.
                let nearest = own.iter().copied().find(|one| own.iter().all(|other| dominates(*other, *one)));
                assert_eq!(above[node], nearest, "{node} of {next:?}");
            }
            let found = components(count, of, |_| true);
            for one in 0..count {
                for other in 0..count {
                    let together = found.iter().any(|component| component.contains(&one) && component.contains(&other));
                    let mutual = leads(&next, &[one], None)[other] && leads(&next, &[other], None)[one];
                    assert_eq!(together, mutual, "{one} and {other} of {next:?}");
                }
            }
            assert_eq!(found.iter().map(Vec::len).sum::<usize>(), count);
            let order = reverse_post_order(count, 0, of);
            assert_eq!(order.len(), from_start.iter().filter(|reached| **reached).count());
            graphs_with_both += usize::from(above.iter().flatten().any(|above| *above != 0) && found.len() < count);
        }
        assert!(graphs_with_both > 1000, "{graphs_with_both}");
    }

    #[test]
    fn paths_stop() {
        let next = [vec![1], vec![2], vec![3], vec![]];
        let reached = reached(4, [0], |node| next[node].iter().copied(), |node| node == 2);
        assert_eq!(reached, [true, true, true, false]);
    }

    /// A component follows its successors, and nodes outside `within` are left out.
    #[test]
    fn components_are_in_order() {
        let next = [vec![1], vec![0, 2], vec![3], vec![2]];
        let of = |node: usize| next[node].iter().copied();
        assert_eq!(components(4, of, |_| true), [vec![2, 3], vec![0, 1]]);
        assert_eq!(components(4, of, |node| node < 2), [vec![0, 1]]);
    }
}
