//! A bar that says how much is done, where somebody looks.

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};

/// A bar for so many things; of one alone there is none.
pub fn bar(count: usize, things: &str) -> ProgressBar {
    if count < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {things}, {{elapsed}}"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(count as u64).with_style(style).with_finish(ProgressFinish::AndClear)
}
