//! Random programs by seed: correct idioms, idioms with a few random changes, and programs without an idiom.

use ptx_memory_model::place::Scope;
use testing::random::Random;

use super::{
    letters::{ALIKE, LETTERS, named},
    program::{BARRIERS, GLOBAL, Op, Operand, Program, SHARED, Thread},
};

/// Idioms that are correct, or nearly so: a name, and a program in the syntax of [`Program::read`].
#[rustfmt::skip]
pub const IDIOMS: [(&str, &str); 49] = [
    ("copy in, one thread", "00 expect:full,16 in:a,x,full wait:full,0 ld:a"),
    ("copy in", "00 expect:full,16 in:a,x,full | 01 wait:full,0 ld:a"),
    ("copy in, two readers", "00 expect:full,16 in:a,x,full | 01 wait:full,0 ld:a | 02 wait:full,0 st:b ld:a"),
    ("two copies in", "00 expect:full,32 in:a,x,full in:b,y,full | 01 wait:full,0 ld:a ld:b"),
    ("two mbarriers", "00 fill:a,x,full fill:b,y,empty wait:full,0 ld:a wait:empty,0 ld:b"),
    ("bytes expected apart", "00 tx:full,16 in:a,x,full arrive:full | 01 wait:full,0 ld:a"),
    ("bytes expected by another", "00 in:a,x,full | 01 expect:full,16 wait:full,0 ld:a"),
    ("bytes completed by hand", "00 expect:full,16 st:a complete:full,16 | 01 wait:full,0 ld:b"),
    ("overwrite copied data", "00 expect:full,16 in:a,x,full | 01 wait:full,0 ld:a st:a"),
    ("copy in twice", "00 fill:a,x,full wait:full,0 fill:a,y,full wait:full,1 ld:a"),
    ("copy in twice, with a read", "00 fill:a,x,full wait:full,0 ld:a proxycta fill:a,y,full wait:full,1 ld:a"),
    ("refill", "00 ld:a proxycta arrive:empty | 01 wait:empty,0 fill:a,x,full"),
    ("refill, and read", "00 ld:a proxy arrive:empty | 01 wait:empty,0 fill:a,x,full wait:full,0 ld:a"),
    ("fill, read, refill", "00 fill:a,x,full wait:empty,0 fill:a,y,full | 01 wait:full,0 ld:a proxycta arrive:empty wait:full,1 ld:a"),
    ("refill, fence of the copier", "00 ld:a arrive:empty | 01 wait:empty,0 proxycta fill:a,x,full"),
    ("publish and copy in", "00 stg:x proxy expect:full,16 in:a,x,full wait:full,0 ld:a"),
    ("publish, copy by another", "00 stg:x proxyglobal arrive:empty | 01 wait:empty,0 fill:a,x,full wait:full,0 ld:a"),
    ("copy out", "00 st:a proxycta out:y,a commit bulk:0 ldg:y"),
    ("copy out by another thread", "00 st:a proxycta arrive:empty | 01 wait:empty,0 out:y,a commit bulk:0 ldg:y"),
    ("copy out after a barrier", "00 st:a proxycta bar | 01 bar out:y,a commit bulkread:0"),
    ("copy out and overwrite", "00 out:y,a commit bulkread:0 st:a"),
    ("copy out, tell another", "00 out:y,a commit bulk:0 arrive:empty | 01 wait:empty,0 ldg:y st:a"),
    ("copy out, let another overwrite", "00 out:y,a commit bulkread:0 bar | 01 bar st:a"),
    ("two copies out", "00 outall:y,a outall:z,b bulkread:1 st:a bulk:0 st:b ldg:z"),
    ("two copies out, both read", "00 outall:y,a outall:z,b bulk:1 ldg:y bulk:0 ldg:z"),
    ("one group of two", "00 out:y,a out:z,b commit bulk:0 ldg:y st:b"),
    ("copy out over itself", "00 outall:y,a bulk:0 outall:y,b bulk:0 ldg:y"),
    ("in and out", "00 fill:a,x,full wait:full,0 outall:y,a bulk:0 ldg:y"),
    ("out and in", "00 outall:y,a bulk:0 fill:b,y,full wait:full,0 ld:b"),
    ("out and in again", "00 outall:y,a bulkread:0 fill:a,x,full wait:full,0 ld:a"),
    ("reduce", "00 st:a proxycta reduceout:y,a commit bulk:0 ldg:y"),
    ("reduce by two", "00 reduceout:y,a commit bulk:0 | 01 reduceout:y,b commit bulk:0"),
    ("reduce, add, read", "00 reduceout:y,a commit bulk:0 arrive:empty | 01 addg:y wait:empty,0 ldg:y"),
    ("copy of a thread", "00 cp:a,x cpcommit cpwait:0 ld:a"),
    ("copy of a thread, read by another", "00 cp:a,x cpcommit cpwait:0 bar | 01 bar ld:a"),
    ("copies of a thread in two groups", "00 cpgroup:a,x cpgroup:b,y cpwait:1 ld:a cpwait:0 ld:b"),
    ("copies of a thread, all", "00 cp:a,x cpcommit cp:b,y cpall ld:a ld:b"),
    ("copies of a thread arrive", "00 cp:a,x cparrive:full | 01 wait:full,0 ld:a"),
    ("copies of a thread arrive besides", "00 cp:a,x cparriveinc:full arrive:full | 01 wait:full,0 ld:a"),
    ("a thread's copy is overwritten", "00 ld:a cp:a,x cpall st:a | 01 ldg:x"),
    ("copy of a thread, copied out", "00 cp:a,x cpall proxycta outall:y,a bulk:0 ldg:y"),
    ("arrive and wait", "00 st:a arrive:full | 01 wait:full,0 ld:a"),
    ("arrive and test", "00 st:a arrive:full | 01 test:full,0 ld:a"),
    ("arrive and wait by a state", "00 st:a sync:bar ld:b | 01 st:b sync:bar ld:a"),
    ("two phases", "00 st:a arrive:full wait:empty,0 st:a arrive:full | 01 wait:full,0 ld:a arrive:empty wait:full,1 ld:a"),
    ("fences about relaxed ones", "00 st:a fence !arrive:full | 01 !wait:full,0 fence ld:a"),
    ("drop", "00 st:a drop:bar | 01 arrive:bar wait:bar,0 ld:a arrive:bar wait:bar,1"),
    ("make", "00 init:new,1 bar arrive:new | 01 bar wait:new,0"),
    ("make, copy in, end", "00 init:new,1 fenceinit expect:new,16 in:a,x,new bar wait:new,0 ld:a bar inval:new | 01 bar wait:new,0 ld:a bar"),
];

/// Idioms of two CTAs of a cluster.
#[rustfmt::skip]
pub const OF_CLUSTERS: [(&str, &str); 15] = [
    ("remote arrival", "00 st:a@1 arrive:full@1 | 10 wait:full,0 ld:a"),
    ("remote arrival, back", "00 st:a@1 arrive:full@1 wait:empty,0 ld:a | 10 wait:full,0 ld:a st:a@0 arrive:empty@0"),
    ("remote store", "00 store:a@1,full@1 | 10 expect:full,8 wait:full,0 ld:a"),
    ("remote stores", "00 store:a@1,full@1 store:b@1,full@1 | 10 expect:full,16 wait:full,0 ld:a ld:b"),
    ("own store", "00 expect:full,8 store:a,full wait:full,0 ld:a | 10 ld:a"),
    ("remote store after a read", "00 wait:empty,0 store:a@1,full@1 | 10 expect:full,8 ld:a proxy arrive:empty@0 wait:full,0 ld:a"),
    ("remote additions", "00 storeadd:a@1,full@1 | 01 storeadd:a@1,full@1 | 10 expect:full,16 wait:full,0 ld:a"),
    ("remote addition, atomic operation", "00 storeadd:a@1,full@1 | 10 expect:full,8 add:a wait:full,0 ld:a"),
    ("move", "00 st:a proxycta move:b@1,a,full@1 | 10 expect:full,16 wait:full,0 ld:b"),
    ("move after a read", "00 wait:empty,0 move:b@1,a,full@1 | 10 ld:b proxycta arrive:empty@0 expect:full,16 wait:full,0 ld:b"),
    ("move and reduce", "00 reduce:b@1,a,full@1 | 10 expect:full,16 wait:full,0 ld:b"),
    ("move on", "00 fill:a,x,full wait:full,0 move:b@1,a,empty@1 | 10 expect:empty,16 wait:empty,0 ld:b"),
    ("one-sided fences", "00 st:a@1 proxyrelease arrive:full@1 | 10 wait:full,0 proxyacquire outall:y,a bulk:0"),
    ("make for another CTA", "00 init:new,1 fenceinit clusterr wait:new,0 | 10 clusterr arrive:new@0"),
    ("make for another CTA's copy", "00 init:new,1 fenceinit cluster expect:new,8 wait:new,0 ld:a | 10 cluster store:a@0,new@0"),
];

/// Programs for which the machine or the model was once wrong: a name, and the program.
#[rustfmt::skip]
pub const ONCE_WRONG: [(&str, &str); 14] = [
    ("a proxy fence is for its state space", "00 addg:y proxycta out:y,a"),
    ("a proxy fence is for its state space, shared", "00 st:a proxyglobal out:y,a"),
    ("an acquire half alone", "00 st:a@1 arrive:full@1 | 10 wait:full,0 proxyacquire out:y,a"),
    ("a release half alone", "00 st:a@1 proxyrelease arrive:full@1 | 10 wait:full,0 out:y,a"),
    ("a half releases no memory", "00 st:a proxyrelease !arrive:full | 01 !wait:full,0 fence ld:a"),
    ("overwritten data of a copy is not read", "00 fill:a,x,full | 01 st:a | 02 wait:full,0 ld:a"),
    ("a copy overwrites released data", "00 st:b releases:a | 01 acquires:a proxycta in:a,x,full | 02 expect:full,16 wait:full,0 acquires:a ld:b"),
    ("a wait looks at the mbarrier first", "00 init:new,1 arrive:new | 01 wait:new,0"),
    ("a copy of an mbarrier is in no group", "00 move:b,a,full commit bulk:0 arrive:empty | 01 wait:empty,0 st:a"),
    ("memory that a reduction reads is not a source", "00 reduceout:y,a commit bulkread:0 arrive:empty | 01 wait:empty,0 ldg:y"),
    ("a copy uses its mbarrier until it completes", "00 expect:full,32 in:a,x,full in:b,y,full | 01 wait:full,0 inval:full"),
    ("an arrival of copies hands on nothing else", "00 add:a cp:a,x cparrive:full | 01 wait:full,0 ld:a"),
    ("an arrival of copies hands on no store", "00 st:a cp:a,x cparrive:full | 01 wait:full,0 ld:a"),
    ("a copy hands on nothing else", "00 st:a proxy in:a,x,full | 01 expect:full,16 wait:full,0 ld:a"),
];

/// The maximum number of instructions of a program without an idiom.
const MOST: usize = 7;

/// The program of a seed.
pub fn program(seed: u64) -> Program {
    let mut random = Random(seed);
    let kind = random.below(8);
    let mut program = match kind {
        0 => any(&mut random),
        _ => {
            let (name, text) = if random.below(4) > 0 { random.pick(&IDIOMS) } else { random.pick(&OF_CLUSTERS) };
            Program::read(name, text)
        }
    };
    program.name = format!("{} (seed {seed})", program.name);
    if random.chance(4) {
        near(&mut program);
    }
    let changes = [0, 1, 1, 1, 2, 2, 3, 1][kind];
    (0..changes).for_each(|_| change(&mut random, &mut program));
    // The result of a copy that overlaps itself is undefined.
    for op in program.threads.iter_mut().flat_map(|thread| &mut thread.code) {
        if let [Operand::Variable(to, _), Operand::Variable(from, _), ..] = &mut op.operands[..]
            && to == from
        {
            *from = if *to == "a" { "b" } else { "a" };
        }
    }
    program
}

/// Moves threads of one CTA into one warp.
fn near(program: &mut Program) {
    let mut lanes = [0; 2];
    for thread in &mut program.threads {
        let lane = &mut lanes[thread.spot[0] as usize];
        thread.spot = [thread.spot[0], 0, *lane];
        *lane += 1;
    }
}

fn any(random: &mut Random) -> Program {
    let ctas = if random.chance(3) { 2 } else { 1 };
    let mut program = Program { name: "none".into(), threads: Vec::new() };
    for index in 0..1 + random.below(3) as u32 {
        program.threads.push(Thread { spot: [if index == 0 { 0 } else { index % ctas }, index, 0], code: Vec::new() });
    }
    for _ in 0..2 + random.below(MOST - 1) {
        let op = any_op(random, &program);
        let thread = random.below(program.threads.len());
        program.threads[thread].code.push(op);
    }
    program
}

fn any_op(random: &mut Random, program: &Program) -> Op {
    let letter = random.below(LETTERS.len());
    let is_cluster = program.sizes()[0] > 1;
    let scope = if is_cluster { Scope::Cluster } else { Scope::Cta };
    let operand = |kind: char| operand(random, kind, is_cluster);
    Op { letter, operands: LETTERS[letter].operands.chars().map(operand).collect(), is_strong: true, scope }
}

fn operand(random: &mut Random, kind: char, is_cluster: bool) -> Operand {
    let cta = |random: &mut Random| (is_cluster && random.chance(2)).then(|| random.below(2) as u32);
    match kind {
        'd' => Operand::Variable(random.pick(&SHARED).0, None),
        'D' => Operand::Variable(random.pick(&SHARED).0, cta(random)),
        'g' => Operand::Variable(random.pick(&GLOBAL).0, None),
        'm' => Operand::Variable(random.pick(&BARRIERS).0, None),
        'M' => Operand::Variable(random.pick(&BARRIERS).0, cta(random)),
        'n' => Operand::Number(random.below(2) as u32),
        'p' => Operand::Number(random.below(2) as u32),
        _ => Operand::Number(random.pick(&[8, 16, 32])),
    }
}

/// Makes a random change.
fn change(random: &mut Random, program: &mut Program) {
    let threads: Vec<usize> = (0..program.threads.len()).filter(|at| !program.threads[*at].code.is_empty()).collect();
    if threads.is_empty() {
        return;
    }
    let other = any_op(random, program);
    let is_cluster = program.sizes()[0] > 1;
    let thread = random.pick(&threads);
    let target = random.below(program.threads.len());
    let code = &mut program.threads[thread].code;
    let at = random.below(code.len());
    match random.below(12) {
        0..4 => drop(code.remove(at)),
        4 if at + 1 < code.len() => code.swap(at, at + 1),
        5 => code[at].is_strong ^= true,
        6 => code[at].scope = random.pick(&[Scope::Cta, Scope::Cluster]),
        7 => code.insert(at, other),
        8 => {
            let op = code.remove(at);
            let code = &mut program.threads[target].code;
            code.insert(random.below(code.len() + 1), op);
        }
        9 if !code[at].operands.is_empty() => {
            let kinds = LETTERS[code[at].letter].operands;
            let index = random.below(kinds.len());
            code[at].operands[index] = operand(random, kinds.chars().nth(index).unwrap_or('n'), is_cluster);
        }
        _ => substitute(random, &mut code[at], is_cluster),
    }
}

/// Replaces a letter by a similar letter.
fn substitute(random: &mut Random, op: &mut Op, is_cluster: bool) {
    let name = LETTERS[op.letter].name;
    let alike: Vec<&&[&str]> = ALIKE.iter().filter(|list| list.contains(&name)).collect();
    if alike.is_empty() {
        return;
    }
    let list = random.pick(&alike);
    op.letter = named(random.pick(list));
    let kinds = LETTERS[op.letter].operands;
    op.operands.truncate(kinds.len());
    for (index, kind) in kinds.chars().enumerate() {
        match op.operands.get_mut(index) {
            // These operands take no variable of another CTA.
            Some(Operand::Variable(_, cta)) if matches!(kind, 'd' | 'm' | 'g') => *cta = None,
            Some(_) => {}
            None => op.operands.push(operand(random, kind, is_cluster)),
        }
    }
}
