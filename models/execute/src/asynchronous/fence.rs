//! Fences between proxies, of `mbarrier.init` and of `tcgen05`; arrivals at the barrier of the cluster; and
//! instructions without an effect here.

use ptx_isa::{Family, FenceSem, Scope, Space};

use crate::in_flight::Chain;
use crate::{
    access::Lane,
    clock::Fenced,
    code::Operation,
    machine::{Cta, Machine},
    warp::Warp,
};

impl Machine<'_> {
    pub fn fence_of(&mut self, cta: &mut Cta, warp: &Warp, at: Lane, of: &Operation) {
        use Family::*;
        let scope = of.form.scope().unwrap_or(Scope::Cluster);
        let sem = if of.form.has("acquire") { FenceSem::Acquire } else { FenceSem::Release };
        let lanes = 1 << at.lane;
        match of.form.family() {
            FenceProxyAsync | MembarProxyAsync => {
                let clock = &mut cta.order[at.thread as usize].clock;
                // Without a state space, the fence applies to all memory.
                let space = of.form.spaces().next();
                if space.is_none_or(|space| space == Space::Global) {
                    clock.fence_proxy(Fenced::Global);
                }
                if space != Some(Space::Global) {
                    clock.fence_proxy(Fenced::Shared);
                }
            }
            FenceProxyAsyncGeneric => {
                let clock = &mut cta.order[at.thread as usize].clock;
                match sem {
                    FenceSem::Acquire => clock.acquire_proxy(),
                    _ => clock.release_proxy(),
                }
            }
            FenceProxyTensormapGeneric => {
                self.fence(cta, warp, lanes, Some(sem), scope);
                if sem == FenceSem::Acquire {
                    self.acquire_map(cta, warp, at, of);
                }
            }
            Fence => self.fence(cta, warp, lanes, Some(sem), scope),
            FenceMbarrierInit => {
                let epoch = cta.asynchronous.epoch(Chain::Init(at.thread));
                cta.asynchronous.initialized.insert(at.thread, epoch);
            }
            Tcgen05FenceBeforeThreadSync => {
                let past = cta.order[at.thread as usize].clock.past().chains(cta.threads);
                cta.asynchronous.before.insert(at.thread, past);
            }
            Tcgen05FenceAfterThreadSync => {
                if let Some(past) = cta.asynchronous.after.remove(&at.thread) {
                    cta.order[at.thread as usize].clock.acquire(&past);
                }
            }
            BarrierClusterArrive => {
                let releases = !of.form.has("relaxed");
                if !releases {
                    self.pass_initialized(cta, at);
                }
                self.cluster_arrive(cta, warp, lanes, at.pc, releases);
            }
            // One grid runs at a time, and caches are not simulated.
            _ => {}
        }
    }

    /// Releases the `mbarrier.init` operations before a fence through a relaxed arrival at the barrier of the cluster.
    fn pass_initialized(&mut self, cta: &mut Cta, at: Lane) {
        let agent = self.agent(cta, Chain::Init(at.thread), at.thread);
        let epoch = cta.asynchronous.initialized.get(&at.thread).copied().unwrap_or(0);
        let cluster = self.clusters.entry(cta.index / self.cluster).or_default();
        cluster.past.see(agent, epoch);
        if let Some(before) = cta.asynchronous.before.get(&at.thread) {
            cluster.past.join_past(before);
        }
    }
}
