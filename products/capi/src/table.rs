//! `ptx_atomics_table`.

use ptx_atomics_common::{Diagnostic, Settings};
use ptx_lowering::table::Table;

use crate::{
    answer::{Answer, Misuse},
    constants::Format,
};

pub fn table(options: &str, format: u32) -> Result<Answer, Misuse> {
    let mut settings = Settings::default();
    let format = Format::from_repr(format as usize)
        .ok_or_else(|| Misuse(format!("expected a ptx_atomics_format, found {format}")))?;
    if let Err(errors) = settings.override_with(options, "the options") {
        return Ok(Answer::errors(errors));
    }
    let target = match settings.target(None, None) {
        Ok(target) => target,
        Err(error) => return Ok(Answer::errors(Diagnostic::new(error.to_string()).into())),
    };
    let table = Table::new(&settings.options(target).policy, &target);
    Ok(Answer::text(match format {
        Format::Text => table.text(),
        Format::Markdown => table.markdown(),
        Format::Json => table.json(),
    }))
}
