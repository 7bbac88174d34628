//! Named programs: known litmus tests, and programs for which the machine was once wrong.

use ptx_memory_model::{
    place::Scope,
    program::AtomOp,
    ptx::{FenceSem, Sem},
};

use crate::program::{Case, Home, Op, Order, Spot, Thread, Val};

/// A case: its name, its threads, and the percentage of the allowed outcomes that the machine must show.
///
/// A thread is the digits of its cluster, CTA and warp, and its instructions: `W` writes, `R` reads, `A` adds, `D` adds
/// by `red`, `C` is a `cas`, each with semantics, scope, a variable and values; `F` is a fence, `B` the barrier of the
/// CTA, and `=` ends the thread unless the last value is this value.
#[rustfmt::skip]
pub const CASES: [(&str, &str, usize); 46] = [
    ("MP, weak", "000 W weak x 1; W weak y 1 | 100 R weak y; R weak x", 100),
    ("MP, relaxed", "000 W relaxed gpu x 1; W relaxed gpu y 1 | 100 R relaxed gpu y; R relaxed gpu x", 100),
    ("MP, without acquire", "000 W weak x 1; W release gpu y 1 | 100 R relaxed gpu y; = 1; R weak x", 100),
    ("MP, without release", "000 W weak x 1; W relaxed gpu y 1 | 100 R acquire gpu y; = 1; R weak x", 100),
    ("MP", "000 W weak x 1; W release gpu y 1 | 100 R acquire gpu y; = 1; R weak x", 100),
    ("MP, narrow", "000 W weak x 1; W release cta y 1 | 010 R acquire cta y; = 1; R weak x", 100),
    ("MP, cluster", "000 W weak x 1; W release cluster y 1 | 010 R acquire cluster y; = 1; R weak x", 100),
    ("MP, fences", "000 W weak x 1; F acq_rel gpu; W relaxed gpu y 1 | 100 R relaxed gpu y; = 1; F acq_rel gpu; R weak x", 100),
    ("MP, narrow fence of the writer", "000 W weak x 1; F acq_rel cta; W relaxed gpu y 1 | 100 R relaxed gpu y; = 1; F acq_rel gpu; R weak x", 100),
    ("MP, narrow fence of the reader", "000 W weak x 1; F acq_rel gpu; W relaxed gpu y 1 | 100 R relaxed gpu y; = 1; F acq_rel cta; R weak x", 100),
    ("MP, the writer's fence acquires", "000 W weak x 1; F acquire gpu; W relaxed gpu y 1 | 100 R relaxed gpu y; = 1; F acquire gpu; R weak x", 100),
    ("MP, the reader's fence releases", "000 W weak x 1; F release gpu; W relaxed gpu y 1 | 100 R relaxed gpu y; = 1; F release gpu; R weak x", 100),
    ("MP, fence of a cluster", "000 W weak x 1; F acq_rel cluster; W relaxed gpu y 1 | 010 R relaxed gpu y; = 1; F acq_rel cluster; R weak x", 100),
    ("MP, red", "000 W weak x 1; A release gpu y 1 | 100 R acquire gpu y; = 1; R weak x", 100),
    ("MP, red does not acquire", "000 W weak x 1; W release gpu y 1 | 100 D relaxed gpu y 2; F acq_rel gpu; R weak x", 80),
    ("MP, release pattern", "000 W weak x 1; W release gpu y 1; W relaxed gpu y 2 | 100 R acquire gpu y; = 2; R weak x", 100),
    ("MP, acquire pattern", "000 W weak x 1; W release gpu y 1 | 100 R relaxed gpu y; = 1; R acquire gpu y; R weak x", 75),
    ("MP, acquire pattern of two values", "000 W weak x 1; W release gpu y 1 | 010 W relaxed gpu y 5 | 100 R relaxed gpu y; = 1; R acquire gpu y; = 5; R weak x", 80),
    ("SB, relaxed", "000 W relaxed gpu x 1; R relaxed gpu y | 100 W relaxed gpu y 1; R relaxed gpu x", 100),
    ("SB, fence.sc", "000 W relaxed gpu x 1; F sc gpu; R relaxed gpu y | 100 W relaxed gpu y 1; F sc gpu; R relaxed gpu x", 100),
    ("SB, fence.acq_rel", "000 W relaxed gpu x 1; F acq_rel gpu; R relaxed gpu y | 100 W relaxed gpu y 1; F acq_rel gpu; R relaxed gpu x", 100),
    ("SB, narrow fence.sc", "000 W relaxed gpu x 1; F sc cta; R relaxed gpu y | 100 W relaxed gpu y 1; F sc cta; R relaxed gpu x", 100),
    ("LB", "000 R relaxed gpu x; W relaxed gpu y 1 | 100 R relaxed gpu y; W relaxed gpu x 1", 75),
    ("2+2W", "000 W relaxed gpu x 1; W relaxed gpu y 2 | 100 W relaxed gpu y 1; W relaxed gpu x 2", 75),
    ("CoRR", "000 W relaxed gpu x 1; W relaxed gpu x 2 | 100 R relaxed gpu x; R relaxed gpu x", 100),
    ("WRC", "000 W relaxed gpu x 1 | 100 R relaxed gpu x; W release gpu y 1 | 010 R acquire gpu y; R relaxed gpu x", 100),
    ("WRC, relaxed", "000 W relaxed gpu x 1 | 100 R relaxed gpu x; W relaxed gpu y 1 | 010 R relaxed gpu y; R relaxed gpu x", 100),
    ("IRIW, acquire", "000 W relaxed gpu x 1 | 010 W relaxed gpu y 1 | 100 R acquire gpu x; R relaxed gpu y | 110 R acquire gpu y; R relaxed gpu x", 90),
    ("IRIW, fence.sc", "000 W relaxed gpu x 1 | 010 W relaxed gpu y 1 | 100 R relaxed gpu x; F sc gpu; R relaxed gpu y | 110 R relaxed gpu y; F sc gpu; R relaxed gpu x", 90),
    ("ISA2", "000 W weak x 1; W release gpu y 1 | 100 R acquire gpu y; W release gpu z 1 | 010 R acquire gpu z; = 1; R weak x", 90),
    ("RMW chain", "000 W weak x 1; W release gpu y 1 | 010 A relaxed gpu y 2 | 100 R acquire gpu y; = 3; R weak x", 90),
    ("RMW chain, narrow", "000 W weak x 1; W release gpu y 1 | 010 A relaxed cta y 2 | 100 R acquire gpu y; = 3; R weak x", 50),
    ("RMW chain, broken", "000 W weak x 1; W release gpu y 1; W release gpu z 1 | 100 R acquire gpu z; = 1; A relaxed cta y 2 | 100 R acquire gpu y; = 3; R weak x", 60),
    ("a barrier", "000 W weak x 1; B | 001 B; R weak x", 100),
    ("last block", "000 W weak x 1; F sc gpu; A relaxed gpu y 1 | 100 A relaxed gpu y 1; = 1; F sc gpu; R weak x; W weak y 0", 80),
    // Former errors.
    ("a cas that fails has read the newest value", "000 C acquire gpu x 2 2; R relaxed gpu x | 100 W relaxed gpu x 3", 80),
    ("a cas that fails does not write", "000 C relaxed gpu x 2 3; W weak y 1 | 100 R relaxed gpu x; R weak x", 100),
    ("a write is observed, and then overwritten", "000 W relaxed sys x 5 | 001 R relaxed sys x; = 5; W relaxed sys x 2; W weak x 3", 80),
    ("an access comes after the write that it acquires", "000 W weak x 2; W release gpu x 4 | 100 R acquire gpu x", 66),
    ("a read returns the value that it observes", "000 W relaxed cluster x 2 | 100 R relaxed gpu x; W weak x 1", 60),
    ("a read does not observe for itself", "000 W relaxed gpu x 2 | 100 A relaxed gpu x 1 | 100 R relaxed cluster x", 80),
    ("an atomic operation hides no other scope", "000 W release gpu y 2 | 100 A acquire gpu y 3 | 100 R relaxed cluster y", 80),
    ("a read that observes a write has not observed earlier writes", "000 W relaxed gpu x 1; W relaxed gpu x 2 | 100 R relaxed gpu x; = 2; W weak x 3", 60),
    ("a chain is not released again", "000 W weak z 1; W release gpu y 1 | 100 A release gpu y 1; W relaxed gpu y 7 | 010 R acquire gpu y; = 7; R weak z", 60),
    ("a value that is read again was read before", "000 W relaxed cta x 2 | 001 R relaxed cta x; B; R relaxed cta x | 001 B; R weak x", 100),
    ("a weak read after a read of another scope", "000 W relaxed sys x 1 | 010 R acquire cluster x; R weak x", 100),
];

/// Reads a program in the syntax of the table.
pub fn read(name: &str, text: &str) -> Case {
    let variable = |word: &str| ["x", "y", "z"].iter().position(|name| *name == word).expect("a variable");
    let mut threads: Vec<Thread> = Vec::new();
    for part in text.split('|') {
        let (spot, code) = part.trim().split_once(' ').expect("a place and instructions");
        let digit = |at: usize| u32::from(spot.as_bytes()[at] - b'0');
        let mut spot = Spot { cluster: digit(0), cta: digit(1), warp: digit(2), lane: 0 };
        while threads.iter().any(|thread| thread.spot == spot) {
            spot.lane += 1;
        }
        let mut thread = Thread { spot, code: Vec::new(), registers: 0 };
        for line in code.split(';') {
            let words: Vec<&str> = line.split_whitespace().collect();
            let number = |at: usize| words[at].parse::<u64>().expect("a number");
            // A weak access has no scope.
            let sem: Option<Sem> = words.get(1).and_then(|word| word.parse().ok());
            let scope: Option<Scope> = words.get(2).and_then(|word| word.parse().ok());
            let order = Order { sem: sem.unwrap_or(Sem::Relaxed), scope: scope.unwrap_or(Scope::Sys), mmio: false };
            let at = if scope.is_some() { 3 } else { 2 };
            match words[0] {
                "W" => thread.code.push(Op::Store {
                    at: variable(words[at]),
                    value: Val::Number(number(at + 1)),
                    order,
                    wide: false,
                }),
                "R" => thread.code.push(Op::Load { d: thread.registers, at: variable(words[at]), order, wide: false }),
                "A" | "C" | "D" => {
                    let is_cas = words[0] == "C";
                    thread.code.push(Op::Rmw {
                        op: if is_cas { AtomOp::Cas } else { AtomOp::Add },
                        d: (words[0] != "D").then_some(thread.registers),
                        at: variable(words[at]),
                        b: Val::Number(number(at + 1)),
                        c: if is_cas { number(at + 2) } else { 0 },
                        order,
                    });
                }
                "F" => {
                    thread.code.push(Op::Fence(words[1].parse::<FenceSem>().expect("a fence"), scope.expect("a scope")))
                }
                "B" => thread.code.push(Op::Bar),
                "=" => thread.code.push(Op::Unless(thread.registers - 1, number(1))),
                other => panic!("{other}"),
            }
            thread.registers += usize::from(matches!(words[0], "R" | "A" | "C"));
        }
        threads.push(thread);
    }
    let place = |index: u32| Home { bytes: 4, shared: None, offset: 16 * index };
    Case { name: name.to_owned(), threads, places: (0..3).map(place).collect() }
}
