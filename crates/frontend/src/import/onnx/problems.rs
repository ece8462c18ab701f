//! All that is wrong with a model, as it is found: as many problems as a report lists, and the number of the others.
//!
//! A file of a megabyte can have a million problems, each with names as long as the file, so they are not kept to be counted later.

use super::{Problem, limits};

/// Problems in the order in which they are found.
#[derive(Debug, Default)]
pub(super) struct Problems {
    listed: Vec<Problem>,
    more: usize,
}

impl Problems {
    /// Adds one; beyond [`limits::REPORTED`] it is only counted, unless it is the first of its gravity.
    pub(super) fn push(&mut self, problem: Problem) {
        if self.listed.len() < limits::REPORTED || self.is_graver(&problem) {
            self.listed.push(problem);
        } else {
            self.more += 1;
        }
    }

    pub(super) fn extend(&mut self, problems: impl IntoIterator<Item = Problem>) {
        for problem in problems {
            self.push(problem);
        }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.listed.is_empty()
    }

    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.listed.len() + self.more
    }

    /// Those that are kept; if any is of a kind, one of that kind is among them.
    pub(super) fn iter(&self) -> impl Iterator<Item = &Problem> {
        self.listed.iter()
    }

    /// Those that are kept and hold the condition, and how many more there are of any kind.
    pub(super) fn report(self, holds: impl Fn(&Problem) -> bool) -> Vec<Problem> {
        let mut report: Vec<Problem> = self.listed.into_iter().filter(holds).collect();
        let more = report.len().saturating_sub(limits::REPORTED);
        report.truncate(limits::REPORTED);
        if more + self.more > 0 {
            report.push(Problem::More(more + self.more));
        }
        report
    }

    /// Whether all that are kept leave open what this one decides: whether the file may be valid.
    fn is_graver(&self, problem: &Problem) -> bool {
        (!problem.is_limit() && self.listed.iter().all(Problem::is_limit))
            || (problem.is_certain() && !self.listed.iter().any(Problem::is_certain))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn limit() -> Problem {
        Problem::Unsupported {
            place: "a".to_owned(),
            what: "b".to_owned(),
        }
    }

    #[test]
    fn what_is_beyond_the_report_is_counted_but_its_gravity_is_not_lost() {
        let mut problems = Problems::default();
        problems.extend((0..limits::REPORTED + 5).map(|_| limit()));
        problems.extend([Problem::NoOpset, Problem::NoOpset]);
        assert_eq!(problems.iter().count(), limits::REPORTED + 1);
        assert!(problems.iter().any(Problem::is_certain));
        let report = problems.report(|_| true);
        assert_eq!(report.len(), limits::REPORTED + 1);
        assert_eq!(report.last(), Some(&Problem::More(7)));
    }

    #[test]
    fn few_are_reported_as_they_are() {
        let mut problems = Problems::default();
        problems.extend([limit(), Problem::NoOpset]);
        assert_eq!(problems.report(Problem::is_certain), [Problem::NoOpset]);
    }
}
