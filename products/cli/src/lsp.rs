//! `ptx-atomics lsp`: a server for editors, in the Language Server Protocol over standard input and output.

mod desk;
mod document;
mod hover;
mod litmus;
mod ptx;
mod server;
mod text;

use std::process::ExitCode;

use lsp_server::Connection;

use crate::{cli::LspArgs, render};

/// Exit status 0: the editor has ended the server by the protocol's shutdown and exit. 1: any other end.
pub fn run(args: &LspArgs) -> ExitCode {
    let (connection, threads) = Connection::stdio();
    let served = server::serve(args, &connection);
    // The writer ends when all senders are dropped.
    drop(connection);
    let ended = threads.join().map_err(|error| error.to_string());
    match served.and_then(|is_right| ended.map(|()| is_right)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            render::say(&format!("error: {error}"));
            ExitCode::FAILURE
        }
    }
}
