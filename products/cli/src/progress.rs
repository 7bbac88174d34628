//! Progress bars on a terminal.

use std::time::Duration;

use indicatif::{ProgressBar, ProgressFinish, ProgressStyle};
use ptx_atomics::execute::Progress;

/// A bar for a number of items; hidden for a single item.
pub fn bar(count: usize, things: &str) -> ProgressBar {
    if count < 2 {
        return ProgressBar::hidden();
    }
    let style = ProgressStyle::with_template(&format!("{{bar:40}} {{pos}}/{{len}} {things}, {{elapsed}}"));
    let style = style.unwrap_or_else(|_| ProgressStyle::default_bar());
    ProgressBar::new(count as u64).with_style(style).with_finish(ProgressFinish::AndClear)
}

/// A spinner during a single task without parts.
pub fn spinner(what: &str) -> ProgressBar {
    let style = ProgressStyle::with_template("{spinner} {msg}, {elapsed}");
    let style = style.unwrap_or_else(|_| ProgressStyle::default_spinner());
    let spinner = ProgressBar::new_spinner().with_style(style).with_message(what.to_owned());
    let spinner = spinner.with_finish(ProgressFinish::AndClear);
    spinner.enable_steady_tick(Duration::from_millis(500));
    spinner
}

/// The progress of a launch.
pub fn of_launch(title: &str, Progress { steps, ended, ctas }: Progress) -> String {
    format!(
        "{title}: {}.{} million instructions, {ended} of {ctas} CTAs ended",
        steps / 1_000_000,
        steps / 100_000 % 10
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn launches() {
        let said = of_launch("k: grid 4", Progress { steps: 12_345_678, ended: 1, ctas: 4 });
        assert_eq!(said, "k: grid 4: 12.3 million instructions, 1 of 4 CTAs ended");
    }
}
