//! The tests of this crate that are generated from data or need a tool, as one program: a module for each subject.

mod assembled;
mod asynchronous;
mod forms;
mod mnemonics;
mod modules;
mod operands;
mod spelled;

fn main() {
    testing::run(&[
        ("assembled", assembled::trials),
        ("asynchronous", asynchronous::trials),
        ("forms", forms::trials),
        ("mnemonics", mnemonics::trials),
        ("modules", modules::trials),
        ("operands", operands::trials),
        ("spelled", spelled::trials),
    ]);
}
