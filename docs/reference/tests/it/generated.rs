//! The generated parts of the chapters are up to date.

use std::{collections::BTreeSet, env, fs};

use ptx_atomics_reference::generated::{parts, renewed};

/// With `INSTA_UPDATE=always`, as for snapshots, the test rewrites the files.
#[test]
fn generated_parts_are_new() {
    let files: BTreeSet<_> = parts().iter().map(|(file, ..)| *file).collect();
    for file in files {
        let path = format!("{}/../{file}", env!("CARGO_MANIFEST_DIR"));
        let text = fs::read_to_string(&path).expect(&path);
        for (_, name, part) in parts().iter().filter(|(of, ..)| *of == file) {
            assert!(text.contains(&format!("<!-- generated: {name} -->\n")), "{path} has no place for '{name}'");
            assert!(part.lines().count() > 4, "{name}");
        }
        let renewed = renewed(file, &text);
        if env::var("INSTA_UPDATE").is_ok_and(|how| how == "always") {
            fs::write(&path, &renewed).expect("it is written");
            continue;
        }
        assert_eq!(text, renewed, "INSTA_UPDATE=always cargo test -p ptx-atomics-reference writes {path} again");
    }
}
