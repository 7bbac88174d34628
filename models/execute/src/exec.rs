//! The turn of a warp, which executes its instructions one after the other.

use std::hash::{Hash, Hasher};

use ptx_isa::{FenceSem, Space, Special, Type, arithmetic::in_register};
use rustc_hash::FxHasher;

use crate::{
    access::{low_bits, write_loaded},
    code::{Callee, Column, Compute, Fast, GridControl, Invoke, LANES, Op, Passed, Pc, Reg, Source},
    machine::{Cta, Machine},
    memory::{Region, generic, number, region, window},
    report::{Condition, FaultKind},
    warp::{Frame, Lanes, MOST_LOCAL, Wait, Warp, each},
};

/// The maximum depth of calls.
const MOST_CALLS: usize = 1 << 12;
/// The maximum number of register words of all active functions.
const MOST_REGISTERS: usize = 1 << 18;

impl Machine<'_> {
    /// Runs a warp until its budget is spent or all its lanes wait.
    pub fn run_warp(&mut self, cta: &mut Cta, w: usize, budget: u32) {
        let mut warp = std::mem::take(&mut cta.warps[w]);
        let end = self.time + u64::from(budget);
        while self.time < end && !self.findings.is_over {
            let Some(index) = self.pick(&mut warp) else { break };
            let group = warp.groups[index];
            let last = self.run_group(cta, &mut warp, w, index, end);
            if self.is_lock_step() {
                self.branch(&mut warp, (group.lanes, group.base), last);
            }
        }
        if self.time - self.changed > 1024 {
            self.watch(&mut warp);
        }
        cta.warps[w] = warp;
    }

    /// The group that continues: the group in the innermost call, and among these the one at the first instruction, so
    /// that lanes reconverge.
    fn pick(&mut self, warp: &mut Warp) -> Option<usize> {
        match warp.groups[..] {
            [] => return None,
            [group] => return (group.wait == Wait::Ready).then_some(0),
            _ if self.is_lock_step() => return self.pick_in_lock_step(warp),
            _ => {}
        }
        // Lanes that wait in a loop for other lanes of their warp would prevent these from running. So now and then
        // other groups continue for a while.
        if warp.patience > 256 {
            warp.patience = 0;
            // The groups take turns.
            warp.rotation += 1;
            let group = &warp.groups[warp.rotation % warp.groups.len()];
            warp.preferred = (group.lanes.trailing_zeros() as usize, warp.steps + 256);
        }
        let (lane, until) = warp.preferred;
        let preferred = position(warp, lane);
        if warp.steps < until && warp.groups.get(preferred).is_some_and(|group| group.wait == Wait::Ready) {
            return Some(preferred);
        }
        let ready = (0..warp.groups.len()).filter(|index| warp.groups[*index].wait == Wait::Ready);
        if self.options.schedule == crate::Schedule::Threads {
            let ready: Vec<usize> = ready.collect();
            let turn = self.random.below(ready.len().max(1) as u64) as usize;
            return ready.get(turn).copied();
        }
        ready.min_by_key(|index| (std::cmp::Reverse(warp.groups[*index].base), warp.groups[*index].pc))
    }

    /// Detects whether a warp repeats its states while nothing else happens.
    fn watch(&mut self, warp: &mut Warp) {
        if warp.version != self.version {
            warp.version = self.version;
            warp.states.clear();
            warp.since = warp.steps;
            warp.is_cycling = false;
        }
        // By then all of its groups have had a turn.
        let most = if self.is_lock_step() { 256 } else { 1024 * (warp.groups.len() as u64 + 1) };
        let since = warp.steps - warp.since;
        // Most warps change much earlier, and a cycle is far shorter than the remaining half.
        if since <= most / 2 {
            return;
        }
        // Comparing a state takes time, and it suffices to find one state of a cycle again.
        warp.turns += 1;
        if !self.is_lock_step() && !warp.turns.is_multiple_of(8) {
            return;
        }
        let mut hasher = FxHasher::default();
        warp.groups.hash(&mut hasher);
        warp.registers.hash(&mut hasher);
        warp.local.iter().for_each(|local| local.bytes.hash(&mut hasher));
        let state = hasher.finish();
        warp.is_cycling |= since > most && warp.states.contains(&state);
        if warp.states.len() < 4096 {
            warp.states.push(state);
        }
    }

    /// Runs a group until it jumps, waits or meets another group. Returns its last step.
    fn run_group(&mut self, cta: &mut Cta, warp: &mut Warp, w: usize, index: usize, end: u64) -> Pc {
        let mut group = warp.groups[index];
        let program = self.program;
        let alone = warp.groups.len() == 1;
        let mut scratch = [[0; LANES]; 4];
        while self.time < end {
            let Some(step) = program.steps.get(group.pc as usize) else { break };
            let mut lanes = group.lanes;
            if let Some((p, holds)) = step.guard {
                let column = &warp.registers[(group.base + p) as usize];
                for lane in each(group.lanes) {
                    if (column[lane] & 1 == 1) != holds {
                        lanes &= !(1 << lane);
                    }
                }
            }
            self.time += 1;
            self.steps += u64::from(group.lanes.count_ones());
            warp.steps += 1;
            warp.patience += 1;
            if warp.steps > self.options.step_limit {
                let thread = warp.first + group.lanes.trailing_zeros();
                let limit = self.options.step_limit;
                let message = format!("a thread has executed {limit} instructions, which is the limit");
                let help = Some("give a higher limit (`--step-limit`), or reduce the iterations of the loop".into());
                self.find(cta, FaultKind::StepLimit, thread, group.pc, None, None, message, help);
                break;
            }
            if program.multiplies && lanes != 0 {
                self.watch_registers(cta, warp, group.pc, group.base);
            }
            if !self.flow.varying.is_empty() && lanes != 0 && self.flow.varying.binary_search(&group.pc).is_ok() {
                self.check_varying(cta, warp.first + lanes.trailing_zeros(), group.pc);
            }
            if lanes == 0 {
                group.pc += 1;
                warp.groups[index].pc = group.pc;
            } else if let Op::Compute(of) = &step.op {
                self.cover(group.pc);
                match of.fast {
                    Some(fast) => self.compute_fast(cta, warp, (group.base, lanes), (of, fast), &mut scratch),
                    None => self.compute(cta, warp, group.base, lanes, of),
                }
                group.pc += 1;
                warp.groups[index].pc = group.pc;
            } else {
                self.cover(group.pc);
                if lanes != group.lanes {
                    // Lanes whose guard is false continue after the instruction and reconverge with the other lanes
                    // there.
                    if is_simple(&step.op) {
                        self.simple(cta, warp, group.pc, group.base, lanes, &step.op);
                        group.pc += 1;
                        warp.groups[index].pc = group.pc;
                        if self.is_lock_step() {
                            break;
                        }
                        continue;
                    }
                    let rest = group.lanes & !lanes;
                    warp.split(index, rest, group.pc + 1, Wait::Ready);
                    let own = warp.groups.iter().position(|other| other.lanes == lanes).unwrap_or(index);
                    self.perform(cta, warp, w, own, &step.op);
                    break;
                }
                if is_simple(&step.op) {
                    self.simple(cta, warp, group.pc, group.base, lanes, &step.op);
                    group.pc += 1;
                    warp.groups[index].pc = group.pc;
                } else if let (Op::Jump(target), true) = (&step.op, alone) {
                    group.pc = *target;
                    warp.groups[index].pc = group.pc;
                } else {
                    self.perform(cta, warp, w, index, &step.op);
                    break;
                }
            }
            if self.findings.is_over {
                break;
            }
            if !alone && self.is_lock_step() {
                if Self::joins(warp, &group) {
                    break;
                }
            } else if !alone {
                // Another group may already be at the same instruction.
                let same = |other: &crate::warp::Group| {
                    other.pc == group.pc && other.base == group.base && other.lanes != group.lanes
                };
                if self.options.schedule != crate::Schedule::Threads
                    && warp.groups.iter().any(|other| same(other) && other.wait == Wait::Ready)
                {
                    warp.merge();
                    break;
                }
            }
        }
        group.pc
    }

    /// Records the execution of a step in a trial, or if the options ask for it.
    fn cover(&mut self, pc: Pc) {
        if self.is_trial || self.options.coverage {
            self.learned.cover(pc);
        }
    }

    /// Executes a computation for lanes.
    fn compute(&mut self, cta: &Cta, warp: &mut Warp, base: u32, lanes: Lanes, of: &Compute) {
        let mut buffers = [[0u64; LANES]; 5];
        for (buffer, source) in buffers.iter_mut().zip(&of.sources[..of.count]) {
            self.column(cta, warp, base, *source, buffer);
        }
        for lane in each(lanes) {
            let sources = [0, 1, 2, 3, 4].map(|index: usize| u128::from(buffers[index][lane]));
            let Some(outcome) = of.of.execute(&sources[..of.count], warp.carry >> lane & 1 == 1) else { continue };
            if let Some(carry) = outcome.carry {
                warp.carry = warp.carry & !(1 << lane) | u32::from(carry) << lane;
            }
            let [first, second] = outcome.results;
            let first = of.fills.map_or(first, |(ty, bits)| in_register(ty, bits, first));
            for (register, value) in of.results.iter().zip([first, second]) {
                if let Some(register) = register {
                    warp.set(base, *register, lane, value as u64);
                }
            }
        }
    }

    /// Executes a computation for lanes by its function for whole warps. The operands that are registers are not copied.
    fn compute_fast(
        &self,
        cta: &Cta,
        warp: &mut Warp,
        (base, lanes): (u32, Lanes),
        (of, fast): (&Compute, Fast),
        scratch: &mut [Column; 4],
    ) {
        let [d, others @ ..] = scratch;
        let sources = &of.sources[..of.count];
        for (other, source) in others.iter_mut().zip(sources) {
            if !matches!(source, Source::Reg(_)) {
                self.column(cta, warp, base, *source, other);
            }
        }
        let operand = |index: usize| match sources.get(index) {
            Some(Source::Reg(register)) => &warp.registers[(base + register) as usize],
            _ => &others[index],
        };
        fast(d, [0, 1, 2].map(operand));
        let Some(register) = of.results[0] else { return };
        let column = &mut warp.registers[(base + register) as usize];
        if lanes == u32::MAX {
            *column = *d;
        } else {
            each(lanes).for_each(|lane| column[lane] = d[lane]);
        }
    }

    /// The values of an operand in all lanes.
    pub fn column(&self, cta: &Cta, warp: &Warp, base: u32, source: Source, into: &mut Column) {
        match source {
            Source::Reg(register) => *into = warp.registers[(base + register) as usize],
            Source::Number(value) => *into = [value; LANES],
            other => {
                for (lane, value) in into.iter_mut().enumerate() {
                    *value = self.value(cta, warp, base, lane, other);
                }
            }
        }
    }

    /// Executes a step that neither jumps nor waits.
    fn simple(&mut self, cta: &mut Cta, warp: &mut Warp, pc: Pc, base: u32, lanes: Lanes, op: &Op) {
        match op {
            Op::Access(of) => self.access(cta, warp, pc, base, lanes, of),
            Op::Parameter(results, at, ty) => self.parameters(warp, base, lanes, results, *at, *ty),
            Op::Fence(fence) => self.fence(cta, warp, lanes, fence.sem, fence.scope),
            Op::Nothing => {}
            Op::Grid(GridControl::Wait) => {
                for (_, thread) in Self::threads(warp, lanes) {
                    cta.order[thread as usize].clock.acquire(&self.end);
                }
            }
            Op::Grid(GridControl::Trigger) => {
                Self::threads(warp, lanes).for_each(|(_, thread)| self.trigger(cta, thread))
            }
            Op::Pack(d, bits, parts, words) => {
                for lane in each(lanes) {
                    let mut all = 0u128;
                    for part in parts.iter().rev() {
                        let part = self.value(cta, warp, base, lane, *part) & low_bits(*bits);
                        all = all.unbounded_shl(*bits) | u128::from(part);
                    }
                    warp.set(base, *d, lane, all as u64);
                    if *words == 2 {
                        warp.set(base, *d + 1, lane, (all >> 64) as u64);
                    }
                }
            }
            Op::Unpack(results, source, bits) => {
                for lane in each(lanes) {
                    let mut all = self.wide(cta, warp, base, lane, *source, *bits * results.len() as u32 > 64);
                    for d in results {
                        if let Some(d) = d {
                            warp.set(base, *d, lane, all as u64 & low_bits(*bits));
                        }
                        all = all.unbounded_shr(*bits);
                    }
                }
            }
            Op::Moves(all) => {
                for lane in each(lanes) {
                    let values: Vec<u64> =
                        all.iter().map(|(_, source)| self.value(cta, warp, base, lane, *source)).collect();
                    for ((d, _), value) in all.iter().zip(values) {
                        if let Some(d) = d {
                            warp.set(base, *d, lane, value);
                        }
                    }
                }
            }
            Op::Move128(d, source) => {
                for lane in each(lanes) {
                    let all = self.wide(cta, warp, base, lane, *source, true);
                    warp.set(base, *d, lane, all as u64);
                    warp.set(base, *d + 1, lane, (all >> 64) as u64);
                }
            }
            Op::Activemask(d) => each(lanes).for_each(|lane| warp.set(base, *d, lane, lanes.into())),
            Op::Texture(of) => self.texture(cta, warp, pc, base, lanes, of),
            _ => self.addresses(cta, warp, pc, base, lanes, op),
        }
    }

    /// The value of a register of one word or of two words.
    pub fn wide(&self, cta: &Cta, warp: &Warp, base: u32, lane: usize, source: Source, is_wide: bool) -> u128 {
        let low = u128::from(self.value(cta, warp, base, lane, source));
        match source {
            Source::Reg(register) if is_wide => {
                low | u128::from(self.value(cta, warp, base, lane, Source::Reg(register + 1))) << 64
            }
            _ => low,
        }
    }

    /// Executes a step that computes an address or changes the stack.
    fn addresses(&mut self, cta: &mut Cta, warp: &mut Warp, pc: Pc, base: u32, lanes: Lanes, op: &Op) {
        for lane in each(lanes) {
            let value = |source: Source| self.value(cta, warp, base, lane, source);
            let (d, result) = match op {
                Op::Cvta { d, space, to, a } => {
                    let a = value(*a);
                    let result = match (*space, *to) {
                        (Space::Const, true) => self.program.constants.short(a).unwrap_or(a),
                        (Space::Const, false) => self.program.constants.long(a),
                        (space, true) => within(space, a),
                        (space, false) => generic(space, a),
                    };
                    (*d, result)
                }
                Op::Isspacep { d, space, a } => {
                    let found = region(Space::Generic, value(*a));
                    let is = match (space, found) {
                        (Space::Global, Region::Global(..)) | (Space::Local, Region::Local(_)) => true,
                        (Space::Const, Region::Param(_)) => true,
                        (Space::Shared | Space::SharedCta, Region::Shared(rank, _)) => {
                            rank.is_none_or(|rank| rank == cta.rank)
                        }
                        (Space::SharedCluster, Region::Shared(..)) => true,
                        _ => false,
                    };
                    (*d, is.into())
                }
                Op::Mapa { d, space, a, rank } => {
                    let (a, rank) = (value(*a), value(*rank) & 0xff);
                    let offset = a & ((1 << window::CTA_SHIFT) - 1);
                    let mapped = (rank + 1) << window::CTA_SHIFT | offset;
                    (*d, if *space == Space::Generic { window::SHARED | mapped } else { mapped })
                }
                Op::Getctarank { d, space, a } => {
                    let space = if *space == Space::Generic { Space::Generic } else { Space::SharedCluster };
                    let rank = match region(space, value(*a)) {
                        Region::Shared(Some(rank), _) => rank,
                        _ => cta.rank,
                    };
                    (*d, rank.into())
                }
                Op::Alloca { d, bytes, align } => {
                    let (bytes, align) = (value(*bytes), value(*align).max(8));
                    let thread = warp.first + lane as u32;
                    let local = &mut warp.local[lane];
                    let at = local.top.next_multiple_of(align.checked_next_power_of_two().unwrap_or(8));
                    let end = at.saturating_add(bytes);
                    if end > MOST_LOCAL {
                        let message =
                            format!("the thread takes {bytes} more bytes of stack, and the limit is {MOST_LOCAL}");
                        return self.find(cta, FaultKind::Trap, thread, pc, None, None, message, None);
                    }
                    local.top = end;
                    (*d, at)
                }
                Op::Stack { d: Some(d), .. } => (*d, warp.local[lane].top),
                Op::Stack { d: None, a } => {
                    let top = value(*a);
                    let local = &mut warp.local[lane];
                    local.top = top.min(local.top);
                    continue;
                }
                _ => return,
            };
            warp.set(base, d, lane, result);
        }
    }

    fn parameters(
        &mut self,
        warp: &mut Warp,
        base: u32,
        lanes: Lanes,
        results: &[Option<(Reg, u32)>],
        at: u32,
        ty: Type,
    ) {
        let bytes = ty.bits().div_ceil(8) as usize;
        for (index, result) in results.iter().enumerate() {
            let Some((register, bits)) = result else { continue };
            let from = at as usize + index * bytes;
            let value = self.parameters.get(from..from + bytes).map_or(0, number);
            each(lanes).for_each(|lane| write_loaded(warp, base, *register, *bits, lane, ty, value));
        }
    }

    /// Executes a fence for lanes.
    pub fn fence(&mut self, cta: &mut Cta, warp: &Warp, lanes: Lanes, sem: Option<FenceSem>, scope: ptx_isa::Scope) {
        if !self.options.races {
            return;
        }
        let one = self.work_of_clocks(cta);
        for lane in each(lanes) {
            let order = &mut cta.order[(warp.first + lane as u32) as usize];
            self.waits += one;
            if sem != Some(FenceSem::Release) {
                self.waits += one * order.pending.acquire(&mut order.clock, scope, self.cluster);
            }
            if sem == Some(FenceSem::Sc) {
                order.pending.is_ordered_by_value |= self.fence_sc.fence(&mut order.clock, scope, self.cluster);
            }
            let is_ordered = std::mem::take(&mut order.pending.is_ordered_by_value);
            let agent = order.clock.agent;
            if sem != Some(FenceSem::Acquire) {
                order.pending.release(scope, &order.clock.past());
                order.clock.advance();
            }
            if is_ordered {
                let pc = warp.groups[position(warp, lane)].pc;
                self.depend(Condition::OrderedByValue, (agent, pc), None);
            }
        }
    }

    /// Executes a step that jumps or waits, which ends the group's run.
    fn perform(&mut self, cta: &mut Cta, warp: &mut Warp, w: usize, index: usize, op: &Op) {
        let group = warp.groups[index];
        let (lanes, pc, base) = (group.lanes, group.pc, group.base);
        let first = warp.first + lanes.trailing_zeros();
        match op {
            Op::Jump(target) => warp.groups[index].pc = *target,
            Op::JumpIndexed(source, targets) => {
                for lane in each(lanes) {
                    let at = self.value(cta, warp, base, lane, *source);
                    match usize::try_from(at).ok().and_then(|at| targets.get(at)) {
                        Some(target) => {
                            let own = position(warp, lane);
                            warp.split(own, 1 << lane, *target, Wait::Ready);
                        }
                        None => {
                            let message = format!("index {at} of the branch has no label");
                            return self.find(cta, FaultKind::Trap, first, pc, None, None, message, None);
                        }
                    }
                }
            }
            Op::Invoke(of) => self.invoke(cta, warp, index, of),
            Op::Return => self.give_back(cta, warp, index),
            Op::Exit => self.exit(cta, warp, w, lanes),
            Op::Trap => {
                let message = "the kernel stops itself by `trap`".to_owned();
                self.find(cta, FaultKind::Trap, first, pc, None, None, message, None);
            }
            Op::Barrier(of, d) => self.barrier(cta, warp, w, index, of, *d),
            Op::Collective(of, mask, results) => self.collective(cta, warp, index, of, *mask, results),
            Op::Asynchronous(of) => self.asynchronous(cta, warp, index, of),
            Op::Matrix(of) => self.matrix(cta, warp, index, of),
            Op::Setmaxnreg(change, count) => self.change_registers(cta, warp, index, *change, *count),
            Op::Unsupported(_) => {
                let message = crate::lacks::why(op).map(|(why, _)| why).unwrap_or_default();
                self.find(cta, FaultKind::Unsupported, first, pc, None, None, message, None);
            }
            _ => {
                self.simple(cta, warp, pc, base, lanes, op);
                warp.groups[index].pc += 1;
            }
        }
    }

    fn exit(&mut self, cta: &mut Cta, warp: &mut Warp, w: usize, lanes: Lanes) {
        warp.end(lanes);
        cta.ended += lanes.count_ones();
        self.change();
        self.gather(cta, warp);
        if !cta.barriers.is_empty() {
            for id in 0..16 {
                self.open(cta, Some((w, warp)), id);
            }
        }
        if self.cluster > 1 {
            self.cluster_exit(cta, warp, lanes);
        }
    }

    fn invoke(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize, of: &Invoke) {
        let group = warp.groups[index];
        if let Callee::Outside(name) = &of.callee {
            return self.outside_call(cta, warp, index, name, of);
        }
        for lane in each(group.lanes) {
            let function = match &of.callee {
                Callee::Function(function) => *function,
                Callee::Register(register) => {
                    let at = warp.get(&group, *register, lane);
                    match at.checked_sub(window::CODE) {
                        Some(at) if at / 16 < self.program.functions.len() as u64 => (at / 16) as usize,
                        _ => {
                            let message = format!("no function has the address {at:#x}");
                            let thread = warp.first + lane as u32;
                            return self.find(cta, FaultKind::Trap, thread, group.pc, None, None, message, None);
                        }
                    }
                }
                Callee::Outside(_) => return,
            };
            let callee = &self.program.functions[function];
            let caller_words = self.words_of(warp, lane);
            let base = group.base + caller_words;
            if warp.frames[lane].len() >= MOST_CALLS || (base + callee.registers) as usize > MOST_REGISTERS {
                let message = "the nested calls are deeper than the stack".to_owned();
                let thread = warp.first + lane as u32;
                return self.find(cta, FaultKind::Trap, thread, group.pc, None, None, message, None);
            }
            if warp.registers.len() < (base + callee.registers) as usize {
                warp.registers.resize((base + callee.registers) as usize, [0; LANES]);
            }
            let local = &warp.local[lane];
            let frame =
                Frame { call: group.pc, callee: function as u32, base: group.base, local: local.base, top: local.top };
            let at = local.top.next_multiple_of(16);
            if at + callee.local > MOST_LOCAL {
                let message = format!("the stack is larger than {MOST_LOCAL} bytes");
                let thread = warp.first + lane as u32;
                return self.find(cta, FaultKind::Trap, thread, group.pc, None, None, message, None);
            }
            for (formal, actual) in callee.parameters.iter().zip(&of.arguments) {
                self.pass(cta, warp, lane, (*actual, group.base, frame.local), (*formal, base, at));
            }
            let local = &mut warp.local[lane];
            (local.base, local.top) = (at, at + callee.local);
            warp.frames[lane].push(frame);
            let own = position(warp, lane);
            warp.split(own, 1 << lane, callee.entry, Wait::Ready);
            let own = position(warp, lane);
            warp.groups[own].base = base;
        }
        warp.merge();
    }

    /// The number of register words of the function that a lane executes.
    fn words_of(&self, warp: &Warp, lane: usize) -> u32 {
        let function = warp.frames[lane].last().map_or(0, |frame| frame.callee as usize);
        self.program.functions[function].registers
    }

    /// Copies an argument or a result. It is a value, or bytes in local memory; the tuple adds the bases of registers
    /// and memory.
    fn pass(&mut self, cta: &Cta, warp: &mut Warp, lane: usize, from: (Passed, u32, u64), to: (Passed, u32, u64)) {
        let bytes = match from {
            (Passed::Value(source), base, _) => {
                let wide = matches!(to.0, Passed::Memory(_, 16));
                self.wide(cta, warp, base, lane, source, wide).to_le_bytes().to_vec()
            }
            (Passed::Memory(at, bytes), _, local) => {
                let at = local.wrapping_add_signed(at);
                match warp.local[lane].bytes.get(at as usize..(at + bytes) as usize) {
                    Some(bytes) => bytes.to_vec(),
                    None => vec![0; bytes.min(MOST_LOCAL) as usize],
                }
            }
        };
        match to {
            (Passed::Value(Source::Reg(register)), base, _) => {
                let mut low = [0; 8];
                let count = bytes.len().min(8);
                low[..count].copy_from_slice(&bytes[..count]);
                warp.set(base, register, lane, u64::from_le_bytes(low));
            }
            (Passed::Value(_), ..) => {}
            (Passed::Memory(at, size), _, local) => {
                let at = local.wrapping_add_signed(at);
                let own = &mut warp.local[lane];
                let end = (at + size) as usize;
                if own.bytes.len() < end {
                    own.bytes.resize(end, 0);
                    own.written.resize(end, false);
                }
                let count = bytes.len().min(size as usize);
                own.bytes[at as usize..at as usize + count].copy_from_slice(&bytes[..count]);
                own.written[at as usize..end].fill(true);
            }
        }
    }

    fn give_back(&mut self, cta: &mut Cta, warp: &mut Warp, index: usize) {
        let group = warp.groups[index];
        for lane in each(group.lanes) {
            let Some(frame) = warp.frames[lane].pop() else {
                warp.end(1 << lane);
                cta.ended += 1;
                continue;
            };
            let callee = &self.program.functions[frame.callee as usize];
            if let Some(Op::Invoke(call)) = self.program.steps.get(frame.call as usize).map(|step| &step.op) {
                let local = warp.local[lane].base;
                for (formal, actual) in callee.results.iter().zip(&call.results) {
                    self.pass(cta, warp, lane, (*formal, group.base, local), (*actual, frame.base, frame.local));
                }
            }
            let local = &mut warp.local[lane];
            local.forget(frame.top);
            (local.base, local.top) = (frame.local, frame.top);
            let own = position(warp, lane);
            warp.split(own, 1 << lane, frame.call + 1, Wait::Ready);
            let own = position(warp, lane);
            warp.groups[own].base = frame.base;
        }
        warp.merge();
    }

    /// The value of a special register.
    pub fn special(&self, cta: &Cta, warp: &Warp, lane: usize, special: Special) -> u64 {
        let launch = self.launch;
        let thread = warp.first + lane as u32;
        let lane = lane as u32;
        use ptx_isa::{SpecialScalar::*, SpecialVector::*};
        match special {
            Special::Vector(vector, axis) => {
                let at = axis.index();
                let (grid, cluster) = (launch.size.grid[at], launch.size.cluster[at].max(1));
                let value = match vector {
                    Tid => crate::fault::place(thread, launch.size.block)[at],
                    Ntid => launch.size.block[at],
                    Ctaid => cta.id[at],
                    Nctaid => grid,
                    Clusterid => cta.id[at] / cluster,
                    Nclusterid => grid / cluster,
                    ClusterCtaid => cta.id[at] % cluster,
                    ClusterNctaid => launch.size.cluster[at],
                };
                value.into()
            }
            Special::Scalar(scalar) => match scalar {
                ClusterCtarank => cta.rank.into(),
                ClusterNctarank => self.cluster.into(),
                IsExplicitCluster => (self.cluster > 1).into(),
                Laneid => lane.into(),
                Warpid => (thread / 32).into(),
                Nwarpid => cta.threads.div_ceil(32).into(),
                Smid => ((cta.index - self.grid.first) % 132).into(),
                Nsmid => 132,
                Gridid => 1,
                LanemaskEq => 1 << lane,
                LanemaskLt => (1 << lane) - 1,
                LanemaskLe => (2 << lane) - 1,
                LanemaskGt => !((2u64 << lane) - 1) & 0xffff_ffff,
                LanemaskGe => !((1u64 << lane) - 1) & 0xffff_ffff,
                Clock | GlobaltimerLo => self.time & 0xffff_ffff,
                ClockHi | GlobaltimerHi => self.time >> 32,
                Clock64 | Globaltimer => self.time,
                TotalSmemSize | AggrSmemSize => cta.shared.len() as u64,
                DynamicSmemSize => launch.size.shared.into(),
                CurrentGraphExec | ReservedSmemOffsetBegin | ReservedSmemOffsetEnd | ReservedSmemOffsetCap => 0,
            },
            // The halves of the address at which the grid synchronizes, in cooperative launches.
            Special::Environment(1) => self.workspace >> 32 & 0xffff_ffff,
            Special::Environment(2) => self.workspace & 0xffff_ffff,
            // No launch of this machine sets these.
            Special::Environment(_)
            | Special::Counter(_)
            | Special::WideCounter(_)
            | Special::ReservedSmemOffset(_) => 0,
            Special::WarpSize => 32,
        }
    }
}

/// The group that contains a lane.
pub fn position(warp: &Warp, lane: usize) -> usize {
    warp.groups.iter().position(|group| group.lanes >> lane & 1 == 1).unwrap_or(0)
}

fn is_simple(op: &Op) -> bool {
    matches!(
        op,
        Op::Access(_)
            | Op::Parameter(..)
            | Op::Fence(_)
            | Op::Nothing
            | Op::Grid(_)
            | Op::Pack(..)
            | Op::Unpack(..)
            | Op::Move128(..)
            | Op::Moves(..)
            | Op::Activemask(_)
            | Op::Texture(..)
            | Op::Cvta { .. }
            | Op::Isspacep { .. }
            | Op::Mapa { .. }
            | Op::Getctarank { .. }
            | Op::Alloca { .. }
            | Op::Stack { .. }
    )
}

/// The address within its state space that a generic address denotes.
fn within(space: Space, address: u64) -> u64 {
    match space {
        Space::Shared | Space::SharedCta | Space::SharedCluster | Space::Local => address & 0xffff_ffff,
        _ => address,
    }
}
