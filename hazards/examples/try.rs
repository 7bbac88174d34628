use ptx_hazards::{check, read};
fn main() {
    for path in std::env::args().skip(1) {
        if path == "-d" { continue; }
        let text = std::fs::read_to_string(&path).unwrap();
        let module: ptx_isa::Module = match text.parse() { Ok(m) => m, Err(_) => { println!("{path}: no PTX"); continue; } };
        for kernel in read(&module) {
            if std::env::args().any(|a| a == "-d") { println!("{kernel}"); }
            let profile = if std::env::var("STRICT").is_ok() { ptx_memory_model::ptx::readings::Readings::STRICT } else { Default::default() };
            let t = std::time::Instant::now();
            let report = check(&kernel, profile);
            let file = path.rsplit('/').next().unwrap();
            let n = |v| report.findings.iter().filter(|f| f.verdict == v).count();
            use ptx_hazards::Verdict::*;
            println!("{file}: {}: {} syncs, {} unchecked, {} wrong, {} not checked, {} notes, {:?}", kernel.name, report.synchronizations, report.unchecked, n(Wrong), n(NotChecked), n(Note), t.elapsed());
            for f in &report.findings {
                if f.verdict == Note && std::env::var("NOTES").is_err() { continue; }
                println!("   {}: {:?} {:?} {} -- {:?}", f.line, f.rule, f.verdict, f.message, f.remedy.as_ref().map(|r| &r.help));
            }
        }
    }
}
