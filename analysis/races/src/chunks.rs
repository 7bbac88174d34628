//! Lists that share their parts: copying a long list is cheap, and so is comparing two lists with a long common prefix.

use std::{cmp::Ordering, iter::FlatMap, rc::Rc, slice::Iter};

/// The number of elements of each part, except the last part.
const SIZE: usize = 64;

/// A list in parts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chunks<T> {
    parts: Vec<Rc<Vec<T>>>,
}

impl<T> Default for Chunks<T> {
    fn default() -> Self {
        Self { parts: Vec::new() }
    }
}

impl<T: Copy + Ord> Chunks<T> {
    /// A list that repeats one element `count` times.
    pub fn repeated(of: T, count: usize) -> Self {
        let part = Rc::new(vec![of; SIZE]);
        let mut parts = vec![part; count / SIZE];
        parts.extend((!count.is_multiple_of(SIZE)).then(|| Rc::new(vec![of; count % SIZE])));
        Self { parts }
    }

    /// The number of elements.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |last| (self.parts.len() - 1) * SIZE + last.len())
    }

    /// The element at a position.
    pub fn get(&self, at: usize) -> Option<T> {
        self.parts.get(at / SIZE)?.get(at % SIZE).copied()
    }

    /// Replaces an existing element.
    pub fn set(&mut self, at: usize, value: T) {
        if let Some(part) = self.parts.get_mut(at / SIZE)
            && at % SIZE < part.len()
        {
            Rc::make_mut(part)[at % SIZE] = value;
        }
    }

    /// Appends an element.
    pub fn push(&mut self, value: T) {
        match self.parts.last_mut() {
            Some(last) if last.len() < SIZE => Rc::make_mut(last).push(value),
            _ => self.parts.push(Rc::new(vec![value])),
        }
    }

    /// Shortens the list to at most `count` elements.
    pub fn truncate(&mut self, count: usize) {
        self.parts.truncate(count.div_ceil(SIZE));
        if let Some(last) = self.parts.get_mut(count / SIZE)
            && last.len() > count % SIZE
        {
            Rc::make_mut(last).truncate(count % SIZE);
        }
    }

    /// All elements.
    pub fn iter(&self) -> impl Iterator<Item = T> {
        self.parts.iter().flat_map(|part| part.iter().copied())
    }

    /// The elements from a position on.
    pub fn from(&self, at: usize) -> impl Iterator<Item = T> {
        let parts = self.parts.iter().skip(at / SIZE);
        parts.flat_map(|part| part.iter().copied()).skip(at % SIZE)
    }

    /// Whether the list contains an element.
    pub fn contains(&self, value: T) -> bool {
        self.parts.iter().any(|part| part.contains(&value))
    }

    /// The number of leading parts that both lists share.
    fn shared(&self, other: &Self) -> usize {
        self.parts.iter().zip(&other.parts).take_while(|(a, b)| Rc::ptr_eq(a, b) || a == b).count()
    }

    /// The length of the common prefix.
    pub fn in_common(&self, other: &Self) -> usize {
        let shared = self.shared(other);
        let [a, b] = [self, other].map(|own| own.parts.get(shared).map_or(&[][..], |part| part));
        let start = self.parts.iter().take(shared).map(|part| part.len()).sum::<usize>();
        start + a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    /// Compares the first elements that differ.
    pub fn compare(&self, other: &Self) -> Ordering {
        let shared = self.shared(other);
        let [a, b] = [self, other].map(|own| own.parts.get(shared).map_or(&[][..], |part| part));
        a.cmp(b)
    }

    /// The result of `join` for each two elements at the same position that differ.
    pub fn joined(self, other: &Self, mut join: impl FnMut(T, T) -> T) -> Self {
        let mut parts = self.parts;
        for (own, other) in parts.iter_mut().zip(&other.parts).filter(|(a, b)| !Rc::ptr_eq(a, b)) {
            for at in 0..own.len().min(other.len()) {
                let (a, b) = (own[at], other[at]);
                if a != b {
                    Rc::make_mut(own)[at] = join(a, b);
                }
            }
        }
        Self { parts }
    }
}

impl<'c, T> IntoIterator for &'c Chunks<T> {
    type Item = &'c T;
    type IntoIter = FlatMap<Iter<'c, Rc<Vec<T>>>, Iter<'c, T>, fn(&'c Rc<Vec<T>>) -> Iter<'c, T>>;

    fn into_iter(self) -> Self::IntoIter {
        self.parts.iter().flat_map(|part| part.iter())
    }
}

impl<T: Copy + Ord> Extend<T> for Chunks<T> {
    fn extend<I: IntoIterator<Item = T>>(&mut self, all: I) {
        all.into_iter().for_each(|one| self.push(one));
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        /// `Chunks` behaves like a plain list.
        #[test]
        fn they_are_lists(one in prop::collection::vec(0..3u8, 0..200), at in 0..200usize, more in prop::collection::vec(0..3u8, 0..90)) {
            let mut chunks = Chunks::default();
            chunks.extend(one.iter().copied());
            let (mut list, mut other) = (one.clone(), chunks.clone());
            prop_assert_eq!(chunks.len(), list.len());
            list.truncate(at);
            other.truncate(at);
            list.extend(&more);
            other.extend(more);
            prop_assert_eq!(other.iter().collect::<Vec<_>>(), list.clone());
            prop_assert_eq!(other.from(at).collect::<Vec<_>>(), list.iter().skip(at).copied().collect::<Vec<_>>());
            prop_assert_eq!(other.get(at), list.get(at).copied());
            prop_assert_eq!(other.compare(&chunks), list.cmp(&one));
            prop_assert_eq!(other.in_common(&chunks), list.iter().zip(&one).take_while(|(a, b)| a == b).count());
            let sums: Vec<u8> = list.iter().zip(&one).map(|(a, b)| if a == b { *a } else { a + b }).collect();
            let both = other.joined(&chunks, |a, b| a + b);
            prop_assert_eq!(both.iter().take(sums.len()).collect::<Vec<_>>(), sums);
        }
    }
}
