//! The enumeration of programs of two threads, each as a litmus test and as a kernel.

use std::fmt::Write;

use ptx_hazards::{Edit, Position};

use crate::alphabet::{ALPHABET, Letter, Role};

/// The largest number of instructions of a program, both threads together.
pub const LENGTH: u32 = 5;

/// For each thread, indices of letters.
pub type Program = [Vec<usize>; 2];

/// The number of programs with at most this many instructions, redundant ones included.
pub fn count(length: u32) -> u64 {
    shapes()
        .take_while(|(first, second)| first + second <= length)
        .map(|(first, second)| of_shape(first + second))
        .sum()
}

/// The numbers of instructions of the threads. The first has at least as many as the second.
fn shapes() -> impl Iterator<Item = (u32, u32)> {
    (2..=LENGTH).flat_map(|length| (length.div_ceil(2)..=length).map(move |first| (first, length - first)))
}

fn of_shape(length: u32) -> u64 {
    (ALPHABET.len() as u64).pow(length)
}

/// The program with a number, short programs first. `None` if the program is redundant (another one has the same
/// threads in the other order), waits for an event that never comes, or has no two accesses, one of them asynchronous.
pub fn program(mut number: u64) -> Option<Program> {
    for (first, second) in shapes() {
        let all = of_shape(first + second);
        if number >= all {
            number -= all;
            continue;
        }
        let mut letter = || {
            let letter = number % ALPHABET.len() as u64;
            number /= ALPHABET.len() as u64;
            letter as usize
        };
        let program = [first, second].map(|length| (0..length).map(|_| letter()).collect::<Vec<_>>());
        let is_first = first != second || program[0] <= program[1];
        return Some(program).filter(|program| is_first && is_wanted(program));
    }
    None
}

/// Whether a program is worth testing: it has two accesses, one of them asynchronous. An mbarrier has one phase, and no
/// thread waits in vain.
fn is_wanted(program: &Program) -> bool {
    let count = |thread: usize, role: Role| program[thread].iter().filter(|&&at| ALPHABET[at].role == role).count();
    let both = |role: Role| count(0, role) + count(1, role);
    let (arrivals, fills) = (both(Role::Arrives), both(Role::Fills));
    if arrivals > 1 || fills > 1 || count(0, Role::Barrier) != count(1, Role::Barrier) {
        return false;
    }
    if both(Role::Waits) > 0 && arrivals == 0 || both(Role::WaitsForFull) > 0 && fills == 0 {
        return false;
    }
    let letters: Vec<&Letter> = program.iter().flatten().map(|&at| &ALPHABET[at]).collect();
    letters.iter().enumerate().any(|(index, one)| {
        let conflicts = |other: &&Letter| one.tensor.conflicts(other.tensor) || one.shared.conflicts(other.shared);
        letters[index + 1..].iter().any(conflicts)
    })
}

/// A line of a kernel.
#[derive(Clone, Debug)]
struct Line {
    ptx: String,
    /// Its thread, and the text of its cell of the litmus test, if it has one.
    cell: Option<(usize, String)>,
    /// Whether it was inserted by a remedy.
    is_put_in: bool,
}

/// A program in both forms, line by line.
#[derive(Clone, Debug)]
pub struct Text(Vec<Line>);

/// The number of lines of a litmus test before its first cells.
const HEAD: usize = 3;

/// The code before the code of the two threads, which are the first threads of two warps.
const BEGINNING: &str = "\
.version 9.4
.target sm_107a
.address_size 64
.visible .entry program(.param .u64 .ptr .global .align 16 from, .param .u64 .ptr .global .align 16 to, .param .b32 form)
{
.reg .pred %first, %other, %true, %p<32>;
.reg .b32 %thread, %warp, %at, %t, %shape, %q, %r<32>;
.reg .b64 %a, %b, %x, %y, %y<32>, %v<32>;
.shared .align 128 .b8 a[4096];
.shared .align 128 .b8 b[4096];
.shared .align 8 .b64 m;
.shared .align 8 .b64 full;
.shared .align 4 .b32 address;
mov.u32 %thread, %tid.x;
shr.u32 %warp, %thread, 5;
setp.ne.u32 %other, %warp, 0;
@%other bra READY;
tcgen05.alloc.cta_group::1.sync.aligned.shared::cta.b32 [address], 32;
setp.ne.u32 %other, %thread, 0;
@%other bra READY;
mbarrier.init.shared::cta.b64 [m], 1;
mbarrier.init.shared::cta.b64 [full], 1;
fence.mbarrier_init.release.cluster;
READY:
tcgen05.fence::before_thread_sync;
bar.sync 0;
tcgen05.fence::after_thread_sync;
ld.shared.b32 %t, [address];
ld.param.b32 %shape, [form];
ld.param.u64 %x, [from];
cvta.to.global.u64 %x, %x;
ld.param.u64 %y, [to];
cvta.to.global.u64 %y, %y;
setp.eq.u32 %true, 0, 0;
mov.u32 %q, 7;
mov.u32 %at, a;
shr.u32 %at, %at, 4;
and.b32 %at, %at, 16383;
cvt.u64.u32 %a, %at;
or.b64 %a, %a, 4611756662317416448;
mov.u32 %at, b;
shr.u32 %at, %at, 4;
and.b32 %at, %at, 16383;
cvt.u64.u32 %b, %at;
or.b64 %b, %b, 4611756662317416448;";

const THREADS: &str = "\
setp.eq.u32 %first, %thread, 0;
@%first bra THREAD0;
setp.eq.u32 %other, %thread, 32;
@%other bra THREAD1;
bra END;";

impl Text {
    /// A program as text.
    pub fn new(program: &Program) -> Self {
        let plain = |ptx: &str| Line { ptx: ptx.to_owned(), cell: None, is_put_in: false };
        let mut lines: Vec<Line> = BEGINNING.lines().map(plain).collect();
        // The destination addresses of copies.
        let count = program.iter().map(Vec::len).sum();
        lines.extend((0..count).map(|number| plain(&format!("add.u64 %y{number}, %y, {};", number * 16))));
        lines.extend(THREADS.lines().map(plain));
        let mut number = 0;
        for (thread, letters) in program.iter().enumerate() {
            lines.push(plain(&format!("THREAD{thread}:")));
            for &letter in letters {
                let Letter { litmus, ptx, .. } = &ALPHABET[letter];
                let named = |text: &str| text.replace('#', &number.to_string());
                for (litmus, ptx) in litmus.split("; ").zip(ptx.split("; ")) {
                    let end = if ptx.ends_with(':') { "" } else { ";" };
                    let cell = Some((thread, named(litmus)));
                    lines.push(Line { ptx: named(ptx) + end, cell, is_put_in: false });
                }
                number += 1;
            }
            lines.push(plain("bra END;"));
        }
        lines.extend(["END:", "ret;", "}"].map(plain));
        Self(lines)
    }

    /// The kernel.
    pub fn kernel(&self) -> String {
        self.0.iter().flat_map(|line| [&line.ptx, "\n"]).collect()
    }

    /// The litmus test.
    pub fn litmus(&self) -> String {
        let cells = |thread: usize| -> Vec<&str> {
            let of = |line: &'_ Line| line.cell.as_ref().is_some_and(|(of, _)| *of == thread);
            self.0.iter().filter(|line| of(line)).filter_map(|line| Some(&line.cell.as_ref()?.1[..])).collect()
        };
        let threads = [cells(0), cells(1)];
        // HEAD is the number of these lines.
        let mut text = "PTX program\n{ .shared m=1; .shared full=1; .shared a=2; .shared b=3; .tensor t=4; x=6; P0:q=7; P1:q=7; }\n".to_owned();
        text += " P0 | P1 ;\n";
        for row in 0..threads[0].len().max(threads[1].len()) {
            let cell = |thread: usize| threads[thread].get(row).copied().unwrap_or_default();
            // Writing to a string cannot fail.
            let _ = writeln!(text, " {} | {} ;", cell(0), cell(1));
        }
        text + "exists (true)\n"
    }

    /// The thread of a line of the kernel. Lines count from 1.
    pub fn thread(&self, line: u32) -> Option<usize> {
        let line = self.0.get((line as usize).checked_sub(1)?)?;
        line.cell.as_ref().map(|(thread, _)| *thread)
    }

    /// The line of the kernel for a line of the litmus test in the column of a thread.
    pub fn line(&self, thread: usize, litmus: usize) -> Option<u32> {
        let of = |(_, line): &(usize, &Line)| line.cell.as_ref().is_some_and(|(of, _)| *of == thread);
        let (index, _) = self.0.iter().enumerate().filter(of).nth(litmus.checked_sub(HEAD + 1)?)?;
        Some(index as u32 + 1)
    }

    /// The instruction of a line.
    pub fn instruction(&self, line: u32) -> &str {
        self.0.get(line as usize - 1).map_or("", |line| &line.ptx)
    }

    /// The program with inserted instructions: each as often as the largest number of requests for one place. `None` if
    /// a line does not belong to a thread.
    pub fn with(&self, edits: &[Edit]) -> Option<Self> {
        let mut edits: Vec<&Edit> = edits.iter().collect();
        edits.sort();
        edits.dedup();
        let mut lines = Vec::new();
        for (index, line) in self.0.iter().enumerate() {
            let here = |position: Position| {
                let here = edits.iter().filter(move |edit| edit.at.line as usize == index + 1);
                here.filter(move |edit| edit.position == position)
            };
            let put_in = |edit: &&&Edit| {
                let thread = line.cell.as_ref()?.0;
                let cell = Some((thread, edit.instruction.clone()));
                Some(Line { ptx: format!("{};", edit.instruction), cell, is_put_in: true })
            };
            lines.extend(here(Position::Before).map(|edit| put_in(&edit)).collect::<Option<Vec<_>>>()?);
            lines.push(line.clone());
            lines.extend(here(Position::After).map(|edit| put_in(&edit)).collect::<Option<Vec<_>>>()?);
        }
        Some(Self(lines))
    }
    /// The program without each of the inserted instructions in turn, the last one first.
    pub fn without_each(&self) -> impl Iterator<Item = Self> {
        let put_in = (0..self.0.len()).rev().filter(|&index| self.0[index].is_put_in);
        put_in.map(|index| {
            let mut without = self.clone();
            without.0.remove(index);
            without
        })
    }
}
