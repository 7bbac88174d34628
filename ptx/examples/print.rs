//! Reads modules of PTX and prints them again: `cargo run -p ptx-isa --example print A.ptx B.ptx` prints `A.ptx` into `B.ptx`.
//! Instructions print as what they were read as. With debug information they print as their text, on which code depends then.
//! Behind the last it says how many instructions it knows by their types, and how many as text.

use std::{env, fs, process::ExitCode};

use ptx_isa::{Code, Module};

fn main() -> ExitCode {
    let files: Vec<_> = env::args().skip(1).collect();
    let (mut typed, mut text, mut failed) = (0, 0, false);
    for pair in files.chunks(2) {
        let [from, to] = pair else {
            eprintln!("usage: print FROM TO [FROM TO …]");
            return ExitCode::FAILURE;
        };
        let printed = fs::read_to_string(from).map_err(|error| error.to_string()).and_then(|source| {
            let mut module: Module = source.parse().map_err(|errors| format!("{errors}"))?;
            let debug = module.target.contains("debug");
            for line in module.functions_mut().flat_map(|function| function.body.iter_mut().flatten()) {
                if !debug {
                    line.text.clear();
                }
                match line.code {
                    Code::Instruction { .. } => typed += 1,
                    Code::Other(_) => text += 1,
                    _ => {}
                }
            }
            fs::write(to, module.to_string()).map_err(|error| error.to_string())
        });
        if let Err(error) = printed {
            eprintln!("{from}: {error}");
            failed = true;
        }
    }
    println!("{typed} instructions by their types, {text} as text");
    if failed { ExitCode::FAILURE } else { ExitCode::SUCCESS }
}
