//! Runs a kernel with buffers that grow.
use ptx_execute::*;
fn main() {
    let arguments: Vec<String> = std::env::args().collect();
    let text = std::fs::read_to_string(&arguments[1]).unwrap();
    let module: ptx_isa::Module = text.parse().unwrap();
    let dim = |text: &str| -> Dim3 {
        let mut v: Vec<u32> = text.split(',').map(|n| n.parse().unwrap()).collect();
        v.resize(3, 1);
        [v[0], v[1], v[2]]
    };
    let kernel = module.functions().find(|f| ptx_isa::Head::read(&f.head).is_entry && f.body.is_some()).unwrap();
    let seeds: u64 = arguments.get(4).map_or(1, |n| n.parse().unwrap());
    let races = std::env::var("NORACES").is_err();
    for seed in 0..seeds {
        let options = Options { races, step_limit: 1 << 40, ..Options::default().of_seed(seed) };
        let mut device = Device::new(&module, options).unwrap();
        let head = ptx_isa::Head::read(&kernel.head);
        let args = head
            .parameters
            .iter()
            .enumerate()
            .map(|(i, p)| {
                if p.ty.is_some_and(|ty| ty.bits() == 64) {
                    Argument::Buffer(device.allocate(&format!("arg{i}"), Contents::Grows(64 << 20)), 0)
                } else {
                    Argument::u32(arguments.get(5).map_or(16, |n| n.parse().unwrap()))
                }
            })
            .collect();
        let launch =
            Launch { grid: dim(&arguments[2]), block: dim(&arguments[3]), ..Launch::new(&*kernel.name, [1; 3], args) };
        let start = std::time::Instant::now();
        match device.launch(&launch) {
            Err(errors) => println!("{errors:?}"),
            Ok(report) => {
                let t = start.elapsed().as_secs_f64();
                for f in &report.findings {
                    println!(
                        "{f}\n   {}\n   {}\n   {}",
                        f.site,
                        f.other.as_ref().map(|o| o.to_string()).unwrap_or_default(),
                        f.help.clone().unwrap_or_default()
                    );
                }
                print!("{}", report.printed);
                println!(
                    "seed {seed}: {} findings, {} repeated, {} steps, {t:.3} s, {:.1} M/s",
                    report.findings.len(),
                    report.repeated,
                    report.steps,
                    report.steps as f64 / t / 1e6
                );
            }
        }
    }
}
