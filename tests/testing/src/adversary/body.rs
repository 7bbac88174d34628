//! The body of a function, while it is written.

use super::homes::{Pointer, ZERO};

/// Instructions and labels, and what they read.
pub struct Body {
    pub thread: usize,
    pub text: String,
    /// The values that the thread read from variables.
    pub read: Vec<String>,
    names: usize,
    /// In front of names, where several bodies stand in one function.
    prefix: String,
}

impl Body {
    pub fn new(thread: usize, prefix: impl Into<String>) -> Self {
        Self { thread, text: String::new(), read: Vec::new(), names: 0, prefix: prefix.into() }
    }

    pub fn line(&mut self, line: impl AsRef<str>) {
        self.text.extend(["  ", line.as_ref(), "\n"]);
    }

    /// A name that is new, for a value without its sigil or for labels.
    pub fn name(&mut self) -> String {
        self.names += 1;
        format!("{}v{}", self.prefix, self.names)
    }

    pub fn label(&mut self, label: &str) {
        self.text.extend([label, ":\n"]);
    }

    /// Goes to a label, which stands there.
    pub fn go(&mut self, label: &str) {
        self.line(format!("br label %{label}"));
        self.label(label);
    }

    /// Goes to one of two labels.
    pub fn branch(&mut self, condition: &str, yes: &str, no: &str) {
        self.line(format!("br i1 {condition}, label %{yes}, label %{no}"));
    }

    /// The result of an instruction.
    pub fn value(&mut self, instruction: impl AsRef<str>) -> String {
        let name = format!("%{}", self.name());
        self.line(format!("{name} = {}", instruction.as_ref()));
        name
    }

    /// A condition that holds, which nothing in the module says.
    pub fn holds(&mut self) -> String {
        self.value(format!("icmp eq i32 %{ZERO}, 0"))
    }

    /// A pointer as a generic one.
    pub fn generic(&mut self, pointer: &Pointer) -> String {
        match pointer.space {
            0 => pointer.name.clone(),
            _ => self.value(format!("addrspacecast {pointer} to ptr")),
        }
    }
}
