//! The steps of a thread as LLVM IR, each in one of several forms.

use super::{
    body::Body,
    functions::Writer,
    homes::Pointer,
    plan::{Does, ONE_SIDED, Order, SCOPES, Step},
};

/// The ordering and the scope of an atomic, as the text after its operands.
fn words(order: Order, scope: usize) -> String {
    format!("{}{}", sync_scope(scope), order.word())
}

fn sync_scope(scope: usize) -> String {
    let (name, _) = SCOPES[scope];
    if name.is_empty() { String::new() } else { format!("syncscope(\"{name}\") ") }
}

impl Writer<'_> {
    pub fn step(&mut self, body: &mut Body, step: &Step) {
        match *step {
            Step::Access { does: Does::Read, variable, order, scope, waits } => {
                let read = self.read(body, variable, order.restrict_to(Does::Read), scope, waits);
                body.read.push(read);
            }
            Step::Access { does: Does::Write, variable, order, scope, .. } => {
                self.write(body, variable, order.restrict_to(Does::Write), scope);
            }
            Step::Both { variables, orders, scope } => {
                let reads = self.both(body, variables, orders.map(|order| order.restrict_to(Does::Read)), scope);
                body.read.extend(reads);
            }
            Step::Fence { order, scope } => self.fence(body, order, scope),
            Step::Barrier => body.line(self.random.pick(&[
                "call void asm sideeffect \"bar.sync 0;\", \"~{memory}\"()",
                "call void @llvm.nvvm.barrier.cta.sync.aligned.all(i32 0)",
            ])),
            Step::Quiet => self.quiet(body),
        }
    }

    fn fence(&mut self, body: &mut Body, order: Order, scope: usize) {
        // On other targets, the lowering of such a fence is stronger than the fence. The optimizer may remove the
        // surplus.
        let one_sided = matches!(order, Order::Acquire | Order::Release);
        let order = if one_sided && self.plan.target != ONE_SIDED { Order::AcqRel } else { order };
        let sem = if order == Order::SeqCst { "sc" } else { "acq_rel" };
        match self.random.below(12) {
            0 => {
                let ptx = SCOPES[scope].1;
                body.line(format!("call void asm sideeffect \"fence.{sem}.{ptx};\", \"~{{memory}}\"()"));
            }
            1 => body.line("call void @order()"),
            _ => body.line(format!("fence {}", words(order, scope))),
        }
    }

    fn quiet(&mut self, body: &mut Body) {
        let compute = "{ .reg .b32 t; mov.b32 t, 1; add.u32 $0, t, 1; }";
        match self.random.below(8) {
            0 => body.line("call void @llvm.nvvm.nanosleep(i32 8)"),
            1 => drop(body.value("call i32 @llvm.nvvm.read.ptx.sreg.tid.x()")),
            2 => body.line("call void asm sideeffect \"\", \"~{memory}\"()"),
            3 => drop(body.value(format!("call i32 asm sideeffect \"{compute}\", \"=r\"()"))),
            // The PTX manual does not have this instruction.
            4 => body.line("call void asm sideeffect \"nop;\", \"~{memory}\"()"),
            5 => drop(body.value("call i32 @__nv_abs(i32 1)")),
            6 if self.plan.target.0 != "sm_70" => {
                // This block is unreachable.
                let (holds, never, on) = (body.holds(), body.name(), body.name());
                body.branch(&holds, &on, &never);
                body.label(&never);
                body.line("call void @llvm.nvvm.cp.async.commit.group()");
                body.go(&on);
            }
            _ => {
                let slot = body.value("alloca i32");
                body.line(format!("store i32 1, ptr {slot}"));
            }
        }
    }

    /// A pointer to a variable, sometimes in an indirect form.
    fn pointer(&mut self, body: &mut Body, variable: usize) -> Pointer {
        let mut pointer = self.homes.pointer(body.thread, variable);
        if self.homes.is_next_element(variable) {
            pointer.name = body.value(format!("getelementptr i32, {pointer}, i64 1"));
            return pointer;
        }
        let ty = pointer.ty();
        match self.random.below(24) {
            0 | 1 => pointer = Pointer { name: body.generic(&pointer), space: 0 },
            2 => {
                let holds = body.holds();
                pointer.name = body.value(format!("select i1 {holds}, {pointer}, {ty} null"));
            }
            3 => {
                let (holds, yes, no, on) = (body.holds(), body.name(), body.name(), body.name());
                body.branch(&holds, &yes, &no);
                body.label(&no);
                body.line(format!("br label %{on}"));
                body.label(&yes);
                body.go(&on);
                pointer.name = body.value(format!("phi {ty} [ {}, %{yes} ], [ null, %{no} ]", pointer.name));
            }
            4 => {
                let slot = body.value(format!("alloca {ty}"));
                body.line(format!("store {pointer}, ptr {slot}"));
                pointer.name = body.value(format!("load {ty}, ptr {slot}"));
            }
            _ => {}
        }
        pointer
    }

    fn write(&mut self, body: &mut Body, variable: usize, order: Order, scope: usize) {
        self.last += 1;
        let (pointer, value, words, ptx) =
            (self.pointer(body, variable), self.last, words(order, scope), SCOPES[scope].1);
        match (order, self.random.below(16)) {
            (Order::Plain, 0..4) => {
                let (slot, generic) = (body.value("alloca i32"), body.generic(&pointer));
                body.line(format!("store i32 {value}, ptr {slot}"));
                let copied = format!("ptr align 4 {generic}, ptr align 4 {slot}, i64 4, i1 false");
                body.line(format!("call void @llvm.memcpy.p0.p0.i64({copied})"));
            }
            (Order::Plain, _) => body.line(format!("store i32 {value}, {pointer}")),
            (Order::Monotonic, 0..4) => body.line(format!("store volatile i32 {value}, {pointer}")),
            (Order::Monotonic, 4) => {
                let generic = body.generic(&pointer);
                body.line(format!("call void @publish(ptr {generic}, i32 {value})"));
            }
            (Order::Monotonic | Order::Release, 5 | 6) => {
                let sem = if order == Order::Monotonic { "relaxed" } else { "release" };
                let (generic, text) = (body.generic(&pointer), format!("st.{sem}.{ptx}.b32 [$0], $1;"));
                body.line(format!(
                    "call void asm sideeffect \"{text}\", \"l,r,~{{memory}}\"(ptr {generic}, i32 {value})"
                ));
            }
            (_, 7 | 8) => drop(body.value(format!("atomicrmw xchg {pointer}, i32 {value} {words}"))),
            (_, 9) => drop(body.value(format!("cmpxchg {pointer}, i32 0, i32 {value} {words} monotonic"))),
            _ => body.line(format!("store atomic i32 {value}, {pointer} {words}, align 4")),
        }
    }

    fn read(&mut self, body: &mut Body, variable: usize, order: Order, scope: usize, waits: bool) -> String {
        let (pointer, words, ptx) = (self.pointer(body, variable), words(order, scope), SCOPES[scope].1);
        let load = format!("load atomic i32, {pointer} {words}, align 4");
        match (order, self.random.below(16)) {
            (Order::Plain, _) => body.value(format!("load i32, {pointer}")),
            (_, 5..8) if waits => self.wait(body, &pointer, &words),
            (_, 8..12) if waits => self.exchange(body, &pointer, order, scope),
            (Order::Monotonic, 0) => body.value(format!("load volatile i32, {pointer}")),
            (Order::Monotonic, 1) => {
                let generic = body.generic(&pointer);
                body.value(format!("call i32 @observe(ptr {generic})"))
            }
            (Order::Monotonic | Order::Acquire, 2) => {
                let sem = if order == Order::Monotonic { "relaxed" } else { "acquire" };
                let (generic, text) = (body.generic(&pointer), format!("ld.{sem}.{ptx}.b32 $0, [$1];"));
                body.value(format!("call i32 asm sideeffect \"{text}\", \"=r,l,~{{memory}}\"(ptr {generic})"))
            }
            // The second form becomes a loop around a compare and exchange.
            (_, 3) => {
                let op = self.random.pick(&["or", "usub_sat"]);
                body.value(format!("atomicrmw {op} {pointer}, i32 0 {words}"))
            }
            (_, 4) => {
                let failure = self.random.pick(&["monotonic", "acquire", "seq_cst"]);
                let pair = body.value(format!("cmpxchg {pointer}, i32 1, i32 1 {words} {failure}"));
                body.value(format!("extractvalue {{ i32, i1 }} {pair}, 0"))
            }
            _ => body.value(load),
        }
    }

    /// A loop that reads until the value changes.
    fn wait(&mut self, body: &mut Body, pointer: &Pointer, words: &str) -> String {
        let (again, on) = (body.name(), body.name());
        body.go(&again);
        let read = match self.random.below(3) {
            0 => body.value(format!("atomicrmw or {pointer}, i32 0 {words}")),
            _ => body.value(format!("load atomic i32, {pointer} {words}, align 4")),
        };
        let none = body.value(format!("icmp eq i32 {read}, 0"));
        body.branch(&none, &again, &on);
        body.label(&on);
        read
    }

    /// A loop around a compare and exchange, which runs until it succeeds or until it fails.
    fn exchange(&mut self, body: &mut Body, pointer: &Pointer, order: Order, scope: usize) -> String {
        let (again, more, gone, on) = (body.name(), body.name(), body.name(), body.name());
        let failure = self.random.pick(&[Order::Monotonic, Order::Monotonic, order]).word();
        // The expected value may be the value of any earlier write.
        let (expected, words) = (1 + self.random.below(self.last.max(1)), words(order, scope));
        body.go(&again);
        let pair = body.value(format!("cmpxchg {pointer}, i32 {expected}, i32 15 {words} {failure}"));
        let [old, done] = [0, 1].map(|field| body.value(format!("extractvalue {{ i32, i1 }} {pair}, {field}")));
        if self.random.chance(2) {
            body.branch(&done, &on, &again);
        } else {
            body.branch(&done, &more, &gone);
            body.label(&more);
            let once = body.holds();
            body.branch(&once, &on, &again);
            body.label(&gone);
            body.line(format!("br label %{on}"));
        }
        body.label(&on);
        old
    }

    /// Reads of two variables: one in each of two iterations of a loop, both in each iteration until the first value
    /// changes, or without a loop.
    fn both(&mut self, body: &mut Body, variables: [usize; 2], orders: [Order; 2], scope: usize) -> [String; 2] {
        let pointers = variables.map(|variable| match self.homes.is_next_element(variable) {
            true => self.pointer(body, variable),
            false => self.homes.pointer(body.thread, variable),
        });
        let loads = |body: &mut Body| {
            let load =
                |index: usize| format!("load atomic i32, {} {}, align 4", pointers[index], words(orders[index], scope));
            [0, 1].map(|index| body.value(load(index)))
        };
        let [first, second] = &pointers;
        let (entry, again, on) = (body.name(), body.name(), body.name());
        match self.random.below(3) {
            0 if first.space == second.space => {
                let ([at, before, read], ty) = ([body.name(), body.name(), body.name()], first.ty());
                body.go(&entry);
                body.go(&again);
                body.line(format!("%{at} = phi {ty} [ {}, %{entry} ], [ {}, %{again} ]", first.name, second.name));
                body.line(format!("%{before} = phi i32 [ 0, %{entry} ], [ %{read}, %{again} ]"));
                body.line(format!("%{read} = load atomic i32, {ty} %{at} {}, align 4", words(orders[0], scope)));
                let more = body.value(format!("icmp eq {ty} %{at}, {}", first.name));
                body.branch(&more, &again, &on);
                body.label(&on);
                [before, read].map(|name| format!("%{name}"))
            }
            1 => {
                body.go(&again);
                let reads = loads(body);
                let none = body.value(format!("icmp eq i32 {}, 0", reads[0]));
                body.branch(&none, &again, &on);
                body.label(&on);
                reads
            }
            _ => loads(body),
        }
    }
}
