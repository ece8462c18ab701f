//! Compares an answer with what a case expects; says everything that differs.

use std::fmt::Debug;

use super::{Case, Expectation, Figures, Status};
use crate::brute_force::streams::{self, Crossing};

/// What a compiler or an oracle says to a case.
#[derive(Clone, Debug, PartialEq)]
pub enum Answer {
    /// The plans that no other one dominates; figures that it cannot tell are absent.
    Front(Vec<Figures>),
    /// There is none.
    Refused {
        /// The whole message; absent where the oracle has none to compare.
        message: Option<String>,
    },
}

impl Case {
    /// Everything in which an answer differs from the expectation.
    pub fn judge(&self, answer: &Answer) -> Vec<String> {
        match (self.expect.status, answer) {
            (Status::Error, Answer::Refused { message: None }) => Vec::new(),
            (
                Status::Error,
                Answer::Refused {
                    message: Some(message),
                },
            ) => self
                .expect
                .error
                .iter()
                .filter(|text| !message.contains(text.as_str()))
                .map(|text| format!("the error does not say `{text}`: {message}"))
                .collect(),
            (Status::Error, Answer::Front(plans)) => {
                vec![format!("expected an error, found {} plans", plans.len())]
            }
            (Status::Optimal, Answer::Refused { message }) => vec![format!(
                "expected plans, found none: {}",
                message.as_deref().unwrap_or("no plan is feasible")
            )],
            (Status::Optimal, Answer::Front(plans)) => self.expect.judge_front(plans),
        }
    }

    /// Everything in which rule M6 differs from the streams that the case expects.
    pub fn judge_streams(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for expected in &self.expect.streams {
            let at = format!("stages {:?}, copies {}", expected.stages, expected.copies);
            let crossings: Vec<_> = (1..expected.stages.len())
                .map(|stage| Crossing {
                    written: stage - 1,
                    last_read: stage,
                    copies: expected.copies,
                })
                .collect();
            let full = streams::stream(&expected.stages, &crossings, None);
            differ(
                &mut faults,
                &at,
                "period",
                &expected.period_ns,
                &full.period,
            );
            let latency = &expected.saturated_latency_ns;
            differ(
                &mut faults,
                &at,
                "saturated latency",
                latency,
                &full.latency,
            );
            if let Some(paced) = &expected.paced_latency_ns {
                let interval = expected.stages.iter().copied().max();
                let stream = streams::stream(&expected.stages, &crossings, interval);
                differ(&mut faults, &at, "paced latency", paced, &stream.latency);
            }
        }
        faults
    }
}

impl Expectation {
    fn judge_front(&self, plans: &[Figures]) -> Vec<String> {
        let mut faults = Vec::new();
        let least = |of: fn(&Figures) -> Option<u64>| plans.iter().filter_map(of).min();
        let bests = [
            ("latency", self.latency_ns, least(|plan| plan.latency_ns)),
            ("interval", self.interval_ns, least(|plan| plan.interval_ns)),
            (
                "active energy",
                self.energy_active_nj,
                least(|plan| plan.energy.map(|energy| energy.active_nj)),
            ),
        ];
        for (name, expected, found) in bests {
            if expected.is_some() {
                differ(
                    &mut faults,
                    "front",
                    &format!("least {name}"),
                    &expected,
                    &found,
                );
            }
        }
        if let Some(expected) = &self.front {
            let mut found: Vec<[Option<u64>; 3]> = plans
                .iter()
                .map(|plan| {
                    let energy = plan.energy.map(|energy| energy.active_nj);
                    [plan.latency_ns, plan.interval_ns, energy]
                })
                .collect();
            found.sort_unstable();
            found.dedup();
            let expected: Vec<_> = expected.iter().map(|point| point.map(Some)).collect();
            let what = "(latency, interval, active energy)";
            differ(&mut faults, "front", what, &expected, &found);
        }
        for expected in &self.plans {
            match plans
                .iter()
                .find(|plan| plan.processors == expected.processors)
            {
                Some(found) => expected.judge(found, &mut faults),
                None => faults.push(format!(
                    "front: no plan on {:?}, only on {:?}",
                    expected.processors,
                    plans
                        .iter()
                        .map(|plan| &plan.processors)
                        .collect::<Vec<_>>()
                )),
            }
        }
        faults
    }
}

impl Figures {
    /// Compares what is expected; absent figures are not.
    fn judge(&self, found: &Self, faults: &mut Vec<String>) {
        let at = format!("plan on {:?}", self.processors);
        let mut compare = |what: &str, expected: Option<u64>, found: Option<u64>| {
            if expected.is_some() {
                differ(faults, &at, what, &expected, &found);
            }
        };
        compare("latency", self.latency_ns, found.latency_ns);
        compare("interval", self.interval_ns, found.interval_ns);
        compare(
            "interval bound",
            self.interval_bound_ns,
            found.interval_bound_ns,
        );
        compare(
            "saturated latency",
            self.saturated_latency_ns,
            found.saturated_latency_ns,
        );
        compare(
            "paced latency",
            self.paced_latency_ns,
            found.paced_latency_ns,
        );
        for (memory, &bytes) in &self.peak_bytes {
            let peak = found.peak_bytes.get(memory).copied();
            compare(&format!("peak of `{memory}`"), Some(bytes), peak);
        }
        if self.energy.is_some() {
            differ(faults, &at, "energy", &self.energy, &found.energy);
        }
        if self.transfers.is_some() {
            differ(faults, &at, "transfers", &self.transfers, &found.transfers);
        }
        let lists = [
            (
                "stage times alone",
                &self.time_alone_ns,
                &found.time_alone_ns,
            ),
            ("stage times", &self.time_ns, &found.time_ns),
            ("copies", &self.crossing_copies, &found.crossing_copies),
        ];
        for (what, expected, found) in lists {
            if expected.is_some() {
                differ(faults, &at, what, expected, found);
            }
        }
        for (operator, processor) in &self.placement {
            let what = format!("processor of `{operator}`");
            let found = found.placement.get(operator);
            differ(faults, &at, &what, &Some(processor), &found);
        }
    }
}

fn differ<T: PartialEq + Debug>(
    faults: &mut Vec<String>,
    at: &str,
    what: &str,
    expected: &T,
    found: &T,
) {
    if expected != found {
        faults.push(format!("{at}: {what} is {found:?}, expected {expected:?}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn case(expect: &str) -> Case {
        let text = format!(
            r#"{{"why": "", "source": "hand",
                "graph": {{"inputs": [], "operators": [], "outputs": []}},
                "soc": {{"io": "m", "memories": [], "processors": []}},
                "expect": {expect}}}"#
        );
        serde_json::from_str(&text).unwrap()
    }

    fn plan(latency: u64) -> Figures {
        Figures {
            processors: vec![vec!["p".to_owned()]],
            latency_ns: Some(latency),
            ..Figures::default()
        }
    }

    #[test]
    fn a_wrong_latency_is_told_with_both_values() {
        let case = case(r#"{"status": "optimal", "latency_ns": 5}"#);
        assert_eq!(
            case.judge(&Answer::Front(vec![plan(5)])),
            Vec::<String>::new()
        );
        assert_eq!(
            case.judge(&Answer::Front(vec![plan(6)])),
            ["front: least latency is Some(6), expected Some(5)"]
        );
    }

    #[test]
    fn a_figure_that_is_missing_from_the_answer_is_a_fault() {
        let case =
            case(r#"{"status": "optimal", "plans": [{"processors": [["p"]], "interval_ns": 3}]}"#);
        assert_eq!(case.judge(&Answer::Front(vec![plan(5)])).len(), 1);
    }

    #[test]
    fn a_plan_that_is_not_on_the_front_is_a_fault() {
        let case = case(r#"{"status": "optimal", "plans": [{"processors": [["q"]]}]}"#);
        assert_eq!(case.judge(&Answer::Front(vec![plan(5)])).len(), 1);
    }

    #[test]
    fn an_error_must_say_what_the_case_names() {
        let case = case(r#"{"status": "error", "error": ["`y`"]}"#);
        let refused = |message: &str| Answer::Refused {
            message: Some(message.to_owned()),
        };
        assert_eq!(
            case.judge(&refused("`y` runs nowhere")),
            Vec::<String>::new()
        );
        assert_eq!(case.judge(&refused("no")).len(), 1);
        assert_eq!(case.judge(&Answer::Front(Vec::new())).len(), 1);
    }

    #[test]
    fn an_unknown_key_is_refused() {
        let text = r#"{"status": "optimal", "latency": 5}"#;
        assert!(serde_json::from_str::<Expectation>(text).is_err());
    }
}
