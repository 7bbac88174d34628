//! The kernel models that the reader makes, as text.
mod events;
mod values;
mod waits;

use proptest::{prelude::*, sample::select};
use ptx_hazards::read;
use ptx_isa::Module;

const HEAD: &str = ".version 8.7\n.target sm_100a\n.address_size 64\n.extern .shared .align 16 .b8 sm[];\n";

fn module(text: &str) -> Module {
    text.parse().unwrap_or_else(|errors| panic!("{errors}"))
}

/// The kernels of a text that follows the head, without their own heads. Lines of the text count from 1.
fn print_kernels(text: &str) -> String {
    let text = format!("{HEAD}{text}");
    let kernels = read(&module(&text));
    assert!(!kernels.is_empty(), "{text}");
    let lines = |kernel: &ptx_hazards::Kernel| {
        let text = kernel.to_string();
        text.lines().skip(1).map(str::to_owned).collect::<Vec<_>>().join("\n")
    };
    kernels.iter().map(lines).collect::<Vec<_>>().join("\n\n")
}

/// Checks the model of a kernel whose body begins at line 6.
#[track_caller]
fn check(body: &str, expected: &str) {
    check_module(
        &format!(".visible .entry k(.param .u64 .ptr .global p, .param .u32 n) .reqntid 128 {{\n{body}\n}}"),
        expected,
    );
}

#[track_caller]
fn check_module(text: &str, expected: &str) {
    let trimmed = |text: &str| text.lines().map(|line| line.trim().to_owned()).collect::<Vec<_>>().join("\n");
    let shown = trimmed(&print_kernels(text));
    assert_eq!(shown, trimmed(expected.trim()), "{text}\ngives\n{shown}");
}
