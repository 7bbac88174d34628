//! Which functions may meet shared memory of another CTA.
//!
//! A location in shared memory belongs to one CTA. Threads of others name it by `mapa`, or by a pointer to `shared::cluster`
//! that is made of one. All threads that can do so run the same kernel, in CTAs of one cluster: where all that a kernel calls
//! is known and does nothing of that kind, none can.

use ptx_lowering::{Target, ptx::graph::reverse_post_order};

/// The first GPU with clusters.
const FIRST_WITH_CLUSTERS: u32 = 90;

/// A function that a module defines.
#[derive(Clone, Debug, Default)]
pub struct Function {
    /// Its name.
    pub name: String,
    /// Whether the host launches it.
    pub is_kernel: bool,
    /// Of a kernel, whether its clusters are stated to have one CTA.
    pub has_one_cta: bool,
    /// Whether only calls in the module reach it.
    pub is_private: bool,
    /// What it may do itself with shared memory of other CTAs.
    pub obstacle: Option<String>,
    /// The functions that it calls, by their indices.
    pub calls: Vec<usize>,
}

/// What keeps shared memory from being known to one CTA alone, for each of the functions of a module.
pub fn obstacles(functions: &[Function], target: &Target) -> Vec<Option<String>> {
    let mut obstacles = vec![None; functions.len()];
    if target.sm.number() < FIRST_WITH_CLUSTERS {
        return obstacles;
    }
    for (root, function) in functions.iter().enumerate() {
        if function.is_kernel && function.has_one_cta || !function.is_kernel && function.is_private {
            continue;
        }
        // What a function calls, and what that calls, with itself.
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
