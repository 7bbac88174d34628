use ptx_memory_model::{
    litmus::Litmus,
    outcome::*,
    ptx::{self, Conventions},
};
fn main() {
    for file in std::env::args().skip(1) {
        let text = std::fs::read_to_string(&file).unwrap();
        let litmus = match Litmus::read(&text) {
            Ok(l) => l,
            Err(e) => {
                println!("{file}:{e}");
                continue;
            }
        };
        eprint!("{file} ");
        let t = std::time::Instant::now();
        let dat3m = std::env::var("DAT3M").is_ok();
        let o = ptx::search::outcomes(
            &litmus.program,
            if dat3m { Conventions::DAT3M } else { Conventions::MANUAL },
            Limits::default(),
        );
        eprintln!(
            "{:?} {} states {} candidates {:?} {:?}",
            o.holds(&litmus.condition, &Layout::new(&litmus.program)),
            o.states.len(),
            o.candidates,
            o.unknown,
            t.elapsed()
        );
    }
}
