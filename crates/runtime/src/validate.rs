//! How well predictions hold: every plan that a compile run wrote, executed, beside what was predicted of it.
//!
//! The predictions are digested before anything runs, so that nobody can change them afterwards unnoticed.
//! Errors are relative to what was measured, as in Para-Pipe (section V-B): the root of their mean square.

use std::path::Path;

use paracompile_plan::front::Front;
use paracompile_plan::measured::Measured;
use paracompile_plan::{Nanoseconds, Plan, ReadError, hexadecimal, read_front, read_plan};
use serde::Serialize;
use sha2::{Digest, Sha256};

/// A plan of a compile run.
#[derive(Debug)]
pub struct Candidate {
    /// Its file, relative to `front.json`.
    pub file: String,
    /// The plan.
    pub plan: Plan,
    /// SHA-256 of the file.
    pub digest: String,
}

/// The plans of a compile run, each file once: the front, then baselines and the best of each strategy.
pub fn candidates(directory: &Path) -> Result<(Front, Vec<Candidate>), ReadError> {
    let front = read_front(&directory.join("front.json"))?;
    let mut files: Vec<String> = front.plans.iter().map(|plan| plan.file.clone()).collect();
    files.extend(front.baselines.iter().map(|baseline| baseline.file.clone()));
    let best = front.best_by_strategy.values();
    files.extend(best.filter_map(|best| best.plan.clone()));
    let mut seen = std::collections::BTreeSet::new();
    files.retain(|file| seen.insert(file.clone()));
    let mut found = Vec::new();
    for file in files {
        let path = directory.join(&file);
        let plan = read_plan(&path)?;
        let bytes = std::fs::read(&path).map_err(|source| ReadError::Io { path, source })?;
        found.push(Candidate {
            file,
            plan,
            digest: hexadecimal(&Sha256::digest(&bytes)),
        });
    }
    Ok((front, found))
}

/// SHA-256 over names and digests of all plans: what was predicted before anything ran.
pub fn digest_of_predictions(candidates: &[Candidate]) -> String {
    let mut hasher = Sha256::new();
    for candidate in candidates {
        hasher.update(candidate.file.as_bytes());
        hasher.update([0]);
        hasher.update(candidate.digest.as_bytes());
        hasher.update([0]);
    }
    hexadecimal(&hasher.finalize())
}

/// SHA-256 of a file.
pub fn digest_of_file(path: &Path) -> std::io::Result<String> {
    std::fs::read(path).map(|bytes| hexadecimal(&Sha256::digest(bytes)))
}

/// A figure predicted and measured.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Pair {
    /// Seconds, or frames a second.
    pub predicted: f64,
    /// The same.
    pub measured: f64,
}

/// A plan, predicted and measured.
#[derive(Clone, Debug, Serialize)]
pub struct Validated {
    /// Its file, relative to `front.json`.
    pub file: String,
    /// The shape of its mapping.
    pub strategy: &'static str,
    /// The processors of its stages, `+` between those of one and `_` between stages.
    pub stages: String,
    /// One frame through an empty pipeline, in seconds.
    pub latency_s: Pair,
    /// The 50th frame of a stream, in seconds; absent where the stream was shorter.
    pub saturated_latency_s: Option<Pair>,
    /// Frames a second.
    pub throughput_fps: Pair,
    /// Joules a frame of the metered devices, where there is a meter.
    pub energy_j: Option<Pair>,
}

impl Validated {
    /// Puts what was measured beside what was predicted; `None` of a single frame, which has no interval.
    pub fn new(candidate: &Candidate, measured: &Measured) -> Option<Self> {
        let plan = &candidate.plan;
        let predicted = &plan.predicted;
        let seconds = |predicted: Nanoseconds, measured: Nanoseconds| Pair {
            predicted: predicted.to_seconds(),
            measured: measured.to_seconds(),
        };
        let stages: Vec<String> = plan
            .stages
            .iter()
            .map(|stage| stage.processors.join("+"))
            .collect();
        Some(Self {
            file: candidate.file.clone(),
            strategy: plan.strategy.name(),
            stages: stages.join("_"),
            latency_s: seconds(predicted.latency_ns, measured.latency_ns),
            saturated_latency_s: measured
                .saturated_latency_ns
                .map(|measured| seconds(predicted.saturated_latency_ns, measured)),
            throughput_fps: Pair {
                predicted: 1.0 / predicted.interval_ns.to_seconds(),
                measured: 1.0 / measured.interval_ns?.to_seconds(),
            },
            energy_j: measured.energy_nj.map(|measured| Pair {
                predicted: predicted.energy_active_nj.to_joules(),
                measured: measured.to_joules(),
            }),
        })
    }
}

/// What a validation found.
#[derive(Clone, Debug, Serialize)]
pub struct Validation {
    /// Always 1.
    pub schema: u32,
    /// The network's name.
    pub model: String,
    /// The profile's name.
    pub soc: String,
    /// SHA-256 over all predictions, taken before any plan ran.
    pub predictions: String,
    /// By plan.
    pub plans: Vec<Validated>,
    /// Over all plans.
    pub latency: Agreement,
    /// Over all plans with such a figure.
    pub saturated_latency: Agreement,
    /// Over all plans.
    pub throughput: Agreement,
}

/// How predictions and measurements agree.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Agreement {
    /// The root of the mean square of relative errors; absent of nothing.
    pub rmspe: Option<f64>,
    /// Spearman's rank correlation; absent of fewer than two plans or where all are equal.
    pub spearman: Option<f64>,
}

impl Agreement {
    /// Of figures predicted and measured.
    pub fn of(pairs: &[Pair]) -> Self {
        Self {
            rmspe: rmspe(pairs),
            spearman: spearman(pairs),
        }
    }
}

impl Validation {
    /// Sums up.
    pub fn new(front: &Front, predictions: String, plans: Vec<Validated>) -> Self {
        let all = |figure: &dyn Fn(&Validated) -> Option<Pair>| {
            let pairs: Vec<Pair> = plans.iter().filter_map(figure).collect();
            Agreement::of(&pairs)
        };
        Self {
            schema: 1,
            model: front.model.clone(),
            soc: front.soc.clone(),
            predictions,
            latency: all(&|plan| Some(plan.latency_s)),
            saturated_latency: all(&|plan| plan.saturated_latency_s),
            throughput: all(&|plan| Some(plan.throughput_fps)),
            plans,
        }
    }

    /// The same as a fidelity report, which `paracompile plot` draws: latencies and throughputs, as the agreements are of.
    pub fn fidelity(&self) -> serde_json::Value {
        let point = |plan: &Validated, what: &str, quantity: &str, pair: Pair| {
            serde_json::json!({
                "processor": what, "network": self.model, "level": "network", "quantity": quantity,
                "name": plan.file, "covered": true, "measured": pair.measured, "predicted": pair.predicted,
            })
        };
        let points = self.plans.iter().flat_map(|plan| {
            [
                point(plan, "latency", "time", plan.latency_s),
                point(plan, "throughput", "throughput", plan.throughput_fps),
            ]
        });
        serde_json::json!({
            "schema": 1, "kind": "fidelity", "points": points.collect::<Vec<_>>(),
        })
    }
}

/// The root of the mean square of relative errors.
fn rmspe(pairs: &[Pair]) -> Option<f64> {
    let errors = pairs
        .iter()
        .map(|pair| (pair.predicted / pair.measured - 1.0).powi(2));
    let sum: f64 = errors.sum();
    (!pairs.is_empty()).then(|| (sum / count(pairs.len())).sqrt())
}

/// The correlation of ranks; equal values share the mean of their ranks.
fn spearman(pairs: &[Pair]) -> Option<f64> {
    if pairs.len() < 2 {
        return None;
    }
    let predicted: Vec<f64> = pairs.iter().map(|pair| pair.predicted).collect();
    let measured: Vec<f64> = pairs.iter().map(|pair| pair.measured).collect();
    let (predicted, measured) = (ranks(&predicted), ranks(&measured));
    let mean = |values: &[f64]| values.iter().sum::<f64>() / count(values.len());
    let (one, other) = (mean(&predicted), mean(&measured));
    let mut products = 0.0;
    let mut squares = (0.0, 0.0);
    for (predicted, measured) in predicted.iter().zip(&measured) {
        let (left, right) = (predicted - one, measured - other);
        products += left * right;
        squares.0 += left * left;
        squares.1 += right * right;
    }
    let scale = f64::sqrt(squares.0 * squares.1);
    (scale > 0.0).then(|| products / scale)
}

fn ranks(values: &[f64]) -> Vec<f64> {
    let rank = |value: &f64| {
        let below = values.iter().filter(|other| *other < value).count();
        let above = values.iter().filter(|other| *other > value).count();
        f64::midpoint(count(below + 1), count(values.len() - above))
    };
    values.iter().map(rank).collect()
}

#[expect(clippy::cast_precision_loss, reason = "there are few plans")]
const fn count(number: usize) -> f64 {
    number as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pairs(values: &[(f64, f64)]) -> Vec<Pair> {
        let pair = |&(predicted, measured): &(f64, f64)| Pair {
            predicted,
            measured,
        };
        values.iter().map(pair).collect()
    }

    #[test]
    fn errors_are_relative_to_what_was_measured() {
        let found = Agreement::of(&pairs(&[(1.1, 1.0), (1.8, 2.0)]));
        assert!((found.rmspe.unwrap() - 0.1).abs() < 1e-9);
    }

    #[test]
    fn ranks_agree_whatever_the_scale_and_ties_share_theirs() {
        let same = spearman(&pairs(&[(1.0, 10.0), (2.0, 200.0), (3.0, 201.0)]));
        assert!((same.unwrap() - 1.0).abs() < 1e-9);
        let reversed = spearman(&pairs(&[(1.0, 3.0), (2.0, 2.0), (3.0, 1.0)]));
        assert!((reversed.unwrap() + 1.0).abs() < 1e-9);
        // scipy.stats.spearmanr([1, 2, 2, 4], [1, 3, 2, 4]).statistic
        let tied = spearman(&pairs(&[(1.0, 1.0), (2.0, 3.0), (2.0, 2.0), (4.0, 4.0)]));
        assert!((tied.unwrap() - 0.948_683_298).abs() < 1e-6);
        assert_eq!(spearman(&pairs(&[(1.0, 1.0), (1.0, 2.0)])), None);
    }
}
