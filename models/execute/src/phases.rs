//! The order of the arrivals and waits of an mbarrier, phase by phase.

use crate::{
    clock::{Agent, Clock, Epoch, View},
    code::Pc,
    report::Condition,
};

/// The arrivals and waits of an mbarrier.
#[derive(Debug, Default)]
pub struct Phases {
    /// The arrivals in the current phase, in the phase before it, and in the phase before that.
    current: View,
    last: View,
    before: View,
    /// The waits that observed the end of the last phase, and that no arrival of the current phase follows.
    waits: Vec<(Agent, Epoch, Pc)>,
    /// The expectations of the current phase that no arrival of it follows.
    expected: Vec<(Agent, Epoch, Pc)>,
}

impl Phases {
    /// Records an arrival. Returns the condition that fails.
    pub fn arrive(&mut self, clock: &Clock, (agent, epoch): (Agent, Epoch)) -> Option<Condition> {
        let is_early = !clock.follows_all(&self.last);
        self.current.raise(agent, epoch);
        for list in [&mut self.waits, &mut self.expected] {
            list.retain(|(agent, epoch, _)| !clock.follows(*agent, *epoch));
        }
        is_early.then_some(Condition::EarlyArrival)
    }

    /// Records the bytes of an operation that began at a clock.
    pub fn complete(&mut self, start: &Clock, (agent, epoch): (Agent, Epoch)) -> Option<Condition> {
        let is_early = !start.follows_all(&self.last);
        self.current.raise(agent, epoch);
        // The operation began after these waits, so that its bytes come after them. Without an arrival after an
        // expectation, the phase can end before it.
        self.waits.retain(|(agent, epoch, _)| !start.follows(*agent, *epoch));
        is_early.then_some(Condition::EarlyArrival)
    }

    /// Records that a thread expects more bytes or arrivals. Returns the condition that fails.
    pub fn expect(&mut self, clock: &Clock, pc: Pc) -> Option<Condition> {
        self.expected.push((clock.agent, clock.own, pc));
        let is_early = !clock.follows_all(&self.last);
        is_early.then_some(Condition::EarlyArrival)
    }

    /// Whether a clock follows the last phase.
    pub fn follows_last(&self, clock: &Clock) -> bool {
        clock.follows_all(&self.last)
    }

    /// Whether a clock follows the phase before the last phase.
    pub fn follows(&self, clock: &Clock) -> bool {
        clock.follows_all(&self.before)
    }

    /// Records that a wait has observed the end of the last phase.
    pub fn observe(&mut self, clock: &Clock, pc: Pc) {
        self.waits.retain(|(agent, ..)| *agent != clock.agent);
        self.waits.push((clock.agent, clock.own, pc));
    }

    /// Ends the phase. Returns the conditions that fail, each with its thread and instruction.
    pub fn settle(&mut self) -> Vec<(Condition, Agent, Pc)> {
        let lapped = self.waits.drain(..).map(|(agent, _, pc)| (Condition::Lapped, agent, pc));
        let late = self.expected.drain(..).map(|(agent, _, pc)| (Condition::LateExpectation, agent, pc));
        self.before = std::mem::take(&mut self.last);
        self.last = std::mem::take(&mut self.current);
        lapped.chain(late).collect()
    }
}
