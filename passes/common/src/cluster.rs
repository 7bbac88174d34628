//! The functions that may access shared memory of another CTA.
//!
//! A location in shared memory belongs to one CTA. Threads of other CTAs address it by `mapa`, or by a pointer to
//! `shared::cluster` that is derived from such an address. All threads that can do so run the same kernel, in CTAs of
//! one cluster. If every function that a kernel reaches is known and computes no such address, no other CTA accesses
//! the location.

use ptx_lowering::{Target, ptx::graph::reverse_post_order};

/// The first GPU with clusters.
const FIRST_WITH_CLUSTERS: u32 = 90;

/// A function that a module defines.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// The name of the function.
    pub name: String,
    /// Whether the host launches it.
    pub is_kernel: bool,
    /// For a kernel: whether its directives state that its clusters have one CTA.
    pub has_one_cta: bool,
    /// Whether only calls in the module reach the function.
    pub is_private: bool,
    /// The reason why the function itself may reach shared memory of other CTAs.
    pub obstacle: Option<String>,
    /// The functions that the function calls, by index.
    pub calls: Vec<usize>,
}

/// For each function of a module, the reason why its shared memory may be accessed by another CTA; `None` if it is
/// private to one CTA.
pub fn obstacles(functions: &[Function], target: &Target) -> Vec<Option<String>> {
    let mut obstacles = vec![None; functions.len()];
    if target.sm.number() < FIRST_WITH_CLUSTERS {
        return obstacles;
    }
    for (root, function) in functions.iter().enumerate() {
        if function.is_kernel && function.has_one_cta || !function.is_kernel && function.is_private {
            continue;
        }
        // The root, and every function that it calls directly or indirectly.
        let calls = |index: usize| functions[index].calls.iter().copied();
        let reached = reverse_post_order(functions.len(), root, calls);
        let found = if function.is_kernel {
            reached.iter().find_map(|index| functions[*index].obstacle.clone())
        } else {
            Some(format!("`{}` may be called from another module", function.name))
        };
        for index in reached {
            obstacles[index] = obstacles[index].take().or_else(|| found.clone());
        }
    }
    obstacles
}
