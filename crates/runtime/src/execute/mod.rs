//! Execution of a plan: everything is prepared once, and a frame only enqueues.
//!
//! `order` dissolves the plan's markers into waits of nodes on nodes, `planned` resolves tasks, `memory` decides which buffers are one and
//! allocates them, `prepare` builds launches for every copy, `stream` enqueues frames and takes the times of their events.
//! Tasks of GPUs go by way of a thread that waits for the host's part in their stead: `dispatch`.
//! What crosses contexts goes through the host: `moves`.

mod bare;

mod clock;

mod completion;

mod delay;

mod dispatch;

mod enqueue;

mod error;

mod fired;

mod memory;

mod moves;

mod order;

mod outcome;

mod planned;

mod prepare;

mod stream;

mod timeline;

mod watch;

pub use delay::Delays;
pub use error::RunError;
pub use memory::{Bound, Sharing};
pub use order::{After, Node, Order, StageEnds, Work, order};
pub use outcome::{Subject, measured};
pub use planned::{Lookup, Planned, Source};
pub use prepare::{Enqueueing, Options, Port, Prepared, prepare, prepare_kernels, try_kernels};
pub use stream::{Feed, Mode, Request, Sink};
pub use timeline::{Frame, Overtaken, Span, Timeline};

pub(crate) use clock::{Clock, offset};
pub(crate) use completion::{Completion, Countdown, Ended, Signal};
pub(crate) use memory::Store;
pub(crate) use moves::{Move, Mover};
pub(crate) use planned::buffers;
pub(crate) use watch::{Watcher, notify};
