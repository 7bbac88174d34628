//! Generated litmus tests of host threads: the classical shapes with every choice of instructions and of fences or
//! dependencies between them, and random threads.

use std::fmt::Write;

/// The processor of a test.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Host {
    X86,
    AArch64,
}

/// A shape: for each thread, its accesses.
pub struct Shape {
    pub name: &'static str,
    threads: &'static str,
}

const fn shape(name: &'static str, threads: &'static str) -> Shape {
    Shape { name, threads }
}

#[rustfmt::skip]
pub const SHAPES: [Shape; 32] = [
    shape("CoRR", "Wx | Rx Rx"), shape("CoWR", "Wx Rx | Wx"), shape("CoRW", "Rx Wx | Wx"), shape("CoWW", "Wx Wx | Rx Rx"),
    shape("SB", "Wx Ry | Wy Rx"), shape("MP", "Wx Wy | Ry Rx"), shape("LB", "Rx Wy | Ry Wx"), shape("S", "Wx Wy | Ry Wx"),
    shape("R", "Wx Wy | Wy Rx"), shape("2+2W", "Wx Wy | Wy Wx"), shape("WRC", "Wx | Rx Wy | Ry Rx"),
    shape("RWC", "Wx | Rx Ry | Wy Rx"), shape("ISA2", "Wx Wy | Ry Wz | Rz Rx"), shape("W+RWC", "Wx Wy | Ry Rz | Wz Rx"),
    shape("Z6.0", "Wx Wy | Ry Wz | Wz Rx"), shape("Z6.1", "Wx Wy | Wy Wz | Rz Wx"), shape("Z6.2", "Wx Wy | Ry Wz | Rz Wx"),
    shape("Z6.3", "Wx Wy | Wy Wz | Rz Rx"), shape("Z6.4", "Wx Wy | Wy Rz | Wz Rx"), shape("Z6.5", "Wx Wy | Wy Wz | Wz Rx"),
    shape("3.SB", "Wx Ry | Wy Rz | Wz Rx"), shape("3.LB", "Rx Wy | Ry Wz | Rz Wx"), shape("3.2W", "Wx Wy | Wy Wz | Wz Wx"),
    shape("WWC", "Wx | Rx Wy | Ry Wx"), shape("WRR+2W", "Wx | Rx Ry | Wy Wx"), shape("WRW+WR", "Wx | Rx Wy | Wy Rx"),
    shape("IRIW", "Wx | Rx Ry | Wy | Ry Rx"), shape("SB+rfi", "Wx Rx Ry | Wy Rx"), shape("MP+fri-rfi", "Wx Wy | Ry Wz Rz Rx"),
    shape("RSW", "Wx Wy | Ry Rz Rx"), shape("LB+mid", "Rx Wy | Ry Rz Wx"), shape("MP+3", "Wx Wy | Ry Wz Rx"),
];

/// The maximum number of tests of a shape.
const MOST: usize = 64;

/// An access of a thread.
#[derive(Clone, Copy)]
struct ThreadAccess {
    writes: bool,
    variable: char,
}

/// The choices: instructions that read or write, and the fence or dependency before an access.
struct Choices {
    reads: &'static [&'static str],
    writes: &'static [&'static str],
    between: &'static [&'static str],
}

const ATOMICS: &[&str] =
    &["SWP", "SWPA", "SWPL", "SWPAL", "LDADD", "LDADDAL", "LDADDA", "LDADDL", "CAS", "CASA", "CASL", "CASAL"];

const X86: Choices = Choices { reads: &["MOV"], writes: &["MOV", "XCHG"], between: &["", "MFENCE"] };
const AARCH64: Choices = Choices {
    reads: &["LDR", "LDAR", "LDAPR", "LDADDA", "CASAL", "LDADD"],
    writes: &["STR", "STLR", "SWP", "SWPAL", "STADD", "LDADDL", "CASA"],
    between: &["", "DMB ISH", "DMB ISHLD", "DMB ISHST", "addr", "data", "ctrl", "isb", "DMB SY", "addr-isb"],
};

/// A random number generator: xorshift.
pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 20) as usize % end
    }

    fn pick<'a>(&mut self, of: &[&'a str]) -> &'a str {
        of[self.below(of.len())]
    }
}

/// A test, in the syntax of both readers.
pub struct Generated {
    pub name: String,
    pub rows: Vec<Vec<String>>,
    host: Host,
    /// The destination registers of reads, by thread.
    pub observed: Vec<Vec<String>>,
    pub variables: Vec<char>,
}

/// The tests of a shape: all choices, up to the maximum number. The combination of all first choices is always
/// included.
pub fn of_shape(host: Host, shape: &Shape) -> Vec<Generated> {
    let number = SHAPES.iter().position(|other| other.name == shape.name).unwrap_or_default() as u64;
    let threads: Vec<Vec<ThreadAccess>> = shape.threads.split('|').map(accesses).collect();
    let mut random = Random::new(number + 1);
    (0..MOST).map(|index| test(host, format!("{}.{index}", shape.name), &threads, &mut random, index == 0)).collect()
}

/// A test of random threads, by its number.
pub fn at_random(host: Host, seed: u64) -> Generated {
    let mut random = Random::new(1_000 + seed);
    let threads = 2 + random.below(2);
    let of = |random: &mut Random| {
        let length = 1 + random.below(if threads == 2 { 4 } else { 3 });
        let access = |random: &mut Random| ThreadAccess {
            writes: random.below(2) == 0,
            variable: if random.below(2) == 0 { 'x' } else { 'y' },
        };
        (0..length).map(|_| access(random)).collect::<Vec<_>>()
    };
    let threads: Vec<_> = (0..threads).map(|_| of(&mut random)).collect();
    test(host, format!("random.{seed}"), &threads, &mut random, false)
}

fn accesses(text: &str) -> Vec<ThreadAccess> {
    let access =
        |word: &str| ThreadAccess { writes: word.starts_with('W'), variable: word.chars().last().unwrap_or('x') };
    text.split_whitespace().map(access).collect()
}

fn test(host: Host, name: String, threads: &[Vec<ThreadAccess>], random: &mut Random, plain: bool) -> Generated {
    let mut variables: Vec<char> = threads.iter().flatten().map(|access| access.variable).collect();
    variables.sort_unstable();
    variables.dedup();
    let mut next = vec![0; variables.len()];
    let (mut rows, mut observed) = (Vec::new(), Vec::new());
    for thread in threads {
        let mut of = Thread { rows: Vec::new(), observed: Vec::new(), last: None, random, plain };
        for (number, access) in thread.iter().enumerate() {
            let at = variables.iter().position(|of| *of == access.variable).unwrap_or_default();
            next[at] += 1;
            match host {
                Host::X86 => of.x86(number, *access, next[at]),
                Host::AArch64 => of.aarch64(number, *access, at, next[at]),
            }
        }
        rows.push(of.rows);
        observed.push(of.observed);
    }
    Generated { name, rows, host, observed, variables }
}

struct Thread<'r> {
    rows: Vec<String>,
    observed: Vec<String>,
    /// The register of the last read, which the next access may depend on.
    last: Option<usize>,
    random: &'r mut Random,
    /// Whether only the simplest instructions are chosen.
    plain: bool,
}

const X86_REGISTERS: [&str; 6] = ["EAX", "EBX", "ECX", "EDX", "ESI", "EDI"];

impl Thread<'_> {
    fn choose<'a>(&mut self, of: &[&'a str]) -> &'a str {
        if self.plain { of[0] } else { self.random.pick(of) }
    }

    fn row(&mut self, row: String) {
        self.rows.push(row);
    }

    fn x86(&mut self, number: usize, access: ThreadAccess, value: usize) {
        let (register, x) = (X86_REGISTERS[number], access.variable);
        let between = self.choose(X86.between);
        if number > 0 && !between.is_empty() {
            self.row(between.into());
        }
        let kind = self.choose(if access.writes { X86.writes } else { X86.reads });
        match (access.writes, kind) {
            (false, _) => self.row(format!("MOV {register},[{x}]")),
            (true, "MOV") => return self.row(format!("MOV [{x}],${value}")),
            (true, _) => {
                self.row(format!("MOV {register},${value}"));
                self.row(format!("XCHG [{x}],{register}"));
            }
        }
        self.observed.push(register.into());
    }

    fn aarch64(&mut self, number: usize, access: ThreadAccess, at: usize, value: usize) {
        let mut address = format!("X{}", 20 + at);
        let (d, v, t) = (format!("W{number}"), format!("W{}", 5 + number), 10 + number);
        let mut data = false;
        let between = self.choose(AARCH64.between);
        match (between, self.last) {
            ("", _) => {}
            (dmb, _) if dmb.starts_with("DMB") && number > 0 => self.row(dmb.into()),
            ("addr" | "addr-isb", Some(last)) => {
                self.row(format!("EOR W{t},W{last},W{last}"));
                self.row(format!("ADD X{t},X{t},{address}"));
                address = format!("X{t}");
            }
            ("data", Some(last)) if access.writes => {
                self.row(format!("EOR W{t},W{last},W{last}"));
                data = true;
            }
            ("ctrl" | "isb", Some(last)) => {
                let label = format!("LC{number}{at}{last}{}", self.rows.len());
                self.row(format!("CBNZ W{last},{label}"));
                self.row(format!("{label}:"));
                if between == "isb" {
                    self.row("ISB".into());
                }
            }
            _ => {}
        }
        let kind = self.choose(if access.writes { AARCH64.writes } else { AARCH64.reads });
        let kind = if kind.len() > 4 && self.random.below(2) == 0 { self.random.pick(ATOMICS) } else { kind };
        let reads = !matches!(kind, "STR" | "STLR" | "STADD");
        if !matches!(kind, "LDR" | "LDAR" | "LDAPR") {
            self.row(match data {
                true => format!("ADD {v},W{t},#{value}"),
                false => format!("MOV {v},#{value}"),
            });
        }
        match kind {
            "LDR" | "LDAR" | "LDAPR" => self.row(format!("{kind} {d},[{address}]")),
            "STR" | "STLR" | "STADD" => self.row(format!("{kind} {v},[{address}]")),
            cas if cas.starts_with("CAS") => {
                let expected = self.random.below(2);
                self.row(format!("MOV {d},#{expected}"));
                self.row(format!("{cas} {d},{v},[{address}]"));
            }
            atomic => self.row(format!("{atomic} {v},{d},[{address}]")),
        }
        if reads {
            self.observed.push(format!("X{number}"));
            self.last = Some(number);
        }
        if between == "addr-isb" && address.len() > 1 {
            self.row("ISB".into());
        }
    }
}

impl Generated {
    /// The text for herd7, with the observed registers, or the text for this crate.
    pub fn text(&self, for_herd: bool) -> String {
        let (word, at) = match (self.host, for_herd) {
            (Host::X86, true) => ("X86", ""),
            (Host::X86, false) => ("PTX", "@x86"),
            (Host::AArch64, _) => ("AArch64", ""),
        };
        let mut text = format!("{word} {}\n{{ ", self.name);
        self.variables.iter().for_each(|x| write!(text, "{x}=0; ").expect("a string"));
        if self.host == Host::AArch64 {
            for thread in 0..self.rows.len() {
                for (at, x) in self.variables.iter().enumerate() {
                    write!(text, "{thread}:X{}={x}; ", 20 + at).expect("a string");
                }
            }
        }
        text += "}\n";
        let threads: Vec<String> = (0..self.rows.len()).map(|thread| format!("P{thread}{at}")).collect();
        text += &format!(" {} ;\n", threads.join(" | "));
        let height = self.rows.iter().map(Vec::len).max().unwrap_or_default();
        for row in 0..height {
            let cells = self.rows.iter().map(|rows| rows.get(row).map_or("", String::as_str));
            text += &format!(" {} ;\n", cells.collect::<Vec<_>>().join(" | "));
        }
        if for_herd {
            let registers = self.registers().map(|(thread, register)| format!("{thread}:{register};"));
            let variables = self.variables.iter().map(|x| format!("{x};"));
            text += &format!("locations [{}]\n", registers.chain(variables).collect::<Vec<_>>().join(" "));
        }
        text + &format!("exists ({}=0)\n", self.variables[0])
    }

    /// The registers that are observed, each with its thread.
    pub fn registers(&self) -> impl Iterator<Item = (usize, &str)> {
        self.observed.iter().enumerate().flat_map(|(thread, of)| of.iter().map(move |of| (thread, of.as_str())))
    }
}
