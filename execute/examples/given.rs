use ptx_execute::*;
use ptx_isa::{Head, Module};
fn main() {
    let args: Vec<String> = std::env::args().collect();
    let number: u64 = args[1].parse().unwrap();
    let grid: u32 = args[2].parse().unwrap();
    for path in &args[3..] {
        let text = std::fs::read_to_string(path).unwrap();
        let module: Module = match text.parse() { Ok(m) => m, Err(e) => { println!("{path}: parse {e}"); continue } };
        for function in module.functions().filter(|f| f.body.is_some()) {
            let head = Head::read(&function.head);
            if !head.is_entry { continue }
            let block = head.required_threads.unwrap_or_else(|| {
                let max = text.lines().find_map(|l| l.trim().strip_prefix(".maxntid")).map(|s| s.trim().split(',').map(|x| x.trim().parse().unwrap_or(1)).collect::<Vec<u32>>());
                match max { Some(v) => [v[0], v.get(1).copied().unwrap_or(1), v.get(2).copied().unwrap_or(1)], None => [std::env::var("BLOCK").ok().and_then(|b| b.parse().ok()).unwrap_or(128),1,1] }
            });
            let cluster = head.required_ctas.unwrap_or([1; 3]);
            let options = Options { most_steps: 3_000_000, ..Options::default().of_seed(std::env::var("SEED").ok().and_then(|s| s.parse().ok()).unwrap_or(0)) };
            let mut device = match Device::new(&module, options) { Ok(d) => d, Err(e) => { println!("{path}: {e:?}"); continue } };
            let rank: u32 = text.split(".tensor.").nth(1).and_then(|s| s[..1].parse().ok()).unwrap_or(2);
            let arguments: Vec<Argument> = head.parameters.iter().enumerate().map(|(i, p)| match (p.elements, p.ty.map_or(8, |t| t.bits())) {
                (Some(128), _) => {
                    let mut map = TensorMap { element: matrix::map::TensorElement::F16, rank, swizzle_mode: 3, ..TensorMap::default() };
                    map.sizes = [1024; 5]; map.strides = [2048, 2048*1024, 2048*1024, 2048*1024]; map.box_sizes = [64, 64, 1, 1, 1]; map.element_strides = [1; 5];
                    Argument::TensorMap(Box::new(map), device.allocate("tensor", Contents::Grows(1 << 28)))
                }
                (Some(n), _) => Argument::Bytes((0..n / 8).flat_map(|w| { let b = device.allocate(&format!("p{i}.{w}"), Contents::Grows(1 << 28)); device.address(b).to_le_bytes() }).collect()),
                (None, 64) if !p.is_pointer && head.parameters.iter().any(|p| p.is_pointer) => Argument::u64(number),
                (None, 64) => Argument::Buffer(device.allocate(&format!("p{i}"), Contents::Grows(1 << 30)), 0),
                (None, bits) => Argument::Bytes(number.to_le_bytes()[..bits as usize / 8].to_vec()),
            }).collect();
            let shared: u32 = if text.contains(".extern .shared") { std::env::var("SHARED").ok().and_then(|s| s.parse().ok()).unwrap_or(200 << 10) } else { 0 };
            let launch = Launch { grid: [grid * cluster[0], cluster[1], cluster[2]], cluster, shared, ..Launch::new(&*function.name, block, arguments) };
            let start = std::time::Instant::now();
            match device.launch(&launch) {
                Ok(r) => {
                    println!("== {path} {:.40} {:.2}s {} steps {} findings (+{})", function.name, start.elapsed().as_secs_f64(), r.steps, r.findings.len(), r.repeated);
                    for f in r.findings.iter().take(8) { println!("     {} lines {} {}: {} [{} / {}]", f.kind, f.other.as_ref().map_or(0, |s| s.line), f.site.line, f.message, f.other.as_ref().map_or("", |s| &s.instruction), f.site.instruction); }
                    for n in r.notes.iter().take(3) { println!("     note {}: {}", n.line, n.what); }
                }
                Err(e) => println!("== {path} {:.40}: {:?}", function.name, e.iter().map(|e| &e.reason).collect::<Vec<_>>()),
            }
        }
    }
}
