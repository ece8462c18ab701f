//! Moves of tensors between contexts, by way of the host: a thread for each transfer queue of the plan.
//!
//! A move is handed to its thread when all that it waits for has ended, so that moves of a queue are ordered by waits alone and never wait
//! behind one that is not ready. Where host and devices share memory, that side of a move is no command at all.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use opencl3::command_queue::CommandQueue;

use crate::opencl::{Context, Memory, OpenclError, QueueOrder, read, write};

use super::clock::Clock;
use super::completion::{Completion, Ended, Signal};
use super::memory::Store;

/// A move that is ready.
pub(crate) struct Move {
    /// Where the tensor is.
    pub(crate) from: Store,
    /// The first byte of it there.
    pub(crate) from_offset: usize,
    /// Where it goes.
    pub(crate) to: Store,
    /// Its first byte there.
    pub(crate) to_offset: usize,
    /// Its size.
    pub(crate) bytes: usize,
    /// Why it must not run: something that it waits for failed.
    pub(crate) ready: Ended,
    /// Learns of its end.
    pub(crate) completion: Arc<Completion>,
    /// Events of other contexts that wait for it.
    pub(crate) signals: Vec<Arc<Signal>>,
}

/// The thread of a transfer queue.
#[derive(Debug)]
pub(crate) struct Mover {
    /// Takes moves.
    pub(crate) sender: Option<Sender<Move>>,
    thread: Option<JoinHandle<()>>,
}

impl Mover {
    /// Starts a thread with queues of its own in all `contexts`.
    pub(crate) fn start(contexts: &[Arc<Context>], clock: Clock) -> Result<Self, OpenclError> {
        let queues = contexts
            .iter()
            .map(|context| context.queue(context.first_device(), QueueOrder::InOrder))
            .collect::<Result<Vec<_>, _>>()?;
        let (sender, receiver) = channel();
        let thread = std::thread::spawn(move || serve(&receiver, &queues, clock));
        Ok(Self {
            sender: Some(sender),
            thread: Some(thread),
        })
    }
}

impl Drop for Mover {
    fn drop(&mut self) {
        // Without senders the thread ends.
        self.sender = None;
        if let Some(thread) = self.thread.take() {
            let _panicked = thread.join();
        }
    }
}

fn serve(moves: &Receiver<Move>, queues: &[CommandQueue], clock: Clock) {
    const FAILED: i32 = -9999;
    let mut staging = Vec::new();
    for step in moves {
        let start = clock.now();
        let ended = step
            .ready
            .and_then(|()| run(&step, queues, &mut staging).map_err(|_| FAILED));
        let end = clock.now();
        for signal in &step.signals {
            signal.end(ended);
        }
        step.completion.end(ended, (start, end));
    }
}

fn run(step: &Move, queues: &[CommandQueue], staging: &mut Vec<u8>) -> Result<(), OpenclError> {
    let (bytes, at, to_at) = (step.bytes, step.from_offset, step.to_offset);
    match (&step.from, &step.to) {
        (Store::Host(from), Store::Device(to)) => {
            let from = from.lock().expect("no holder panics");
            to_device(queues, to, to_at, &from[at..at + bytes])
        }
        (Store::Device(from), Store::Host(to)) => {
            let mut to = to.lock().expect("no holder panics");
            from_device(queues, from, at, &mut to[to_at..to_at + bytes])
        }
        (Store::Host(from), Store::Host(to)) => {
            let from = from.lock().expect("no holder panics");
            let mut to = to.lock().expect("no holder panics");
            to[to_at..to_at + bytes].copy_from_slice(&from[at..at + bytes]);
            Ok(())
        }
        (Store::Device(from), Store::Device(to)) => {
            if let Some(pointer) = from.shared() {
                // SAFETY: the range lies within, its writer has ended, and nobody writes it before this move has.
                #[expect(unsafe_code, reason = "devices share these bytes")]
                let shared = unsafe { std::slice::from_raw_parts(pointer.add(at), bytes) };
                to_device(queues, to, to_at, shared)
            } else if let Some(pointer) = to.shared() {
                // SAFETY: the range lies within, and nobody reads or writes it before this move has ended.
                #[expect(unsafe_code, reason = "devices share these bytes")]
                let shared = unsafe { std::slice::from_raw_parts_mut(pointer.add(to_at), bytes) };
                from_device(queues, from, at, shared)
            } else {
                staging.resize(staging.len().max(bytes), 0);
                from_device(queues, from, at, &mut staging[..bytes])?;
                to_device(queues, to, to_at, &staging[..bytes])
            }
        }
    }
}

fn to_device(
    queues: &[CommandQueue],
    to: &Memory,
    offset: usize,
    bytes: &[u8],
) -> Result<(), OpenclError> {
    write(&queues[to.context()], to, offset, bytes)
}

fn from_device(
    queues: &[CommandQueue],
    from: &Memory,
    offset: usize,
    bytes: &mut [u8],
) -> Result<(), OpenclError> {
    read(&queues[from.context()], from, offset, bytes)
}
