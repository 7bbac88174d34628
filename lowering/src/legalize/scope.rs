//! The cluster scope. It widens where the target lacks it: to narrow it to cta would lose synchronization.

use super::change::Change;
use crate::ptx::{Form, Scope, Target};

/// Widens `cluster` to `gpu` where the target lacks it.
pub fn legalize(scope: Scope, target: &Target, changes: &mut Vec<Change>) -> Scope {
    if scope != Scope::Cluster || target.meets(Form::ClusterScope.requirement()) {
        return scope;
    }
    changes.push(Change::ClusterAsGpu);
    Scope::Gpu
}
