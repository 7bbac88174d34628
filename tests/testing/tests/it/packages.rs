//! The published crates have a readme, and inherit the address of the repository from the workspace.

use std::process::Command;

use serde_json::Value;
use testing::{root, success};

/// The keys that `cargo package` requires and that a crate lacks.
fn lacks(package: &Value) -> Vec<&'static str> {
    ["description", "license", "readme", "repository"].into_iter().filter(|key| package[*key].is_null()).collect()
}

#[test]
fn each_published_crate_has_a_readme_and_the_address_of_the_workspace() {
    let mut cargo = Command::new(env!("CARGO"));
    cargo.args(["metadata", "--no-deps", "--offline", "--format-version", "1"]).current_dir(root());
    let metadata: Value = serde_json::from_str(&success(&mut cargo).expect("metadata")).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages");
    let published: Vec<_> = packages.iter().filter(|package| package["publish"].is_null()).collect();
    assert!(published.len() > 20, "only {} crates", published.len());
    for package in &published {
        assert_eq!(lacks(package), [""; 0], "{}", package["name"]);
        assert_eq!(package["repository"], published[0]["repository"], "{}", package["name"]);
    }
}
