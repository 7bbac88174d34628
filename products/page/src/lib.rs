//! The lowering and the memory model for the browser.
//!
//! A page sends a question as JSON, all of whose fields are text as the user typed it, and gets an answer as JSON: what the
//! command `ptx-atomics` says, or its errors with the fields they are about. `scripts/book` puts all of it together.

mod adjust;
mod answer;
pub mod check;
mod choices;
pub mod explorer;
mod finding;
pub mod ir;
pub mod litmus;
pub mod order;
mod placement;
pub mod run;
pub mod words;

pub use adjust::adjusted;
pub use choices::choices;
pub use placement::placed;

/// What the page that checks PTX calls.
#[cfg(all(target_arch = "wasm32", feature = "check"))]
mod exports {
    use wasm_bindgen::prelude::wasm_bindgen;

    /// What is wrong with PTX: [`crate::check`].
    #[wasm_bindgen]
    pub fn check(question: &str) -> String {
        crate::check::answer(question)
    }

    /// What runs of PTX find: [`crate::run`].
    #[wasm_bindgen]
    pub fn run(question: &str) -> String {
        crate::run::answer(question)
    }

    /// What is not read of PTX while it is typed.
    #[wasm_bindgen]
    pub fn unread(text: &str) -> String {
        crate::check::unread(text)
    }
}

/// What the other pages call.
#[cfg(all(target_arch = "wasm32", not(feature = "check")))]
mod exports {
    use wasm_bindgen::prelude::wasm_bindgen;

    /// The PTX of an operation: [`crate::explorer`].
    #[wasm_bindgen]
    pub fn explore(question: &str) -> String {
        crate::explorer::answer(question)
    }

    /// The PTX of the atomics of LLVM IR: [`crate::ir`].
    #[wasm_bindgen]
    pub fn ir(question: &str) -> String {
        crate::ir::answer(question)
    }

    /// What makes the choice of a field possible: [`crate::adjusted`].
    #[wasm_bindgen]
    pub fn adjusted(question: &str, field: &str) -> String {
        crate::adjusted(question, field)
    }

    /// The answer to a litmus test: [`crate::litmus`].
    #[wasm_bindgen]
    pub fn litmus(question: &str) -> String {
        crate::litmus::answer(question)
    }

    /// What is not read of a litmus test while it is typed.
    #[wasm_bindgen]
    pub fn unread(text: &str, convention: &str) -> String {
        crate::litmus::unread(text, convention)
    }

    /// The text of a test with a thread at another place; nothing if there is no such thread.
    #[wasm_bindgen]
    pub fn placed(text: &str, thread: usize, gpu: u32, cluster: Option<u32>, cta: u32) -> Option<String> {
        let place = ptx_memory_model::place::Place { gpu, cluster, cta, ..Default::default() };
        crate::placed(text, thread, place)
    }

    /// What a question in the words of a language asks for, as JSON; nothing if it names no operation: [`crate::words`].
    #[wasm_bindgen]
    pub fn said(text: &str) -> Option<String> {
        serde_json::to_string(&crate::words::said(text)?).ok()
    }

    /// The values that the fields may have: [`crate::choices`].
    #[wasm_bindgen]
    pub fn choices() -> String {
        crate::choices()
    }
}
