//! Figures that every plan must meet: `latency<=50ms`.

use std::fmt;

use paracompile_frontend::soc::{MemoryId, Soc};
use paracompile_plan::plan::{Constraint, Figure};

use super::quantity::{Floor, Scale, split_number};

/// One `--require`, read: a figure of every plan is at most so many of its smallest unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Requirement {
    /// As typed.
    pub text: String,
    /// Which figure; a throughput is the interval that it leaves.
    pub figure: Figure,
    /// For [`Figure::Memory`]: of which memory; `None` is all of them together.
    pub memory: Option<MemoryId>,
    /// Nanoseconds, nanojoules, nanowatts or bytes.
    pub at_most: u64,
    /// Whether it was asked for as a throughput, for messages.
    pub is_rate: bool,
}

/// A requirement that cannot be understood: the user's fault.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("--require `{text}`: {fault}")]
pub struct RequirementError {
    /// What was typed.
    pub text: String,
    /// What is wrong with it.
    pub fault: RequirementFault,
}

/// What can be wrong with a requirement.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum RequirementFault {
    /// No comparison.
    #[error("expected FIGURE<=VALUE, for example latency<=50ms; a shell needs quotes around it")]
    Malformed,
    /// No such figure.
    #[error("`{name}` is no figure of a plan; there are {}", KNOWN.join(", "))]
    UnknownFigure {
        /// The name.
        name: String,
    },
    /// No such memory.
    #[error("no memory is called `{name}`; there are {}", .known.join(", "))]
    UnknownMemory {
        /// The name.
        name: String,
        /// Those of the chip.
        known: Vec<String>,
    },
    /// It asks for more of what is better less, or the other way round.
    #[error(
        "less is better of some figures and more of others: only {figure}{expected}… makes sense"
    )]
    WrongWay {
        /// The figure.
        figure: String,
        /// The comparison that makes sense.
        expected: &'static str,
    },
    /// Not a number with a unit of the figure.
    #[error("`{value}` is no {what}; expected for example {example}, in {units}")]
    BadValue {
        /// What stands behind the comparison.
        value: String,
        /// What it should be.
        what: &'static str,
        /// An example.
        example: &'static str,
        /// Known units.
        units: &'static str,
    },
    /// A limit that is out of range.
    #[error(
        "`{value}` is out of range: every plan has more than nothing, and less than 2^64 of the smallest unit"
    )]
    OutOfRange {
        /// What stands behind the comparison.
        value: String,
    },
}

const KNOWN: [&str; 9] = [
    "latency",
    "interval",
    "throughput",
    "energy",
    "board-energy",
    "power",
    "board-power",
    "memory",
    "memory[NAME]",
];

/// The comparisons that are understood, longest first, and whether they ask for little.
const COMPARISONS: [(&str, Comparison); 6] = [
    ("<=", Comparison::new(true, false)),
    (">=", Comparison::new(false, false)),
    ("≤", Comparison::new(true, false)),
    ("≥", Comparison::new(false, false)),
    ("<", Comparison::new(true, true)),
    (">", Comparison::new(false, true)),
];

#[derive(Clone, Copy)]
struct Comparison {
    asks_for_little: bool,
    is_strict: bool,
}

impl Comparison {
    const fn new(asks_for_little: bool, is_strict: bool) -> Self {
        Self {
            asks_for_little,
            is_strict,
        }
    }
}

impl Requirement {
    /// Reads `FIGURE<=VALUE` (or `>=` of a throughput).
    pub fn parse(text: &str, soc: &Soc) -> Result<Self, RequirementError> {
        Self::read(text, soc).map_err(|fault| RequirementError {
            text: text.to_owned(),
            fault,
        })
    }

    fn read(text: &str, soc: &Soc) -> Result<Self, RequirementFault> {
        let (at, symbol, comparison) = COMPARISONS
            .iter()
            .filter_map(|&(symbol, comparison)| Some((text.find(symbol)?, symbol, comparison)))
            .min_by_key(|&(at, symbol, _)| (at, std::cmp::Reverse(symbol.len())))
            .ok_or(RequirementFault::Malformed)?;
        let (name, value) = (text[..at].trim(), text[at + symbol.len()..].trim());
        let kind = Kind::of(name)?;
        let memory = match &kind {
            Kind::MemoryOf(name) => Some(memory(soc, name)?),
            Kind::Rate | Kind::Plain(_) => None,
        };
        let wants_little = !matches!(kind, Kind::Rate);
        if comparison.asks_for_little != wants_little {
            return Err(RequirementFault::WrongWay {
                figure: name.to_owned(),
                expected: if wants_little { "<=" } else { ">=" },
            });
        }
        let at_most = kind.limit(value, comparison.is_strict)?;
        Ok(Self {
            text: text.to_owned(),
            figure: kind.figure(),
            memory,
            at_most,
            is_rate: matches!(kind, Kind::Rate),
        })
    }

    /// As plan files have it.
    pub fn recorded(&self, soc: &Soc) -> Constraint {
        Constraint::Require {
            asked: self.text.clone(),
            figure: self.figure,
            memory: self.memory.map(|memory| soc.memories[memory].name.clone()),
            at_most: self.at_most,
        }
    }

    /// A value of this figure for people, such that asking for exactly what is shown can be met if the value can.
    pub fn shown(&self, value: u64) -> String {
        if self.is_rate {
            rate(value, false)
        } else {
            scaled(self.figure, value, true)
        }
    }

    /// The same of a bound: what is shown is beyond it or just it.
    pub fn shown_bound(&self, value: u64) -> String {
        if self.is_rate {
            rate(value, true)
        } else {
            scaled(self.figure, value, false)
        }
    }
}

impl fmt::Display for Requirement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "--require {}", self.text)
    }
}

/// Frames a second at an interval, to a ten-thousandth.
fn rate(interval_ns: u64, up: bool) -> String {
    let unit = 10_000_000_000_000_u64;
    let interval = interval_ns.max(1);
    let count = if up {
        unit.div_ceil(interval)
    } else {
        unit / interval
    };
    format!("{}.{:04} frames/s", count / 10_000, count % 10_000)
}

/// Five digits and a fitting unit, rounded up or down.
fn scaled(figure: Figure, value: u64, up: bool) -> String {
    let unit = match figure {
        Figure::Latency | Figure::Interval => "s",
        Figure::EnergyActive | Figure::EnergyBoard => "J",
        Figure::PowerActive | Figure::PowerBoard => "W",
        Figure::Memory => "B",
    };
    let prefixes: [&str; 7] = if figure == Figure::Memory {
        ["", "k", "M", "G", "T", "P", "E"]
    } else {
        ["n", "u", "m", "", "k", "M", "G"]
    };
    let mut step = 1_u64;
    let mut prefix = 0;
    while value / step >= 1000 && prefix + 1 < prefixes.len() {
        step *= 1000;
        prefix += 1;
    }
    let whole = (value / step).to_string().len();
    let decimals = if step == 1 { 0 } else { 5 - whole.min(5) };
    let grain = (0..decimals).fold(step, |grain, _| (grain / 10).max(1));
    let count = if up {
        value.div_ceil(grain)
    } else {
        value / grain
    };
    let in_one = step / grain;
    let (whole, fraction) = (count / in_one, count % in_one);
    let decimals = in_one.to_string().len() - 1;
    let name = prefixes[prefix];
    if decimals == 0 {
        format!("{whole} {name}{unit}")
    } else {
        format!("{whole}.{fraction:0decimals$} {name}{unit}")
    }
}

/// A figure as it is asked for.
enum Kind {
    Plain(Figure),
    Rate,
    MemoryOf(String),
}

impl Kind {
    fn of(name: &str) -> Result<Self, RequirementFault> {
        let unknown = || RequirementFault::UnknownFigure {
            name: name.to_owned(),
        };
        // The name between the brackets keeps its case.
        if let Some((head, memory)) = name.split_once('[') {
            let memory = memory.strip_suffix(']').ok_or_else(unknown)?;
            return if head.trim().eq_ignore_ascii_case("memory") {
                Ok(Self::MemoryOf(memory.trim().to_owned()))
            } else {
                Err(unknown())
            };
        }
        let plain = name.to_lowercase().replace('_', "-");
        Ok(match plain.as_str() {
            "latency" => Self::Plain(Figure::Latency),
            "interval" => Self::Plain(Figure::Interval),
            "throughput" => Self::Rate,
            "energy" | "energy-active" | "active-energy" => Self::Plain(Figure::EnergyActive),
            "board-energy" | "energy-board" => Self::Plain(Figure::EnergyBoard),
            "power" | "power-active" | "active-power" => Self::Plain(Figure::PowerActive),
            "board-power" | "power-board" => Self::Plain(Figure::PowerBoard),
            "memory" => Self::Plain(Figure::Memory),
            _ => return Err(unknown()),
        })
    }

    const fn figure(&self) -> Figure {
        match self {
            Self::Plain(figure) => *figure,
            Self::Rate => Figure::Interval,
            Self::MemoryOf(_) => Figure::Memory,
        }
    }

    /// The largest whole number of the smallest unit that meets it.
    fn limit(&self, value: &str, is_strict: bool) -> Result<u64, RequirementFault> {
        let range = || RequirementFault::OutOfRange {
            value: value.to_owned(),
        };
        let bad = || self.bad(value);
        let (number, unit) = split_number(value).ok_or_else(bad)?;
        let floor = match self {
            Self::Rate => {
                let second = period_unit(unit).ok_or_else(bad)?;
                number.period(second)
            }
            Self::Plain(_) | Self::MemoryOf(_) => {
                let scale = self.unit(unit).ok_or_else(bad)?;
                number.of(scale)
            }
        }
        .ok_or_else(range)?;
        let Floor { whole, is_exact } = floor;
        let least = if is_strict && is_exact {
            whole.checked_sub(1).ok_or_else(range)?
        } else {
            whole
        };
        // A frame takes time, and time takes energy.
        if least == 0 {
            return Err(range());
        }
        Ok(least)
    }

    fn unit(&self, unit: &str) -> Option<Scale> {
        let times = |factor: u128| Some(Scale::times(factor));
        match (self.figure(), unit) {
            (Figure::Latency | Figure::Interval, _) => match unit {
                "s" => times(1_000_000_000),
                "ms" => times(1_000_000),
                "us" | "µs" | "μs" => times(1000),
                "ns" => times(1),
                _ => None,
            },
            (Figure::EnergyActive | Figure::EnergyBoard, _) => match unit {
                "J" => times(1_000_000_000),
                "mJ" => times(1_000_000),
                "uJ" | "µJ" | "μJ" => times(1000),
                "nJ" => times(1),
                _ => None,
            },
            (Figure::PowerActive | Figure::PowerBoard, _) => match unit {
                "W" => times(1_000_000_000),
                "mW" => times(1_000_000),
                "uW" | "µW" | "μW" => times(1000),
                _ => None,
            },
            (Figure::Memory, _) => match unit {
                "B" => times(1),
                "kB" | "KB" => times(1000),
                "MB" => times(1_000_000),
                "GB" => times(1_000_000_000),
                "KiB" | "kiB" => times(1 << 10),
                "MiB" => times(1 << 20),
                "GiB" => times(1 << 30),
                _ => None,
            },
        }
    }

    fn bad(&self, value: &str) -> RequirementFault {
        let (what, example, units) = match self {
            Self::Rate => ("throughput", "20/s", "/s, fps, Hz, /min"),
            Self::Plain(Figure::Latency | Figure::Interval) => ("time", "50ms", "s, ms, us, ns"),
            Self::Plain(Figure::EnergyActive | Figure::EnergyBoard) => {
                ("energy", "1.2J", "J, mJ, uJ, nJ")
            }
            Self::Plain(Figure::PowerActive | Figure::PowerBoard) => ("power", "3W", "W, mW, uW"),
            Self::Plain(Figure::Memory) | Self::MemoryOf(_) => {
                ("size", "200MB", "B, kB, MB, GB, KiB, MiB, GiB")
            }
        };
        RequirementFault::BadValue {
            value: value.to_owned(),
            what,
            example,
            units,
        }
    }
}

/// The time over which a throughput counts frames.
fn period_unit(unit: &str) -> Option<Scale> {
    let per = match unit {
        "fps" | "FPS" | "Hz" => "s",
        other => other
            .trim_start_matches("frames")
            .trim_start_matches("frame")
            .trim()
            .strip_prefix('/')?
            .trim(),
    };
    match per {
        "s" | "sec" | "second" => Some(Scale::times(1_000_000_000)),
        "min" | "minute" => Some(Scale::times(60_000_000_000)),
        _ => None,
    }
}

fn memory(soc: &Soc, name: &str) -> Result<MemoryId, RequirementFault> {
    let found = soc.memories.iter().find(|(_, memory)| memory.name == name);
    found
        .map(|(id, _)| id)
        .ok_or_else(|| RequirementFault::UnknownMemory {
            name: name.to_owned(),
            known: soc
                .memories
                .iter()
                .map(|(_, memory)| memory.name.clone())
                .collect(),
        })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn soc() -> Soc {
        Soc::find("vim3").unwrap()
    }

    fn read(text: &str) -> Requirement {
        Requirement::parse(text, &soc()).unwrap()
    }

    fn refusal(text: &str) -> String {
        Requirement::parse(text, &soc()).unwrap_err().to_string()
    }

    #[test]
    fn every_figure_is_a_limit_in_its_smallest_unit() {
        for (text, figure, at_most) in [
            ("latency<=50ms", Figure::Latency, 50_000_000),
            (" Latency ≤ 50 ms ", Figure::Latency, 50_000_000),
            ("latency<50ms", Figure::Latency, 49_999_999),
            ("interval<=1.5us", Figure::Interval, 1500),
            ("throughput>=20/s", Figure::Interval, 50_000_000),
            ("throughput>20fps", Figure::Interval, 49_999_999),
            ("throughput>=3 frames/s", Figure::Interval, 333_333_333),
            ("throughput>3fps", Figure::Interval, 333_333_333),
            ("throughput>=90/min", Figure::Interval, 666_666_666),
            ("energy<=1.2J", Figure::EnergyActive, 1_200_000_000),
            ("board_energy<=2mJ", Figure::EnergyBoard, 2_000_000),
            ("power<=3W", Figure::PowerActive, 3_000_000_000),
            ("board-power<=2500mW", Figure::PowerBoard, 2_500_000_000),
            ("memory<=200MB", Figure::Memory, 200_000_000),
            ("memory<=1.5MiB", Figure::Memory, 1_572_864),
        ] {
            let read = read(text);
            assert_eq!((read.figure, read.at_most), (figure, at_most), "{text}");
            assert_eq!(read.memory, None);
        }
        let gpu = read("memory[gpu]<=64KiB");
        assert_eq!(gpu.memory.map(MemoryId::index), Some(2));
    }

    #[test]
    fn asking_for_what_is_shown_is_asking_for_enough() {
        for (text, value, shown, bound) in [
            ("latency<=1ms", 38_214_377, "38.215 ms", "38.214 ms"),
            ("latency<=1ms", 999_999_999, "1000.00 ms", "999.99 ms"),
            ("latency<=1ms", 912, "912 ns", "912 ns"),
            ("energy<=1J", 1_234_567_890, "1.2346 J", "1.2345 J"),
            ("power<=1W", 2_500_000_000, "2.5000 W", "2.5000 W"),
            ("memory<=1MB", 12_345_678, "12.346 MB", "12.345 MB"),
            (
                "throughput>=1/s",
                38_214_377,
                "26.1681 frames/s",
                "26.1682 frames/s",
            ),
        ] {
            let read = read(text);
            assert_eq!(
                (read.shown(value).as_str(), read.shown_bound(value).as_str()),
                (shown, bound)
            );
        }
    }

    #[test]
    fn what_makes_no_sense_says_what_would() {
        for text in [
            "latency",
            "latency=50ms",
            "latency>=50ms",
            "throughput<=20/s",
            "speed>=3",
            "latency<=50",
            "latency<=fast",
            "latency<=-3ms",
            "latency<=0ms",
            "energy<=50ms",
            "throughput>=0/s",
            "memory[dsp]<=1MB",
            "memory<=99999999999GB",
        ] {
            insta::assert_snapshot!(
                format!(
                    "requirement_{}",
                    text.replace(['<', '>', '=', '[', ']', '/'], "_")
                ),
                refusal(text)
            );
        }
    }
}
