//! What a simulation tells.

use paracompile_plan::plan::{Action, Plan};
use paracompile_plan::{Milliwatts, Nanojoules, Nanoseconds};

use super::engine::{self, Base, Run, STEP_LIMIT, Span};
use super::error::SimulateError;
use super::options::{Contention, SimulateOptions};
use super::program::{Program, StepKind};

/// Figures of a simulated plan; names as in [`paracompile_plan::plan::Predicted`].
#[derive(Clone, Debug, PartialEq)]
pub struct Simulation {
    /// The frames of the unpaced stream.
    pub frames: Vec<FrameTimes>,
    /// Of one frame in an empty pipeline, where each stage is slowed by its own processors alone.
    pub latency: Nanoseconds,
    /// Of the last frame of the unpaced stream.
    pub saturated_latency: Nanoseconds,
    /// Of the last frame of a stream paced at the plan's `admission_interval_ns`.
    pub paced_latency: Nanoseconds,
    /// Time from frame to frame over the second half of the unpaced stream, rounded half up.
    pub interval: Nanoseconds,
    /// Energy of the last frame and of its processors over the interval.
    pub energy_active: Nanojoules,
    /// The same and the board's base power.
    pub energy_board: Nanojoules,
    /// Each queue of the plan.
    pub queues: Vec<QueueLoad>,
    /// What happened in the unpaced stream, by frame, then in the order of the file.
    pub events: Vec<Event>,
}

/// A frame on its way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTimes {
    /// When the first stage takes it.
    pub begin: Nanoseconds,
    /// When the last stage is done.
    pub done: Nanoseconds,
}

/// How much a queue has to do.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct QueueLoad {
    /// Index in the plan's queues.
    pub queue: u32,
    /// Durations of its commands over the unpaced stream, waits of transfers for each other not included.
    pub busy: Nanoseconds,
    /// Share of the whole stream; transfers run beside each other, so that of a transfer queue may exceed one.
    pub share: f64,
}

/// A command in time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Event {
    /// Of which frame.
    pub frame: usize,
    /// Index in the plan's `frame`.
    pub command: u32,
    /// What it does.
    pub action: Action,
    /// Its queue; markers have none.
    pub queue: Option<u32>,
    /// Its stage.
    pub stage: u32,
    /// When it starts.
    pub start: Nanoseconds,
    /// When it ends.
    pub end: Nanoseconds,
}

/// By which share one simulation differs from another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Change {
    /// Of `latency`: 0.02 is two percent more.
    pub latency: f64,
    /// Of `interval`.
    pub interval: f64,
}

impl Change {
    /// From `base` to `other`.
    pub fn between(base: &Simulation, other: &Simulation) -> Self {
        let share = |base: Nanoseconds, other: Nanoseconds| {
            if base == other {
                0.0
            } else {
                other.to_seconds() / base.to_seconds() - 1.0
            }
        };
        Self {
            latency: share(base.latency, other.latency),
            interval: share(base.interval, other.interval),
        }
    }

    /// Whether one of them is larger than this share, up or down.
    pub fn exceeds(&self, share: f64) -> bool {
        self.latency.abs() > share || self.interval.abs() > share
    }
}

/// Runs a plan.
///
/// A plan that passes the checker runs to its end; of another one the first fault that stands in the way is told.
pub fn simulate(plan: &Plan, options: &SimulateOptions) -> Result<Simulation, SimulateError> {
    if options.frames < 2 {
        return Err(SimulateError::TooFewFrames(options.frames));
    }
    if options.frames.saturating_mul(plan.frame.len()) > STEP_LIMIT {
        return Err(SimulateError::TooManyCommands {
            frames: options.frames,
            commands: plan.frame.len(),
            limit: STEP_LIMIT,
        });
    }
    let program = Program::new(plan)?;
    let run = |frames, admission, base| {
        let run = Run {
            frames,
            admission,
            base,
        };
        engine::run(&program, options, run)
    };
    let alone = run(1, Nanoseconds::ZERO, Base::Stage)?;
    let stream = run(options.frames, Nanoseconds::ZERO, Base::WholePlan)?;
    let paced = run(options.frames, plan.admission_interval_ns, Base::WholePlan)?;
    let frames = passages(&program, &stream);
    let interval = steady_interval(&frames);
    let last = &stream[stream.len() - program.steps.len()..];
    let power: Milliwatts = plan
        .processors
        .iter()
        .map(|processor| processor.static_mw)
        .sum();
    // A plan that waits for the sake of power pays static power for as long.
    let paid = if plan.waits() {
        interval.max(plan.admission_interval_ns)
    } else {
        interval
    };
    let energy_active = dynamic_energy(&program, options, last) + power.over(paid);
    Ok(Simulation {
        latency: last_latency(&passages(&program, &alone)),
        saturated_latency: last_latency(&frames),
        paced_latency: last_latency(&passages(&program, &paced)),
        interval,
        energy_active,
        energy_board: energy_active + plan.soc.base_mw.over(paid),
        // Processors that wait for frames are busy for a smaller share.
        queues: loads(&program, if plan.waits() { &paced } else { &stream }),
        events: events(&program, &stream),
        frames,
    })
}

fn passages(program: &Program<'_>, spans: &[Span]) -> Vec<FrameTimes> {
    let (first, last) = (program.begins[0], program.ends[program.ends.len() - 1]);
    spans
        .chunks(program.steps.len())
        .map(|frame| FrameTimes {
            begin: frame[first].start,
            done: frame[last].end,
        })
        .collect()
}

fn last_latency(frames: &[FrameTimes]) -> Nanoseconds {
    frames
        .last()
        .map_or(Nanoseconds::ZERO, |frame| frame.done - frame.begin)
}

fn steady_interval(frames: &[FrameTimes]) -> Nanoseconds {
    let last = frames.len() - 1;
    let middle = last / 2;
    let count = (last - middle) as u64;
    let span = frames[last].done - frames[middle].done;
    Nanoseconds::new(span.count().saturating_add(count / 2) / count)
}

/// Energy of tasks and transfers of one frame; a task that is slowed for a shorter time takes less.
fn dynamic_energy(program: &Program<'_>, options: &SimulateOptions, frame: &[Span]) -> Nanojoules {
    let plan = program.plan;
    let set = program.set(None);
    program
        .steps
        .iter()
        .zip(frame)
        .map(|(step, span)| match step.kind {
            StepKind::Begin { .. } | StepKind::End { .. } => Nanojoules::ZERO,
            StepKind::Transfer { transfer, .. } => plan.transfers[transfer].energy_nj,
            StepKind::Task { task, processor } => {
                let energy = plan.tasks[task].energy_nj;
                match options.contention {
                    Contention::WholePlan => energy,
                    Contention::Dynamic => {
                        let whole = program.duration(task, processor, &set);
                        share_of(energy, span.end - span.start, whole)
                    }
                }
            }
        })
        .sum()
}

/// `energy · part / whole`, rounded half up.
fn share_of(energy: Nanojoules, part: Nanoseconds, whole: Nanoseconds) -> Nanojoules {
    if whole == Nanoseconds::ZERO {
        return energy;
    }
    let whole = u128::from(whole.count());
    let product = u128::from(energy.count()) * u128::from(part.count());
    let rounded = product.saturating_add(whole / 2) / whole;
    Nanojoules::new(u64::try_from(rounded).unwrap_or(u64::MAX))
}

fn loads(program: &Program<'_>, spans: &[Span]) -> Vec<QueueLoad> {
    let plan = program.plan;
    let mut busy = vec![Nanoseconds::ZERO; plan.queues.len()];
    for frame in spans.chunks(program.steps.len()) {
        for (step, span) in program.steps.iter().zip(frame) {
            for &command in &step.commands {
                let queue = plan.frame[command as usize].queue;
                if let Some(busy) = queue.and_then(|queue| busy.get_mut(queue as usize)) {
                    *busy += span.end - span.start;
                }
            }
        }
    }
    let whole = spans.iter().map(|span| span.end).max().unwrap_or_default();
    (0..)
        .zip(busy)
        .map(|(queue, busy)| QueueLoad {
            queue,
            busy,
            share: if whole == Nanoseconds::ZERO {
                0.0
            } else {
                busy.to_seconds() / whole.to_seconds()
            },
        })
        .collect()
}

fn events(program: &Program<'_>, spans: &[Span]) -> Vec<Event> {
    let plan = program.plan;
    let mut of_command = vec![0; plan.frame.len()];
    for (index, step) in program.steps.iter().enumerate() {
        for &command in &step.commands {
            of_command[command as usize] = index;
        }
    }
    let mut events = Vec::with_capacity(spans.len());
    for (frame, spans) in spans.chunks(program.steps.len()).enumerate() {
        for ((command, entry), &step) in (0..).zip(&plan.frame).zip(&of_command) {
            let stage = match program.steps[step].kind {
                StepKind::Begin { stage } | StepKind::End { stage } => plan.stages[stage].id,
                StepKind::Task { task, .. } => plan.tasks[task].stage,
                StepKind::Transfer { transfer, .. } => plan.transfers[transfer].stage,
            };
            events.push(Event {
                frame,
                command,
                action: entry.action,
                queue: entry.queue,
                stage,
                start: spans[step].start,
                end: spans[step].end,
            });
        }
    }
    events
}
