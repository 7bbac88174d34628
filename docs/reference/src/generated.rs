//! The parts of the documentation that are generated from tables.

use ptx_lowering::{Change, sass::Note};
use strum::{EnumMessage, IntoEnumIterator};

use crate::{RULES, overview};

/// The generated parts, with their files and names. In a file, a part is between `<!-- generated: NAME -->` and `<!--
/// end -->`.
pub fn parts() -> [(&'static str, &'static str, String); 5] {
    [
        ("reference.md", "rules", RULES.iter().map(|rule| format!("- {rule}\n")).collect()),
        ("reference.md", "notes", notes()),
        ("reference.md", "operations", overview::operations_by_family()),
        ("nvptx.md", "scopes", overview::scopes()),
        ("nvptx.md", "sequences", overview::sequences()),
    ]
}

/// The text of a file with its generated parts renewed.
pub fn renewed(file: &str, text: &str) -> String {
    parts().iter().filter(|(of, ..)| *of == file).fold(text.to_owned(), |text, (_, name, part)| {
        let start = format!("<!-- generated: {name} -->\n");
        match text.split_once(&start).and_then(|(front, rest)| Some((front, rest.split_once("<!-- end -->")?.1))) {
            Some((front, after)) => format!("{front}{start}{part}<!-- end -->{after}"),
            None => text,
        }
    })
}

fn notes() -> String {
    let row = |name: &str, message: Option<&str>| {
        format!("| <a id=\"{name}\"></a>`{name}` | {} |\n", message.unwrap_or_default())
    };
    // A note about whole families is in the rules and in the column of the GPU.
    let changes = Change::iter().filter(|change| *change != Change::BeforeMemoryModel);
    let changes = changes.map(|change| row(change.into(), change.get_message()));
    let notes = Note::iter().map(|note| row(note.into(), note.get_message()));
    format!("| note | meaning |\n| --- | --- |\n{}", changes.chain(notes).collect::<String>())
}
