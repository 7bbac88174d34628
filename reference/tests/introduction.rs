//! The introduction of the reference, which is a file of the documentation, is as its tables are.

use std::{env, fs};

use ptx_atomics_reference::introduction::{parts, renewed};

/// With `INSTA_UPDATE=always`, as for snapshots, the file is written again.
#[test]
fn generated_parts_are_new() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference.md");
    let text = fs::read_to_string(path).expect("the introduction");
    for (name, _) in parts() {
        assert!(text.contains(&format!("<!-- generated: {name} -->\n")), "{path} has no place for the part '{name}'");
    }
    let renewed = renewed(&text);
    if env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
        fs::write(path, &renewed).expect("the introduction is written");
        return;
    }
    assert_eq!(text, renewed, "INSTA_UPDATE=always cargo test -p ptx-atomics-reference writes it again");
}
