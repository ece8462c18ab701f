//! Enqueues frames, and takes the times of their events when they are complete.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::{Duration, Instant};

use opencl3::types::cl_event;

use crate::opencl::{Doing, OpenclError, code_name, read, write};

use super::RunError;
use super::completion::{Completion, Countdown, Signal};
use super::delay::Delays;
use super::dispatch::{Dispatcher, Step};
use super::fired::{Fired, Launched, Running, WAITED_FOR_A_FAILURE};
use super::memory::Store;
use super::moves::Move;
use super::order::{After, Order, Work};
use super::prepare::{Enqueued, Prepared};
use super::timeline::{Frame, Span, Timeline};

/// When frames are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// When the one before has left the pipeline.
    Alone,
    /// As soon as the first stage can take them.
    Stream,
    /// At this interval.
    Paced(Duration),
}

/// What to run.
#[derive(Clone, Copy, Debug)]
pub struct Request<'r> {
    /// When frames are admitted.
    pub mode: Mode,
    /// How many.
    pub frames: usize,
    /// The run ends with an error if nothing ends for so long.
    pub patience: Duration,
    /// Set when the user wants the run to end.
    pub interrupted: &'r AtomicBool,
}

/// Provides the inputs of a frame, in the order of the network's.
pub type Feed<'f> = &'f mut (dyn FnMut(usize) -> Vec<Vec<u8>> + 'f);

/// Takes the outputs of a frame, in the order of the network's.
pub type Sink<'f> = &'f mut (dyn FnMut(usize, Vec<Vec<u8>>) + 'f);

impl Prepared {
    /// Writes the same inputs for all frames.
    pub fn set_inputs(&self, inputs: &[Vec<u8>]) -> Result<(), RunError> {
        let copies = self.inputs.iter();
        let copies = copies.map(|port| self.layout.copies_of(port.buffer));
        (0..copies.max().unwrap_or(0)).try_for_each(|frame| self.write_inputs(frame, inputs))
    }

    fn write_inputs(&self, frame: usize, inputs: &[Vec<u8>]) -> Result<(), RunError> {
        for (port, bytes) in self.inputs.iter().zip(inputs) {
            let expected = port.spec.bytes();
            if bytes.len() != expected {
                return Err(RunError::Input {
                    name: port.name.clone(),
                    expected,
                    found: bytes.len(),
                });
            }
            self.put(port.buffer, frame, bytes)?;
        }
        Ok(())
    }

    /// What runs in a frame, and what waits for what.
    pub fn order(&self) -> &Order {
        &self.order
    }

    /// What people call the nodes of a frame.
    pub fn labels(&self) -> &[String] {
        &self.labels
    }

    /// The outputs of a complete frame that no later one has overwritten.
    pub(crate) fn outputs_of(&self, frame: usize) -> Result<Vec<Vec<u8>>, RunError> {
        self.outputs
            .iter()
            .map(|port| {
                let mut bytes = vec![0; port.spec.bytes()];
                self.fetch(port.buffer, frame, &mut bytes)?;
                Ok(bytes)
            })
            .collect()
    }

    /// Writes the contents of a buffer while nothing uses it.
    pub(super) fn put(&self, buffer: u32, frame: usize, bytes: &[u8]) -> Result<(), RunError> {
        let (store, offset) = self.store(buffer, frame);
        match store {
            Store::Device(memory) if !bytes.is_empty() => {
                write(&self.host_queues[memory.context()], memory, offset, bytes)?;
            }
            Store::Device(_) => {}
            Store::Host(store) => {
                let mut store = store.lock().expect("no holder panics");
                store[offset..offset + bytes.len()].copy_from_slice(bytes);
            }
        }
        Ok(())
    }

    /// Reads the contents of a buffer while nothing changes it.
    pub(super) fn fetch(
        &self,
        buffer: u32,
        frame: usize,
        bytes: &mut [u8],
    ) -> Result<(), RunError> {
        let (store, offset) = self.store(buffer, frame);
        match store {
            Store::Device(memory) if !bytes.is_empty() => {
                read(&self.host_queues[memory.context()], memory, offset, bytes)?;
            }
            Store::Device(_) => {}
            Store::Host(store) => {
                let store = store.lock().expect("no holder panics");
                let length = bytes.len();
                bytes.copy_from_slice(&store[offset..offset + length]);
            }
        }
        Ok(())
    }

    /// Whether a task launches nothing.
    pub(super) fn is_nothing(&self, node: usize) -> bool {
        match &self.nodes[node] {
            Enqueued::Task { variants, .. } => variants.iter().all(Vec::is_empty),
            Enqueued::Move { .. } => false,
        }
    }

    /// Submits what was put into a queue.
    pub(super) fn flush(&self, queue: u32) -> Result<(), OpenclError> {
        self.queues[queue as usize]
            .as_ref()
            .map_or(Ok(()), |queue| {
                queue.flush().doing(|| "submitting a frame".to_owned())
            })
    }

    /// Where a buffer lies for a frame, and its first byte there.
    fn store(&self, buffer: u32, frame: usize) -> (&Store, usize) {
        let (piece, offset) = self.layout.places[buffer as usize];
        let stores = &self.stores[piece];
        (&stores[frame % stores.len()], offset)
    }

    /// Runs frames; their inputs are those of [`Prepared::set_inputs`] unless `feed` provides others.
    pub fn run<'s>(
        &'s self,
        request: Request<'s>,
        feed: Option<Feed<'s>>,
        sink: Option<Sink<'s>>,
    ) -> Result<Timeline, RunError> {
        let window = self.options.depth + self.order.deepest as usize + 1;
        std::thread::scope(|scope| {
            let dispatcher = |&is_ahead: &bool| (!is_ahead).then(|| Dispatcher::start(scope, self));
            let mut stream = Stream {
                prepared: self,
                request,
                window: (0..window).map(|_| Vec::new()).collect(),
                admitted: vec![(0, 0); window],
                timeline: Timeline::default(),
                dispatchers: self.is_ahead.iter().map(dispatcher).collect(),
                ended: Arc::new(Ended::default()),
                feed,
                sink,
                random: self.options.delays.map_or(0, Delays::seed) | 1,
            };
            let result = stream.run();
            if result.is_err() {
                stream.give_up();
            }
            result.map(|()| stream.timeline)
        })
    }
}

/// Tells the host that something ended.
#[derive(Debug, Default)]
struct Ended {
    count: Mutex<u64>,
    changed: Condvar,
}

struct Stream<'s> {
    prepared: &'s Prepared,
    request: Request<'s>,
    /// Nodes by frame modulo the window.
    window: Vec<Vec<Fired>>,
    admitted: Vec<(i64, i64)>,
    timeline: Timeline,
    /// By context; none where tasks are enqueued ahead.
    dispatchers: Vec<Option<Dispatcher>>,
    ended: Arc<Ended>,
    feed: Option<Feed<'s>>,
    sink: Option<Sink<'s>>,
    random: u64,
}

impl Stream<'_> {
    fn run(&mut self) -> Result<(), RunError> {
        let depth = match self.request.mode {
            Mode::Alone => 1,
            Mode::Stream | Mode::Paced(_) => self.prepared.options.depth,
        };
        let start = Instant::now();
        for frame in 0..self.request.frames {
            if let Some(due) = frame.checked_sub(depth) {
                self.retire(due)?;
            }
            if let Mode::Paced(interval) = self.request.mode {
                let due = start + interval * u32::try_from(frame).unwrap_or(u32::MAX);
                std::thread::sleep(due.saturating_duration_since(Instant::now()));
            }
            if self.request.interrupted.load(Ordering::Relaxed) {
                self.timeline.is_interrupted = true;
                for left in self.timeline.frames.len()..frame {
                    self.retire(left)?;
                }
                return Ok(());
            }
            if let Some(feed) = &mut self.feed {
                let inputs = feed(frame);
                self.prepared.write_inputs(frame, &inputs)?;
            }
            self.enqueue(frame)?;
        }
        for left in self.timeline.frames.len()..self.request.frames {
            self.retire(left)?;
        }
        Ok(())
    }

    fn enqueue(&mut self, frame: usize) -> Result<(), RunError> {
        let admitted = self.prepared.clock.now();
        let slot = frame % self.window.len();
        self.window[slot].clear();
        for node in 0..self.prepared.nodes.len() {
            let fired = self.fire(frame, node)?;
            self.window[slot].push(fired);
        }
        for queue in 0..self.prepared.queues.len() {
            self.prepared
                .flush(u32::try_from(queue).unwrap_or(u32::MAX))?;
        }
        self.admitted[slot] = (admitted, self.prepared.clock.now() - admitted);
        Ok(())
    }

    /// Calls `then` when a node has ended.
    fn when_ended(
        &self,
        fired: &Fired,
        then: impl FnOnce(super::completion::Ended) + Send + 'static,
    ) -> Result<(), OpenclError> {
        let watcher = self.prepared.watchers[fired.queue as usize].as_ref();
        fired.when_ended(watcher, then)
    }

    /// What node `node` of frame `frame` waits for and may still be under way.
    fn waits(&self, frame: usize, node: usize) -> impl Iterator<Item = &Fired> {
        let done = self.timeline.frames.len();
        let after = self.prepared.order.nodes[node].after.iter();
        after.filter_map(move |&After { node, back }| {
            let earlier = frame.checked_sub(back as usize)?;
            (earlier >= done).then(|| &self.window[earlier % self.window.len()][node])
        })
    }

    fn fire(&mut self, frame: usize, node: usize) -> Result<Fired, RunError> {
        match &self.prepared.nodes[node] {
            &Enqueued::Task { queue, context, .. } => self.fire_task(frame, node, queue, context),
            Enqueued::Move {
                mover,
                from,
                to,
                bytes,
            } => {
                let signals = self.prepared.foreign[node]
                    .iter()
                    .map(|&context| {
                        let signal = Signal::new(&self.prepared.layout.contexts[context])?;
                        Ok((context, Arc::new(signal)))
                    })
                    .collect::<Result<Vec<_>, OpenclError>>()?;
                let completion = Arc::new(Completion::default());
                let (from, from_offset) = self.prepared.store(*from, frame);
                let (to, to_offset) = self.prepared.store(*to, frame);
                let ready = Move {
                    from: from.clone(),
                    from_offset,
                    to: to.clone(),
                    to_offset,
                    bytes: *bytes,
                    ready: Ok(()),
                    completion: Arc::clone(&completion),
                    signals: signals
                        .iter()
                        .map(|(_, signal)| Arc::clone(signal))
                        .collect(),
                };
                let sender = self.prepared.movers[mover].sender.clone();
                let waits = self.waits(frame, node).count();
                let countdown = Countdown::new(waits + 1, move |ended| {
                    if let Some(sender) = sender {
                        // The thread is gone only when the run is given up.
                        let _gone = sender.send(Move {
                            ready: ended,
                            ..ready
                        });
                    }
                });
                for fired in self.waits(frame, node) {
                    let countdown = Arc::clone(&countdown);
                    self.when_ended(fired, move |ended| countdown.tick(ended))?;
                }
                countdown.tick(Ok(()));
                let ended = Arc::clone(&self.ended);
                completion.when_ended(move |_| ended.tell());
                Ok(Fired {
                    queue: self.prepared.order.nodes[node].queue,
                    what: Running::Move(completion),
                    signals,
                })
            }
        }
    }

    /// Enqueues a task, or hands it to whoever does that when it is ready.
    fn fire_task(
        &mut self,
        frame: usize,
        node: usize,
        queue: u32,
        context: usize,
    ) -> Result<Fired, RunError> {
        // A delay counts as the beginning of its task.
        let delay = self.prepared.options.delays.map(|delays| {
            self.random = next(self.random);
            delays.pick(self.random)
        });
        let launched = Arc::new(Launched::default());
        let watcher = self.prepared.watchers[queue as usize].as_ref();
        if let Some(dispatcher) = &self.dispatchers[context] {
            let step = Step {
                queue,
                node,
                frame,
                delay,
                after: Vec::new(),
                is_ready: Arc::default(),
                launched: Arc::clone(&launched),
            };
            self.dispatch(dispatcher, step, context)?;
        } else {
            let waits = self.waits(frame, node);
            let wait: Vec<cl_event> = waits.filter_map(|fired| fired.handle(context)).collect();
            let events = self.prepared.enqueue(node, frame, delay, &wait)?;
            launched.enqueued(Ok(events), watcher)?;
            // The device begins with the first of a frame while the others are enqueued.
            if self.prepared.is_first[node] {
                self.prepared.flush(queue)?;
            }
        }
        let mut signals = Vec::new();
        for &other in &self.prepared.foreign[node] {
            let signal = Arc::new(Signal::new(&self.prepared.layout.contexts[other])?);
            signals.push((other, Arc::clone(&signal)));
            launched.when_ended(watcher, move |ended| signal.end(ended))?;
        }
        if self.prepared.is_last[node] {
            let ended = Arc::clone(&self.ended);
            launched.when_ended(watcher, move |_| ended.tell())?;
        }
        if !signals.is_empty() && self.dispatchers[context].is_none() {
            self.prepared.flush(queue)?;
        }
        Ok(Fired {
            queue,
            what: Running::Task(context, launched),
            signals,
        })
    }

    /// Hands a task to the thread that enqueues it when what it waits for on the host has ended.
    fn dispatch(
        &self,
        dispatcher: &Dispatcher,
        mut step: Step,
        context: usize,
    ) -> Result<(), RunError> {
        let mut elsewhere = Vec::new();
        for fired in self.waits(step.frame, step.node) {
            match &fired.what {
                Running::Task(own, launched) if *own == context => {
                    step.after.push(Arc::clone(launched));
                }
                Running::Task(..) | Running::Move(_) => elsewhere.push(fired),
            }
        }
        let is_ready = Arc::clone(&step.is_ready);
        let waker = dispatcher.waker();
        let countdown = Countdown::new(elsewhere.len() + 1, move |ended| {
            // Counted down once.
            let _again = is_ready.set(ended);
            waker.wake();
        });
        dispatcher.send(step);
        for fired in elsewhere {
            let countdown = Arc::clone(&countdown);
            self.when_ended(fired, move |ended| countdown.tick(ended))?;
        }
        countdown.tick(Ok(()));
        Ok(())
    }

    /// Waits until frame `frame` is complete, and takes its times and outputs.
    fn retire(&mut self, frame: usize) -> Result<(), RunError> {
        let slot = frame % self.window.len();
        let mut last_progress = Instant::now();
        // Nodes before this one have ended: drivers are asked about few, since they let nobody enqueue meanwhile.
        let mut next = 0;
        let mut is_late = false;
        loop {
            let seen = *self.ended.count.lock().expect("no holder panics");
            let before = next;
            while let Some(fired) = self.window[slot].get(next) {
                match fired.ended()? {
                    Some(Ok(())) => next += 1,
                    Some(Err(_)) => return Err(self.failure(frame)),
                    None => break,
                }
            }
            if next == self.window[slot].len() {
                break;
            }
            // One that failed need not be the first that has not ended.
            if is_late && self.has_failed(slot)? {
                return Err(self.failure(frame));
            }
            if next > before {
                last_progress = Instant::now();
            }
            if last_progress.elapsed() > self.request.patience {
                return Err(RunError::Stuck {
                    frame,
                    command: self.prepared.labels[next].clone(),
                    seconds: self.request.patience.as_secs(),
                });
            }
            is_late = !self.ended.wait(seen);
        }
        let (admitted, mut enqueueing) = self.admitted[slot];
        let mut spans = Vec::new();
        for (node, fired) in self.window[slot].iter().enumerate() {
            enqueueing += fired.host_ns();
            spans.push(self.span(node, fired, &spans)?);
        }
        self.timeline.frames.push(Frame {
            admitted,
            enqueueing,
            spans,
        });
        if let Some(sink) = &mut self.sink {
            sink(frame, self.prepared.outputs_of(frame)?);
        }
        Ok(())
    }

    /// Whether a node of a frame failed.
    fn has_failed(&self, slot: usize) -> Result<bool, OpenclError> {
        for fired in &self.window[slot] {
            if matches!(fired.ended()?, Some(Err(_))) {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// When a node ran; `before` are the spans of the nodes before it in its frame.
    fn span(&self, node: usize, fired: &Fired, before: &[Span]) -> Result<Span, RunError> {
        let launched = match &fired.what {
            Running::Move(completion) => {
                let (start, end) = completion.span().unwrap_or_default();
                return Ok(Span { start, end });
            }
            Running::Task(_, launched) => launched,
        };
        if self.prepared.is_nothing(node) {
            // Drivers disagree about the times of markers.
            let frame = self.timeline.frames.len();
            let end = self.ready(frame, node, before);
            return Ok(Span { start: end, end });
        }
        let offset = self.prepared.offsets[self.prepared.order.nodes[node].queue as usize];
        let (start, end) = launched.times()?;
        let host = |device: u64| {
            i64::try_from(device)
                .unwrap_or(i64::MAX)
                .saturating_add(offset)
        };
        Ok(Span {
            start: host(start),
            end: host(end),
        })
    }

    /// When all had ended that comes before a node on its queue or that it waits for.
    fn ready(&self, frame: usize, node: usize, before: &[Span]) -> i64 {
        let nodes = &self.prepared.order.nodes;
        let queue = nodes[node].queue;
        let earlier = (0..node).rev().find(|&other| nodes[other].queue == queue);
        let earlier = earlier.map(|other| before[other].end);
        let waits = nodes[node].after.iter().filter_map(|after| {
            let back = after.back as usize;
            match back {
                0 => before.get(after.node).map(|span| span.end),
                _ => Some(self.timeline.frames[frame.checked_sub(back)?].spans[after.node].end),
            }
        });
        let admitted = self.admitted[frame % self.admitted.len()].0;
        waits.chain(earlier).fold(admitted, i64::max)
    }

    /// The command that failed first: others fail because they wait for it.
    fn failure(&self, frame: usize) -> RunError {
        let slot = frame % self.window.len();
        let failed: Vec<(usize, i32)> = self.window[slot]
            .iter()
            .enumerate()
            .filter_map(|(node, fired)| match fired.ended() {
                Ok(Some(Err(code))) => Some((node, code)),
                Ok(Some(Ok(())) | None) | Err(_) => None,
            })
            .collect();
        let own = failed
            .iter()
            .find(|(_, code)| *code != WAITED_FOR_A_FAILURE);
        let (node, code) = own.or(failed.first()).copied().unwrap_or((0, -1));
        let what = match self.prepared.order.nodes[node].work {
            Work::Task(task) => format!("task {task} ({})", self.prepared.labels[node]),
            Work::Transfer(transfer) => {
                format!("transfer {transfer} ({})", self.prepared.labels[node])
            }
        };
        RunError::Failed {
            frame,
            command: what,
            reason: code_name(code),
        }
    }

    /// Fails whatever still waits for the host, so that nothing waits for ever.
    fn give_up(&mut self) {
        const GIVEN_UP: i32 = -9998;
        for fired in self.window.iter().flatten() {
            for (_, signal) in &fired.signals {
                signal.end(Err(GIVEN_UP));
            }
        }
        // Drivers do not expect events to be released that have not ended; PoCL 3.1 aborts.
        std::mem::forget(std::mem::take(&mut self.window));
    }
}

impl Ended {
    fn tell(&self) {
        *self.count.lock().expect("no holder panics") += 1;
        self.changed.notify_all();
    }

    /// Waits until something ended since `seen`, or for a moment; whether something did.
    fn wait(&self, seen: u64) -> bool {
        const MOMENT: Duration = Duration::from_millis(5);
        let count = self.count.lock().expect("no holder panics");
        let waited = self
            .changed
            .wait_timeout_while(count, MOMENT, |count| *count == seen);
        !waited.expect("no holder panics").1.timed_out()
    }
}

/// The next of a sequence of numbers without pattern (xorshift).
fn next(mut state: u64) -> u64 {
    state ^= state << 13;
    state ^= state >> 7;
    state ^ (state << 17)
}
