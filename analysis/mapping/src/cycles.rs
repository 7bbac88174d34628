//! Critical cycles: programs in which every access is needed to violate sequential consistency (Shasha and Snir, 1988,
//! and the generator diy of Alglave, Maranget, Sarkar and Sewell, 2010).
//!
//! The threads form a ring. The last access of each thread and the first access of the next thread have the same
//! location, and one of the two is a write. A thread has two accesses to two locations, or a single access: a write
//! that the next thread reads. The small programs over two variables lack cycles over three locations, in which an
//! access that one pair of threads cannot observe orders two further accesses.

use itertools::{Itertools, iproduct};
use ptx_memory_model::{
    place::{Place, Scope},
    program::Program,
    source::Cpp,
};
use strum::IntoEnumIterator;

use crate::{
    placement::placements,
    templates::{Placed, program},
};

/// The kind of an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CycleAccess {
    Read,
    Write,
}

use CycleAccess::{Read, Write as Store};

impl CycleAccess {
    fn letter(self) -> char {
        if self == Read { 'R' } else { 'W' }
    }

    fn orders(self) -> [&'static str; 3] {
        if self == Read { ["rlx", "acq", "sc"] } else { ["rlx", "rel", "sc"] }
    }
}

/// The accesses of each thread.
pub type Ring = Vec<Vec<CycleAccess>>;

/// The choices of a fence between two accesses of a thread.
const FENCES: [&str; 5] = ["", "acq", "rel", "ar", "sc"];

const UPDATES: [&str; 5] = ["rlx", "acq", "rel", "ar", "sc"];

/// Every ring of `threads` threads. Of the rotations of a ring, only one is listed.
fn rings(threads: usize) -> Vec<Ring> {
    let two = iproduct!([Read, Store], [Read, Store]).map(|(first, last)| vec![first, last]);
    let of_thread = two.chain([vec![Store]]).collect_vec();
    let meets = |ring: &Ring| {
        ring.iter().circular_tuple_windows().all(|(this, next)| {
            let (last, first) = (this[this.len() - 1], next[0]);
            let orders = (last, first) != (Read, Read);
            // The next thread must read the write of a single-access thread.
            orders && (this.len() == 2 || first == Read)
        })
    };
    let rotated = |ring: &Ring, by: usize| ring[by..].iter().chain(&ring[..by]).cloned().collect_vec();
    let is_first = |ring: &Ring| (1..ring.len()).all(|by| *ring <= rotated(ring, by));
    let crosses = |ring: &Ring| ring.iter().filter(|thread| thread.len() == 2).count() > 1;
    let rings = (0..threads).map(|_| of_thread.clone()).multi_cartesian_product();
    rings.filter(|ring| meets(ring) && crosses(ring) && is_first(ring)).collect()
}

/// The number of the location of each access: the last access of a thread shares its location with the first access of
/// the next thread.
fn locations(ring: &Ring) -> Vec<Vec<usize>> {
    let count = ring.iter().filter(|thread| thread.len() == 2).count();
    let mut location = 0;
    let of_thread = |thread: &Vec<CycleAccess>| {
        let first = location;
        location = (location + thread.len() - 1) % count;
        if thread.len() == 2 { vec![first, location] } else { vec![first] }
    };
    ring.iter().map(of_thread).collect()
}

fn name_of(ring: &Ring) -> String {
    let of_thread = |thread: &Vec<CycleAccess>| thread.iter().map(|access| access.letter()).collect::<String>();
    ring.iter().map(of_thread).join("+")
}

fn variable(location: usize) -> char {
    ['x', 'y', 'z', 'w'][location]
}

/// Families of cycles, indexed by numbers.
pub enum Cycles {
    /// All cycles of a number of threads: every ring, with each ordering of each access, each fence or none between two
    /// accesses, and each scope and placement for which the scope includes all threads. All operations have the same
    /// scope.
    All { rings: Vec<Ring>, placed: Vec<Placed> },
    /// Cycles of two to four threads with other elements of programs: a scope for each operation, reads and writes as
    /// updates or as waiting loops, fences anywhere, and accesses to locations that no other thread accesses. The scope
    /// of each access includes every thread that accesses the location.
    Mixed,
}

impl Cycles {
    /// All cycles of a number of threads.
    pub fn all(threads: usize) -> Self {
        let of_places = |places: Vec<Place>| reaching(&places).into_iter().map(move |scope| (scope, places.clone()));
        let placed = placements(threads).into_iter().flat_map(of_places).collect();
        Self::All { rings: rings(threads), placed }
    }

    /// The number of cycles.
    pub fn count(&self) -> u64 {
        match self {
            Self::All { rings, placed } => rings.iter().map(|ring| of_ring(ring, placed)).sum(),
            Self::Mixed => 1 << 32,
        }
    }

    /// Calls `each` with the name and program of each cycle in part `shard.0` (from 1 on) of `shard.1`. Cycles with
    /// more than `MOST_ORDERINGS` orderings are skipped.
    pub fn each(&self, (k, n): (usize, usize), each: &mut dyn FnMut(&str, &Program<Cpp>)) {
        let count = self.count();
        for index in (k as u64 - 1..count).step_by(n) {
            let number = scattered(index, count);
            let (name, code, places) = match self {
                Self::All { rings, placed } => nth(rings, placed, number),
                Self::Mixed => mixed(number),
            };
            if orderings(&code) <= MOST_ORDERINGS {
                each(&name, &program(&code, &places));
            }
        }
    }
}

/// Before sm_70, each ordering becomes a sequentially consistent fence, and a search enumerates all orders of these
/// fences.
const MOST_ORDERINGS: usize = 7;

/// The number of operations in a program that have an ordering.
fn orderings(code: &str) -> usize {
    let relaxed = |operation: &&str| operation.contains(".rlx.") || operation.contains(".rlx/rlx.");
    let operations = code.split([';', '|']).filter(|operation| operation.contains('.'));
    operations.filter(|operation| !relaxed(operation)).count()
}

/// A permutation of the numbers below `count`. Neighboring cycles differ in one operation, so an equidistant sample
/// without it would be too uniform.
fn scattered(index: u64, count: u64) -> u64 {
    let bits = u64::BITS - (count - 1).leading_zeros();
    let mask = u64::MAX >> (u64::BITS - bits);
    let mut number = index;
    // Each step is a bijection on the numbers of this many bits.
    loop {
        for factor in [0x9E37_79B9_7F4A_7C15, 0xBF58_476D_1CE4_E5B9] {
            number = number.wrapping_mul(factor) & mask;
            number ^= number >> bits.div_ceil(2);
        }
        if number < count {
            return number;
        }
    }
}

/// A name, the threads as text, and their placement.
type Made = (String, String, Vec<Place>);

fn reaches(scope: Scope, places: &[Place]) -> bool {
    iproduct!(places, places).all(|(from, to)| from.includes(scope, *to))
}

/// The scopes that include all of these places from each of them.
fn reaching(places: &[Place]) -> Vec<Scope> {
    Scope::iter().filter(|scope| reaches(*scope, places)).collect()
}

/// The number of cycles with this ring.
fn of_ring(ring: &Ring, placed: &[Placed]) -> u64 {
    let of_thread = |thread: &Vec<CycleAccess>| match thread.len() {
        1 => 3,
        _ => 3 * 3 * FENCES.len() as u64,
    };
    ring.iter().map(of_thread).product::<u64>() * placed.len() as u64
}

fn nth(rings: &[Ring], placed: &[Placed], number: u64) -> Made {
    let mut rest = number;
    let at = rings.iter().position(|ring| {
        let count = of_ring(ring, placed);
        let here = rest < count;
        rest -= if here { 0 } else { count };
        here
    });
    let ring = &rings[at.expect("it is below their count")];
    let mut choose = |among: usize| {
        let chosen = rest % among as u64;
        rest /= among as u64;
        chosen as usize
    };
    let (scope, places) = &placed[choose(placed.len())];
    let mut value = 0;
    let threads = ring.iter().zip(locations(ring)).map(|(thread, locations)| {
        let mut code = Vec::with_capacity(3);
        for (index, (access, location)) in thread.iter().zip(locations).enumerate() {
            if index == 1 {
                let fence = FENCES[choose(FENCES.len())];
                code.extend((!fence.is_empty()).then(|| format!("fence.{fence}.{scope}")));
            }
            let (order, variable) = (access.orders()[choose(3)], variable(location));
            code.push(match access {
                Read => format!("r{index}=ld.{order}.{scope} {variable}"),
                Store => {
                    value += 1;
                    format!("st.{order}.{scope} {variable} {value}")
                }
            });
        }
        code.join("; ")
    });
    (name_of(ring), threads.collect_vec().join(" || "), places.clone())
}

fn mixed(number: u64) -> Made {
    let mut chance = Chance(number);
    let threads = *chance.pick(&[2, 3, 3, 3, 4]);
    let (rings, placements) = (rings(threads), placements(threads));
    let (ring, places) = (chance.pick(&rings), chance.pick(&placements));
    let usual = *chance.pick(&reaching(places));
    let locations = locations(ring);
    let scopes = (0..threads).map(|location| {
        let names = |(_, locations): &(&Place, &Vec<usize>)| locations.contains(&location);
        reaching(&places.iter().zip(&locations).filter(names).map(|(place, _)| *place).collect_vec())
    });
    let scopes = scopes.collect();
    let narrow = chance.once_in(2);
    let mut maker = Maker { chance, usual, narrow, scopes, values: 0, loops: usize::from(threads < 4) };
    let of_thread = |(number, (thread, locations)): (usize, (&Vec<CycleAccess>, &Vec<usize>))| {
        maker.thread(thread, locations, number)
    };
    let code = ring.iter().zip(&locations).enumerate().map(of_thread).collect_vec().join(" || ");
    (name_of(ring), code, places.clone())
}

/// Generates the code of threads.
struct Maker {
    chance: Chance,
    /// The scope of most operations.
    usual: Scope,
    /// Whether fences may have a narrower scope. If so, no update both acquires and releases: see
    /// [`crate::programs::Set::PassedOn`].
    narrow: bool,
    /// For each location, the scopes that include every thread that accesses it.
    scopes: Vec<Vec<Scope>>,
    /// The number of values written so far.
    values: u64,
    /// The number of loops that may still be added.
    loops: usize,
}

impl Maker {
    fn thread(&mut self, accesses: &[CycleAccess], locations: &[usize], number: usize) -> String {
        let mut code = Vec::with_capacity(8);
        let mut registers = 0;
        for (index, (&access, &location)) in accesses.iter().zip(locations).enumerate() {
            let fences =
                if index == 0 { usize::from(self.chance.once_in(8)) } else { *self.chance.pick(&[0, 1, 1, 2]) };
            (0..fences).for_each(|_| code.push(self.fence()));
            if self.chance.once_in(6) {
                let own = *self.chance.pick(&[Read, Store]);
                let any = Scope::iter().collect_vec();
                let text = self.access(own, &format!("own{number}"), &any, &mut registers);
                code.push(text);
                code.extend(self.chance.once_in(3).then(|| self.fence()));
            }
            let scopes = self.scopes[location].clone();
            let text = self.access(access, &variable(location).to_string(), &scopes, &mut registers);
            code.push(text);
        }
        code.extend(self.chance.once_in(8).then(|| self.fence()));
        code.join("; ")
    }

    /// The usual scope in most cases if it is among these, otherwise any of them.
    fn scope(&mut self, scopes: &[Scope]) -> Scope {
        let other = *self.chance.pick(scopes);
        if self.chance.once_in(4) || !scopes.contains(&self.usual) { other } else { self.usual }
    }

    fn fence(&mut self) -> String {
        let order = *self.chance.pick(&FENCES[1..]);
        let scopes = if self.narrow { Scope::iter().collect() } else { vec![self.usual] };
        format!("fence.{order}.{}", self.scope(&scopes))
    }

    fn access(&mut self, access: CycleAccess, variable: &str, scopes: &[Scope], registers: &mut usize) -> String {
        let updates = if self.narrow { &UPDATES[..3] } else { &UPDATES };
        let (order, update) = (*self.chance.pick(&access.orders()), *self.chance.pick(updates));
        let (scope, failure) = (self.scope(scopes), *self.chance.pick(&Read.orders()));
        let waits = self.loops > 0 && variable.len() == 1 && self.chance.once_in(8);
        let updates = self.chance.once_in(6);
        self.loops -= usize::from(waits);
        self.values += u64::from(access == Store || updates);
        let value = self.values;
        let r = *registers;
        *registers += 2;
        match (access, updates, waits) {
            (Read, false, false) => format!("r{r}=ld.{order}.{scope} {variable}"),
            (Read, false, true) => format!("do {{ r{r}=ld.{order}.{scope} {variable} }} while r{r} == 0"),
            (Store, false, _) => format!("st.{order}.{scope} {variable} {value}"),
            (Read, true, false) => format!("r{r}=cas.{update}/{failure}.{scope} {variable} 0 {value}"),
            (Store, true, false) => format!("r{r}=rmw.exch.{update}.{scope} {variable} {value}"),
            (_, true, true) => {
                let old = r + 1;
                format!(
                    "do {{ r{old}=ld.{order}.{scope} {variable}; r{r}=cas.{update}/{failure}.{scope} {variable} r{old} {value} }} while r{r} != r{old}",
                    order = if access == Read { order } else { "rlx" },
                )
            }
        }
    }
}

/// Choices determined by a seed (SplitMix64, Steele, Lea and Flood, 2014).
struct Chance(u64);

impl Chance {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        mixed ^ (mixed >> 31)
    }

    fn pick<'t, T>(&mut self, among: &'t [T]) -> &'t T {
        &among[(self.next() % among.len() as u64) as usize]
    }

    fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }
}
