//! Streams of frames through a pipeline, frame by frame (rule M6).

/// A buffer that one stage writes and a later one reads last.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Crossing {
    /// The stage that writes it.
    pub written: usize,
    /// The stage that reads it last.
    pub last_read: usize,
    /// How many frames it holds at once.
    pub copies: u64,
}

/// What a stream looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    /// From start to end of the last frame.
    pub latency: u64,
    /// Time between the ends of the last two frames.
    pub period: u64,
}

/// How many frames a stream has.
pub const FRAMES: usize = 50;

/// Sends [`FRAMES`] frames through stages of these times, one every `admission` or as fast as they go.
///
/// # Panics
/// If there is no stage.
pub fn stream(times: &[u64], crossings: &[Crossing], admission: Option<u64>) -> Stream {
    let mut done: Vec<Vec<u64>> = Vec::new();
    let mut latency = 0;
    for frame in 0..FRAMES {
        let mut row = vec![0; times.len()];
        let mut entered = 0;
        for stage in 0..times.len() {
            let mut start = if stage == 0 {
                admission.map_or(0, |interval| interval * frame as u64)
            } else {
                row[stage - 1]
            };
            if let Some(previous) = done.last() {
                start = start.max(previous[stage]);
            }
            for crossing in crossings
                .iter()
                .filter(|crossing| crossing.written == stage)
            {
                let copies = usize::try_from(crossing.copies).expect("copies are few");
                if frame >= copies {
                    start = start.max(done[frame - copies][crossing.last_read]);
                }
            }
            if stage == 0 {
                entered = start;
            }
            row[stage] = start + times[stage];
        }
        latency = row[times.len() - 1] - entered;
        done.push(row);
    }
    let last = times.len() - 1;
    Stream {
        latency,
        period: done[FRAMES - 1][last] - done[FRAMES - 2][last],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn neighbours(copies: u64) -> [Crossing; 2] {
        [0, 1].map(|stage| Crossing {
            written: stage,
            last_read: stage + 1,
            copies,
        })
    }

    #[test]
    fn one_copy_couples_neighbouring_stages() {
        let stream = stream(&[1, 1, 3], &neighbours(1), None);
        assert_eq!(stream.period, 4);
    }

    #[test]
    fn two_copies_reach_the_slowest_stage_and_three_only_queue_longer() {
        let two = stream(&[1, 1, 3], &neighbours(2), None);
        assert_eq!((two.period, two.latency), (3, 11));
        let three = stream(&[1, 1, 3], &neighbours(3), None);
        assert_eq!((three.period, three.latency), (3, 17));
    }

    #[test]
    fn pacing_at_the_interval_brings_latency_back_to_the_sum_of_stages() {
        let paced = stream(&[1, 1, 3], &neighbours(2), Some(3));
        assert_eq!((paced.period, paced.latency), (3, 5));
    }
}
