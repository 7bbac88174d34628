//! Facts about products of an index and a size, which a solver cannot derive from a bit-level multiplier in time.

use itertools::Itertools;
use rustc_hash::{FxHashMap, FxHashSet};

use crate::term::{Binary, Leaf, LeafName, Node, Shared, Term, Terms, ones};

/// An index, a size that all threads share, and the term that replaces their product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Product {
    index: Term,
    size: Term,
    product: Term,
}

/// The largest number of cases.
const CASES: usize = 100;
/// The largest multiple of a product that is assumed not to wrap around.
const SMALL: u64 = 1 << 20;

/// Replaces each product of an index and a size in the conditions by a new value, and adds facts about these values.
/// The facts hold if neither the products nor the next multiples of the sizes wrap around: a row does not begin before
/// the previous row has ended. Whenever the conditions hold, one of the returned cases holds. `None` if the conditions
/// have no product, or more than `most` products of one size.
///
/// A case fixes the order of the indices, so that the start of a row is a sum with the start of the previous row, which
/// cancels.
pub fn cases(terms: &mut Terms, conditions: &[Term], most: usize) -> Option<Vec<Vec<Term>>> {
    let (mut all, products) = abstracted(terms, conditions);
    if products.is_empty() {
        return None;
    }
    let known: FxHashSet<Term> = all.iter().copied().collect();
    bounds(terms, &products, &mut all);
    let sizes: Vec<Term> = products.iter().map(|product| product.size).unique().collect();
    let mut placed: FxHashSet<Term> = FxHashSet::default();
    let mut groups: Vec<Vec<Order>> = Vec::new();
    for size in sizes {
        let of = products.iter().filter(|of| of.size == size && !placed.contains(&of.product));
        let group: Vec<Product> = of.unique_by(|of| of.product).copied().collect();
        if group.len() < 2 {
            continue;
        }
        if group.len() > most {
            return None;
        }
        placed.extend(group.iter().map(|of| of.product));
        let mut classes: Vec<Option<Vec<Vec<Product>>>> = Vec::new();
        for order in orders(&group) {
            if is_possible(terms, &order, &known) {
                classes.push(Some(order));
            }
        }
        // Multiples of a size that is not positive have a different order.
        if !is_positive(terms, size) {
            classes.push(None);
        }
        groups.push(classes.into_iter().map(|classes| Order { size, classes }).collect());
    }
    if groups.iter().map(Vec::len).product::<usize>() > CASES {
        return None;
    }
    let combined = groups.into_iter().multi_cartesian_product();
    Some(combined.map(|orders| case(terms, &all, &orders)).collect())
}

/// An order of the products of a size: the products of equal indices form a class, the lowest index first. `None` if
/// the size is not positive.
#[derive(Clone, Debug)]
struct Order {
    size: Term,
    classes: Option<Vec<Vec<Product>>>,
}

/// The conditions with values instead of products, and the products whose value, index or size still occurs in them.
fn abstracted(terms: &mut Terms, conditions: &[Term]) -> (Vec<Term>, Vec<Product>) {
    let mut products = Products(Vec::new());
    let mut done = FxHashMap::default();
    let mut all: Vec<Term> = Vec::new();
    for condition in conditions {
        all.push(terms.map(*condition, &mut done, &mut |terms, term, done| match terms.node(term).clone() {
            Node::Binary(Binary::Mul, a, b) => products.replace_product(terms, term, [a, b], done),
            Node::Sum(constant, parts) => products.of_sum(terms, term, constant, &parts, done),
            _ => None,
        }));
    }
    let mut products = products.0;
    let mut used: FxHashSet<Term> = all.iter().flat_map(|term| terms.leaves(*term)).collect();
    loop {
        let is_used = |of: &&Product| used.contains(&of.product);
        let of = products.iter().filter(is_used).flat_map(|of| [of.index, of.size]);
        let more: Vec<Term> = of.flat_map(|term| terms.leaves(term)).filter(|leaf| !used.contains(leaf)).collect();
        if more.is_empty() {
            break;
        }
        used.extend(more);
    }
    products.retain(|of| used.contains(&of.product));
    (all, products)
}

struct Products(Vec<Product>);

impl Products {
    /// The replacement for the product of two terms, if one of them is a size.
    fn replace_product(
        &mut self,
        terms: &mut Terms,
        term: Term,
        [a, b]: [Term; 2],
        done: &FxHashMap<Term, Term>,
    ) -> Option<Term> {
        let bits = terms.bits(term);
        let sizes = [a, b].map(|factor| is_size(terms, factor));
        let [a, b] = [a, b].map(|factor| done[&factor]);
        match sizes {
            [false, false] => None,
            [true, true] => {
                let product = terms.any(Shared::Grid, bits);
                self.0.push(Product { index: b, size: a, product });
                self.0.push(Product { index: a, size: b, product });
                Some(product)
            }
            [is_first, _] => {
                let (index, size) = if is_first { (b, a) } else { (a, b) };
                // The product of the previous iteration is this product minus the size.
                match terms.node(index) {
                    Node::Sum(constant, _) if *constant == ones(bits) => {
                        let index = terms.sum(1, &[(1, index)], bits);
                        let product = self.product_term(terms, index, size);
                        Some(terms.sub(product, size))
                    }
                    _ => Some(self.product_term(terms, index, size)),
                }
            }
        }
    }

    /// A sum of a product and multiples of its size, which compilers generate for a later row.
    fn of_sum(
        &mut self,
        terms: &mut Terms,
        term: Term,
        constant: u64,
        parts: &[(u64, Term)],
        done: &FxHashMap<Term, Term>,
    ) -> Option<Term> {
        let bits = terms.bits(term);
        let mut found = None;
        for (at, (factor, product)) in parts.iter().enumerate() {
            let Node::Binary(Binary::Mul, a, b) = *terms.node(*product) else { continue };
            for (index, size) in [(a, b), (b, a)] {
                let rows = |(own, of): &(u64, Term)| (*of == size && own % factor == 0).then(|| own / factor);
                let more = parts.iter().enumerate().find_map(|(other, part)| Some((other, rows(part)?)));
                if let Some((other, rows)) = more
                    && rows <= SMALL
                    && is_size(terms, size)
                    && !is_size(terms, index)
                {
                    found = Some((at, other, rows, index, size, *factor));
                }
            }
        }
        let (at, other, rows, index, size, factor) = found?;
        let index = terms.sum(rows, &[(1, done[&index])], bits);
        let product = self.product_term(terms, index, done[&size]);
        let rest = parts.iter().enumerate().filter(|(own, _)| *own != at && *own != other);
        let rest = rest.map(|(_, (factor, of))| (*factor, done[of]));
        let parts: Vec<(u64, Term)> = rest.chain([(factor, product)]).collect();
        Some(terms.sum(constant, &parts, bits))
    }

    fn product_term(&mut self, terms: &mut Terms, index: Term, size: Term) -> Term {
        if let Some(known) = self.0.iter().find(|known| known.index == index && known.size == size) {
            return known.product;
        }
        let product = terms.any(Shared::Grid, terms.bits(size));
        self.0.push(Product { index, size, product });
        product
    }
}

/// Facts about each product: it has the sign of the index, and the next multiple does not overflow.
fn bounds(terms: &mut Terms, products: &[Product], all: &mut Vec<Term>) {
    let mut factors: FxHashMap<Term, u64> = FxHashMap::default();
    let mut seen: FxHashSet<Term> = FxHashSet::default();
    let mut open = all.clone();
    while let Some(term) = open.pop() {
        if !seen.insert(term) {
            continue;
        }
        open.extend(terms.operands(term));
        let Node::Sum(_, parts) = terms.node(term) else { continue };
        let mask = ones(terms.bits(term));
        for (factor, part) in parts {
            let factor = (*factor).min(factor.wrapping_neg() & mask);
            let known = factors.entry(*part).or_insert(1);
            *known = (*known).max(factor.min(SMALL));
        }
    }
    for Product { index, size, product } in products {
        let factor = factors.get(product).copied().unwrap_or(1);
        let bits = terms.bits(*product);
        let most = terms.constant((ones(bits) >> 1) / factor, bits);
        let zero = terms.constant(0, bits);
        let room = terms.sub(most, *size);
        let is_above = terms.less(true, room, *product);
        let [index, size, product] = [*index, *size, *product].map(|term| terms.less(true, term, zero));
        let is_outside = terms.or(is_above, product);
        let fits = terms.not(is_outside);
        let is_negative = terms.or(index, size);
        all.push(terms.or(is_negative, fits));
    }
}

/// All orders of the given products.
fn orders(of: &[Product]) -> Vec<Vec<Vec<Product>>> {
    let Some((first, rest)) = of.split_first() else { return vec![Vec::new()] };
    let mut all = Vec::new();
    for order in orders(rest) {
        for at in 0..=order.len() {
            let mut alone = order.clone();
            alone.insert(at, vec![*first]);
            all.push(alone);
        }
        for at in 0..order.len() {
            let mut together = order.clone();
            together[at].push(*first);
            all.push(together);
        }
    }
    all
}

/// Whether no known condition contradicts an order.
fn is_possible(terms: &mut Terms, order: &[Vec<Product>], known: &FxHashSet<Term>) -> bool {
    let mut is_below = |a: &Product, b: &Product| {
        let signed = terms.less(true, a.index, b.index);
        let unsigned = terms.less(false, a.index, b.index);
        known.contains(&signed) || known.contains(&unsigned) && is_positive(terms, b.index)
    };
    let placed: Vec<(usize, &Product)> =
        order.iter().enumerate().flat_map(|(at, class)| class.iter().map(move |of| (at, of))).collect();
    placed.iter().cartesian_product(&placed).all(|((low, a), (high, b))| low < high || a == b || !is_below(a, b))
}

/// The conditions together with the given orders of the products.
fn case(terms: &mut Terms, conditions: &[Term], orders: &[Order]) -> Vec<Term> {
    let mut all = conditions.to_vec();
    let mut by: FxHashMap<Term, Term> = FxHashMap::default();
    for Order { size, classes } in orders {
        let zero = terms.constant(0, terms.bits(*size));
        let is_positive = terms.less(true, zero, *size);
        let Some(classes) = classes else {
            all.push(terms.not(is_positive));
            continue;
        };
        all.push(is_positive);
        for class in classes {
            for of in &class[1..] {
                all.push(terms.equal(class[0].index, of.index));
                by.insert(of.product, class[0].product);
            }
        }
        for (low, high) in classes.iter().tuple_windows() {
            let (low, high) = (low[0], high[0]);
            all.push(terms.less(true, low.index, high.index));
            let bits = terms.bits(*size);
            let further = terms.any(Shared::Grid, bits);
            let most = terms.constant(ones(bits) >> 1, bits);
            let is_above = terms.less(false, most, further);
            all.push(terms.not(is_above));
            let next = terms.add(low.product, *size);
            let new = terms.add(next, further);
            for (before, after) in [(low.product, next), (next, new)] {
                let wraps = terms.less(true, after, before);
                all.push(terms.not(wraps));
            }
            by.insert(high.product, new);
        }
    }
    // A product may occur in the index or the size of another product.
    for _ in 0..=by.len() {
        let mut done = FxHashMap::default();
        let replaced = |terms: &mut Terms, term: Term, done: &mut FxHashMap<Term, Term>| {
            terms.map(term, done, &mut |_, term, _| by.get(&term).copied())
        };
        let new: Vec<Term> = all.iter().map(|term| replaced(terms, *term, &mut done)).collect();
        if new == all {
            break;
        }
        all = new;
    }
    all
}

/// Whether a size of a launch is above zero.
fn is_positive(terms: &Terms, term: Term) -> bool {
    matches!(terms.node(term), Node::Leaf(Leaf { name: LeafName::Ntid(_) | LeafName::Nctaid(_), .. }))
}

/// Whether a term consists only of launch sizes and parameters, combined by sums and products.
fn is_size(terms: &Terms, term: Term) -> bool {
    let mut seen = FxHashSet::default();
    let mut open = vec![term];
    while let Some(next) = open.pop() {
        match terms.node(next) {
            Node::Constant(_) => {}
            Node::Leaf(Leaf { name: LeafName::Ntid(_) | LeafName::Nctaid(_) | LeafName::Parameter(..), .. }) => {}
            Node::Sum(..) | Node::Zeros(_) | Node::Signs(_) | Node::Extract(_, 0) | Node::Binary(Binary::Mul, ..) => {
                open.extend(terms.operands(next).into_iter().filter(|of| seen.insert(*of)));
            }
            _ => return false,
        }
    }
    true
}

#[cfg(test)]
mod tests {
    use ptx_isa::Stop;

    use super::*;
    use crate::solve::{Answer, solve};

    /// Checks whether `a*size + b` of two threads, with `b` below the size, can be equal if `a` or `b` differs.
    #[test]
    fn rows_are_apart() {
        let mut terms = Terms::default();
        let size = terms.leaf(LeafName::Parameter(0, 0), Shared::Grid, 32);
        let zero = terms.constant(0, 32);
        let mut conditions = Vec::new();
        let [(row, column, at), (other_row, other_column, other)] = [0, 1].map(|_| {
            let [row, column] = [0, 1].map(|_| terms.any(Shared::Thread, 32));
            let row_product = terms.binary(Binary::Mul, row, size);
            conditions.push(terms.less(true, column, size));
            for index in [row, column] {
                let is_negative = terms.less(true, index, zero);
                conditions.push(terms.not(is_negative));
            }
            (row, column, terms.add(row_product, column))
        });
        let same = [(row, other_row), (column, other_column)].map(|(a, b)| terms.equal(a, b));
        let both = terms.and(same[0], same[1]);
        conditions.push(terms.not(both));
        conditions.push(terms.equal(at, other));
        for case in cases(&mut terms, &conditions, 4).expect("products") {
            assert_eq!(solve(&terms, &case, &mut 20_000, &mut 10_000_000, &Stop::never()), Answer::Never);
        }
        // Without the bound on the column, the sums may be equal.
        let weaker = cases(&mut terms, &conditions[1..], 4).expect("products");
        let meets = |case: &Vec<Term>| {
            matches!(solve(&terms, case, &mut 20_000, &mut 10_000_000, &Stop::never()), Answer::Holds(_))
        };
        assert!(weaker.iter().any(meets));
    }
}
