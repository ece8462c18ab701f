//! How large a file may be before it is refused; each bounds time or memory, and real networks are far below.

/// Nodes of all graphs and functions of a file.
pub const NODES: u64 = 1_000_000;

/// Protobuf messages in a file: a message of two bytes decodes to a few hundred.
pub const MESSAGES: u64 = 4_000_000;

/// Protobuf fields that are no messages: names, and integers of attributes.
pub const FIELDS: u64 = 32_000_000;

/// Axes of a tensor.
pub const RANK: usize = 32;

/// Elements of an integer tensor whose values are propagated.
pub const INTEGERS: u64 = 4096;

/// Elements of a floating-point tensor whose values are propagated: scales and bounds, not weights.
pub const REALS: u64 = 64;

/// Elements of all stored constants whose values are propagated; values beyond are treated as unknown.
pub const PROPAGATED: u64 = 4_000_000;

/// Elements of results whose values are propagated: shapes and bounds need a few thousand.
pub const COMPUTED: u64 = 4_000_000;

/// Nodes and what they declare that function calls and branches stand for, counted as often as they are used.
pub const INLINED: u64 = 250_000;

/// Bytes of names that function calls and branches stand for, counted as often as they are used.
pub const INLINED_TEXT: u64 = 64 << 20;

/// Memory that decoded messages may take whatever the size of the file.
pub const DECODED: u64 = 64 << 20;

/// Memory that decoded messages may take beyond that, for each byte of the file; a node of a few bytes takes a few hundred.
pub const DECODED_PER_BYTE: u64 = 24;

/// Characters of a name that a report shows.
pub const SHOWN: usize = 1000;

/// Elements of a list that a report shows.
pub const LISTED: usize = 16;

/// Problems and warnings that a report lists; more are counted.
pub const REPORTED: usize = 1000;

/// Functions and branches inside each other.
pub const DEPTH: usize = 64;
