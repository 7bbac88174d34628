//! The families of asynchronous instructions.

use std::fmt::{self, Display, Formatter};

/// Declares the families with the words that each begins with.
macro_rules! families {
    ($($family:ident $words:literal,)*) => {
        /// The family of an asynchronous instruction, which its first words name. These words have a fixed order; the
        /// modifiers after them do not.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        #[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
        pub enum Family {
            $(#[doc = concat!("`", $words, "`")] $family,)*
        }

        /// Each family with its words.
        const FAMILIES: &[(Family, &str)] = &[$((Family::$family, $words),)*];
    };
}

families! {
    FenceProxyAlias "fence.proxy.alias",
    FenceProxyAsync "fence.proxy.async",
    FenceProxyTensormapGeneric "fence.proxy.tensormap::generic",
    FenceProxyAsyncGeneric "fence.proxy.async::generic",
    FenceProxyGenericFabric "fence.proxy.generic::fabric",
    FenceProxyFabricGeneric "fence.proxy.fabric::generic",
    FenceProxyFabricFabric "fence.proxy.fabric::fabric",
    FenceAlias "fence.alias",
    FenceMbarrierInit "fence.mbarrier_init",
    Fence "fence",
    MembarProxyAlias "membar.proxy.alias",
    MembarProxyAsync "membar.proxy.async",
    TensormapCpFenceproxy "tensormap.cp_fenceproxy",
    TensormapReplaceTile "tensormap.replace.tile",
    MbarrierInit "mbarrier.init",
    MbarrierInval "mbarrier.inval",
    MbarrierExpectTx "mbarrier.expect_tx",
    MbarrierCompleteTx "mbarrier.complete_tx",
    MbarrierArrive "mbarrier.arrive",
    MbarrierArriveExpectTx "mbarrier.arrive.expect_tx",
    MbarrierArriveNoComplete "mbarrier.arrive.noComplete",
    MbarrierArriveDrop "mbarrier.arrive_drop",
    MbarrierArriveDropExpectTx "mbarrier.arrive_drop.expect_tx",
    MbarrierArriveDropNoComplete "mbarrier.arrive_drop.noComplete",
    MbarrierTestWait "mbarrier.test_wait",
    MbarrierTestWaitParity "mbarrier.test_wait.parity",
    MbarrierTryWait "mbarrier.try_wait",
    MbarrierTryWaitParity "mbarrier.try_wait.parity",
    MbarrierPendingCount "mbarrier.pending_count",
    MbarrierCheckLayout "mbarrier.check_layout",
    CpAsync "cp.async",
    CpAsyncMbarrierArrive "cp.async.mbarrier.arrive",
    CpAsyncCommitGroup "cp.async.commit_group",
    CpAsyncWaitGroup "cp.async.wait_group",
    CpAsyncWaitAll "cp.async.wait_all",
    CpAsyncBulk "cp.async.bulk",
    CpAsyncBulkCommitGroup "cp.async.bulk.commit_group",
    CpAsyncBulkWaitGroup "cp.async.bulk.wait_group",
    CpAsyncBulkPrefetch "cp.async.bulk.prefetch",
    ApplypriorityAsyncBulk "applypriority.async.bulk",
    CpReduceAsyncBulk "cp.reduce.async.bulk",
    CpAsyncBulkTensor "cp.async.bulk.tensor",
    CpReduceAsyncBulkTensor "cp.reduce.async.bulk.tensor",
    CpAsyncBulkPrefetchTensor "cp.async.bulk.prefetch.tensor",
    ApplypriorityAsyncBulkTensor "applypriority.async.bulk.tensor",
    StBulk "st.bulk",
    StAsync "st.async",
    RedAsync "red.async",
    MultimemCpAsyncBulk "multimem.cp.async.bulk",
    MultimemCpReduceAsyncBulk "multimem.cp.reduce.async.bulk",
    MultimemStAsync "multimem.st.async",
    MultimemRedAsync "multimem.red.async",
    FabricTryGetAsync "fabric.try_get.async",
    FabricTryPutAsync "fabric.try_put.async",
    FabricTryRedAsync "fabric.try_red.async",
    FabricTryPullredAsync "fabric.try_pullred.async",
    FabricTryAtomAsync "fabric.try_atom.async",
    FabricSubmit "fabric.submit",
    FabricSubmitCommitGroup "fabric.submit.commit_group",
    FabricWait "fabric.wait",
    BarrierClusterArrive "barrier.cluster.arrive",
    BarrierClusterWait "barrier.cluster.wait",
    GriddepcontrolWait "griddepcontrol.wait",
    GriddepcontrolLaunchDependents "griddepcontrol.launch_dependents",
    ClusterlaunchcontrolTryCancelAsync "clusterlaunchcontrol.try_cancel.async",
    ClusterlaunchcontrolQueryCancel "clusterlaunchcontrol.query_cancel",
    WgmmaFence "wgmma.fence",
    WgmmaCommitGroup "wgmma.commit_group",
    WgmmaWaitGroup "wgmma.wait_group",
    WgmmaMmaAsync "wgmma.mma_async",
    WgmmaMmaAsyncSp "wgmma.mma_async.sp",
    Tcgen05Alloc "tcgen05.alloc",
    Tcgen05Dealloc "tcgen05.dealloc",
    Tcgen05FenceBeforeThreadSync "tcgen05.fence::before_thread_sync",
    Tcgen05FenceAfterThreadSync "tcgen05.fence::after_thread_sync",
    Tcgen05WaitLd "tcgen05.wait::ld",
    Tcgen05WaitSt "tcgen05.wait::st",
    Tcgen05Commit "tcgen05.commit",
    Tcgen05Shift "tcgen05.shift",
    Tcgen05Cp "tcgen05.cp",
    Tcgen05RelinquishAllocPermit "tcgen05.relinquish_alloc_permit",
    Tcgen05Ld "tcgen05.ld",
    Tcgen05LdRed "tcgen05.ld.red",
    Tcgen05St "tcgen05.st",
    Tcgen05Mma "tcgen05.mma",
    Tcgen05MmaWs "tcgen05.mma.ws",
    Tcgen05MmaSp "tcgen05.mma.sp",
    Tcgen05MmaWsSp "tcgen05.mma.ws.sp",
}

impl Family {
    /// Every family.
    pub fn all() -> impl Iterator<Item = Self> {
        FAMILIES.iter().map(|(family, _)| *family)
    }

    /// The words, with dots between them: `cp.async.bulk.tensor`.
    pub fn words(self) -> &'static str {
        FAMILIES.iter().find(|(family, _)| *family == self).map_or("", |(_, words)| words)
    }

    /// Whether it is an operation on an mbarrier.
    pub fn is_mbarrier(self) -> bool {
        (Self::MbarrierInit..=Self::MbarrierCheckLayout).contains(&self)
    }

    /// The family of an instruction with these words, the mnemonic first, and the words after the family's words. If
    /// several families match, the longest is returned.
    pub fn from_words<'w, 't>(words: &'w [&'t str]) -> Option<(Self, &'w [&'t str])> {
        let after = |own: &str| {
            let own = own.split('.');
            let length = own.clone().count();
            (words.len() >= length && own.eq(words[..length].iter().copied())).then(|| &words[length..])
        };
        let matching = FAMILIES.iter().filter_map(|(family, own)| Some((*family, after(own)?)));
        matching.min_by_key(|(_, rest)| rest.len())
    }
}

impl Display for Family {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.words())
    }
}
