//! The last word on a schedule: it is compared with the instance, rule by rule, in integers.
//!
//! It shares nothing with the solvers, not even the problem's type.

use super::Instance;

/// Where and when one operator of a schedule runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Placed {
    /// The processor.
    pub processor: usize,
    /// Its start, in units of the last digit.
    pub start: u64,
}

/// What is wrong with a schedule.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Fault {
    /// Not one entry an operator.
    #[error("{found} operators are placed of {expected}")]
    Count {
        /// How many are placed.
        found: usize,
        /// How many there are.
        expected: usize,
    },
    /// A processor that does not run it.
    #[error("operator {operator} does not run on processor {processor}")]
    Unsupported {
        /// The operator.
        operator: usize,
        /// The processor.
        processor: usize,
    },
    /// Two at once.
    #[error("operators {first} and {second} overlap on processor {processor}")]
    Overlap {
        /// One.
        first: usize,
        /// The other.
        second: usize,
        /// Where.
        processor: usize,
    },
    /// It starts before its input has arrived.
    #[error(
        "operator {to} starts at {start} and its input from operator {from} arrives at {arrival}"
    )]
    Early {
        /// Who writes.
        from: usize,
        /// Who reads.
        to: usize,
        /// When it starts.
        start: u64,
        /// When it could.
        arrival: u64,
    },
}

/// The makespan of a schedule, if it is one.
pub fn judge(instance: &Instance, placed: &[Placed]) -> Result<u64, Fault> {
    if placed.len() != instance.durations.len() {
        return Err(Fault::Count {
            found: placed.len(),
            expected: instance.durations.len(),
        });
    }
    let mut ends = Vec::with_capacity(placed.len());
    for (operator, at) in placed.iter().enumerate() {
        let row = &instance.durations[operator];
        let time = row.get(at.processor).copied().flatten();
        let time = time.ok_or(Fault::Unsupported {
            operator,
            processor: at.processor,
        })?;
        ends.push(at.start.saturating_add(time));
    }
    for edge in &instance.edges {
        let (from, to) = (&placed[edge.from], &placed[edge.to]);
        let delay = edge.delays.between(from.processor, to.processor);
        let arrival = ends[edge.from].saturating_add(delay);
        if to.start < arrival {
            return Err(Fault::Early {
                from: edge.from,
                to: edge.to,
                start: to.start,
                arrival,
            });
        }
    }
    // What takes no time overlaps nothing, at whatever moment.
    let mut order: Vec<usize> = (0..placed.len())
        .filter(|&operator| ends[operator] > placed[operator].start)
        .collect();
    order.sort_by_key(|&operator| (placed[operator].processor, placed[operator].start));
    for pair in order.windows(2) {
        let (first, second) = (pair[0], pair[1]);
        let processor = placed[first].processor;
        if processor == placed[second].processor && placed[second].start < ends[first] {
            return Err(Fault::Overlap {
                first,
                second,
                processor,
            });
        }
    }
    Ok(ends.into_iter().max().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::super::document::read;
    use super::*;

    fn two() -> Instance {
        read(
            r#"{"tasks": [[2, 3], [4, null], [0, 0]], "edges": [[0, 1, 5]]}"#,
            "two",
            None,
        )
        .unwrap()
    }

    fn at(processor: usize, start: u64) -> Placed {
        Placed { processor, start }
    }

    #[test]
    fn each_rule_is_held() {
        let instance = two();
        assert_eq!(judge(&instance, &[at(0, 0), at(0, 2), at(0, 1)]), Ok(6));
        assert_eq!(judge(&instance, &[at(1, 0), at(0, 8), at(1, 0)]), Ok(12));
        assert!(matches!(
            judge(&instance, &[at(0, 0)]),
            Err(Fault::Count { .. })
        ));
        assert!(matches!(
            judge(&instance, &[at(0, 0), at(1, 9), at(0, 0)]),
            Err(Fault::Unsupported {
                operator: 1,
                processor: 1
            })
        ));
        assert!(matches!(
            judge(&instance, &[at(1, 0), at(0, 7), at(0, 0)]),
            Err(Fault::Early { arrival: 8, .. })
        ));
        let apart = read(r#"{"tasks": [[2], [4]], "edges": []}"#, "apart", None).unwrap();
        assert!(matches!(
            judge(&apart, &[at(0, 3), at(0, 0)]),
            Err(Fault::Overlap {
                first: 1,
                second: 0,
                processor: 0
            })
        ));
    }
}
