//! The errors of the API: the numbers of `CUresult`, which `cudaError_t` shares.

use std::ffi::CStr;

/// The result of a function of the API.
pub type Done<T = ()> = Result<T, Error>;

macro_rules! errors {
    ($($name:ident = $number:literal $driver:literal $runtime:literal $text:literal)*) => {
        /// An error of the API.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        #[repr(u32)]
        pub enum Error {
            $($name = $number,)*
        }

        /// The name of an error in the driver API and in the runtime API, and its text.
        pub fn names(code: u32) -> Option<[&'static CStr; 3]> {
            match code {
                0 => Some([c"CUDA_SUCCESS", c"cudaSuccess", c"no error"]),
                $($number => Some([$driver, $runtime, $text]),)*
                _ => None,
            }
        }

        /// The result with a number.
        pub fn from_code(code: u32) -> Done {
            match code {
                0 => Ok(()),
                $($number => Err(Error::$name),)*
                _ => Err(Error::Unknown),
            }
        }
    };
}

#[rustfmt::skip]
errors! {
    InvalidValue = 1          c"CUDA_ERROR_INVALID_VALUE"          c"cudaErrorInvalidValue"               c"invalid argument"
    OutOfMemory = 2           c"CUDA_ERROR_OUT_OF_MEMORY"          c"cudaErrorMemoryAllocation"           c"out of memory"
    NotInitialized = 3        c"CUDA_ERROR_NOT_INITIALIZED"        c"cudaErrorInitializationError"        c"the driver is not initialized"
    InvalidConfiguration = 9  c"CUDA_ERROR_INVALID_CONFIGURATION"  c"cudaErrorInvalidConfiguration"       c"invalid sizes of a launch"
    InvalidSymbol = 13        c"CUDA_ERROR_INVALID_SYMBOL"         c"cudaErrorInvalidSymbol"              c"invalid device symbol"
    InvalidChannel = 20       c"CUDA_ERROR_UNKNOWN"                c"cudaErrorInvalidChannelDescriptor"   c"invalid description of channels"
    InvalidDirection = 21     c"CUDA_ERROR_INVALID_DIRECTION"      c"cudaErrorInvalidMemcpyDirection"     c"invalid direction of a copy"
    MissingConfiguration = 52 c"CUDA_ERROR_MISSING_CONFIGURATION"  c"cudaErrorMissingConfiguration"       c"a launch without sizes"
    InvalidFunction = 98      c"CUDA_ERROR_INVALID_FUNCTION"       c"cudaErrorInvalidDeviceFunction"      c"invalid device function"
    NoDevice = 100            c"CUDA_ERROR_NO_DEVICE"              c"cudaErrorNoDevice"                   c"no device is available"
    InvalidDevice = 101       c"CUDA_ERROR_INVALID_DEVICE"         c"cudaErrorInvalidDevice"              c"invalid number of a device"
    InvalidImage = 200        c"CUDA_ERROR_INVALID_IMAGE"          c"cudaErrorInvalidKernelImage"         c"invalid image of a kernel"
    InvalidContext = 201      c"CUDA_ERROR_INVALID_CONTEXT"        c"cudaErrorDeviceUninitialized"        c"invalid context"
    NoBinary = 209            c"CUDA_ERROR_NO_BINARY_FOR_GPU"      c"cudaErrorNoKernelImageForDevice"     c"no PTX for this device"
    PeerAccess = 217          c"CUDA_ERROR_PEER_ACCESS_UNSUPPORTED" c"cudaErrorPeerAccessUnsupported"     c"no peer access between the devices"
    InvalidPtx = 218          c"CUDA_ERROR_INVALID_PTX"            c"cudaErrorInvalidPtx"                 c"PTX with errors"
    FileNotFound = 301        c"CUDA_ERROR_FILE_NOT_FOUND"         c"cudaErrorFileNotFound"               c"file not found"
    InvalidHandle = 400       c"CUDA_ERROR_INVALID_HANDLE"         c"cudaErrorInvalidResourceHandle"      c"invalid handle"
    NotFound = 500            c"CUDA_ERROR_NOT_FOUND"              c"cudaErrorSymbolNotFound"             c"no such symbol"
    NotReady = 600            c"CUDA_ERROR_NOT_READY"              c"cudaErrorNotReady"                   c"device not ready"
    IllegalAddress = 700      c"CUDA_ERROR_ILLEGAL_ADDRESS"        c"cudaErrorIllegalAddress"             c"a kernel accessed an illegal address"
    OutOfResources = 701      c"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES" c"cudaErrorLaunchOutOfResources"      c"too many resources requested for a launch"
    Timeout = 702             c"CUDA_ERROR_LAUNCH_TIMEOUT"         c"cudaErrorLaunchTimeout"              c"a kernel was stopped"
    AlreadyMapped = 712       c"CUDA_ERROR_HOST_MEMORY_ALREADY_REGISTERED" c"cudaErrorHostMemoryAlreadyRegistered" c"the host memory is already registered"
    NotMapped = 713           c"CUDA_ERROR_HOST_MEMORY_NOT_REGISTERED" c"cudaErrorHostMemoryNotRegistered" c"the host memory is not registered"
    Assertion = 710           c"CUDA_ERROR_ASSERT"                 c"cudaErrorAssert"                     c"an assertion of a kernel failed"
    MisalignedAddress = 716   c"CUDA_ERROR_MISALIGNED_ADDRESS"     c"cudaErrorMisalignedAddress"          c"a kernel accessed a misaligned address"
    LaunchFailed = 719        c"CUDA_ERROR_LAUNCH_FAILED"          c"cudaErrorLaunchFailure"              c"unspecified launch failure"
    TooLarge = 720            c"CUDA_ERROR_COOPERATIVE_LAUNCH_TOO_LARGE" c"cudaErrorCooperativeLaunchTooLarge" c"too many CTAs of a cooperative launch"
    NotSupported = 801        c"CUDA_ERROR_NOT_SUPPORTED"          c"cudaErrorNotSupported"               c"not supported by ptx-atomics"
    CapturedEvent = 907       c"CUDA_ERROR_CAPTURED_EVENT"         c"cudaErrorCapturedEvent"              c"the event is part of a capture"
    UpdateFailed = 910        c"CUDA_ERROR_GRAPH_EXEC_UPDATE_FAILURE" c"cudaErrorGraphExecUpdateFailure"  c"the update of a graph failed"
    CaptureInvalid = 901      c"CUDA_ERROR_STREAM_CAPTURE_INVALIDATED" c"cudaErrorStreamCaptureInvalidated" c"the capture of a stream is invalid"
    CaptureUnmatched = 903    c"CUDA_ERROR_STREAM_CAPTURE_UNMATCHED" c"cudaErrorStreamCaptureUnmatched"   c"the capture began in another stream"
    CaptureUnjoined = 904     c"CUDA_ERROR_STREAM_CAPTURE_UNJOINED" c"cudaErrorStreamCaptureUnjoined"     c"a captured stream was not joined"
    InvalidCluster = 912      c"CUDA_ERROR_INVALID_CLUSTER_SIZE"   c"cudaErrorInvalidClusterSize"         c"invalid size of a cluster"
    Unknown = 999             c"CUDA_ERROR_UNKNOWN"                c"cudaErrorUnknown"                    c"unknown error"
}
