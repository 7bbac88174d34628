use std::time::Instant;
use ptx_atomics_mapping::programs::{self, Op};
use ptx_memory_model::{outcome::Limits, source::{self, ReleaseSequences, Order}, place::Scope};
#[test]
fn count() {
    let all = Op::all();
    println!("{} ops", all.len());
    for n in 2..=3 {
        let mut c = 0;
        let start = Instant::now();
        programs::all(n, &all, &mut |_| c += 1);
        println!("{n}: {c} {:?}", start.elapsed());
        let start = Instant::now();
        let mut i = 0;
        let mut done = 0;
        programs::all(n, &all, &mut |threads| { i += 1; if i % 7 == 0 { done += 1;
            let p = programs::program(&threads.iter().enumerate().map(|(i, t)| (programs::on_one_gpu(i), t.clone())).collect::<Vec<_>>());
            let f = source::search::outcomes(&p, ReleaseSequences::Cpp20, Limits::default());
            assert!(f.race.is_none()); } });
        println!("source {done} {:?}", start.elapsed());
    }
    let small = [Op::Load(Order::Relaxed), Op::Load(Order::Acquire), Op::Load(Order::SeqCst), Op::Store(Order::Relaxed), Op::Store(Order::Release), Op::Store(Order::SeqCst)];
    let mut c = 0;
    let start = Instant::now();
    programs::all(4, &small, &mut |_| c += 1);
    println!("4 small: {c} {:?}", start.elapsed());
    for v in [programs::Variants::Accesses, programs::Variants::Fences, programs::Variants::Rmws] {
        println!("{v:?} {}", programs::shapes(v, 6, Scope::Gpu, &programs::on_one_gpu).len());
    }
}
