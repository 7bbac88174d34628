//! Random programs by seed: the shapes of known litmus tests with random orderings, and programs without a shape.

use ptx_memory_model::{
    place::Scope,
    program::AtomOp,
    ptx::{FenceSem, Sem},
};
use testing::random::Random;

use crate::program::{Case, Home, Op, Order, REGISTERS, Spot, Thread, Val};

/// The accesses of each thread: `W` is a write and `R` a read of a variable, `U` is an update, and `D` a `red`.
pub const SHAPES: [(&str, &str); 29] = [
    ("MP", "W0 W1|R1 R0"),
    ("MP", "W0 W1|R1 R0"),
    ("SB", "W0 R1|W1 R0"),
    ("LB", "R0 W1|R1 W0"),
    ("S", "W0 W1|R1 W0"),
    ("R", "W0 W1|W1 R0"),
    ("2+2W", "W0 W1|W1 W0"),
    ("WRC", "W0|R0 W1|R1 R0"),
    ("ISA2", "W0 W1|R1 W2|R2 R0"),
    ("RWC", "W0|R0 R1|W1 R0"),
    ("WWC", "W0|R0 W1|R1 W0"),
    ("IRIW", "W0|W1|R0 R1|R1 R0"),
    ("Z6.3", "W0 W1|W1 W2|R2 R0"),
    ("3.SB", "W0 R1|W1 R2|W2 R0"),
    ("CoRR", "W0|R0 R0"),
    ("CoWR", "W0 R0|W0"),
    ("CoRW", "R0 W0|W0"),
    ("CoRR2", "W0|W0|R0 R0|R0 R0"),
    ("chain", "W0 W1|U1|R1 R0"),
    ("red", "W0 W1|D1 R0"),
    ("red in a chain", "W0 W1|D1|R1 R0"),
    ("ordered chain", "W0 W1 W2|R2 U1|R1 R0"),
    ("chain2", "W0 U1|U1 R0|U1 W0"),
    ("release twice", "W0 W1 W1|R1 R0"),
    ("acquire twice", "W0 W1|R1 R1 R0"),
    ("observe", "W0|R0 W1|R1 R0"),
    ("observe2", "W0|W0|R0 W1|R1 W0"),
    ("overwrite", "W0 W1|W1|R1 R0"),
    ("lock", "U1 W0 W1|U1 R0 W0 W1"),
];

const SCOPES: [Scope; 4] = [Scope::Cta, Scope::Cluster, Scope::Gpu, Scope::Sys];

struct Generator {
    random: Random,
    places: Vec<Home>,
    /// For each variable, whether it is data. Most accesses of data are weak.
    data: Vec<bool>,
    /// A scope that includes all threads, and in how many of ten cases it is chosen.
    wide_enough: Scope,
    care: usize,
    written: u64,
}

impl Generator {
    fn scope(&mut self) -> Scope {
        if self.random.below(10) < self.care {
            return if self.random.chance(3) { Scope::Sys } else { self.wide_enough };
        }
        self.random.pick(&SCOPES)
    }

    fn order(&mut self, at: usize, writes: bool) -> Order {
        let strong = if writes { Sem::Release } else { Sem::Acquire };
        let sems = match self.data[at] {
            true => [Sem::Weak, Sem::Weak, Sem::Weak, Sem::Weak, Sem::Relaxed, strong],
            false => [Sem::Weak, Sem::Relaxed, Sem::Relaxed, strong, strong, Sem::Volatile],
        };
        let sem = self.random.pick(&sems);
        let scope = if sem == Sem::Volatile { Scope::Sys } else { self.scope() };
        let may_mmio = self.places[at].shared.is_none() && matches!(sem, Sem::Relaxed | Sem::Acquire | Sem::Release);
        let mmio = may_mmio && self.random.chance(12);
        Order { sem, scope: if mmio { Scope::Sys } else { scope }, mmio }
    }

    /// A value that usually no other instruction writes.
    fn value(&mut self) -> u64 {
        self.written += 1;
        if self.random.chance(10) { 1 } else { self.written }
    }

    fn read(&mut self, thread: &mut Thread, at: usize) {
        if self.places[at].bytes > 2 && self.random.chance(8) {
            return self.update(thread, at, Some(Val::Number(0)));
        }
        let d = thread.registers;
        thread.registers += 1;
        let order = self.order(at, false);
        thread.code.push(Op::Load { d, at, order, wide: false });
        // A branch makes the following instructions depend on the value.
        let chance = if self.data[at] { 16 } else { 3 };
        if self.random.chance(chance) {
            let value =
                if self.random.chance(6) { 0 } else { 1 + self.random.below(self.written.max(1) as usize) as u64 };
            thread.code.push(Op::Unless(d, value));
        }
    }

    fn write(&mut self, thread: &mut Thread, at: usize) {
        if self.places[at].bytes > 1 && self.random.chance(6) {
            return self.update(thread, at, None);
        }
        let order = self.order(at, true);
        let value = match thread.registers > 0 && self.random.chance(8) {
            true => Val::Reg(self.random.below(thread.registers)),
            false => Val::Number(self.value()),
        };
        thread.code.push(Op::Store { at, value, order, wide: false });
    }

    /// An update. An update that adds nothing is a read.
    fn update(&mut self, thread: &mut Thread, at: usize, adds: Option<Val>) {
        let narrow = self.places[at].bytes == 2;
        let ops = [AtomOp::Add, AtomOp::Exch, AtomOp::Cas, AtomOp::Or, AtomOp::Max, AtomOp::Cas];
        let op = match (narrow, adds) {
            (true, _) => AtomOp::Cas,
            (_, Some(_)) => AtomOp::Add,
            _ => self.random.pick(&ops),
        };
        let is_red = !matches!(op, AtomOp::Exch | AtomOp::Cas) && self.random.chance(3);
        let sem = match is_red {
            true => self.random.pick(&[Sem::Relaxed, Sem::Release]),
            false => self.random.pick(&[Sem::Relaxed, Sem::Acquire, Sem::Release, Sem::AcqRel]),
        };
        let b = match op {
            AtomOp::Cas => Val::Number(self.random.below(2) as u64 * (1 + self.random.below(3)) as u64),
            _ => adds.unwrap_or(Val::Number(self.value())),
        };
        let d = (!is_red).then_some(thread.registers);
        thread.registers += usize::from(!is_red);
        let c = if op == AtomOp::Cas { self.value() } else { 0 };
        let order = Order { sem, scope: self.scope(), mmio: false };
        thread.code.push(Op::Rmw { op, d, at, b, c, order });
    }

    /// A `red`. The final value shows the value that it read.
    fn reduce(&mut self, thread: &mut Thread, at: usize) {
        let order = Order { sem: self.random.pick(&[Sem::Relaxed, Sem::Release]), scope: self.scope(), mmio: false };
        let b = Val::Number(16 + self.value());
        thread.code.push(Op::Rmw { op: AtomOp::Add, d: None, at, b, c: 0, order });
        if self.random.chance(2) {
            thread.code.push(self.fence());
        }
    }

    fn fence(&mut self) -> Op {
        // A fence may have another scope than the accesses near it.
        let scope = if self.random.chance(3) { self.random.pick(&SCOPES) } else { self.scope() };
        match self.random.below(8) {
            0 => Op::Membar(if scope == Scope::Cluster { Scope::Gpu } else { scope }),
            1..4 => Op::Fence(FenceSem::Sc, scope),
            4..6 => Op::Fence(FenceSem::AcqRel, scope),
            6 => Op::Fence(FenceSem::Acquire, scope),
            _ => Op::Fence(FenceSem::Release, scope),
        }
    }

    /// An access of a variable and the next variable.
    fn wide(&mut self, thread: &mut Thread, may_be_strong: bool) {
        let writes = self.random.chance(2);
        let order = match may_be_strong {
            true => self.order(0, writes),
            false => Order { sem: Sem::Weak, scope: Scope::Sys, mmio: false },
        };
        if writes {
            let value = self.value() << (self.places[0].bytes * 8) | self.value();
            thread.code.push(Op::Store { at: 0, value: Val::Number(value), order, wide: true });
        } else {
            thread.code.push(Op::Load { d: thread.registers, at: 0, order, wide: true });
            thread.registers += 2;
        }
    }
}

/// The positions of threads: all in one warp, in one CTA, in one cluster, or anywhere.
fn spots(random: &mut Random, count: usize) -> Vec<Spot> {
    let kind = random.below(6);
    let mut spots: Vec<Spot> = Vec::new();
    for _ in 0..count {
        let cluster = if kind >= 4 { random.below(2) as u32 } else { 0 };
        let cta = if kind >= 2 { random.below(2) as u32 } else { 0 };
        let warp = if kind == 1 || kind == 3 { random.below(2) as u32 } else { 0 };
        let mut spot = Spot { cluster, cta, warp, lane: 0 };
        while spots.contains(&spot) {
            spot.lane += 1;
        }
        spots.push(spot);
    }
    // Cluster and CTA numbers have no gaps.
    for at in 0..count {
        let all = spots.clone();
        let spot = &mut spots[at];
        if all.iter().all(|other| other.cluster > 0) {
            spot.cluster = 0;
        }
        if all.iter().all(|other| other.cta > 0) {
            spot.cta = 0;
        }
    }
    spots
}

/// The narrowest scope that contains all threads.
fn reach(spots: &[Spot]) -> Scope {
    let all = |same: &dyn Fn(Spot, Spot) -> bool| spots.iter().all(|other| same(spots[0], *other));
    match () {
        () if all(&Spot::same_cta) => Scope::Cta,
        () if all(&|a, b| a.cluster == b.cluster) => Scope::Cluster,
        () => Scope::Gpu,
    }
}

fn places(random: &mut Random, spots: &[Spot], count: usize, wide: bool) -> Vec<Home> {
    let scope = reach(spots);
    let bytes = random.pick(&[4, 4, 4, 8, 2, 1]);
    (0..count)
        .map(|index| {
            let owner = random.pick(spots);
            let shared = (scope < Scope::Gpu && random.chance(3)).then_some((owner.cluster, owner.cta));
            match wide {
                true if index < 2 => {
                    let bytes = random.pick(&[4, 4, 2, 1]);
                    Home { bytes, shared: None, offset: index as u32 }
                }
                _ => {
                    let bytes = if random.chance(6) { random.pick(&[1, 2, 4, 8]) } else { bytes };
                    Home { bytes, shared, offset: 16 * (index as u32 + 1) }
                }
            }
        })
        .collect()
}

/// The program of a seed.
pub fn program(seed: u64) -> Case {
    let mut random = Random(seed);
    let wide = random.chance(8);
    let shape = random.below(3);
    let (name, text) = if shape > 0 { random.pick(&SHAPES) } else { ("none", "") };
    let parts: Vec<&str> = text.split('|').collect();
    let count = if shape > 0 { parts.len() } else { 2 + random.below(3) };
    let spots = spots(&mut random, count);
    let variables = if shape > 0 { 3 } else { 1 + random.below(4) }.max(if wide { 2 } else { 1 });
    let mut places = places(&mut random, &spots, variables, wide);
    if wide {
        // The two variables are the halves of a wide access.
        places[1] = Home { offset: u32::from(places[0].bytes), ..places[0] };
    }
    let data = (0..variables).map(|index| if shape > 0 { index == 0 } else { index % 2 == 1 } && !random.chance(4));
    let data = data.collect();
    let care = random.pick(&[10, 9, 7, 4]);
    let wide_enough = reach(&spots);
    let mut of = Generator { random, places, data, wide_enough, care, written: 0 };
    let wide_thread = of.random.below(count);
    let mut budget = 7usize;
    let mut threads = Vec::new();
    for (index, spot) in spots.iter().enumerate() {
        let mut thread = Thread { spot: *spot, code: Vec::new(), registers: 0 };
        let steps: Vec<(char, usize)> = match shape {
            0 => (0..(1 + of.random.below(4)).min(budget))
                .map(|_| (of.random.pick(&['W', 'W', 'R', 'R', 'U']), of.random.below(variables)))
                .collect(),
            _ => parts[index]
                .split(' ')
                .map(|step| (step.chars().next().unwrap_or('R'), usize::from(step.as_bytes()[1] - b'0')))
                .collect(),
        };
        budget = budget.saturating_sub(steps.len());
        let fences = of.random.below(3);
        for (number, (kind, at)) in steps.into_iter().enumerate() {
            if number > 0 && of.random.below(3) < fences {
                thread.code.push(of.fence());
            }
            if wide && at < 2 && of.random.chance(3) && thread.registers + 4 < REGISTERS {
                of.wide(&mut thread, index == wide_thread);
                continue;
            }
            match kind {
                'W' => of.write(&mut thread, at),
                'U' if of.places[at].bytes > 1 => of.update(&mut thread, at, None),
                'D' if of.places[at].bytes > 2 => of.reduce(&mut thread, at),
                _ => of.read(&mut thread, at),
            }
        }
        threads.push(thread);
    }
    let mut case = Case { name: format!("{name} (seed {seed})"), threads, places: of.places.clone() };
    barriers(&mut of.random, &mut case);
    case
}

/// Adds a barrier, at random positions, to threads that can execute it together.
fn barriers(random: &mut Random, case: &mut Case) {
    if !random.chance(3) {
        return;
    }
    let kind = random.below(5);
    let leader = case.threads[random.below(case.threads.len())].spot;
    let members: Vec<usize> = (0..case.threads.len())
        .filter(|index| {
            let spot = case.threads[*index].spot;
            match kind {
                0 | 1 | 4 => spot.same_cta(leader),
                2 => spot.same_cta(leader) && spot.warp == leader.warp,
                _ => spot.cluster == leader.cluster,
            }
        })
        .collect();
    let spots: Vec<Spot> = members.iter().map(|index| case.threads[*index].spot).collect();
    let apart = spots.iter().all(|a| spots.iter().filter(|b| b.warp == a.warp).count() == 1);
    let is_relaxed = random.chance(4);
    let (ctas, _) = case.sizes();
    // At least one thread must wait at a counted barrier.
    let waiter = random.pick(&members);
    for index in members {
        let code = &mut case.threads[index].code;
        let at = random.below(code.len() + 1);
        let guarded = code[..at].iter().any(|op| matches!(op, Op::Unless(..)));
        match kind {
            4 if apart && !guarded => code.insert(at, Op::Counted { waits: index == waiter || random.chance(2) }),
            0 | 1 | 4 => code.insert(at, Op::Bar),
            2 => code.insert(at, Op::Warp),
            _ if ctas > 1 || random.chance(2) => {
                let after = at + random.below(code.len() + 1 - at);
                let guarded = code[..after].iter().any(|op| matches!(op, Op::Unless(..)));
                if !guarded {
                    code.insert(after, Op::ClusterWait);
                    code.insert(at, Op::ClusterArrive { relaxed: is_relaxed });
                }
            }
            _ => {}
        }
    }
}
