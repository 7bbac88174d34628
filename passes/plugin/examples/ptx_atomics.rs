//! The plugin, as the tests load it: in their profile, and built together with them.

#[path = "../src/lib.rs"]
mod plugin;
