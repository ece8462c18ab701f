//! The figures of one mapping, and whether they meet what is required.
//!
//! Power falls as frames are admitted more rarely: `E_dyn / interval + P_static`.
//! So a mapping that draws too much at full rate is run slower, and meets a limit on power if some admission interval meets all limits at once.
//! For fixed processors, power at a given interval is monotone in dynamic energy alone, which is why the labels of the search (latency, interval, dynamic energy) are enough.

use paracompile_frontend::soc::MemoryId;
use paracompile_plan::plan::Figure;
use paracompile_plan::{Bytes, Milliwatts, Nanojoules, Nanoseconds};

use super::Requirement;

/// The figures of a mapping that requirements are about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Judged {
    /// `Σ T_s(S)`.
    pub latency: Nanoseconds,
    /// `max T_s(A)`: no frames come faster.
    pub interval: Nanoseconds,
    /// Dynamic energy a frame.
    pub energy_dynamic: Nanojoules,
    /// Static power of the processors in use.
    pub static_power: Milliwatts,
    /// Power of the board besides.
    pub base_power: Milliwatts,
    /// Peak use of each memory that holds something.
    pub memory: Vec<(MemoryId, Bytes)>,
}

/// A milliwatt in nanowatts.
const NANOWATTS: u64 = 1_000_000;

/// So much energy every so often, in nanowatts, rounded up.
fn drawn(energy: Nanojoules, interval: Nanoseconds) -> u64 {
    let second = u128::from(energy.count()) * 1_000_000_000;
    let power = second.div_ceil(u128::from(interval.count().max(1)));
    u64::try_from(power).unwrap_or(u64::MAX)
}

/// Months between two frames: whoever waits so long draws static power alone, and energies stay far from the largest number.
const LONG: Nanoseconds = Nanoseconds::new(10_000_000_000_000_000);

impl Judged {
    /// The shortest admission interval at which every requirement is met; `None` if there is none.
    pub fn admission(&self, requirements: &[&Requirement]) -> Option<Nanoseconds> {
        let slowest = requirements
            .iter()
            .map(|requirement| self.least_interval(requirement))
            .try_fold(self.interval, |so_far, least| Some(so_far.max(least?)))?;
        requirements
            .iter()
            .all(|requirement| self.meets(requirement, slowest))
            .then_some(slowest)
    }

    /// The value of a figure while a frame is admitted every `interval`.
    pub fn value(&self, requirement: &Requirement, interval: Nanoseconds) -> u64 {
        match requirement.figure {
            Figure::Latency => self.latency.count(),
            Figure::Interval => interval.count(),
            Figure::EnergyActive => self.energy(interval).count(),
            Figure::EnergyBoard => self.energy_board(interval).count(),
            Figure::PowerActive => drawn(self.energy(interval), interval),
            Figure::PowerBoard => drawn(self.energy_board(interval), interval),
            Figure::Memory => self
                .memory
                .iter()
                .filter(|(memory, _)| requirement.memory.is_none_or(|asked| asked == *memory))
                .map(|(_, bytes)| bytes.count())
                .fold(0, u64::saturating_add),
        }
    }

    /// Each static share is rounded once (rule M11).
    fn energy(&self, interval: Nanoseconds) -> Nanojoules {
        self.energy_dynamic + self.static_power.over(interval)
    }

    fn energy_board(&self, interval: Nanoseconds) -> Nanojoules {
        self.energy(interval) + self.base_power.over(interval)
    }

    fn meets(&self, requirement: &Requirement, interval: Nanoseconds) -> bool {
        self.value(requirement, interval) <= requirement.at_most
    }

    /// An admission interval at which a limit on power is met, the shortest but for the rounding of a nanojoule; every longer one meets it too, and no other figure gets better by waiting.
    fn least_interval(&self, requirement: &Requirement) -> Option<Nanoseconds> {
        if self.meets(requirement, self.interval) {
            return Some(self.interval);
        }
        let power = match requirement.figure {
            Figure::PowerActive => self.static_power,
            Figure::PowerBoard => self.static_power + self.base_power,
            Figure::Latency
            | Figure::Interval
            | Figure::EnergyActive
            | Figure::EnergyBoard
            | Figure::Memory => return Some(Nanoseconds::ZERO),
        };
        let left = requirement
            .at_most
            .checked_sub(power.count().saturating_mul(NANOWATTS))
            .filter(|&left| left > 0)?;
        // Both static shares may be rounded up by half a nanojoule.
        let dynamic = (u128::from(self.energy_dynamic.count()) + 1) * 1_000_000_000;
        let interval = dynamic.div_ceil(u128::from(left));
        u64::try_from(interval).ok().map(Nanoseconds::new)
    }

    /// The least value of a figure among admission intervals at which the other requirements are met; `None` if they are met at none.
    pub fn best(&self, requirement: &Requirement, others: &[&Requirement]) -> Option<u64> {
        let shortest = self.admission(others)?;
        let interval = match requirement.figure {
            // The longest interval that the others allow draws least.
            Figure::PowerActive | Figure::PowerBoard => others
                .iter()
                .filter_map(|other| self.most_interval(other))
                .fold(LONG, Nanoseconds::min)
                .max(shortest),
            Figure::Latency
            | Figure::Interval
            | Figure::EnergyActive
            | Figure::EnergyBoard
            | Figure::Memory => shortest,
        };
        Some(self.value(requirement, interval))
    }

    /// The longest admission interval that a limit allows, near enough for a message; `None` where any is allowed.
    fn most_interval(&self, requirement: &Requirement) -> Option<Nanoseconds> {
        let power = match requirement.figure {
            Figure::Interval => return Some(Nanoseconds::new(requirement.at_most)),
            Figure::EnergyActive => self.static_power,
            Figure::EnergyBoard => self.static_power + self.base_power,
            Figure::Latency | Figure::PowerActive | Figure::PowerBoard | Figure::Memory => {
                return None;
            }
        };
        let left = requirement
            .at_most
            .saturating_sub(self.energy_dynamic.count());
        // A nanojoule is a thousand milliwatt-nanoseconds.
        let interval = left.saturating_mul(1000).checked_div(power.count())?;
        Some(Nanoseconds::new(interval))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn requirement(figure: Figure, at_most: u64) -> Requirement {
        Requirement {
            text: String::new(),
            figure,
            memory: None,
            at_most,
            is_rate: false,
        }
    }

    /// 40 mJ a frame besides 1 W, frames of 10 ms: 5 W at full rate.
    fn judged() -> Judged {
        Judged {
            latency: Nanoseconds::new(20_000_000),
            interval: Nanoseconds::new(10_000_000),
            energy_dynamic: Nanojoules::new(40_000_000),
            static_power: Milliwatts::new(1000),
            base_power: Milliwatts::new(500),
            memory: vec![
                (MemoryId::from_index(0), Bytes::new(30)),
                (MemoryId::from_index(1), Bytes::new(12)),
            ],
        }
    }

    fn admission(limits: &[(Figure, u64)]) -> Option<u64> {
        let all: Vec<Requirement> = limits
            .iter()
            .map(|&(figure, at_most)| requirement(figure, at_most))
            .collect();
        let all: Vec<&Requirement> = all.iter().collect();
        judged().admission(&all).map(Nanoseconds::count)
    }

    #[test]
    fn without_a_limit_on_power_frames_come_at_full_rate() {
        assert_eq!(admission(&[]), Some(10_000_000));
        assert_eq!(
            admission(&[(Figure::PowerActive, 5_000_000_000)]),
            Some(10_000_000)
        );
        assert_eq!(admission(&[(Figure::Latency, 19_999_999)]), None);
    }

    #[test]
    fn the_least_power_that_is_told_is_enough_to_ask_for_however_much_the_board_draws() {
        for base in [0, 500, 2250, 900_000] {
            let judged = Judged {
                base_power: Milliwatts::new(base),
                ..judged()
            };
            let best = judged
                .best(&requirement(Figure::PowerBoard, 0), &[])
                .unwrap();
            let drawn_at_rest = (1000 + base) * 1_000_000;
            assert!(
                (drawn_at_rest..drawn_at_rest + 10).contains(&best),
                "{best}"
            );
            let asked = requirement(Figure::PowerBoard, best);
            assert!(judged.admission(&[&asked]).is_some(), "{base}");
        }
    }

    #[test]
    fn too_much_power_is_met_by_waiting_as_long_as_the_rest_allows() {
        // 40 mJ every 20 ms and 1 W are 3 W.
        // A nanojoule for rounding is half a nanosecond of waiting.
        assert_eq!(
            admission(&[(Figure::PowerActive, 3_000_000_000)]),
            Some(20_000_001)
        );
        let slow = (Figure::Interval, 15_000_000);
        assert_eq!(
            admission(&[(Figure::PowerActive, 3_000_000_000), slow]),
            None
        );
        // Nothing draws less than it does while it waits.
        assert_eq!(admission(&[(Figure::PowerActive, 1_000_000_000)]), None);
        // Waiting costs energy: 60 mJ a frame, not 50.
        let lean = (Figure::EnergyActive, 55_000_000);
        assert_eq!(
            admission(&[(Figure::PowerActive, 3_000_000_000), lean]),
            None
        );
    }

    #[test]
    fn the_best_value_of_a_figure_leaves_the_others_met() {
        let power = requirement(Figure::PowerActive, 1);
        let interval = requirement(Figure::Interval, 20_000_000);
        assert_eq!(judged().best(&power, &[&interval]), Some(3_000_000_000));
        assert_eq!(
            judged().best(
                &interval,
                &[&requirement(Figure::PowerActive, 3_000_000_000)]
            ),
            Some(20_000_001)
        );
        assert_eq!(
            judged().best(&requirement(Figure::Memory, 1), &[]),
            Some(42)
        );
        assert_eq!(
            judged().best(&power, &[&requirement(Figure::Latency, 1)]),
            None
        );
    }
}
