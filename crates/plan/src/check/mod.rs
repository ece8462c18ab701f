//! The independent checker: derives a plan again from its decisions and the facts, and reports every difference.
//!
//! It follows `docs/model.md` (rules M1 to M13) and `docs/plan-format.md`, and shares no code with whatever makes plans.
//! [`check_structure`] needs no costs and serves whoever executes plans; [`check`] also judges every figure.
//! It does not judge whether a plan is good: a proof's bound is only held against its value.

mod violation;

mod network;

mod locations;

mod placement;

mod fusion;

mod dataflow;

mod buffers;

mod kernels;

mod launch;

mod components;

mod granularity;

mod transfers;

mod queues;

mod order;

mod commands;

mod progress;

mod header;

mod profile;

mod timing;

mod frames;

mod energy;

mod memory;

mod proofs;

mod constraints;

mod verdict;

pub use verdict::{check, check_structure};
pub use violation::{FusionFault, List, Place, Violation};
