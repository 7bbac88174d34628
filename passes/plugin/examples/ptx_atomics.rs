//! The plugin as an example, for the tests: it is built together with them, in their profile.

#[path = "../src/lib.rs"]
mod plugin;
