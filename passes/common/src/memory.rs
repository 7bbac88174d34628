//! The memory that a pointer points to, as far as a module shows it.

use ptx_lowering::ptx::Space;

/// The maximal number of values that the search for the origin of a pointer visits. In unreachable code a pointer may
/// be computed from itself, and chains may be long.
const FARTHEST: usize = 64;

/// The memory at a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Memory {
    /// The state space of the access.
    pub space: Space,
    /// Whether a generic address is local on some paths through the function and not on other paths.
    pub partly_local: bool,
    /// Whether the object of a generic address is unknown.
    pub unresolved: bool,
}

/// The object that contains the target of a pointer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Object {
    /// An object in this state space; [`Space::Generic`] if the only known fact is that other threads access the
    /// object.
    In(Space),
    /// An unknown object.
    Unknown,
}

/// The origin of a pointer.
pub enum Source<V> {
    /// The pointer points into this object.
    Object(Object),
    /// The pointer is computed from these pointers, through casts, offsets, selects and joins.
    Pointers(Vec<V>),
}

impl Memory {
    /// Memory in the state space that the pointer's type names.
    pub fn of_space(space: Space) -> Self {
        Self { space, partly_local: false, unresolved: false }
    }

    /// The memory at a generic pointer. `source` returns the origin of each pointer.
    pub fn from_pointer<V: PartialEq>(pointer: V, source: impl Fn(&V) -> Source<V>) -> Self {
        let generic = Self::of_space(Space::Generic);
        let Some(objects) = objects(pointer, source) else { return Self { unresolved: true, ..generic } };
        match objects[..] {
            [Object::In(space)] => Self::of_space(space),
            _ => Self {
                partly_local: objects.contains(&Object::In(Space::Local)),
                unresolved: objects.contains(&Object::Unknown),
                ..generic
            },
        }
    }
}

/// The objects that a pointer may point into, without duplicates. `None` if the pointer is computed from too many
/// values.
fn objects<V: PartialEq>(pointer: V, source: impl Fn(&V) -> Source<V>) -> Option<Vec<Object>> {
    let (mut seen, mut open, mut found) = (Vec::new(), vec![pointer], Vec::new());
    while let Some(pointer) = open.pop() {
        if seen.contains(&pointer) {
            continue;
        }
        if seen.len() == FARTHEST {
            return None;
        }
        match source(&pointer) {
            Source::Object(object) if found.contains(&object) => {}
            Source::Object(object) => found.push(object),
            Source::Pointers(pointers) => open.extend(pointers),
        }
        seen.push(pointer);
    }
    Some(found)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Pointers are numbers; `joins` lists the pointers from which a pointer is computed. Pointers without an entry
    /// point to objects.
    fn check(joins: &[(u32, &[u32])], object: impl Fn(u32) -> Object, expected: Memory) {
        let source = |pointer: &u32| match joins.iter().find(|(joined, _)| joined == pointer) {
            Some((_, from)) => Source::Pointers(from.to_vec()),
            None => Source::Object(object(*pointer)),
        };
        assert_eq!(Memory::from_pointer(0, source), expected, "{joins:?}");
    }

    const GENERIC: Memory = Memory { space: Space::Generic, partly_local: false, unresolved: false };

    #[test]
    fn objects_of_one_space_say_the_space() {
        let local = |_| Object::In(Space::Local);
        check(&[], local, Memory::of_space(Space::Local));
        check(&[(0, &[1, 2]), (1, &[0, 3])], local, Memory::of_space(Space::Local));
        check(&[], |_| Object::In(Space::Generic), GENERIC);
    }

    #[test]
    fn objects_of_several_spaces_are_generic() {
        let local = |own| move |pointer| if pointer == 1 { Object::In(Space::Local) } else { own };
        check(&[(0, &[1, 2])], local(Object::In(Space::Global)), Memory { partly_local: true, ..GENERIC });
        check(&[(0, &[1, 2])], local(Object::Unknown), Memory { partly_local: true, unresolved: true, ..GENERIC });
        check(&[], |_| Object::Unknown, Memory { unresolved: true, ..GENERIC });
    }

    #[test]
    fn a_pointer_with_too_many_sources_is_not_resolved() {
        let chain = |length: u32| (0..length).map(|pointer| [pointer + 1]).collect::<Vec<_>>();
        for (length, expected) in [(63, Memory::of_space(Space::Local)), (64, Memory { unresolved: true, ..GENERIC })] {
            let chain = chain(length);
            let joins: Vec<_> = (0..).zip(chain.iter().map(|from| &from[..])).collect();
            check(&joins, |_| Object::In(Space::Local), expected);
        }
    }
}
