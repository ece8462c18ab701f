//! A stream of frames through the stages (rule M6).

use paracompile_plan::Nanoseconds;

use super::placement::Placement;

/// The frame of a stream whose latency counts as that of all.
pub(crate) const STREAM_FRAMES: usize = 50;

/// Stages between which buffers limit how far frames run ahead.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Crossing {
    /// The stage that writes.
    pub(crate) first: usize,
    /// The last stage that reads.
    pub(crate) last: usize,
    /// Copies of the buffer.
    pub(crate) copies: usize,
}

/// The crossings of a mapping, each once, ascending.
pub(crate) fn crossings(placement: &Placement) -> Vec<Crossing> {
    let mut crossings: Vec<Crossing> = placement
        .storages
        .iter()
        .filter(|storage| storage.last > storage.first)
        .map(|storage| Crossing {
            first: storage.first,
            last: storage.last,
            copies: storage.copies(),
        })
        .collect();
    crossings.sort_unstable();
    crossings.dedup();
    crossings
}

/// When a frame enters the first stage and leaves the last one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Passage {
    /// Start of the first stage.
    pub(crate) start: Nanoseconds,
    /// End of the last stage.
    pub(crate) done: Nanoseconds,
}

/// The passage of each frame, frame `f` admitted at `f · admission`.
pub(crate) fn stream(
    times: &[Nanoseconds],
    crossings: &[Crossing],
    admission: Nanoseconds,
    frames: usize,
) -> Vec<Passage> {
    let stages = times.len();
    let mut done = vec![Nanoseconds::ZERO; frames * stages];
    let mut passages = Vec::with_capacity(frames);
    for frame in 0..frames {
        let mut passage = Passage::default();
        let mut ready = admission.times(frame as u64);
        for (stage, &time) in times.iter().enumerate() {
            let mut start = ready;
            if frame > 0 {
                start = start.max(done[(frame - 1) * stages + stage]);
            }
            for crossing in crossings {
                if crossing.first == stage && frame >= crossing.copies {
                    start = start.max(done[(frame - crossing.copies) * stages + crossing.last]);
                }
            }
            if stage == 0 {
                passage.start = start;
            }
            ready = start + time;
            done[frame * stages + stage] = ready;
        }
        passage.done = ready;
        passages.push(passage);
    }
    passages
}

/// `done − start` of the last frame that counts, frame `f` admitted at `f · admission`.
pub(crate) fn stream_latency(
    times: &[Nanoseconds],
    crossings: &[Crossing],
    admission: Nanoseconds,
) -> Nanoseconds {
    stream(times, crossings, admission, STREAM_FRAMES)
        .last()
        .map_or(Nanoseconds::ZERO, |last| last.done - last.start)
}

/// Load of the busiest compute queue under these durations (rule M5).
pub(crate) fn interval_bound(placement: &Placement, durations: &[Nanoseconds]) -> Nanoseconds {
    let mut load = vec![Nanoseconds::ZERO; placement.queues];
    for (&queue, &duration) in placement.queue_of.iter().zip(durations) {
        load[queue] += duration;
    }
    load.into_iter().max().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Latency of the last frame that counts, and the time between the last two.
    fn check(times: &[u64], crossings: &[(usize, usize, usize)], admission: u64) -> (u64, u64) {
        let times: Vec<Nanoseconds> = times.iter().copied().map(Nanoseconds::new).collect();
        let crossings: Vec<Crossing> = crossings
            .iter()
            .map(|&(first, last, copies)| Crossing {
                first,
                last,
                copies,
            })
            .collect();
        let admission = Nanoseconds::new(admission);
        let frames = stream(&times, &crossings, admission, STREAM_FRAMES);
        let [.., before, last] = frames.as_slice() else {
            panic!("there are more than two frames");
        };
        let latency = stream_latency(&times, &crossings, admission);
        assert_eq!(latency, last.done - last.start);
        (latency.count(), (last.done - before.done).count())
    }

    #[test]
    fn two_copies_between_stages_1_1_3_saturate_at_11_with_interval_3() {
        assert_eq!(check(&[1, 1, 3], &[(0, 1, 2), (1, 2, 2)], 0), (11, 3));
    }

    #[test]
    fn three_copies_between_stages_1_1_3_saturate_at_17_with_interval_3() {
        assert_eq!(check(&[1, 1, 3], &[(0, 1, 3), (1, 2, 3)], 0), (17, 3));
    }

    #[test]
    fn one_copy_between_stages_1_1_3_makes_the_interval_4() {
        assert_eq!(check(&[1, 1, 3], &[(0, 1, 1), (1, 2, 1)], 0).1, 4);
    }

    #[test]
    fn a_stream_paced_at_the_interval_keeps_the_latency_of_a_frame_alone() {
        assert_eq!(check(&[1, 1, 3], &[(0, 1, 2), (1, 2, 2)], 3), (5, 3));
    }

    #[test]
    fn a_buffer_that_skips_a_stage_needs_three_copies_for_full_throughput() {
        assert_eq!(check(&[2, 2, 2], &[(0, 2, 3)], 0), (6, 2));
        // With two copies, a frame waits for the one two before it to leave: two frames in six.
        assert_eq!(check(&[2, 2, 2], &[(0, 2, 2)], 0).0, 6);
        let two = stream(
            &[Nanoseconds::new(2); 3],
            &[Crossing {
                first: 0,
                last: 2,
                copies: 2,
            }],
            Nanoseconds::ZERO,
            STREAM_FRAMES,
        );
        assert_eq!(two[49].done - two[47].done, Nanoseconds::new(6));
    }
}
