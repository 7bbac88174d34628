//! The tests of this crate that are generated from data or need a tool, as one program: a module for each subject.

mod mix;
mod mutants;
mod optimize;
mod rewrite;
mod verify;

fn main() {
    testing::run(&[
        ("mix", mix::trials),
        ("mutants", mutants::trials),
        ("optimize", optimize::trials),
        ("rewrite", rewrite::trials),
        ("verify", verify::trials),
    ]);
}
