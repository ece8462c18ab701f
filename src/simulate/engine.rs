//! The event loop: a heap of instants at which something ends.
//!
//! At each instant everything that ends is taken first, then everything that became ready starts, in the order of frames and steps, so that ties have one outcome.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, VecDeque};

use paracompile_plan::Nanoseconds;

use super::error::{CommandAt, SimulateError};
use super::options::{Contention, Host, Links, SimulateOptions};
use super::program::{Program, StepKind};

/// The most steps of all frames together that a run keeps in memory.
pub(super) const STEP_LIMIT: usize = 10_000_000;

/// Fractions of a nanosecond in which the rest of a task is counted.
const FRACTION_BITS: u32 = 32;

/// Whose slowdown is the base of durations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// All processors of the plan are in use: a stream of frames.
    WholePlan,
    /// Those of the stage are: one frame in an empty pipeline.
    Stage,
}

/// What is run.
#[derive(Clone, Copy, Debug)]
pub(super) struct Run {
    pub(super) frames: usize,
    pub(super) admission: Nanoseconds,
    pub(super) base: Base,
}

/// When a step ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Span {
    pub(super) start: Nanoseconds,
    pub(super) end: Nanoseconds,
}

/// The spans of all steps of all frames, frame by frame.
pub(super) fn run(
    program: &Program<'_>,
    options: &SimulateOptions,
    run: Run,
) -> Result<Vec<Span>, SimulateError> {
    let mut engine = Engine::new(program, options, run);
    engine.start_what_waits_for_nothing();
    while let Some(Reverse(first)) = engine.events.peek().copied() {
        engine.now = first.time;
        while let Some(&Reverse(event)) = engine.events.peek() {
            if event.time > engine.now {
                break;
            }
            engine.events.pop();
            engine.take(event);
        }
        engine.start_ready();
        engine.adjust_rates();
    }
    if engine.open > 0 {
        return Err(SimulateError::Deadlock(engine.cycle()));
    }
    Ok(engine.spans)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Event {
    time: Nanoseconds,
    instance: usize,
    kind: EventKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// The frame is there, or the host has enqueued a command of the step.
    Released,
    /// The step ends, unless its rate has changed since this version.
    Ends { version: u32 },
}

/// A task that is running.
struct Running {
    instance: usize,
    processor: usize,
    /// What is left of the base duration, in fractions of a nanosecond, at `since`.
    left: u128,
    since: Nanoseconds,
    /// `κ` for the set that the base duration assumes, and for the one that is busy now.
    base: u128,
    slowdown: u128,
    version: u32,
}

impl Running {
    /// When it ends if nothing changes.
    fn end(&self) -> Nanoseconds {
        let whole = self.base << FRACTION_BITS;
        let rest = self.left.saturating_mul(self.slowdown).div_ceil(whole);
        self.since + Nanoseconds::new(u64::try_from(rest).unwrap_or(u64::MAX))
    }

    /// Counts the progress until `now`.
    fn advance(&mut self, now: Nanoseconds) {
        let elapsed = u128::from((now - self.since).count()) << FRACTION_BITS;
        let progress = elapsed.saturating_mul(self.base) / self.slowdown;
        self.left = self.left.saturating_sub(progress);
        self.since = now;
    }
}

struct Engine<'a> {
    program: &'a Program<'a>,
    options: &'a SimulateOptions,
    run: Run,
    now: Nanoseconds,
    events: BinaryHeap<Reverse<Event>>,
    /// For each instance of a step, how many things it still waits for.
    missing: Vec<u32>,
    spans: Vec<Span>,
    ended: Vec<bool>,
    open: usize,
    ready: Vec<usize>,
    running: Vec<Running>,
    /// How many tasks run on each processor.
    busy: Vec<usize>,
    link_busy: Vec<bool>,
    link_queue: Vec<VecDeque<usize>>,
    /// When the host thread of each stage is free.
    thread_free: Vec<Nanoseconds>,
    /// Durations of steps: base of tasks, plan's of transfers.
    durations: Vec<Nanoseconds>,
    base_slowdown: Vec<u128>,
}

impl<'a> Engine<'a> {
    fn new(program: &'a Program<'a>, options: &'a SimulateOptions, run: Run) -> Self {
        let steps = program.steps.len();
        let mut missing = vec![0; steps * run.frames];
        for (index, step) in program.steps.iter().enumerate() {
            let enqueued = match (options.host, step.kind) {
                (Host::Ignored, _)
                | (Host::Enqueues, StepKind::Begin { .. } | StepKind::End { .. }) => 0,
                (Host::Enqueues, StepKind::Task { .. } | StepKind::Transfer { .. }) => {
                    step.commands.len()
                }
            };
            for frame in 0..run.frames {
                let waits = step.waits.iter().filter(|(_, back)| *back <= frame);
                missing[frame * steps + index] =
                    u32::try_from(waits.count() + enqueued).unwrap_or(u32::MAX);
            }
        }
        let mut engine = Self {
            program,
            options,
            run,
            now: Nanoseconds::ZERO,
            events: BinaryHeap::new(),
            missing,
            spans: vec![Span::default(); steps * run.frames],
            ended: vec![false; steps * run.frames],
            open: steps * run.frames,
            ready: Vec::new(),
            running: Vec::new(),
            busy: vec![0; program.plan.processors.len()],
            link_busy: vec![false; program.links],
            link_queue: vec![VecDeque::new(); program.links],
            thread_free: vec![Nanoseconds::ZERO; program.begins.len()],
            durations: Vec::with_capacity(steps),
            base_slowdown: Vec::with_capacity(steps),
        };
        engine.set_durations();
        engine.admit_frames();
        engine
    }

    fn set_durations(&mut self) {
        let whole = self.program.set(None);
        for step in &self.program.steps {
            let (duration, slowdown) = match step.kind {
                StepKind::Begin { .. } | StepKind::End { .. } => (Nanoseconds::ZERO, 1),
                StepKind::Transfer { transfer, .. } => {
                    (self.program.plan.transfers[transfer].duration_ns, 1)
                }
                StepKind::Task { task, processor } => {
                    let stage_set;
                    let set = match self.run.base {
                        Base::WholePlan => &whole,
                        Base::Stage => {
                            let stage = self.program.plan.tasks[task].stage as usize;
                            stage_set = self.program.set(Some(stage));
                            &stage_set
                        }
                    };
                    let slowdown = self.program.slowdown(processor, set).thousandths();
                    let duration = self.program.duration(task, processor, set);
                    let dispatch = match self.options.host {
                        Host::Ignored => Nanoseconds::ZERO,
                        Host::Enqueues => self.program.plan.processors[processor].dispatch_ns,
                    };
                    let duration = duration + dispatch;
                    (duration, u128::from(slowdown))
                }
            };
            self.durations.push(duration);
            self.base_slowdown.push(slowdown);
        }
    }

    fn admit_frames(&mut self) {
        if self.run.admission == Nanoseconds::ZERO {
            return;
        }
        for frame in 0..self.run.frames {
            let instance = self.instance(frame, self.program.begins[0]);
            self.missing[instance] += 1;
            self.events.push(Reverse(Event {
                time: self.run.admission.times(frame as u64),
                instance,
                kind: EventKind::Released,
            }));
        }
    }

    fn start_what_waits_for_nothing(&mut self) {
        self.ready = (0..self.missing.len())
            .filter(|&instance| self.missing[instance] == 0)
            .collect();
        self.start_ready();
        self.adjust_rates();
    }

    const fn instance(&self, frame: usize, step: usize) -> usize {
        frame * self.program.steps.len() + step
    }

    fn step(&self, instance: usize) -> usize {
        instance % self.program.steps.len()
    }

    fn release(&mut self, instance: usize) {
        self.missing[instance] -= 1;
        if self.missing[instance] == 0 {
            self.ready.push(instance);
        }
    }

    fn take(&mut self, event: Event) {
        match event.kind {
            EventKind::Released => self.release(event.instance),
            EventKind::Ends { version } => {
                let step = self.step(event.instance);
                match self.program.steps[step].kind {
                    StepKind::Begin { .. } | StepKind::End { .. } => {}
                    StepKind::Transfer { link, .. } => self.link_busy[link] = false,
                    StepKind::Task { processor, .. } => {
                        let running = self.running.iter().position(|running| {
                            running.instance == event.instance && running.version == version
                        });
                        // Another rate has moved the end to another instant.
                        let Some(running) = running else { return };
                        self.running.swap_remove(running);
                        self.busy[processor] -= 1;
                    }
                }
                self.end(event.instance);
            }
        }
    }

    fn end(&mut self, instance: usize) {
        let program = self.program;
        let steps = program.steps.len();
        let (frame, step) = (instance / steps, instance % steps);
        self.spans[instance].end = self.now;
        self.ended[instance] = true;
        self.open -= 1;
        for &(next, frames_later) in &program.steps[step].releases {
            if frames_later < self.run.frames - frame {
                self.release((frame + frames_later) * steps + next);
            }
        }
        if let (Host::Enqueues, StepKind::Begin { stage }) =
            (self.options.host, program.steps[step].kind)
        {
            self.enqueue_stage(frame, stage);
        }
    }

    /// The thread of a stage has seen its `begin` and enqueues one command after the other.
    fn enqueue_stage(&mut self, frame: usize, stage: usize) {
        let mut time = self.now.max(self.thread_free[stage]);
        for &step in &self.program.enqueued[stage] {
            // Each kernel of a task is a launch of its own.
            for _ in 0..self.program.launches(step) {
                time += self.program.plan.soc.enqueue_ns;
            }
            self.events.push(Reverse(Event {
                time,
                instance: self.instance(frame, step),
                kind: EventKind::Released,
            }));
        }
        self.thread_free[stage] = time;
    }

    /// Starts what is ready; markers end at once and may make more ready.
    fn start_ready(&mut self) {
        while !self.ready.is_empty() {
            let mut ready = std::mem::take(&mut self.ready);
            ready.sort_unstable();
            for instance in ready {
                let step = self.step(instance);
                match self.program.steps[step].kind {
                    StepKind::Begin { .. } | StepKind::End { .. } => {
                        self.spans[instance].start = self.now;
                        self.end(instance);
                    }
                    StepKind::Task { processor, .. } => {
                        self.start_task(instance, step, processor);
                    }
                    StepKind::Transfer { link, .. } => match self.options.links {
                        Links::Parallel => self.start_transfer(instance, step),
                        Links::Serial => self.link_queue[link].push_back(instance),
                    },
                }
            }
        }
        for link in 0..self.link_queue.len() {
            if !self.link_busy[link]
                && let Some(instance) = self.link_queue[link].pop_front()
            {
                self.link_busy[link] = true;
                self.start_transfer(instance, self.step(instance));
            }
        }
    }

    fn start_task(&mut self, instance: usize, step: usize, processor: usize) {
        self.spans[instance].start = self.now;
        self.busy[processor] += 1;
        let base = self.base_slowdown[step];
        let running = Running {
            instance,
            processor,
            left: u128::from(self.durations[step].count()) << FRACTION_BITS,
            since: self.now,
            base,
            slowdown: base,
            version: 0,
        };
        self.push_end(&running);
        self.running.push(running);
    }

    fn start_transfer(&mut self, instance: usize, step: usize) {
        self.spans[instance].start = self.now;
        self.events.push(Reverse(Event {
            time: self.now + self.durations[step],
            instance,
            kind: EventKind::Ends { version: 0 },
        }));
    }

    fn push_end(&mut self, running: &Running) {
        self.events.push(Reverse(Event {
            time: running.end(),
            instance: running.instance,
            kind: EventKind::Ends {
                version: running.version,
            },
        }));
    }

    /// Gives running tasks the rate of the set that is busy now.
    fn adjust_rates(&mut self) {
        match self.options.contention {
            Contention::WholePlan => return,
            Contention::Dynamic => {}
        }
        let busy: Vec<bool> = self.busy.iter().map(|&tasks| tasks > 0).collect();
        let mut running = std::mem::take(&mut self.running);
        for task in &mut running {
            let slowdown = self.program.slowdown(task.processor, &busy).thousandths();
            if u128::from(slowdown) != task.slowdown {
                task.advance(self.now);
                task.slowdown = u128::from(slowdown);
                task.version += 1;
                self.push_end(task);
            }
        }
        self.running = running;
    }

    /// Commands that wait for each other, each for the next: what is open, followed until it repeats.
    fn cycle(&self) -> Vec<CommandAt> {
        let steps = self.program.steps.len();
        let mut current = self.ended.iter().position(|&ended| !ended).unwrap_or(0);
        let mut seen = vec![usize::MAX; self.ended.len()];
        let mut path: Vec<usize> = Vec::new();
        while seen[current] == usize::MAX {
            seen[current] = path.len();
            path.push(current);
            let (frame, step) = (current / steps, current % steps);
            let waits = self.program.steps[step].waits.iter();
            let open = waits
                .filter(|(_, back)| *back <= frame)
                .map(|&(before, back)| (frame - back) * steps + before)
                .find(|&before| !self.ended[before]);
            // What waits for nothing open waits for the host, who waits for the `begin` of the stage.
            match open.or_else(|| self.begin_of(frame, step)) {
                Some(before) => current = before,
                None => return self.named(&path),
            }
        }
        self.named(&path[seen[current]..])
    }

    fn begin_of(&self, frame: usize, step: usize) -> Option<usize> {
        let stage = match self.program.steps[step].kind {
            StepKind::Begin { .. } | StepKind::End { .. } => return None,
            StepKind::Task { task, .. } => self.program.plan.tasks[task].stage,
            StepKind::Transfer { transfer, .. } => self.program.plan.transfers[transfer].stage,
        };
        Some(self.instance(frame, self.program.begins[stage as usize]))
    }

    fn named(&self, instances: &[usize]) -> Vec<CommandAt> {
        let steps = self.program.steps.len();
        instances
            .iter()
            .map(|&instance| {
                let command = self.program.steps[instance % steps].commands[0];
                CommandAt {
                    command,
                    action: self.program.plan.frame[command as usize].action,
                    frame: instance / steps,
                }
            })
            .collect()
    }
}
