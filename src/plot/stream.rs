//! The paced pipeline of rule M6: a frame is admitted every interval, and starts in each stage when the stages before have had it.
//!
//! Closed formulas, no simulation: a paced pipeline never waits.

use paracompile_plan::Plan;

/// When frames are where; everything in seconds from the admission of frame 0.
pub(super) struct Stream {
    /// Start of each stage for frame 0.
    pub(super) starts: Vec<f64>,
    /// Duration of each stage.
    pub(super) times: Vec<f64>,
    pub(super) interval: f64,
    /// What a frame takes in the paced stream.
    pub(super) passage: f64,
    /// Length of the picture: a whole frame, and where one stage has it all the time, the start of the next.
    pub(super) span: f64,
}

impl Stream {
    pub(super) fn of(plan: &Plan) -> Self {
        let times: Vec<f64> = plan
            .stages
            .iter()
            .map(|stage| stage.time_ns.to_seconds())
            .collect();
        let starts = times
            .iter()
            .scan(0.0, |end, time| {
                let start = *end;
                *end += time;
                Some(start)
            })
            .collect();
        let interval = plan.admission_interval_ns.to_seconds();
        let passage = times.iter().sum();
        Self {
            starts,
            times,
            interval,
            passage,
            span: f64::max(passage * 1.02, 1.3 * interval),
        }
    }

    /// Numbers of the frames that touch the picture: as many before frame 0 as are under way at once, and those admitted later.
    ///
    /// Frame 0 is the last, so that it is drawn on top.
    pub(super) fn frames(&self) -> Vec<i32> {
        if self.interval <= 0.0 {
            return vec![0];
        }
        // A plan's interval is its longest stage, so there are no more frames than stages; the limit guards against files that say otherwise.
        let count = |length: f64| to_count((length / self.interval).ceil().min(64.0));
        let others = (-count(self.passage)..=count(self.span)).filter(|&frame| frame != 0);
        others.chain([0]).collect()
    }

    fn admitted(&self, frame: i32) -> f64 {
        f64::from(frame) * self.interval
    }

    /// From when to when `start` and `duration` of `stage` are in frame `frame`, cut to the picture; `None` outside.
    pub(super) fn visible(
        &self,
        frame: i32,
        stage: u32,
        start: f64,
        duration: f64,
    ) -> Option<(f64, f64)> {
        let stage_start = self.starts.get(stage as usize)?;
        let from = self.admitted(frame) + stage_start + start;
        let (from, to) = (from.max(0.0), (from + duration).min(self.span));
        (from < to).then_some((from, to))
    }
}

#[expect(
    clippy::cast_possible_truncation,
    reason = "the caller limits the value, and the cast saturates"
)]
fn to_count(value: f64) -> i32 {
    value as i32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plot::samples;

    #[test]
    fn frames_before_and_behind_fill_the_picture() {
        let stream = Stream::of(&samples::plan(30, &[&["big"], &["gpu"], &["little"]]));
        let frames = stream.frames();
        assert_eq!(frames.last(), Some(&0));
        let (first, last) = (frames.iter().min().unwrap(), frames.iter().max().unwrap());
        let outside = |frame| {
            (0..3).all(|stage| {
                stream
                    .visible(frame, stage, 0.0, stream.times[stage as usize])
                    .is_none()
            })
        };
        assert!(outside(first - 1) && outside(last + 1));
        // At the start of the picture, the last stage has the frame admitted two intervals before.
        let (from, to) = stream.visible(-2, 2, 0.0, stream.times[2]).unwrap();
        assert!(
            from < stream.interval * 0.01 && to > stream.interval * 0.9,
            "{from} {to}"
        );
    }

    #[test]
    fn a_stage_that_the_plan_lacks_is_nowhere() {
        let stream = Stream::of(&samples::plan(8, &[&["big"]]));
        assert_eq!(stream.visible(0, 1, 0.0, 1.0), None);
    }
}
