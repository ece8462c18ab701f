//! What it takes to move a tensor between memories that have no context in common.
//!
//! The way is that of a run: the end of the launch that wrote the tensor calls back and wakes a thread of the host, which copies through
//! the mapped side if one of them can be mapped, else through memory of its own, and then completes an event that the reading launch
//! waits for.
//! Clocks of two platforms cannot be compared, so tensors are sent to and fro, a large one there and a small one back.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

use opencl3::command_queue::CommandQueue;
use opencl3::event::Event;
use opencl3::types::{cl_event, cl_int};
use serde::Serialize;

use super::machine::{HOST, Machine};
use super::mapped::{Access, with_mapped};
use super::probe::{flush, probe};
use super::sampling::{MOVES, Stopped, sample};
use super::statistics::{line, real};
use crate::launch::Launch;
use crate::opencl::{Context, DeviceKind, Memory, OpenclError};

/// Sizes of the tensors that are moved.
const SIZES: [usize; 6] = [4, 4 << 10, 32 << 10, 256 << 10, 2 << 20, 8 << 20];
/// How long a launch that does next to nothing may take.
const PATIENCE: Duration = Duration::from_secs(60);
/// A link cannot be faster in a profile.
const FASTEST: f64 = 1e15;

/// A measured link.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MeasuredLink {
    /// Name of the source memory.
    pub from: String,
    /// Name of the target memory.
    pub to: String,
    /// Seconds before the first byte.
    pub latency_s: f64,
    /// Bytes a second.
    pub bytes_per_s: f64,
    /// Bytes and seconds that these were fitted to.
    pub points: Vec<(usize, f64)>,
}

/// Measures the links between all memories, that of the host included if frames arrive there; `slot` is the time for one size.
pub(super) fn links(
    machine: &Machine,
    slot: Duration,
    interrupted: &AtomicBool,
) -> Result<Vec<MeasuredLink>, Stopped> {
    let mut ends = Vec::new();
    for index in 0..machine.memories.len() {
        ends.push(Some(End::new(machine, index)?));
    }
    if machine.io.is_none() {
        ends.push(None);
    }
    let mut links = Vec::new();
    for (second, there) in ends.iter().enumerate() {
        for first in &ends[..second] {
            let pair = Pair {
                ends: [first.as_ref(), there.as_ref()],
            };
            links.extend(pair.measure(slot, interrupted)?);
        }
    }
    Ok(links)
}

/// A memory with what it takes to write and read there.
struct End<'m> {
    name: &'m str,
    context: &'m Context,
    launches: &'m CommandQueue,
    moves: &'m CommandQueue,
    buffer: Arc<Memory>,
    probe: Launch,
    /// Whether its buffers can be mapped without a copy.
    is_mapped: bool,
}

impl<'m> End<'m> {
    fn new(machine: &'m Machine, index: usize) -> Result<Self, OpenclError> {
        let memory = &machine.memories[index];
        let station = &machine.stations[memory.station];
        let device = &station.processor.device;
        Ok(Self {
            name: &memory.name,
            context: &station.context,
            launches: &station.queue,
            moves: &memory.queue,
            buffer: station.context.allocate(SIZES[SIZES.len() - 1])?,
            probe: probe(&station.context)?,
            is_mapped: device.kind == DeviceKind::Cpu || device.shares_host_memory,
        })
    }
}

/// Two memories; `None` is the host's own.
struct Pair<'e, 'm> {
    ends: [Option<&'e End<'m>>; 2],
}

impl Pair<'_, '_> {
    /// Both directions.
    fn measure(
        &self,
        slot: Duration,
        interrupted: &AtomicBool,
    ) -> Result<[MeasuredLink; 2], Stopped> {
        let seconds = |bytes: [usize; 2]| {
            let mut staging = vec![0; bytes[0].max(bytes[1])];
            sample(MOVES, slot, interrupted, |pairs| {
                self.round_trip(bytes, pairs, &mut staging)
            })
        };
        let name = |side: usize| self.ends[side].map_or(HOST, |end| end.name).to_owned();
        let smallest = seconds([SIZES[0]; 2])?.median;
        let mut links = Vec::new();
        for side in [0, 1] {
            let mut points = vec![(SIZES[0], smallest / 2.0)];
            for &size in &SIZES[1..] {
                let mut bytes = [SIZES[0]; 2];
                bytes[side] = size;
                // The way back takes as long as it does with two small tensors, and both ways the same there.
                let there = seconds(bytes)?.median - smallest / 2.0;
                points.push((size, there.max(smallest / 2.0)));
            }
            let fitted: Vec<(f64, f64)> = points
                .iter()
                .filter(|(_, seconds)| *seconds > 0.0)
                .map(|&(size, seconds)| (real(size), seconds))
                .collect();
            let (latency_s, rate) = line(&fitted);
            links.push(MeasuredLink {
                from: name(side),
                to: name(1 - side),
                latency_s,
                bytes_per_s: if rate > 1.0 / FASTEST {
                    1.0 / rate
                } else {
                    FASTEST
                },
                points,
            });
        }
        let [there, back] = <[MeasuredLink; 2]>::try_from(links).expect("there are two sides");
        Ok([there, back])
    }

    /// Seconds of a move of `bytes[0]` there and one of `bytes[1]` back, each with the launch behind it, as the mean of `pairs`.
    fn round_trip(
        &self,
        bytes: [usize; 2],
        pairs: usize,
        staging: &mut [u8],
    ) -> Result<f64, OpenclError> {
        let hops = 2 * pairs;
        let (sender, receiver) = channel();
        let mut gates = Vec::new();
        for hop in 0..hops {
            gates.push(match self.ends[hop % 2] {
                Some(end) => {
                    let gate = Gate::new(end.context)?;
                    let launched = end.probe.enqueue(end.launches, &[gate.event.get()])?;
                    call_back(&launched, &sender, hop)?;
                    Some(gate)
                }
                None => None,
            });
        }
        for end in self.ends.iter().flatten() {
            flush(end.launches)?;
        }
        let started = Instant::now();
        for (hop, gate) in gates.into_iter().enumerate() {
            if let Some(gate) = gate {
                gate.open()?;
                await_hop(&receiver, hop)?;
            }
            let (from, to) = (self.ends[hop % 2], self.ends[1 - hop % 2]);
            carry(from, to, bytes[hop % 2], staging)?;
        }
        Ok(started.elapsed().as_secs_f64() / real(pairs))
    }
}

/// Moves bytes from one memory to another one; done when it returns.
fn carry(
    from: Option<&End<'_>>,
    to: Option<&End<'_>>,
    bytes: usize,
    staging: &mut [u8],
) -> Result<(), OpenclError> {
    use crate::opencl::{read, write};
    let staging = &mut staging[..bytes];
    match (from, to) {
        (Some(from), Some(to)) if from.is_mapped => {
            with_mapped(from.moves, &from.buffer, bytes, Access::Read, |mapped| {
                write(to.moves, &to.buffer, 0, mapped)
            })
        }
        (Some(from), Some(to)) if to.is_mapped => {
            with_mapped(to.moves, &to.buffer, bytes, Access::Write, |mapped| {
                read(from.moves, &from.buffer, 0, mapped)
            })
        }
        (from, to) => {
            if let Some(from) = from {
                read(from.moves, &from.buffer, 0, staging)?;
            }
            if let Some(to) = to {
                write(to.moves, &to.buffer, 0, staging)?;
            }
            Ok(())
        }
    }
}

/// An event that the host completes; it is completed in any case, so that nothing waits for it for ever.
struct Gate {
    event: Event,
    is_open: bool,
}

impl Gate {
    fn new(context: &Context) -> Result<Self, OpenclError> {
        use opencl3::event::create_user_event;
        let event = create_user_event(context.inner().get())
            .map_err(|code| OpenclError::of_code(code, "making an event"))?;
        Ok(Self {
            event: Event::new(event),
            is_open: false,
        })
    }

    fn open(mut self) -> Result<(), OpenclError> {
        self.set()
    }

    fn set(&mut self) -> Result<(), OpenclError> {
        const COMPLETE: i32 = 0;
        self.is_open = true;
        opencl3::event::set_user_event_status(self.event.get(), COMPLETE)
            .map_err(|code| OpenclError::of_code(code, "completing an event"))
    }
}

impl Drop for Gate {
    fn drop(&mut self) {
        if !self.is_open {
            // Whoever gives up before has an error to tell already.
            let _ = self.set();
        }
    }
}

/// What a callback tells: which hop ended, and how.
type Ended = (usize, cl_int);

/// Waits for the end of a hop.
fn await_hop(receiver: &Receiver<Ended>, hop: usize) -> Result<(), OpenclError> {
    let Ok((ended, status)) = receiver.recv_timeout(PATIENCE) else {
        return Err(OpenclError::Call {
            doing: "waiting for the end of a measured launch".to_owned(),
            name: format!("the driver did not call back within {} s", PATIENCE.as_secs()),
        });
    };
    debug_assert_eq!(ended, hop, "hops end in order");
    if status < 0 {
        return Err(OpenclError::of_code(status, "running a measured launch"));
    }
    Ok(())
}

/// Sends the hop when the command is complete.
fn call_back(event: &Event, sender: &Sender<Ended>, hop: usize) -> Result<(), OpenclError> {
    use crate::opencl::Doing;
    const COMPLETE: cl_int = 0;
    let message = Box::into_raw(Box::new((sender.clone(), hop)));
    event
        .set_callback(COMPLETE, completed, message.cast())
        .doing(|| "asking to be called back".to_owned())
}

/// Called by the driver once for each message.
extern "C" fn completed(_event: cl_event, status: cl_int, message: *mut std::ffi::c_void) {
    // SAFETY: `call_back` made the message for this one call.
    #[expect(unsafe_code, reason = "the driver hands back what it was given")]
    let message = unsafe { Box::from_raw(message.cast::<(Sender<Ended>, usize)>()) };
    let (sender, hop) = *message;
    // Nobody listens any more where a measurement was given up.
    let _ = sender.send((hop, status));
}
