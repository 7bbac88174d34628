//! The lowering and the memory model for the browser.
//!
//! A page sends a question as JSON, whose fields are texts as the user typed them, and receives an answer as JSON: the
//! output of the command `ptx-atomics`, or its errors with the fields that they concern. `scripts/book` builds the
//! pages.

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

/// The functions for the page that checks PTX.
#[cfg(all(target_arch = "wasm32", feature = "check"))]
mod exports {
    use wasm_bindgen::prelude::wasm_bindgen;

    /// The findings in PTX: [`crate::check`].
    #[wasm_bindgen]
    pub fn check(question: &str) -> String {
        crate::check::answer(question)
    }

    /// The findings in runs of PTX: [`crate::run`].
    #[wasm_bindgen]
    pub fn run(question: &str) -> String {
        crate::run::answer(question)
    }

    /// The errors of PTX while the user types it.
    #[wasm_bindgen]
    pub fn unread(text: &str) -> String {
        crate::check::unread(text)
    }
}

/// The functions for the other pages.
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

    /// The changes that make the choice of a field possible: [`crate::adjusted`].
    #[wasm_bindgen]
    pub fn adjusted(question: &str, field: &str) -> String {
        crate::adjusted(question, field)
    }

    /// The answer to a litmus test: [`crate::litmus`].
    #[wasm_bindgen]
    pub fn litmus(question: &str) -> String {
        crate::litmus::answer(question)
    }

    /// The errors of a litmus test while the user types it.
    #[wasm_bindgen]
    pub fn unread(text: &str, convention: &str) -> String {
        crate::litmus::unread(text, convention)
    }

    /// The text of a test with a thread at another place; `None` if the test has no such thread.
    #[wasm_bindgen]
    pub fn placed(text: &str, thread: usize, gpu: u32, cluster: Option<u32>, cta: u32) -> Option<String> {
        let place = ptx_memory_model::place::Place { gpu, cluster, cta, ..Default::default() };
        crate::placed(text, thread, place)
    }

    /// The operation that a question in the words of a language asks for, as JSON; `None` if the question names no
    /// operation: [`crate::words`].
    #[wasm_bindgen(js_name = said)]
    pub fn answer_words(text: &str) -> Option<String> {
        serde_json::to_string(&crate::words::answer_words(text)?).ok()
    }

    /// The possible values of the fields: [`crate::choices`].
    #[wasm_bindgen]
    pub fn choices() -> String {
        crate::choices()
    }
}
