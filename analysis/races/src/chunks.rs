//! Lists that share their parts: a copy of a long one is cheap, and so is a comparison of two that have a long beginning in common.

use std::{cmp::Ordering, iter::FlatMap, rc::Rc, slice::Iter};

/// How many elements each part has, except the last one.
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
    /// The same element so many times.
    pub fn repeated(of: T, count: usize) -> Self {
        let part = Rc::new(vec![of; SIZE]);
        let mut parts = vec![part; count / SIZE];
        parts.extend((!count.is_multiple_of(SIZE)).then(|| Rc::new(vec![of; count % SIZE])));
        Self { parts }
    }

    /// How many elements there are.
    pub fn len(&self) -> usize {
        self.parts.last().map_or(0, |last| (self.parts.len() - 1) * SIZE + last.len())
    }

    /// An element.
    pub fn get(&self, at: usize) -> Option<T> {
        self.parts.get(at / SIZE)?.get(at % SIZE).copied()
    }

    /// Replaces an element that there is.
    pub fn set(&mut self, at: usize, value: T) {
        if let Some(part) = self.parts.get_mut(at / SIZE)
            && at % SIZE < part.len()
        {
            Rc::make_mut(part)[at % SIZE] = value;
        }
    }

    /// Adds an element.
    pub fn push(&mut self, value: T) {
        match self.parts.last_mut() {
            Some(last) if last.len() < SIZE => Rc::make_mut(last).push(value),
            _ => self.parts.push(Rc::new(vec![value])),
        }
    }

    /// Leaves so many elements at most.
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

    /// The elements from one on.
    pub fn from(&self, at: usize) -> impl Iterator<Item = T> {
        let parts = self.parts.iter().skip(at / SIZE);
        parts.flat_map(|part| part.iter().copied()).skip(at % SIZE)
    }

    /// Whether an element is there.
    pub fn contains(&self, value: T) -> bool {
        self.parts.iter().any(|part| part.contains(&value))
    }

    /// How many parts at the beginning both have.
    fn shared(&self, other: &Self) -> usize {
        self.parts.iter().zip(&other.parts).take_while(|(a, b)| Rc::ptr_eq(a, b) || a == b).count()
    }

    /// How many elements at the beginning both have.
    pub fn in_common(&self, other: &Self) -> usize {
        let shared = self.shared(other);
        let [a, b] = [self, other].map(|own| own.parts.get(shared).map_or(&[][..], |part| part));
        let start = self.parts.iter().take(shared).map(|part| part.len()).sum::<usize>();
        start + a.iter().zip(b).take_while(|(a, b)| a == b).count()
    }

    /// The order of the first elements that differ.
    pub fn compare(&self, other: &Self) -> Ordering {
        let shared = self.shared(other);
        let [a, b] = [self, other].map(|own| own.parts.get(shared).map_or(&[][..], |part| part));
        a.cmp(b)
    }

    /// The result of `join` for each two elements at the same place that differ.
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
        /// They are what lists are.
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
