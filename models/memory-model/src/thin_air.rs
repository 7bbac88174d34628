//! The dependencies that no implementation can optimize away.
//!
//! Section 8.10.4 forbids values out of thin air, and allows an implementation to "perform any chain of reasoning" to
//! find that a store does not depend on a load. So a dependency is certain only if it is shown that another value of
//! the load keeps the thread from the store, or changes the stored value. An execution that all dependencies together
//! forbid, but not the certain ones alone, is not known to be forbidden. Values that depend on themselves through
//! arithmetic are different: there, the equations decide.

use crate::{
    limit::Limit,
    outcome::Budget,
    program::{Language, Program, Value},
    relation::Set,
    unfold::{EventKind, Node, Path, PathEvent, Term},
};

/// The paths of all threads, with only their certain dependencies.
pub(crate) fn certain<L: Language>(
    program: &Program<L>,
    threads: &[Vec<Path<L>>],
    budget: &mut Budget,
) -> Result<Vec<Vec<Path<L>>>, Limit> {
    let mut certain = threads.to_vec();
    for (thread, paths) in threads.iter().enumerate() {
        for (index, path) in paths.iter().enumerate() {
            for (number, event) in path.events.iter().enumerate() {
                let depends = match event.kind {
                    EventKind::Write(_) => {
                        let waits = |&event: &usize| path.events[event].kind == EventKind::Wait;
                        let mut depends: Set = injective(path, event.value).filter(waits).collect();
                        for read in event.depends - depends {
                            budget.choose()?;
                            if vanishes(program, threads, (thread, path), read, event, budget)? {
                                depends.insert(read);
                            }
                        }
                        depends
                    }
                    EventKind::Arrive => injective(path, event.value),
                    _ => Set(0),
                };
                certain[thread][index].events[number].depends = depends & event.depends;
            }
        }
    }
    Ok(certain)
}

/// The reads for which different values give different values of the term, if all other reads are the same.
fn injective<L: Language>(path: &Path<L>, term: Term) -> Set {
    let Term::Node(node) = term else { return Set(0) };
    match path.nodes[node as usize] {
        Node::Event(event) => Set::singleton(event),
        Node::Computed(computation, ty, [a, ..]) if computation.is_injective(ty) => {
            if path.bits(a) <= ty.bits() {
                injective(path, a)
            } else {
                Set(0)
            }
        }
        Node::Computed(computation, ty, [a, b, _]) if computation.is_sum() => {
            let of = |term, other| match path.bits(term) <= ty.bits() {
                true => injective(path, term) - path.sources(other),
                false => Set(0),
            };
            of(a, b) | of(b, a)
        }
        _ => Set(0),
    }
}

/// Whether some value that the read certainly may return keeps the thread from such a write, or changes its value,
/// whatever its later reads return.
fn vanishes<L: Language>(
    program: &Program<L>,
    threads: &[Vec<Path<L>>],
    (thread, path): (usize, &Path<L>),
    read: usize,
    write: &PathEvent<L>,
    budget: &mut Budget,
) -> Result<bool, Limit> {
    for value in values(program, threads, (thread, path), read) {
        let known = |event: usize| (event == read).then_some(value);
        let (mut some, mut vanishes) = (false, true);
        for other in &threads[thread] {
            budget.choose()?;
            let reads_too = other.events.get(read).is_some_and(|event| event.span == path.events[read].span)
                && (0..=read).all(|index| other.events[index].statement == path.events[index].statement);
            let possible =
                |&(term, wanted): &(Term, bool)| other.value(term, &known).is_none_or(|value| (value != 0) == wanted);
            if !reads_too || !other.constraints.iter().all(possible) {
                continue;
            }
            some = true;
            let same = |event: &PathEvent<L>| {
                matches!(event.kind, EventKind::Beyond { .. })
                    || matches!(event.kind, EventKind::Write(_)) && event.span == write.span && {
                        let values = [path.value(write.value, &|_| None), other.value(event.value, &known)];
                        let other_value = injective(other, event.value).contains(read)
                            && alike((path, write.value), (other, event.value));
                        !other_value && !matches!(values, [Some(a), Some(b)] if a != b)
                    }
            };
            vanishes &= !other.events.iter().any(same);
        }
        if some && vanishes {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Whether terms of two paths compute the same value from the same reads.
fn alike<L: Language>((a, first): (&Path<L>, Term), (b, second): (&Path<L>, Term)) -> bool {
    let (Term::Node(x), Term::Node(y)) = (first, second) else { return first == second };
    let all = |first: [Term; 3], second: [Term; 3]| {
        first.into_iter().zip(second).all(|(first, second)| alike((a, first), (b, second)))
    };
    match (a.nodes[x as usize], b.nodes[y as usize]) {
        (Node::Event(x), Node::Event(y)) => x == y,
        (Node::Computed(op, ty, x), Node::Computed(other, of, y)) => (op, ty) == (other, of) && all(x, y),
        (Node::Rmw(op, ty, x), Node::Rmw(other, of, y)) => (op, ty) == (other, of) && all(x, y),
        _ => false,
    }
}

/// Values that a read may return without any speculation: the initial value, and constants that other threads write on
/// every path.
fn values<L: Language>(
    program: &Program<L>,
    threads: &[Vec<Path<L>>],
    (thread, path): (usize, &Path<L>),
    read: usize,
) -> Vec<Value> {
    let at = program.physical_span(path.events[read].span);
    let writes =
        |event: &&PathEvent<L>| matches!(event.kind, EventKind::Write(_)) && program.physical_span(event.span) == at;
    let mut values = Vec::new();
    if !path.events[..read].iter().any(|event| writes(&event)) {
        values.push(at.extract(program.locations[usize::from(at.variable.0)].initial));
    }
    for (_, paths) in threads.iter().enumerate().filter(|(other, _)| *other != thread) {
        // A write that is in every path, and depends on no read, always happens.
        let Some(first) = paths.first() else { continue };
        for event in first.events.iter().filter(writes).filter(|event| event.depends == Set(0)) {
            let Term::Constant(value) = event.value else { continue };
            let also = |other: &PathEvent<L>| writes(&other) && other.value == event.value && other.depends == Set(0);
            if paths.iter().all(|path| path.events.iter().any(also)) && !values.contains(&value) {
                values.push(value);
            }
        }
    }
    values
}
