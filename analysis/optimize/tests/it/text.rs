//! A text syntax for functions.
//!
//! Each line is a block, with its possible successors after `->`; the first block is the entry. `ld.acquire.sys x`
//! accesses global memory; a name `s…` denotes shared memory of the CTA, and `c…` shared memory of the cluster.
//! `cas.acq_rel/relaxed.gpu x ?2` continues at block 2 on success. `plain`, `barrier` and `call g` are accesses of
//! other data, a barrier and a call. A block with the prefix `(0 1)` is on that edge.

use ptx_lowering::{
    Access, AtomicOp, Operation, Ordering, RmwOp, SyncScope, Target, Type,
    ptx::{Scope, Space},
};
use ptx_optimize::{Address, Atomic, Block, End, Event, EventKind, Function};

fn order(word: &str) -> Ordering {
    word.parse().unwrap_or_else(|_| panic!("{word}"))
}

fn location(name: &str) -> (Space, Scope) {
    match &name[..1] {
        "s" => (Space::Shared, Scope::Cta),
        "c" => (Space::Shared, Scope::Cluster),
        _ => (Space::Global, Scope::Sys),
    }
}

/// The function of a text, and the names of its locations.
pub fn function(text: &str) -> (Function, Vec<String>) {
    let mut names: Vec<String> = Vec::new();
    let mut function = Function { kernel: true, ..Function::default() };
    let mut id = 0..;
    for line in text.lines().map(str::trim).filter(|line| !line.is_empty()) {
        match line {
            "device" => function.kernel = false,
            "one thread" => function.single_thread = true,
            _ => function.blocks.push(Block::default()),
        }
        let Some(block) = function.blocks.last_mut().filter(|_| line.contains(':')) else { continue };
        let line = line.split_once(':').expect("a number").1;
        let (code, next) = line.split_once("->").unwrap_or((line, ""));
        block.next = next.split_whitespace().map(|to| to.parse().expect("a block")).collect();
        for text in code.split(';').map(str::trim).filter(|text| !text.is_empty()) {
            if text == "trap" {
                block.end = End::Never;
                continue;
            }
            let kind = kind(text, &mut names);
            block.events.push(Event { id: id.next(), kind });
        }
    }
    for index in 0..function.blocks.len() {
        for event in &mut function.blocks[index].events {
            if let EventKind::Atomic(Atomic { success: Some((from, _)), .. }) = &mut event.kind {
                *from = index;
            }
        }
    }
    (function, names)
}

fn kind(text: &str, names: &mut Vec<String>) -> EventKind {
    let words: Vec<_> = text.split_whitespace().collect();
    match words[0] {
        "plain" => return EventKind::Plain,
        "barrier" => return EventKind::Barrier,
        _ => {}
    }
    if words[0] == "call" {
        return EventKind::Unknown(format!("the call to `{}`", words[1]));
    }
    let parts: Vec<_> = words[0].split('.').collect();
    let (orders, scope) = (parts[parts.len() - 2], parts[parts.len() - 1].parse().expect("a scope"));
    let (success, failure) = orders.split_once('/').unwrap_or((orders, "relaxed"));
    let address = words.get(1).map(|name| {
        let value = names.iter().position(|known| known == name).unwrap_or_else(|| {
            names.push((*name).to_owned());
            names.len() - 1
        });
        (Address { value, block: None, reach: location(name).1 }, location(name).0)
    });
    let access = || Access::new(address.expect("an address").1, if parts[0] == "fmax" { Type::F32 } else { Type::I32 });
    let operation = match parts[0] {
        "fence" => Operation::Fence,
        "ld" => Operation::Load(access()),
        "st" => Operation::Store(access()),
        "cas" => Operation::CmpXchg { access: access(), failure: order(failure) },
        "fmax" => Operation::Rmw(RmwOp::FMax, access()),
        "red" => Operation::Rmw(RmwOp::Add, access()),
        op => Operation::Rmw(op.parse().expect("an operation"), access()),
    };
    let success_edge = words.get(2).map(|to| (0, to[1..].parse().expect("a block")));
    let op = AtomicOp { operation, ordering: order(success), scope: SyncScope::Threads(scope) };
    let can_acquire = parts[0] != "red";
    EventKind::Atomic(Atomic { op, address: address.map(|(address, _)| address), success: success_edge, can_acquire })
}

pub fn print(function: &Function, names: &[String]) -> String {
    let mut text = String::new();
    for (index, block) in function.blocks.iter().enumerate() {
        let edge = block.on_edge.map_or(String::new(), |(from, to)| format!(" ({from} {to})"));
        let mut events: Vec<_> = block.events.iter().map(|event| print_event(event, names)).collect();
        events.extend((block.end == End::Never).then(|| "trap".into()));
        let next = block.next.iter().map(|to| format!(" {to}")).collect::<String>();
        let arrow = if next.is_empty() { String::new() } else { format!(" ->{next}") };
        text += &format!("{index}{edge}: {}{arrow}\n", events.join("; "));
    }
    text
}

fn print_event(event: &Event, names: &[String]) -> String {
    let atomic = match &event.kind {
        EventKind::Atomic(atomic) => atomic,
        EventKind::Plain => return "plain".into(),
        EventKind::Barrier => return "barrier".into(),
        EventKind::Unknown(what) => return what.replace("the call to `", "call ").replace('`', ""),
    };
    let AtomicOp { operation, ordering, scope } = atomic.op;
    let scope = match scope {
        SyncScope::Threads(scope) => scope.to_string(),
        SyncScope::SingleThread => "singlethread".into(),
    };
    let skips = operation.access().is_some_and(|access| access.may_skip_write);
    let (name, failure) = match operation {
        Operation::Fence => ("fence".to_owned(), String::new()),
        Operation::Load(_) => ("ld".to_owned(), String::new()),
        Operation::Store(_) => ("st".to_owned(), String::new()),
        Operation::Rmw(..) if !atomic.can_acquire => ("red".to_owned(), String::new()),
        Operation::Rmw(op, _) => (op.to_string(), String::new()),
        Operation::CmpXchg { failure, .. } => ("cas".to_owned(), format!("/{failure}")),
    };
    let address = atomic.address.map_or(String::new(), |address| format!(" {}", names[address.value]));
    let success = atomic.success.map_or(String::new(), |(_, to)| format!(" ?{to}"));
    format!("{name}.{ordering}{failure}.{scope}{address}{success}{}", if skips { " may skip write" } else { "" })
}

pub fn target(features: &str) -> Target {
    let (sm, ptx) = features.split_once('+').map_or((features, None), |(sm, ptx)| (sm, Some(ptx)));
    Target::new(sm.parse().expect(sm), ptx.map(|ptx| ptx.parse().expect(ptx))).expect(features)
}
