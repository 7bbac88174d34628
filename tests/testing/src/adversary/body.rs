//! The body of a function under construction.

use super::homes::{Pointer, ZERO};

/// Instructions and labels, and the values that they read.
pub struct Body {
    pub thread: usize,
    pub text: String,
    /// The values that the thread read from variables.
    pub read: Vec<String>,
    names: usize,
    /// A prefix of names, for functions that contain several bodies.
    prefix: String,
}

impl Body {
    pub fn new(thread: usize, prefix: impl Into<String>) -> Self {
        Self { thread, text: String::new(), read: Vec::new(), names: 0, prefix: prefix.into() }
    }

    pub fn line(&mut self, line: impl AsRef<str>) {
        self.text.extend(["  ", line.as_ref(), "\n"]);
    }

    /// A new name, for a value (without its sigil) or for a label.
    pub fn name(&mut self) -> String {
        self.names += 1;
        format!("{}v{}", self.prefix, self.names)
    }

    pub fn label(&mut self, label: &str) {
        self.text.extend([label, ":\n"]);
    }

    /// Branches to a label that follows immediately.
    pub fn go(&mut self, label: &str) {
        self.line(format!("br label %{label}"));
        self.label(label);
    }

    /// Branches to one of two labels.
    pub fn branch(&mut self, condition: &str, yes: &str, no: &str) {
        self.line(format!("br i1 {condition}, label %{yes}, label %{no}"));
    }

    /// The name of an instruction's result.
    pub fn value(&mut self, instruction: impl AsRef<str>) -> String {
        let name = format!("%{}", self.name());
        self.line(format!("{name} = {}", instruction.as_ref()));
        name
    }

    /// A condition that is always true, which no analysis of the module can prove.
    pub fn holds(&mut self) -> String {
        self.value(format!("icmp eq i32 %{ZERO}, 0"))
    }

    /// The generic address of a pointer.
    pub fn generic(&mut self, pointer: &Pointer) -> String {
        match pointer.space {
            0 => pointer.name.clone(),
            _ => self.value(format!("addrspacecast {pointer} to ptr")),
        }
    }
}
