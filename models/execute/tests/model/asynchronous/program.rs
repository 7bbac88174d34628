//! Programs made of letters, with their translations to litmus tests and to kernels.

use std::fmt::{Display, Formatter, Write};

use ptx_memory_model::place::Scope;

use super::letters::{LETTERS, named};

/// An operand: a variable, possibly of another CTA, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operand {
    Variable(&'static str, Option<u32>),
    Number(u32),
}

/// An instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Op {
    pub letter: usize,
    pub operands: Vec<Operand>,
    /// Whether it releases or acquires if it can.
    pub is_strong: bool,
    pub scope: Scope,
}

/// A thread, by its CTA, its warp, and its lane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Thread {
    pub spot: [u32; 3],
    pub code: Vec<Op>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    pub name: String,
    pub threads: Vec<Thread>,
}

/// Variables and their initial values. The value of an mbarrier is its arrival count, or 0 if it is not initialized.
pub const BARRIERS: [(&str, u32); 4] = [("full", 1), ("empty", 1), ("bar", 2), ("new", 0)];
pub const SHARED: [(&str, u32); 2] = [("a", 2), ("b", 3)];
pub const GLOBAL: [(&str, u32); 3] = [("x", 5), ("y", 6), ("z", 7)];

fn variable(word: &str) -> Operand {
    let (name, cta) = word.split_once('@').map_or((word, None), |(name, cta)| (name, cta.parse().ok()));
    let mut all = BARRIERS.iter().chain(&SHARED).chain(&GLOBAL);
    let (name, _) = all.find(|(other, _)| *other == name).unwrap_or_else(|| panic!("no variable `{name}`"));
    Operand::Variable(name, cta)
}

impl Op {
    /// Reads an instruction in the syntax of the tables: `wait:full,0`, with a leading `!` if it is relaxed.
    pub fn read(word: &str, scope: Scope) -> Self {
        let (word, is_strong) = word.strip_prefix('!').map_or((word, true), |word| (word, false));
        let (name, operands) = word.split_once(':').unwrap_or((word, ""));
        let operands = operands.split(',').filter(|word| !word.is_empty());
        let operand = |word: &str| word.parse().map_or_else(|_| variable(word), Operand::Number);
        let op = Self { letter: named(name), operands: operands.map(operand).collect(), is_strong, scope };
        assert_eq!(op.operands.len(), LETTERS[op.letter].operands.len(), "{word}");
        op
    }

    /// The lines of the instruction with a number in the program, in a thread.
    fn lines(&self, number: usize, thread: usize) -> Vec<String> {
        let mut lines = Vec::new();
        let mut text = LETTERS[self.letter].text.to_owned();
        let mut space = "shared::cta";
        for (index, operand) in self.operands.iter().enumerate() {
            let written = match operand {
                Operand::Number(number) => number.to_string(),
                Operand::Variable(name, None) => format!("[{name}]"),
                Operand::Variable(name, Some(cta)) => {
                    if index == 0 {
                        space = "shared::cluster";
                    }
                    let register = format!("%m{}", number * 3 + index);
                    lines.push(format!("mapa {register}, {name}, {cta}"));
                    format!("[{register}]")
                }
            };
            text = text.replace(&format!("{{{index}}}"), &written);
        }
        let words = [
            ("{rel}", if self.is_strong { "release" } else { "relaxed" }.to_owned()),
            ("{acq}", if self.is_strong { "acquire" } else { "relaxed" }.to_owned()),
            ("{sc}", self.scope.to_string()),
            ("{s}", space.to_owned()),
            ("{end}", format!("E{thread}")),
            ("#", number.to_string()),
            ("$", (10 + number).to_string()),
        ];
        let text = words.iter().fold(text, |text, (word, by)| text.replace(word, by));
        lines.extend(text.split("; ").map(str::to_owned));
        lines
    }
}

impl Program {
    /// Reads a program in the syntax of the tables: threads separated by `|`, each the digits of its CTA and its warp,
    /// and its instructions.
    pub fn read(name: &str, text: &str) -> Self {
        let parts: Vec<&str> = text.split('|').map(str::trim).collect();
        let scope = if parts.iter().any(|part| !part.starts_with('0')) { Scope::Cluster } else { Scope::Cta };
        let thread = |part: &&str| {
            let mut words = part.split_whitespace();
            let digits = words.next().expect("a place").as_bytes();
            let digit = |at: usize| u32::from(digits[at] - b'0');
            Thread { spot: [digit(0), digit(1), 0], code: words.map(|word| Op::read(word, scope)).collect() }
        };
        Self { name: name.to_owned(), threads: parts.iter().map(thread).collect() }
    }

    /// The number of CTAs, and of threads of each CTA.
    pub fn sizes(&self) -> [u32; 2] {
        let most = |of: fn(&Thread) -> u32| self.threads.iter().map(of).max().unwrap_or(0) + 1;
        let remote =
            |op: &Op| op.operands.iter().any(|operand| matches!(operand, Operand::Variable(_, Some(cta)) if *cta > 0));
        let is_remote = self.threads.iter().any(|thread| thread.code.iter().any(remote));
        [
            most(|thread| thread.spot[0]).max(1 + u32::from(is_remote)),
            most(|thread| thread.spot[1] * 32 + thread.spot[2]),
        ]
    }

    /// The lines of each thread.
    fn lines(&self) -> Vec<Vec<String>> {
        let mut number = 0;
        let mut all = Vec::new();
        for (index, thread) in self.threads.iter().enumerate() {
            let mut own = Vec::new();
            for op in &thread.code {
                own.extend(op.lines(number, index));
                number += 1;
            }
            own.push(format!("E{index}:"));
            all.push(own);
        }
        all
    }

    /// The litmus test.
    pub fn litmus(&self) -> String {
        let mut text = format!("PTX {}\n{{", self.name.replace(|c: char| !c.is_alphanumeric(), "_"));
        for (name, value) in BARRIERS.iter().chain(&SHARED) {
            write!(text, " .shared {name}={value};").expect("text");
        }
        GLOBAL.iter().for_each(|(name, value)| write!(text, " {name}={value};").expect("text"));
        text += " }\n";
        let columns = self.lines();
        let heads =
            self.threads.iter().enumerate().map(|(index, thread)| format!("P{index}@cta {},cluster 0", thread.spot[0]));
        writeln!(text, " {} ;", heads.collect::<Vec<_>>().join(" | ")).expect("text");
        for row in 0..columns.iter().map(Vec::len).max().unwrap_or(0) {
            let cells = columns.iter().map(|column| column.get(row).map_or("", String::as_str));
            writeln!(text, " {} ;", cells.collect::<Vec<_>>().join(" | ")).expect("text");
        }
        text + "exists (true)\n"
    }

    /// The kernel. Each thread first waits for as long as its parameter says, and writes the given registers at its
    /// end.
    pub fn ptx(&self, registers: &[(usize, String)]) -> String {
        let [ctas, threads] = self.sizes();
        let count = self.threads.iter().map(|thread| thread.code.len()).sum::<usize>() + 1;
        let mut text = String::from(".version 8.8\n.target sm_100a\n.address_size 64\n");
        GLOBAL.iter().for_each(|(name, _)| writeln!(text, ".visible .global .align 16 .b64 {name}[2];").expect("text"));
        text += ".visible .entry kernel(.param .u64 results";
        (0..self.threads.len()).for_each(|index| write!(text, ", .param .u32 d{index}").expect("text"));
        write!(
            text,
            ")\n{{\n.reg .b64 r<{count}>, %m<{}>, %s<{count}>, %results;\n.reg .pred %p<{count}>, %is;\n.reg .b32 %place, %own, %left;\n",
            count * 3
        )
        .expect("text");
        BARRIERS.iter().for_each(|(name, _)| writeln!(text, ".shared .align 8 .b64 {name};").expect("text"));
        SHARED.iter().for_each(|(name, _)| writeln!(text, ".shared .align 16 .b64 {name}[2];").expect("text"));
        text += "mov.u32 %own, %tid.x;\nsetp.ne.u32 %is, %own, 0;\n@%is bra READY;\n";
        for (name, value) in SHARED {
            writeln!(text, "st.shared.u64 [{name}], {value};\nst.shared.u64 [{name}+8], 0;").expect("text");
        }
        for (name, count) in BARRIERS.iter().filter(|(_, count)| *count > 0) {
            writeln!(text, "mbarrier.init.shared::cta.b64 [{name}], {count};").expect("text");
        }
        text += "fence.proxy.async;\nREADY:\nbar.sync 0;\n";
        if ctas > 1 {
            text += "barrier.cluster.arrive;\nbarrier.cluster.wait;\n";
        }
        text += "mov.u32 %place, %ctaid.x;\nshl.b32 %place, %place, 8;\nadd.u32 %place, %place, %own;\n";
        for (index, Thread { spot: [cta, warp, lane], .. }) in self.threads.iter().enumerate() {
            let place = cta * 256 + warp * 32 + lane;
            writeln!(text, "setp.eq.u32 %is, %place, {place};\n@%is bra T{index};").expect("text");
        }
        text += "ret;\n";
        for (index, lines) in self.lines().iter().enumerate() {
            writeln!(text, "T{index}:\nld.param.u64 %results, [results];\nld.param.u32 %left, [d{index}];")
                .expect("text");
            let own = || registers.iter().enumerate().filter(|(_, (thread, _))| *thread == index);
            own().for_each(|(_, (_, name))| writeln!(text, "mov.u64 {name}, 0;").expect("text"));
            writeln!(
                text,
                "W{index}:\nsetp.eq.u32 %is, %left, 0;\n@%is bra B{index};\nsub.u32 %left, %left, 1;\nbra W{index};\nB{index}:"
            )
            .expect("text");
            for line in lines {
                let line = line.replace("mapa ", "mapa.shared::cluster.u64 ").replace("bar.sync", "barrier.sync");
                let end = if line.ends_with(':') { "" } else { ";" };
                writeln!(text, "{line}{end}").expect("text");
            }
            own().for_each(|(at, (_, name))| {
                writeln!(text, "st.global.u64 [%results+{}], {name};", at * 8).expect("text")
            });
            text += "ret;\n";
        }
        debug_assert!(threads <= 256);
        text + "}\n"
    }
}

impl Display for Program {
    fn fmt(&self, f: &mut Formatter<'_>) -> std::fmt::Result {
        writeln!(f, "{}", self.name)?;
        for (Thread { spot, .. }, lines) in self.threads.iter().zip(self.lines()) {
            writeln!(f, "  CTA {} warp {} lane {}:", spot[0], spot[1], spot[2])?;
            lines.iter().filter(|line| !line.ends_with(':')).try_for_each(|line| writeln!(f, "    {line}"))?;
        }
        Ok(())
    }
}
