//! Measures the time to find all outcomes: `cargo bench -p ptx-memory-model`.

use std::{fs, hint::black_box, path::Path};

use criterion::{Criterion, criterion_group, criterion_main};
use ptx_memory_model::{
    litmus::Litmus,
    outcome::{Layout, Limits},
    place::{Place, Scope},
    program::{Address, Location, Operand, Register, RegisterDeclaration, Type, Variable},
    ptx::{Conventions, Instruction, Program, Sem, Semantics, Thread, search},
    source::{self, ReleaseSequences, read},
};

/// `threads` threads, each in its own CTA, of `length` accesses: stores and loads in turn, over the locations in turn.
fn grid(threads: usize, length: usize, locations: usize, store: Sem, load: Sem) -> Program {
    let thread = |thread: usize| {
        let mut registers = Vec::new();
        let mut instruction = |index: usize| {
            let a = Address { base: Operand::Address(Location(((thread + index) % locations) as u16)), offset: 0 };
            if (thread / 2 + index).is_multiple_of(2) {
                let b = Operand::Immediate((thread * length + index + 1) as u64);
                return Instruction::Store { a, b, ty: Type::U64, access: Semantics::new(store, Scope::Gpu) };
            }
            let d = Register(registers.len() as u16);
            registers.push(RegisterDeclaration { name: format!("r{index}"), initial: 0, observed: true });
            Instruction::Load { d, a, ty: Type::U64, access: Semantics::new(load, Scope::Gpu) }
        };
        let code = (0..length).map(|index| instruction(index).into()).collect();
        Thread { place: Place { cta: thread as u32, ..Place::default() }, registers, labels: Vec::new(), code }
    };
    let variable = |index| Variable::new(format!("x{index}"), 0);
    Program { locations: (0..locations).map(variable).collect(), threads: (0..threads).map(thread).collect() }
}

fn count(program: &Program) -> usize {
    let outcomes = search::outcomes(black_box(program), Conventions::MANUAL, Limits::default());
    assert_eq!(outcomes.unknown, None);
    outcomes.states.len()
}

fn bench(c: &mut Criterion) {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["MP", "SB-sc"] {
        let text = fs::read_to_string(root.join("litmus").join(name).with_extension("litmus"));
        let text = text.expect("a test of ours");
        let litmus = Litmus::read(&text).expect("a test of ours");
        c.bench_function(name, |b| b.iter(|| count(&litmus.program)));
        c.bench_function(&format!("{name}, read"), |b| b.iter(|| Litmus::read(black_box(&text)).is_ok()));
    }
    let semantics = [
        ("weak", Sem::Weak, Sem::Weak),
        ("relaxed", Sem::Relaxed, Sem::Relaxed),
        ("release-acquire", Sem::Release, Sem::Acquire),
    ];
    for (threads, length, locations) in [(3, 4, 2), (4, 3, 2), (4, 4, 4), (4, 4, 2)] {
        for (name, store, load) in semantics {
            let program = grid(threads, length, locations, store, load);
            println!("{} outcomes", count(&program));
            let mut group = c.benchmark_group(format!("{threads}x{length}, {locations} locations"));
            group.sample_size(10).bench_function(name, |b| b.iter(|| count(&program)));
        }
    }
    let folder = root.join("../../../shared/litmus/dat3m");
    let Ok(table) = fs::read_to_string(folder.join("expected.csv")) else { return };
    let read = |line: &str| Litmus::read(&fs::read_to_string(folder.join(line.rsplit_once(',')?.0)).ok()?).ok();
    let tests: Vec<Litmus> = table.lines().skip(1).filter_map(read).collect();
    c.bench_function(&format!("Dat3M's {} tests", tests.len()), |b| {
        b.iter(|| {
            for litmus in &tests {
                let outcomes = search::outcomes(&litmus.program, Conventions::MANUAL, Limits::default());
                black_box(outcomes.holds(&litmus.condition, &Layout::new(&litmus.program)));
            }
        })
    });
}

fn bench_sources(c: &mut Criterion) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../shared/litmus/mapping-sources.txt");
    let Some(sources) = fs::read_to_string(path).ok().and_then(|text| read::sources(&text).ok()) else { return };
    c.bench_function(&format!("{} source programs", sources.len()), |b| {
        b.iter(|| {
            for source in &sources {
                black_box(source::search::outcomes(&source.program, ReleaseSequences::Cpp20, Limits::default()));
            }
        })
    });
}

criterion_group!(benches, bench, bench_sources);
criterion_main!(benches);
