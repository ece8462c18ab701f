//! The chain of tasks and moves that a figure of a plan consists of: shorten one of them, and the figure may fall; shorten another, and it does not.
//!
//! A run of the plan by the rules of the model has no slack that is not a wait: whatever starts, starts the instant that the last thing it waited for ends.
//! So the chain is walked back from the end, from each step to one that ended when it started.
//! Where several did, a producer of data stands before an order of queues, and that before an order of frames; the rest is the order of the file.
//!
//! It follows the default options of [`super::simulate`] alone: no busy links, no host.

use std::collections::BTreeMap;

use paracompile_plan::Nanoseconds;
use paracompile_plan::plan::{BufferKind, Plan};

use super::engine::{self, Base, Run, STEP_LIMIT, Span};
use super::error::SimulateError;
use super::options::SimulateOptions;
use super::program::{Program, StepKind};

/// Which figure is asked about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Critical {
    /// `latency_ns`: one frame in an empty pipeline, each stage slowed by its own processors alone.
    Latency,
    /// One frame of a paced stream, each stage slowed by all processors of the plan: the sum of `time_ns`.
    Passage,
    /// `interval_ns`: what repeats from frame to frame of an unpaced stream.
    Interval,
}

/// Steps that follow each other without a gap.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalPath {
    /// The steps in time; those of [`Critical::Interval`] stand where the stream has become steady.
    pub steps: Vec<CriticalStep>,
    /// Over how many frames the steps reach: 1, and of [`Critical::Interval`] as many frames as leave meanwhile.
    ///
    /// The figure is [`Self::length`] over this.
    pub frames: usize,
}

impl CriticalPath {
    /// From the start of the first step to the end of the last, which is the sum of their durations.
    pub fn length(&self) -> Nanoseconds {
        self.steps.iter().map(CriticalStep::duration).sum()
    }
}

/// A task or a move that the figure waits for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CriticalStep {
    /// What it is.
    pub work: CriticalWork,
    /// The first output of the task's first operator, or the tensor that is moved.
    pub name: String,
    /// Its stage.
    pub stage: u32,
    /// Its frame, counted from the earliest one of the path.
    pub frame: usize,
    /// When it starts: with the end of the step before it in the path.
    pub start: Nanoseconds,
    /// When it ends.
    pub end: Nanoseconds,
    /// What it waited for last; what that was, the step before it says.
    pub waited_for: WaitedFor,
}

impl CriticalStep {
    /// From start to end.
    pub fn duration(&self) -> Nanoseconds {
        self.end.saturating_sub(self.start)
    }
}

/// A task or a move, by its index in the plan.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CriticalWork {
    /// In the plan's `tasks`.
    Task(u32),
    /// In the plan's `transfers`.
    Transfer(u32),
}

/// Why a step did not start earlier.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum WaitedFor {
    /// The frame came no earlier.
    Frame,
    /// A tensor that the step before computes or moves.
    Tensor,
    /// The task before it on its compute queue.
    Queue,
    /// The stage before was not done with the frame.
    PreviousStage,
    /// The stage was not done with the frame before.
    PreviousFrame,
    /// A later stage still read the copy of a buffer that this stage writes next (rule M6).
    BufferCopy,
}

impl WaitedFor {
    /// The reason in words, to stand behind "waited for".
    pub const fn words(self) -> &'static str {
        match self {
            Self::Frame => "the frame",
            Self::Tensor => "a tensor",
            Self::Queue => "the task before it on its queue",
            Self::PreviousStage => "the stage before",
            Self::PreviousFrame => "the frame before",
            Self::BufferCopy => "a free copy of a buffer",
        }
    }
}

/// The chain of steps that makes up `figure`.
///
/// It is empty where nothing takes time or where nothing holds a stream back.
pub fn critical_path(plan: &Plan, figure: Critical) -> Result<CriticalPath, SimulateError> {
    let (frames, base) = match figure {
        Critical::Latency => (1, Base::Stage),
        Critical::Passage => (1, Base::WholePlan),
        Critical::Interval => (SimulateOptions::default().frames, Base::WholePlan),
    };
    if frames.saturating_mul(plan.frame.len()) > STEP_LIMIT {
        return Err(SimulateError::TooManyCommands {
            frames,
            commands: plan.frame.len(),
            limit: STEP_LIMIT,
        });
    }
    let program = Program::new(plan)?;
    let run = Run {
        frames,
        admission: Nanoseconds::ZERO,
        base,
    };
    let spans = engine::run(&program, &SimulateOptions::default(), run)?;
    let walk = Walk {
        program: &program,
        spans: &spans,
    };
    let mut chain = walk.back_from_the_end(frames - 1);
    let frames = match figure {
        Critical::Latency | Critical::Passage => 1,
        Critical::Interval => walk.cut_to_a_period(&mut chain),
    };
    chain.reverse();
    Ok(CriticalPath {
        steps: walk.steps(&chain),
        frames,
    })
}

/// A step of one frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Instance {
    frame: usize,
    step: usize,
}

/// A link of the chain and why it started when it did; the reason points to the link before it in time.
type Chain = Vec<(Instance, WaitedFor)>;

struct Walk<'a, 'p> {
    program: &'a Program<'p>,
    spans: &'a [Span],
}

impl Walk<'_, '_> {
    fn span(&self, at: Instance) -> Span {
        self.spans[at.frame * self.program.steps.len() + at.step]
    }

    fn kind(&self, at: Instance) -> StepKind {
        self.program.steps[at.step].kind
    }

    /// From the end of the last stage of `frame` to something that waited for nothing.
    ///
    /// It ends, because a run that came to its end has no cycle of waits.
    fn back_from_the_end(&self, frame: usize) -> Chain {
        let step = self.program.ends[self.program.ends.len() - 1];
        let mut current = Some(Instance { frame, step });
        let mut chain = Chain::new();
        while let Some(at) = current {
            let before = self.last_before(at);
            let reason = before.map_or(WaitedFor::Frame, |(_, reason)| reason);
            chain.push((at, reason));
            current = before.map(|(before, _)| before);
        }
        chain
    }

    /// What ended when `at` started.
    fn last_before(&self, at: Instance) -> Option<(Instance, WaitedFor)> {
        let start = self.span(at).start;
        self.program.steps[at.step]
            .waits
            .iter()
            .filter(|&&(_, back)| back <= at.frame)
            .map(|&(step, back)| Instance {
                frame: at.frame - back,
                step,
            })
            .filter(|&before| self.span(before).end == start)
            .map(|before| (before, self.reason(before, at)))
            .min_by_key(|&(before, reason)| (reason, std::cmp::Reverse(before.frame), before.step))
    }

    fn reason(&self, before: Instance, at: Instance) -> WaitedFor {
        match (self.kind(before), self.kind(at)) {
            (StepKind::Task { task, .. }, StepKind::Task { task: reader, .. }) => {
                let plan = self.program.plan;
                let writes = &plan.tasks[task].writes;
                let tensor = |id: &u32| {
                    let buffer = plan.buffers.get(*id as usize);
                    writes.contains(id)
                        && buffer.is_none_or(|buffer| buffer.kind != BufferKind::Workspace)
                };
                if before.frame != at.frame {
                    WaitedFor::PreviousFrame
                } else if plan.tasks[reader].reads.iter().any(tensor) {
                    WaitedFor::Tensor
                } else {
                    WaitedFor::Queue
                }
            }
            (
                StepKind::End {
                    stage: before_stage,
                },
                StepKind::Begin { stage },
            ) => {
                if before.frame == at.frame {
                    WaitedFor::PreviousStage
                } else if before_stage == stage {
                    WaitedFor::PreviousFrame
                } else {
                    WaitedFor::BufferCopy
                }
            }
            // A marker has the reason of the marker that it follows, which `steps` looks up.
            (StepKind::Begin { .. } | StepKind::End { .. }, _) => WaitedFor::PreviousStage,
            (StepKind::Task { .. } | StepKind::Transfer { .. }, _) => WaitedFor::Tensor,
        }
    }

    /// Leaves of a chain through many frames the latest part that begins and ends with the same step of two frames, without the former; returns how many frames lie between.
    fn cut_to_a_period(&self, chain: &mut Chain) -> usize {
        // A period crosses from one frame to the next; it is told from such a crossing on.
        let crosses = |reason: WaitedFor| match reason {
            WaitedFor::PreviousFrame | WaitedFor::BufferCopy => true,
            WaitedFor::Frame | WaitedFor::Tensor | WaitedFor::Queue | WaitedFor::PreviousStage => {
                false
            }
        };
        let crossing = self.repetition(chain, crosses);
        let Some((late, early)) = crossing.or_else(|| self.repetition(chain, |_| true)) else {
            chain.clear();
            return 1;
        };
        let frames = chain[late].0.frame - chain[early].0.frame;
        // From the instant at which the earlier one starts to that at which the later one does.
        chain.truncate(early + 1);
        chain.drain(..=late);
        frames
    }

    /// The places of a step that the chain meets in two frames: the later instance, and the earlier.
    fn repetition(
        &self,
        chain: &Chain,
        counts: impl Fn(WaitedFor) -> bool,
    ) -> Option<(usize, usize)> {
        let mut met: BTreeMap<usize, usize> = BTreeMap::new();
        let entries = chain.iter().enumerate();
        for (place, &(at, _)) in entries.filter(|&(_, &(_, reason))| counts(reason)) {
            match met.get(&at.step) {
                Some(&late) if self.span(chain[late].0).start > self.span(at).start => {
                    return Some((late, place));
                }
                Some(_) => {}
                None => {
                    met.insert(at.step, place);
                }
            }
        }
        None
    }

    /// The tasks and moves of a chain in the order of time; markers give their reasons to what follows them.
    fn steps(&self, chain: &Chain) -> Vec<CriticalStep> {
        let plan = self.program.plan;
        let earliest = chain.iter().map(|(at, _)| at.frame).min().unwrap_or(0);
        let mut steps = Vec::new();
        let mut of_marker = None;
        for &(at, reason) in chain {
            let (work, name, stage) = match self.kind(at) {
                StepKind::Begin { .. } => {
                    of_marker = Some(reason);
                    continue;
                }
                StepKind::End { .. } => continue,
                StepKind::Task { task, .. } => {
                    let anchor = plan.tasks[task].operators.first();
                    let name = anchor.map_or("", |operator| &operator.output);
                    (
                        CriticalWork::Task(index(task)),
                        name,
                        plan.tasks[task].stage,
                    )
                }
                StepKind::Transfer { transfer, .. } => {
                    let entry = &plan.transfers[transfer];
                    let name = &plan.buffers[entry.from_buffer as usize].tensor;
                    (
                        CriticalWork::Transfer(index(transfer)),
                        name.as_str(),
                        entry.stage,
                    )
                }
            };
            let span = self.span(at);
            steps.push(CriticalStep {
                work,
                name: name.to_owned(),
                stage,
                frame: at.frame - earliest,
                start: span.start,
                end: span.end,
                waited_for: of_marker.take().unwrap_or(reason),
            });
        }
        steps
    }
}

/// Ids are 32 bits wide, and each of these has been one.
fn index(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
