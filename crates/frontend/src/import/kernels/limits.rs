//! Limits on specifications: what is larger was not meant, and would cost memory or time before it is found out.

/// Bytes of a specification.
pub const FILE_BYTES: u64 = 16 << 20;
/// Bytes of the description of a kernel.
pub const DESCRIPTION_BYTES: u64 = 1 << 20;
/// Kernels of a graph.
pub const KERNELS: usize = 65_536;
/// Arguments of a kernel.
pub const ARGUMENTS: usize = 256;
/// Arguments of all kernels together.
pub const ALL_ARGUMENTS: usize = 1 << 20;
/// Macros, and symbols, of a kernel.
pub const NAMES: usize = 256;
/// Bytes of a name or an expression.
pub const TEXT: usize = 1024;
/// Parentheses and signs within each other.
pub const DEPTH: usize = 64;
/// Bytes of a buffer: a terabyte.
pub const BUFFER_BYTES: u64 = 1 << 40;
/// Bytes of an argument in local memory: a gigabyte.
pub const LOCAL_BYTES: u64 = 1 << 30;
/// Work items along a dimension.
pub const EXTENT: u64 = 1 << 40;
/// Command queues of a device.
pub const QUEUES: u64 = 64;
/// Problems that are told; the others are counted.
pub const PROBLEMS: usize = 50;
