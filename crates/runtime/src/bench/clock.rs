//! The least time of many runs: what others do on the machine can only add to it.

use std::time::{Duration, Instant};

const RUNS: usize = 30;
const ENOUGH: Duration = Duration::from_millis(400);

/// The least time in seconds of each of the candidates, which take turns.
pub(super) fn least<E>(
    candidates: &mut [&mut dyn FnMut() -> Result<(), E>],
) -> Result<Vec<f64>, E> {
    for candidate in candidates.iter_mut() {
        candidate()?;
    }
    let mut least = vec![f64::INFINITY; candidates.len()];
    let start = Instant::now();
    for run in 0..RUNS {
        if run > 2 && start.elapsed() > ENOUGH * u32::try_from(candidates.len()).unwrap_or(1) {
            break;
        }
        for (candidate, least) in candidates.iter_mut().zip(&mut least) {
            let start = Instant::now();
            candidate()?;
            *least = least.min(start.elapsed().as_secs_f64());
        }
    }
    Ok(least)
}
