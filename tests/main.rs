//! The tests of the whole product as one program: a module for each subject. `-- '[mlir'` after the command runs one
//! module.

mod adversary;
mod async_insert;
mod check;
mod check_async;
mod check_races;
mod check_report;
mod cli;
mod conformance;
mod docs;
mod door;
mod embed;
mod examples;
mod fuzz;
mod grid;
mod kernels;
mod lines;
mod litmus;
mod lsp;
mod mapping;
mod mlir;
mod native;
mod optimizer;
mod outside;
mod page;
mod plugin;
mod python;
mod random_selection;
mod rewrite;
mod run;
mod sass;
mod scoped;
mod selection;
mod snapshots;
mod upstream;

fn main() {
    // The golden suite lowers in processes of this program.
    ptx_atomics::isolated::serve();
    // Two modules start this program again, as the compiler or the worker under test.
    if conformance::is_compiler() || fuzz::is_reader() {
        return;
    }
    testing::run(&[
        ("adversary", adversary::trials),
        ("async_insert", async_insert::trials),
        ("check", check::trials),
        ("check_async", check_async::trials),
        ("check_races", check_races::trials),
        ("check_report", check_report::trials),
        ("cli", cli::trials),
        ("conformance", conformance::trials),
        ("docs", docs::trials),
        ("door", door::trials),
        ("embed", embed::trials),
        ("examples", examples::trials),
        ("fuzz", fuzz::trials),
        ("grid", grid::trials),
        ("kernels", kernels::trials),
        ("lines", lines::trials),
        ("litmus", litmus::trials),
        ("lsp", lsp::trials),
        ("mapping", mapping::trials),
        ("mlir", mlir::trials),
        ("native", native::trials),
        ("optimizer", optimizer::trials),
        ("outside", outside::trials),
        ("page", page::trials),
        ("plugin", plugin::trials),
        ("python", python::trials),
        ("random_selection", random_selection::trials),
        ("rewrite", rewrite::trials),
        ("run", run::trials),
        ("sass", sass::trials),
        ("scoped", scoped::trials),
        ("selection", selection::trials),
        ("snapshots", snapshots::trials),
        ("upstream", upstream::trials),
    ]);
}
