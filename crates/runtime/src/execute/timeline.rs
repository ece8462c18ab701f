//! When everything ran, by the host's clock, and what follows from it in the words of the model (rules M5 and M6).

use super::order::{After, Order};

/// When a node ran.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// Nanoseconds from the start of the run.
    pub start: i64,
    /// The same.
    pub end: i64,
}

/// A frame that is complete.
#[derive(Clone, Debug, Default)]
pub struct Frame {
    /// When the host began to enqueue it.
    pub admitted: i64,
    /// How long the host took to enqueue it.
    pub enqueueing: i64,
    /// By node.
    pub spans: Vec<Span>,
}

/// The frames of a run, in order.
#[derive(Clone, Debug, Default)]
pub struct Timeline {
    /// Complete frames.
    pub frames: Vec<Frame>,
    /// Whether the user ended the run before all frames were done.
    pub is_interrupted: bool,
}

/// A wait that did not hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Overtaken {
    /// The frame.
    pub frame: usize,
    /// The node that started too early.
    pub node: usize,
    /// What it should have waited for.
    pub after: After,
    /// By how many nanoseconds.
    pub early: i64,
}

impl Timeline {
    /// When stage `stage` took frame `frame`: when all that it waits for had ended, and the frame was admitted.
    pub fn begin(&self, order: &Order, frame: usize, stage: usize) -> i64 {
        let ends = self.ends(&order.stages[stage].begin, frame);
        ends.fold(self.frames[frame].admitted, i64::max)
    }

    /// When stage `stage` was done with frame `frame`.
    pub fn end(&self, order: &Order, frame: usize, stage: usize) -> i64 {
        let ends = self.ends(&order.stages[stage].end, frame);
        ends.fold(self.frames[frame].admitted, i64::max)
    }

    fn ends<'a>(&'a self, after: &'a [After], frame: usize) -> impl Iterator<Item = i64> + 'a {
        after.iter().filter_map(move |after| {
            let frame = frame.checked_sub(after.back as usize)?;
            Some(self.frames[frame].spans[after.node].end)
        })
    }

    /// From the beginning of the first stage to the end of the last, by frame, in nanoseconds.
    pub fn latencies(&self, order: &Order) -> Vec<i64> {
        let last = order.stages.len() - 1;
        let latency = |frame| self.end(order, frame, last) - self.begin(order, frame, 0);
        (0..self.frames.len()).map(latency).collect()
    }

    /// The time of a stage, by frame, in nanoseconds.
    pub fn stage_times(&self, order: &Order, stage: usize) -> Vec<i64> {
        let time = |frame| self.end(order, frame, stage) - self.begin(order, frame, stage);
        (0..self.frames.len()).map(time).collect()
    }

    /// From the end of a frame to that of the next, in nanoseconds.
    pub fn intervals(&self, order: &Order) -> Vec<i64> {
        let last = order.stages.len() - 1;
        let ends: Vec<i64> = (0..self.frames.len())
            .map(|frame| self.end(order, frame, last))
            .collect();
        ends.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// From the first start to the last end on any device within a frame, in nanoseconds: the time without the host's share.
    pub fn device_spans(&self) -> Vec<i64> {
        self.frames
            .iter()
            .map(|frame| {
                let start = frame.spans.iter().map(|span| span.start).min();
                let end = frame.spans.iter().map(|span| span.end).max();
                end.unwrap_or(0) - start.unwrap_or(0)
            })
            .collect()
    }

    /// Nodes that started before what they wait for had ended; clocks of two devices may disagree by `tolerance` nanoseconds.
    pub fn overtaken(&self, order: &Order, tolerance: i64) -> Vec<Overtaken> {
        let mut found = Vec::new();
        for (frame, spans) in self.frames.iter().enumerate() {
            for (node, waits) in order.nodes.iter().enumerate() {
                for &after in &waits.after {
                    let Some(earlier) = frame.checked_sub(after.back as usize) else {
                        continue;
                    };
                    let end = self.frames[earlier].spans[after.node].end;
                    let early = end - spans.spans[node].start;
                    if early > tolerance {
                        found.push(Overtaken {
                            frame,
                            node,
                            after,
                            early,
                        });
                    }
                }
            }
        }
        found
    }
}
