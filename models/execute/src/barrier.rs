//! Barriers of a CTA and of a cluster (section 9.7.13).

use ptx_isa::{Reduction, Scope};

use crate::{
    barriers::Barrier,
    code::{self, Pc, Reg},
    fault::ThreadId,
    machine::{Cta, Machine},
    report::{Condition, FaultKind, Remedy},
    warp::{Group, Lanes, Wait, Warp, each},
};

impl Machine<'_> {
    /// Executes the arrival of a group's lanes at a barrier, and their wait if the instruction waits.
    pub fn barrier(
        &mut self,
        cta: &mut Cta,
        warp: &mut Warp,
        w: usize,
        index: usize,
        of: &code::Barrier,
        d: Option<Reg>,
    ) {
        let group = warp.groups[index];
        let (lanes, pc, base) = (group.lanes, group.pc, group.base);
        let lane = lanes.trailing_zeros() as usize;
        let thread = warp.first + lane as u32;
        let id = self.value(cta, warp, base, lane, of.id) as u32;
        let threads = of.threads.map(|threads| self.value(cta, warp, base, lane, threads) as u32);
        if id > 15 {
            let message = format!("barrier {id} does not exist: a CTA has 16");
            self.find(cta, FaultKind::Misuse, thread, pc, None, None, message, None);
        }
        // A warp that continues arrives again, so more threads can arrive than the CTA has. A later wait shows whether
        // enough threads arrive.
        let most = if self.program.arrives_early { u32::MAX } else { cta.threads.next_multiple_of(32) };
        if let Some(count) = threads.filter(|count| *count == 0 || count % 32 != 0 || *count > most) {
            let message = format!("expected a multiple of 32 threads that the CTA has, found a barrier for {count}");
            self.find(cta, FaultKind::BarrierCount, thread, pc, None, None, message, None);
        }
        let barrier = cta.barriers.0.entry(id).or_default();
        if let (Some(known), Some(count)) = (barrier.threads, threads)
            && known != count
        {
            let message = format!("the barrier is for {count} threads here, and for {known} at an earlier arrival");
            self.find(cta, FaultKind::BarrierCount, thread, pc, None, None, message, None);
        }
        let barrier = cta.barriers.0.entry(id).or_default();
        let is_for_others = !barrier.arrived.is_empty() && barrier.threads != threads;
        barrier.threads = threads.or(barrier.threads);
        if is_for_others {
            self.depend_at(cta, Condition::Participants, thread, pc);
        }
        let mut holds = 0;
        if let Some((how, p)) = &of.reduces {
            for lane in each(lanes) {
                holds += u32::from(self.value(cta, warp, base, lane, *p) & 1 == 1);
            }
            if let Some(d) = d {
                let barrier = cta.barriers.0.entry(id).or_default();
                barrier.results.push((w, lanes, base, d, *how));
            }
        }
        let barrier = cta.barriers.0.entry(id).or_default();
        barrier.holds += holds;
        barrier.predicates += lanes.count_ones();
        barrier.arrived.push((w, lanes, pc));
        barrier.is_partial |= self.program.arrives_early || threads.is_some_and(|threads| threads != cta.threads);
        if self.options.races {
            let last = cta.barriers.1.get(&id);
            let mut early = None;
            for lane in each(lanes) {
                let thread = warp.first + lane as u32;
                let order = &mut cta.order[thread as usize];
                if last.is_some_and(|last| !order.clock.follows_all(last)) {
                    early = Some(thread);
                }
                if barrier.is_partial {
                    barrier.arrivals.raise(order.clock.agent, order.clock.own);
                }
                barrier.past.join(&order.clock);
                order.clock.advance();
            }
            if let Some(thread) = early {
                self.depend_at(cta, Condition::Participants, thread, pc);
            }
        }
        let wait = if of.waits { Wait::Barrier(id) } else { Wait::Ready };
        warp.split(index, lanes, pc + 1, wait);
        self.open(cta, Some((w, warp)), id);
    }

    /// Releases the threads of a barrier if all of them have arrived. The executing warp is not in the CTA's list of
    /// warps.
    pub fn open(&mut self, cta: &mut Cta, current: Option<(usize, &mut Warp)>, id: u32) {
        let Some(barrier) = cta.barriers.0.get(&id) else { return };
        let arrived = cta.barriers.arrived(id);
        let w = current.as_ref().map(|(w, _)| *w);
        let live_of = |other: usize| match &current {
            Some((own, warp)) if *own == other => warp.live,
            _ => cta.warps[other].live,
        };
        let is_complete = match barrier.threads {
            Some(count) => barrier.warps().map(|warp| barrier.arrivals(warp, live_of(warp))).sum::<u32>() >= count,
            None => arrived >= cta.threads - cta.ended,
        };
        if !is_complete || arrived == 0 {
            return;
        }
        let Some(barrier) = cta.barriers.0.remove(&id) else { return };
        self.check_divergence(cta, &barrier, id, arrived);
        match barrier.is_partial {
            true => drop(cta.barriers.1.insert(id, barrier.arrivals.clone())),
            false => drop(cta.barriers.1.remove(&id)),
        }
        let past = barrier.past.past();
        let mut current = current;
        for other in 0..cta.warps.len() {
            let Cta { warps, order, .. } = cta;
            let warp: &mut Warp = match &mut current {
                Some((own, warp)) if *own == other => warp,
                _ => &mut warps[other],
            };
            for group in warp.groups.iter_mut().filter(|group| group.wait == Wait::Barrier(id)) {
                group.wait = Wait::Ready;
                for lane in each(group.lanes) {
                    order[(warp.first + lane as u32) as usize].clock.become_(&past);
                }
            }
            for (_, lanes, base, d, how) in barrier.results.iter().filter(|(own, ..)| *own == other) {
                let value = match how {
                    Reduction::And => u64::from(barrier.holds == barrier.predicates),
                    Reduction::Or => u64::from(barrier.holds > 0),
                    Reduction::Popc => barrier.holds.into(),
                };
                each(*lanes).for_each(|lane| warp.set(*base, *d, lane, value));
            }
            if warp.groups.len() > 1 && Some(other) != w {
                warp.merge();
            }
        }
        self.change();
    }

    /// Reports threads of one warp that arrived at an aligned barrier by different instructions, and threads that ended
    /// without arriving.
    fn check_divergence(&mut self, cta: &Cta, barrier: &Barrier, id: u32, arrived: u32) {
        let Some(&(w, lanes, pc)) = barrier.arrived.last() else { return };
        let thread = |w: usize, lanes: Lanes| w as u32 * 32 + lanes.trailing_zeros();
        let rounds = barrier.warps().flat_map(|warp| barrier.rounds(warp).into_iter().map(move |round| (warp, round)));
        let apart = rounds.into_iter().find_map(|(warp, round)| {
            let (lanes, pc) = round[0];
            let is_apart = |(_, other): &&(Lanes, Pc)| {
                *other != pc && (self.program.is_aligned(pc) || self.program.is_aligned(*other))
            };
            round.iter().find(is_apart).map(|&(others, at)| (warp, (lanes, pc), (others, at)))
        });
        if let Some((w, one, other)) = apart {
            let message = format!("threads of one warp arrive at barrier {id} by different instructions");
            let at = |(lanes, pc)| (thread(w, lanes), pc);
            return self.find_apart(cta, at(one), at(other), message, Remedy::SameBarrier);
        }
        // From sm_70 on, a barrier waits only for threads that have not exited.
        if barrier.threads.is_none() && arrived < cta.threads && !self.program.barriers_skip_exited {
            let message = format!(
                "barrier {id} is for all {} threads of the CTA, and {} ended without it",
                cta.threads,
                cta.threads - arrived
            );
            let help = Some(Remedy::AllArrive);
            self.find(cta, FaultKind::DivergentBarrier, thread(w, lanes), pc, None, None, message, help);
        }
    }

    /// Reports threads of a warp at different instructions that all of them must execute together.
    fn find_apart(&mut self, cta: &Cta, one: (u32, Pc), other: (u32, Pc), message: String, help: Remedy) {
        let who = ThreadId { cta: cta.index, thread: other.0 };
        let other = Some((other.1, who));
        self.find(cta, FaultKind::DivergentWarp, one.0, one.1, other, None, message, Some(help));
    }

    /// Reports lanes of a warp that wait forever at different instructions that all lanes must execute together.
    pub fn check_aligned(&mut self, cta: &Cta, warp: &Warp) {
        let site = |group: &Group| {
            let pc = match group.wait {
                Wait::Barrier(_) => group.pc.saturating_sub(1),
                Wait::Gather(_, false) => group.pc,
                _ => return None,
            };
            let thread = warp.first + group.lanes.trailing_zeros();
            self.program.is_aligned(pc).then_some((thread, pc))
        };
        let mut sites: Vec<_> = warp.groups.iter().filter_map(site).collect();
        sites.sort_unstable();
        if let Some((one, other)) = sites
            .split_first()
            .and_then(|(one, rest)| rest.iter().find(|other| other.1 != one.1).map(|other| (*one, *other)))
        {
            let message = "threads of one warp wait at different instructions that all of them execute together";
            let help = "let all threads of the warp reach one instruction";
            self.find_apart(cta, one, other, message.to_owned(), help.into());
        }
    }

    /// Records that lanes have ended. A lane that has arrived in this phase counts once.
    pub fn cluster_exit(&mut self, cta: &Cta, warp: &Warp, lanes: Lanes) {
        let cluster = self.clusters.entry(cta.index / self.cluster).or_default();
        let has_arrived = |lane: &usize| {
            cta.order[warp.first as usize + lane].cluster.is_some_and(|(phase, _)| phase == cluster.phase)
        };
        cluster.arrived -= each(lanes).filter(has_arrived).count() as u32;
        cluster.ended += lanes.count_ones();
        if self.options.lenient {
            let threads = each(lanes).map(|lane| warp.first as usize + lane);
            threads.for_each(|thread| cluster.past.join(&cta.order[thread].clock));
        }
        self.open_cluster(cta);
    }

    /// Executes the arrival of a group's lanes at the barrier of the cluster.
    pub fn cluster_arrive(&mut self, cta: &mut Cta, warp: &Warp, lanes: Lanes, pc: Pc, releases: bool) {
        self.check_cluster_arrival(cta, warp, lanes, pc);
        let cluster = self.clusters.entry(cta.index / self.cluster).or_default();
        for lane in each(lanes) {
            let order = &mut cta.order[(warp.first + lane as u32) as usize];
            if releases && self.options.races {
                cluster.past.join(&order.clock);
                order.clock.advance();
            } else if self.options.races {
                // A fence before the arrival releases.
                let fences = [Scope::Cluster, Scope::Gpu].into_iter().filter_map(|scope| order.pending.fence(scope));
                fences.for_each(|past| cluster.past.join_past(past));
            }
            order.cluster = Some((cluster.phase, pc));
            cluster.arrived += 1;
        }
        self.open_cluster(cta);
    }

    /// Reports an aligned arrival at the barrier of the cluster in a phase in which another thread of the warp has
    /// arrived by another instruction.
    fn check_cluster_arrival(&mut self, cta: &Cta, warp: &Warp, lanes: Lanes, pc: Pc) {
        let phase = self.clusters.get(&(cta.index / self.cluster)).map_or(0, |cluster| cluster.phase);
        let others = (warp.first..cta.threads.min(warp.first + 32)).filter_map(|thread| {
            let (own, at) = cta.order[thread as usize].cluster?;
            (own == phase && at != pc).then_some((thread, at))
        });
        let is_aligned = |at: Pc| self.program.is_aligned(pc) || self.program.is_aligned(at);
        if let Some(other) = others.into_iter().find(|(_, at)| is_aligned(*at)) {
            let message = "threads of one warp arrive at the barrier of the cluster by different instructions";
            let help =
                "use `barrier.cluster.arrive` without `.aligned`, or one arrival that all threads of the warp reach";
            let own = (warp.first + lanes.trailing_zeros(), pc);
            self.find_apart(cta, own, other, message.to_owned(), help.into());
        }
    }

    /// Ends the phase of the barrier of the cluster if all threads have arrived.
    fn open_cluster(&mut self, cta: &Cta) {
        let number = cta.index / self.cluster;
        let threads = cta.threads * self.cluster;
        let Some(cluster) = self.clusters.get_mut(&number) else { return };
        if cluster.arrived > 0 && cluster.arrived + cluster.ended >= threads {
            cluster.phase += 1;
            cluster.arrived = 0;
            cluster.done.push(std::mem::take(&mut cluster.past).past());
            let first = number * self.cluster;
            (first..first + self.cluster).for_each(|cta| self.in_flight.wake(cta, Wait::Cluster));
            self.change();
        }
    }

    /// The lanes that need not wait for the barrier of the cluster.
    pub fn cluster_wait(&mut self, cta: &mut Cta, warp: &Warp, lanes: Lanes, pc: Pc) -> Lanes {
        let mut go = 0;
        let mut missing = None;
        let cluster = self.clusters.entry(cta.index / self.cluster).or_default();
        for lane in each(lanes) {
            let thread = warp.first + lane as u32;
            let order = &mut cta.order[thread as usize];
            match order.cluster {
                None => missing = Some(thread),
                Some((phase, _)) if phase >= cluster.phase => continue,
                Some((phase, _)) => {
                    if let Some(past) = cluster.done.get(phase as usize) {
                        order.clock.acquire(past);
                    }
                    order.cluster = None;
                }
            }
            go |= 1 << lane;
        }
        if let Some(thread) = missing {
            let message = "the thread waits at the barrier of the cluster before it arrives there".to_owned();
            self.find(cta, FaultKind::Misuse, thread, pc, None, None, message, None);
        }
        go
    }
}
