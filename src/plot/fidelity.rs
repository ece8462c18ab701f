//! A fidelity report: what was measured beside what the cost model predicts for it.

use paracompile_plan::OpClass;
use serde::{Deserialize, Serialize};

/// A report, as `paracompile calibrate` writes it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Fidelity {
    /// Always 1.
    pub schema: u32,
    /// Always `fidelity`.
    pub kind: String,
    /// The measurements.
    pub points: Vec<FidelityPoint>,
}

/// One measurement and its prediction.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FidelityPoint {
    /// The processor.
    pub processor: String,
    /// The network.
    pub network: String,
    /// What was measured at once.
    pub level: Level,
    /// Seconds, joules or frames a second.
    pub quantity: Quantity,
    /// The operator or the group; of a network, its name.
    pub name: String,
    /// The class of an operator.
    #[serde(default)]
    pub class: Option<OpClass>,
    /// Whether the cost model has seen operators of its kind.
    pub covered: bool,
    /// Measured, in the unit of the quantity.
    pub measured: f64,
    /// Predicted, in the same unit.
    pub predicted: f64,
}

/// What was measured at once.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Level {
    /// A whole network.
    Network,
    /// A group of operators.
    Group,
    /// One operator.
    Operator,
}

/// What was measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Quantity {
    /// Seconds.
    Time,
    /// Joules.
    Energy,
    /// Frames a second.
    Throughput,
}

/// Why a report cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum FidelityError {
    /// Not the JSON of a report.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    /// Another schema, or another kind of file.
    #[error("schema {schema}, kind {kind:?}: not a fidelity report of schema 1")]
    Foreign {
        /// Stated.
        schema: u32,
        /// Stated.
        kind: String,
    },
    /// Figures that no logarithm has, all of them.
    #[error(
        "{}: measured and predicted must be positive and finite",
        .0.iter().map(|index| format!("points[{index}]")).collect::<Vec<_>>().join(", ")
    )]
    NotPositive(Vec<usize>),
}

impl Fidelity {
    /// Reads a report from JSON.
    pub fn parse(text: &str) -> Result<Self, FidelityError> {
        let report: Self = serde_json::from_str(text)?;
        if report.schema != 1 || report.kind != "fidelity" {
            return Err(FidelityError::Foreign {
                schema: report.schema,
                kind: report.kind,
            });
        }
        let positive = |value: f64| value.is_finite() && value > 0.0;
        let wrong: Vec<usize> = (0..report.points.len())
            .filter(|&index| {
                let point = &report.points[index];
                !positive(point.measured) || !positive(point.predicted)
            })
            .collect();
        if wrong.is_empty() {
            Ok(report)
        } else {
            Err(FidelityError::NotPositive(wrong))
        }
    }
}

impl FidelityPoint {
    /// Whether it is what of a network is covered, beside a point of the whole one: its name goes on behind the network's, as in `X, covered classes`.
    pub(super) fn is_part(&self) -> bool {
        let rest = self.name.strip_prefix(&self.network);
        self.level == Level::Network && rest.is_some_and(|rest| rest.starts_with(','))
    }
}

/// The root of the mean square of relative errors, `None` of nothing.
pub(super) fn error<'a>(points: impl Iterator<Item = &'a FidelityPoint>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0u32);
    for point in points {
        sum += (point.predicted / point.measured - 1.0).powi(2);
        count = count.saturating_add(1);
    }
    (count > 0).then(|| (sum / f64::from(count)).sqrt())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINT: &str = r#"{"processor":"big","network":"Google","level":"network","quantity":"time","name":"Google","class":null,"covered":true,"measured":0.1,"predicted":0.11}"#;

    fn report(points: &[&str]) -> String {
        let points = points.join(",");
        format!(r#"{{"schema":1,"kind":"fidelity","points":[{points}]}}"#)
    }

    #[test]
    fn a_report_is_read_and_its_error_is_relative() {
        let conv = POINT.replace("null", "\"conv\"").replace("0.11}", "0.07}");
        let report = Fidelity::parse(&report(&[POINT, &conv])).unwrap();
        assert_eq!(report.points[1].class, Some(OpClass::Conv));
        // +10% and −30%.
        let error = error(report.points.iter()).unwrap();
        assert!((error - (0.05f64).sqrt()).abs() < 1e-12, "{error}");
    }

    #[test]
    fn what_is_no_report_is_refused_with_the_place() {
        let message = |text: &str| Fidelity::parse(text).unwrap_err().to_string();
        assert!(message("{").contains("at line 1 column 1"));
        let other = report(&[]).replace("fidelity", "front");
        assert_eq!(
            message(&other),
            "schema 1, kind \"front\": not a fidelity report of schema 1"
        );
        let zero = POINT.replace("0.11", "0");
        let negative = POINT.replace("\"measured\":0.1", "\"measured\":-1");
        assert_eq!(
            message(&report(&[&zero, POINT, &negative])),
            "points[0], points[2]: measured and predicted must be positive and finite"
        );
    }
}
