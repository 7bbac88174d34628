//! What inline assembly does, as far as the instructions in its text show.

use ptx_atomics_lowering::ptx::mnemonic::{Control, Mnemonic, Order};

/// Whether it touches no memory, orders nothing, and goes on behind itself.
pub fn is_quiet(text: &str) -> bool {
    Mnemonic::all_in(text).all(is_quiet_row)
}

/// Whether it is quiet but for barriers between threads.
pub fn is_barrier(text: &str) -> bool {
    let is_barrier = |row: &Mnemonic| row.memory.is_empty() && row.order == Some(Order::Barrier);
    Mnemonic::all_in(text).any(is_barrier) && Mnemonic::all_in(text).all(|row| is_barrier(row) || is_quiet_row(row))
}

fn is_quiet_row(row: &Mnemonic) -> bool {
    !row.orders_or_touches_memory() && matches!(row.control, Control::Next | Control::Jump)
}

/// Whether it reaches no shared memory but that of its own CTA: it makes no address of another's, and has no instruction that
/// takes one in another form.
pub fn stays_in_cta(text: &str) -> bool {
    // Of those that go on behind others, these take the CTA's own memory alone.
    const OWN: [&str; 3] = ["cp.async", "cp.async.mbarrier", "wgmma.mma_async"];
    let stays = |row: &Mnemonic| {
        row.words != "mapa" && row.control != Control::Call && (!row.is_asynchronous || OWN.contains(&row.words))
    };
    !text.contains("::cluster") && Mnemonic::all_in(text).all(stays)
}

/// Whether it starts what completes later.
pub fn is_asynchronous(text: &str) -> bool {
    Mnemonic::all_in(text).any(|row| row.is_asynchronous)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The predicates that hold, by their first letters.
    fn check(text: &str, expected: &str) {
        let all =
            [("q", is_quiet(text)), ("b", is_barrier(text)), ("s", stays_in_cta(text)), ("a", is_asynchronous(text))];
        let holds: String = all.into_iter().filter(|(_, holds)| *holds).map(|(letter, _)| letter).collect();
        assert_eq!(holds, expected, "{text}");
    }

    #[test]
    fn instructions_say_what_assembly_does() {
        check("", "qs");
        check("{ .reg .pred p; setp.ne.b32 p, $1, 0; @p mov.u32 $0, 1; }", "qs");
        check("ld.global.u32 $0, [$1];", "s");
        check("ld.shared::cluster.u32 $0, [$1];", "");
        check("mapa.u64 $0, $1, 1;", "q");
        check("barrier.sync 0;", "bs");
        check("mov.u32 $0, 0; bar.sync $0; st.u32 [$1], 0;", "s");
        check("fence.acq_rel.gpu;", "s");
        check("cp.async.ca.shared.global [$0], [$1], 4;", "sa");
        check("cp.async.bulk.global.shared::cta.bulk_group [$0], [$1], 16;", "a");
        check("st.async.b32 [$0], $1, [$2];", "a");
        check("call f;", "");
        check("exit;", "s");
    }
}
