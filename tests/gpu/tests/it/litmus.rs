//! The choice of litmus tests, their kernels, and the verdicts about outcomes, in Python.

use std::{path::Path, process::Command};

#[test]
fn the_tests_in_python_pass() {
    let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/litmus.py");
    let output = Command::new("python3").arg("-B").arg(tests).output().expect("python3");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
