//! Loop peeling: the first iterations of loops that wait for groups of copies become blocks of their own.
//!
//! Such a loop works on the elements of a ring: a later iteration reads the element that an earlier iteration copies.
//! In the first iterations all indices are numbers, so that it is known which iteration uses which element. The loop
//! follows them unchanged.

use ptx_isa::graph;

/// The number of iterations that become blocks: rings seldom have more elements.
const PEELED_ITERATIONS: usize = 4;

/// The limit of instructions in all of these blocks together.
const LIMIT: usize = 40_000;

/// Blocks, each with its successors.
#[derive(Debug, Default)]
pub struct Blocks {
    pub next: Vec<Vec<usize>>,
    /// For each block, the block of the code that it is a copy of, and the number of the iteration. Iteration 0 is the
    /// block of the code itself.
    pub origins: Vec<(usize, usize)>,
}

/// The properties that decide whether a loop is peeled.
#[derive(Clone, Copy, Debug, Default)]
pub struct BlockContent {
    pub instructions: usize,
    pub waits_for_group: bool,
}

/// Inserts the first iterations of such loops before them. The blocks come in reverse post-order; the first is the
/// entry.
pub fn peel_loops(next: Vec<Vec<usize>>, content: &[BlockContent]) -> Blocks {
    let waits = |block: usize| content[block].waits_for_group;
    let loops = if (0..next.len()).any(waits) { loops(&next, waits) } else { Vec::new() };
    let mut blocks = Blocks { origins: (0..next.len()).map(|block| (block, 0)).collect(), next };
    let mut left = LIMIT;
    for (head, body) in loops {
        let size = PEELED_ITERATIONS * body.iter().map(|block| content[*block].instructions).sum::<usize>();
        if size <= left {
            left -= size;
            peel_loop(&mut blocks, head, &body);
        }
    }
    blocks
}

/// The innermost loops that wait, each with its header.
fn loops(next: &[Vec<usize>], waits: impl Fn(usize) -> bool) -> Vec<(usize, Vec<usize>)> {
    let previous = graph::previous(next.len(), |block| next[block].iter().copied());
    let mut loops: Vec<(usize, Vec<usize>)> = Vec::new();
    let mut is_taken = vec![false; next.len()];
    // Inner loops come first.
    for head in (1..next.len()).rev() {
        let ends = previous[head].iter().copied().filter(|end| *end >= head);
        let before = |block: usize| previous[block].iter().copied();
        let is_in = graph::reached(next.len(), ends, before, |block| block == head);
        let body: Vec<usize> = (0..next.len()).filter(|block| is_in[*block]).collect();
        // If the loop has another entrance, the search has come back to the entry of the kernel.
        if !is_in[0] && body.iter().any(|block| waits(*block)) && !body.iter().any(|block| is_taken[*block]) {
            body.iter().for_each(|block| is_taken[*block] = true);
            loops.push((head, body));
        }
    }
    loops
}

fn peel_loop(blocks: &mut Blocks, head: usize, body: &[usize]) {
    let first = blocks.next.len();
    let place = |block: usize| body.binary_search(&block).ok();
    let copy = |iteration: usize, at: usize| first + iteration * body.len() + at;
    let begin = place(head).map(|at| copy(0, at)).unwrap_or(head);
    for block in (0..first).filter(|block| place(*block).is_none()) {
        for to in blocks.next[block].iter_mut().filter(|to| **to == head) {
            *to = begin;
        }
    }
    for iteration in 0..PEELED_ITERATIONS {
        for &block in body {
            let next = blocks.next[block].iter().map(|&to| match place(to) {
                Some(_) if to == head && iteration + 1 == PEELED_ITERATIONS => head,
                Some(at) if to == head => copy(iteration + 1, at),
                Some(at) => copy(iteration, at),
                None => to,
            });
            let next = next.collect();
            blocks.next.push(next);
            blocks.origins.push((block, iteration + 1));
        }
    }
}
