//! The deletion of synchronizations from a function.

use ptx_isa::{
    Code,
    Family::{self, *},
    Function, Line, Other,
};
use strum::{Display, EnumIter};

/// The kind of a deleted synchronization.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Display, EnumIter)]
pub enum DeletedKind {
    #[strum(to_string = "`tcgen05.wait::ld`")]
    TensorLoadWait,
    #[strum(to_string = "`tcgen05.wait::st`")]
    TensorStoreWait,
    #[strum(to_string = "`tcgen05.commit`")]
    TensorCommit,
    #[strum(to_string = "`tcgen05.dealloc`")]
    Deallocate,
    #[strum(to_string = "`tcgen05.fence`, in `strict`")]
    TensorFence,
    #[strum(to_string = "`fence.mbarrier_init`, in `strict`")]
    InitializeFence,
    #[strum(to_string = "`fence.proxy`")]
    ProxyFence,
    #[strum(to_string = "`mbarrier.try_wait`, `test_wait`")]
    Wait,
    #[strum(to_string = "`mbarrier.arrive`")]
    Arrive,
    #[strum(to_string = "`cp.async` commit, wait")]
    CopyGroup,
    #[strum(to_string = "`cp.async.bulk` commit, wait")]
    BulkGroup,
    #[strum(to_string = "`wgmma` fence, commit, wait")]
    Wgmma,
    #[strum(to_string = "`bar`, `barrier`")]
    Barrier,
    #[strum(to_string = "`barrier.cluster`")]
    ClusterBarrier,
}

impl DeletedKind {
    fn from_instruction(instruction: &Other) -> Option<Self> {
        let words: Vec<_> = instruction.mnemonic.split('.').collect();
        Some(match Family::from_words(&words).map(|(family, _)| family) {
            Some(Tcgen05WaitLd) => Self::TensorLoadWait,
            Some(Tcgen05WaitSt) => Self::TensorStoreWait,
            Some(Tcgen05Commit) => Self::TensorCommit,
            Some(Tcgen05Dealloc) => Self::Deallocate,
            Some(Tcgen05FenceBeforeThreadSync | Tcgen05FenceAfterThreadSync) => Self::TensorFence,
            Some(FenceMbarrierInit) => Self::InitializeFence,
            Some(FenceProxyAsync | FenceProxyAsyncGeneric | FenceProxyTensormapGeneric) => Self::ProxyFence,
            Some(MbarrierTestWait | MbarrierTestWaitParity | MbarrierTryWait | MbarrierTryWaitParity) => Self::Wait,
            Some(MbarrierArrive | MbarrierArriveExpectTx | MbarrierArriveNoComplete | CpAsyncMbarrierArrive) => {
                Self::Arrive
            }
            Some(CpAsyncCommitGroup | CpAsyncWaitGroup | CpAsyncWaitAll) => Self::CopyGroup,
            Some(CpAsyncBulkCommitGroup | CpAsyncBulkWaitGroup) => Self::BulkGroup,
            Some(WgmmaFence | WgmmaCommitGroup | WgmmaWaitGroup) => Self::Wgmma,
            Some(BarrierClusterArrive | BarrierClusterWait) => Self::ClusterBarrier,
            None if matches!(words[0], "bar" | "barrier") && !words.contains(&"warp") && !words.contains(&"red") => {
                Self::Barrier
            }
            _ => return None,
        })
    }

    /// Whether a missing arrival makes other threads wait forever, so that nothing races.
    pub fn hangs(self) -> bool {
        self == Self::Arrive
    }

    /// Whether only `strict` needs it.
    pub fn is_strict(self) -> bool {
        matches!(self, Self::TensorFence | Self::InitializeFence)
    }
}

/// A synchronization of a function: the indices of its lines in the body.
#[derive(Clone, Debug)]
pub struct Deletion {
    pub kind: DeletedKind,
    pub places: Vec<usize>,
}

impl Deletion {
    /// All synchronizations of a function. Both halves of a barrier of the cluster are one.
    pub fn all(function: &Function) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let mut arrived = None;
        for (place, line) in function.body.iter().flatten().enumerate() {
            let Code::Other(instruction) = &line.code else { continue };
            let Some(kind) = DeletedKind::from_instruction(instruction) else { continue };
            let waits = instruction.mnemonic.contains(".wait");
            match arrived {
                Some(last) if kind == DeletedKind::ClusterBarrier && waits => {
                    let half: &mut Self = &mut all[last];
                    half.places.push(place);
                    arrived = None;
                    continue;
                }
                _ if kind == DeletedKind::ClusterBarrier && !waits => arrived = Some(all.len()),
                _ => {}
            }
            all.push(Self { kind, places: vec![place] });
        }
        all
    }

    /// The lines of the synchronization.
    pub fn lines<'f>(&self, function: &'f Function) -> Vec<&'f Line> {
        let body = function.body.as_deref().unwrap_or_default();
        self.places.iter().map(|place| &body[*place]).collect()
    }

    /// The function without the synchronization. A wait for an mbarrier is replaced by a success, so that loops end.
    pub fn apply(&self, function: &mut Function) {
        let body = function.body.as_mut().expect("it has this place");
        for place in self.places.iter().rev() {
            let Code::Other(instruction) = &mut body[*place].code else { continue };
            match (self.kind, &instruction.writes[..]) {
                (DeletedKind::Wait, [result, ..]) => {
                    let guard = instruction.text.split_once("mbarrier.").map_or("", |(guard, _)| guard);
                    instruction.text = format!("{guard}setp.eq.u32 {}, 0, 0", result.0);
                    instruction.mnemonic = "setp.eq.u32".into();
                }
                _ => drop(body.remove(*place)),
            }
        }
    }
}
