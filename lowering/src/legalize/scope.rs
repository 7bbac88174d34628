//! The legalization of cluster scope. If the target lacks it, it widens to gpu, because narrowing it to cta would lose
//! synchronization.

use super::change::Change;
use crate::ptx::{Form, Scope, Target};

/// Widens `cluster` to `gpu` if the target lacks it.
pub fn legalize(scope: Scope, target: &Target, changes: &mut Vec<Change>) -> Scope {
    if scope != Scope::Cluster || target.meets(Form::ClusterScope.requirement()) {
        return scope;
    }
    changes.push(Change::ClusterAsGpu);
    Scope::Gpu
}
