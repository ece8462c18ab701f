//! The table of the front, for people.

use std::fmt::Write;

use paracompile::front::{EnergyAxis, Figures, Front, FrontGranularity, FrontPlan, FrontStage};
use paracompile::plan::StoppedBy;

use crate::figures::Scale;
use crate::input::counted;
use crate::notes::few;

/// How many plans the table has at most; `front.json` has all.
const ROWS: usize = 12;

/// What stands around the table.
#[derive(Debug)]
pub(crate) struct Summary<'a> {
    /// The front.
    pub(crate) front: &'a Front,
    /// The gap that `--gap` allows.
    pub(crate) asked_gap: f64,
    /// Fused operators.
    pub(crate) operators: usize,
    /// Cut points.
    pub(crate) cuts: usize,
    /// Work of a frame.
    pub(crate) gflop: f64,
    /// Where the files are, relative to the current directory where possible.
    pub(crate) directory: String,
    /// Why processors have no baseline of their own, a line each.
    pub(crate) alone: &'a [String],
}

/// The whole report.
pub(crate) fn report(summary: &Summary<'_>) -> String {
    let front = summary.front;
    let mut text = String::new();
    let _ = writeln!(
        text,
        "{} on {}: {}, {}, {:.2} GFLOP a frame",
        front.model,
        front.soc,
        counted(summary.operators, "task"),
        counted(summary.cuts, "cut point"),
        summary.gflop
    );
    let _ = writeln!(
        text,
        "{} on the front (of {} candidates{}){}",
        counted(front.plans.len(), "plan"),
        front.candidates,
        match front.stopped_by {
            StoppedBy::Complete => "",
            StoppedBy::Gap => "; proofs stopped at the gap allowed",
            StoppedBy::Work => "; proofs stopped at the work of this effort",
            StoppedBy::Time => "; the search was cut by the time limit",
            StoppedBy::Interrupt => "; the search was interrupted",
        },
        if front.constraints.is_empty() && summary.asked_gap == 0.0 {
            "\n"
        } else {
            ""
        }
    );
    if !front.constraints.is_empty() {
        let end = if summary.asked_gap > 0.0 { "" } else { "\n" };
        let _ = writeln!(text, "Every plan meets {}{end}", few(&front.constraints));
    }
    if summary.asked_gap > 0.0 {
        let reached = front.plans.iter().map(|plan| plan.figures.gap);
        let reached: Vec<f64> = reached.collect();
        let _ = writeln!(text, "{}\n", gaps(&reached, summary.asked_gap));
    }
    if let Some(granularity) = &front.granularity {
        let _ = writeln!(text, "{}", granularity_lines(granularity));
    }
    let rows = shown(front);
    let scales = Scales::of(front, &rows);
    let cells: Vec<[String; 10]> = rows
        .iter()
        .map(|&index| row(front, index, scales))
        .collect();
    table(&mut text, &HEADER, &cells);
    if rows.len() < front.plans.len() {
        let _ = writeln!(
            text,
            "  … and {} more in front.json",
            front.plans.len() - rows.len()
        );
    }
    if front.energy == EnergyAxis::Objective {
        let _ = writeln!(
            text,
            "  Gaps are about time, whatever the energy; by energy plans may take up to {:.0}% less than those found",
            100.0 * front.energy_slack
        );
    }
    if !front.baselines.is_empty() {
        let _ = writeln!(text, "\nBaselines");
        let cells: Vec<[String; 10]> = front
            .baselines
            .iter()
            .map(|baseline| {
                let name = baseline.name.clone();
                cells_of(
                    String::new(),
                    name,
                    &baseline.figures,
                    scales,
                    String::new(),
                    String::new(),
                )
            })
            .collect();
        table(&mut text, &HEADER, &cells);
    }
    for line in summary.alone {
        let _ = writeln!(text, "  {line}");
    }
    let _ = writeln!(text, "\nRecommended: {}", front.recommended);
    let _ = writeln!(text, "  {}", front.why);
    let _ = writeln!(text, "Written to {}", summary.directory);
    text
}

/// What tasks are, and what else was tried; figures are with the host's time.
fn granularity_lines(granularity: &FrontGranularity) -> String {
    let tried = granularity.candidates.iter();
    let timed = tried.filter_map(|one| Some((one, one.latency_ns?, one.interval_ns?)));
    let mut text = format!("Tasks by {}", granularity.rule);
    if granularity.left_apart > 0 {
        let _ = write!(
            text,
            "; {} left apart, since no processor runs all of their kernels",
            counted(
                usize::try_from(granularity.left_apart).unwrap_or(usize::MAX),
                "group"
            )
        );
    }
    text.push('\n');
    for (one, latency, interval) in timed.filter(|_| granularity.candidates.len() > 1) {
        let tasks = counted(usize::try_from(one.tasks).unwrap_or(usize::MAX), "task");
        let _ = writeln!(
            text,
            "  {}: {tasks}, {latency} alone and {interval} in stream with the host's time",
            one.rules[0]
        );
    }
    text
}

/// Which gaps the plans have, and whether it is the one that was asked for.
fn gaps(reached: &[f64], asked: f64) -> String {
    let widest = match reached.iter().copied().fold(0.0, f64::max) {
        widest if widest >= 1.0 => "has no bound".to_owned(),
        widest if widest <= 0.0 => "is optimal".to_owned(),
        widest => format!("has {}", gap(widest)),
    };
    let outside = reached.iter().filter(|gap| **gap > asked).count();
    let asked = format!("{}%", (asked * 1e6).round() / 1e4);
    let plans = counted(reached.len(), "plan");
    if outside == 0 {
        return format!(
            "Every plan is within the gap of {asked} that is allowed; the worst {widest}"
        );
    }
    format!(
        "{outside} of {plans} not within the gap of {asked} that is allowed; the worst {widest}"
    )
}

const HEADER: [&str; 10] = [
    "",
    "strategy",
    "stages",
    "latency",
    "paced",
    "in stream",
    "frames/s",
    "energy",
    "gap",
    "best at",
];

/// The plans to show: all, or the labelled ones and others spread evenly over the front.
fn shown(front: &Front) -> Vec<usize> {
    let count = front.plans.len();
    if count <= ROWS {
        return (0..count).collect();
    }
    let mut rows: Vec<usize> = (0..count)
        .filter(|&index| {
            !front.plans[index].labels.is_empty() || front.plans[index].file == front.recommended
        })
        .collect();
    rows.truncate(ROWS);
    // Spread what is left: always the middle of the widest hole.
    while rows.len() < ROWS {
        let mut edges: Vec<usize> = rows.clone();
        edges.push(count);
        let mut start = 0;
        let mut widest = (0, 0);
        for &edge in &edges {
            if edge - start > widest.1 {
                widest = (start, edge - start);
            }
            start = edge + 1;
        }
        if widest.1 == 0 {
            break;
        }
        let middle = widest.0 + (widest.1 - 1) / 2;
        let position = rows.partition_point(|&row| row < middle);
        rows.insert(position, middle);
    }
    rows
}

/// Units of what is compared: plans and baselines have the same.
#[derive(Clone, Copy)]
struct Scales {
    time: Scale,
    /// `None` where all are zero: without a meter nobody knows them.
    energy: Option<Scale>,
}

impl Scales {
    fn of(front: &Front, rows: &[usize]) -> Self {
        let plans = rows.iter().map(|&index| &front.plans[index].figures);
        let baselines = front.baselines.iter().map(|baseline| &baseline.figures);
        let figures: Vec<&Figures> = plans.chain(baselines).collect();
        Self {
            time: Scale::of_times(figures.iter().flat_map(|figures| {
                [
                    figures.latency_s,
                    figures.paced_latency_s,
                    figures.saturated_latency_s,
                ]
            })),
            energy: figures
                .iter()
                .any(|figures| figures.energy_active_j > 0.0)
                .then(|| Scale::of_energies(figures.iter().map(|figures| figures.energy_active_j))),
        }
    }
}

fn row(front: &Front, index: usize, scales: Scales) -> [String; 10] {
    let FrontPlan {
        file,
        strategy,
        labels,
        figures,
    } = &front.plans[index];
    let mark = if *file == front.recommended {
        "→"
    } else {
        ""
    };
    let labels: Vec<&str> = labels.iter().map(|label| label.name()).collect();
    cells_of(
        format!("{mark}{:>3}", index + 1),
        strategy.name().to_owned(),
        figures,
        scales,
        gap(figures.gap),
        labels.join(", "),
    )
}

/// A row in the order of [`HEADER`].
fn cells_of(
    place: String,
    strategy: String,
    figures: &Figures,
    Scales { time, energy }: Scales,
    gap: String,
    best_at: String,
) -> [String; 10] {
    [
        place,
        strategy,
        stages(&figures.stages),
        time.text(figures.latency_s),
        time.text(figures.paced_latency_s),
        time.text(figures.saturated_latency_s),
        rate(figures.throughput_fps),
        energy.map_or_else(
            || "–".to_owned(),
            |energy| energy.text(figures.energy_active_j),
        ),
        gap,
        best_at,
    ]
}

fn stages(stages: &[FrontStage]) -> String {
    let places: Vec<String> = stages.iter().map(FrontStage::place).collect();
    places.join(" | ")
}

fn rate(frames_a_second: f64) -> String {
    format!("{frames_a_second:.2}")
}

fn gap(gap: f64) -> String {
    if gap == 0.0 {
        "optimal".to_owned()
    } else if gap >= 1.0 {
        // The search was cut before it had a bound.
        "unknown".to_owned()
    } else {
        format!("{:.1}%", gap * 100.0)
    }
}

/// Columns as wide as their widest cell; figures to the right, words to the left; no trailing space.
fn table(text: &mut String, header: &[&str; 10], rows: &[[String; 10]]) {
    const RIGHT: [bool; 10] = [
        true, false, false, true, true, true, true, true, true, false,
    ];
    let width = |column: usize| {
        rows.iter()
            .map(|row| row[column].chars().count())
            .chain([header[column].chars().count()])
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..10).map(width).collect();
    let mut line = |cells: &[&str]| {
        let mut out = String::new();
        for (column, cell) in cells.iter().enumerate() {
            let blank = " ".repeat(widths[column] - cell.chars().count());
            if column > 0 {
                out.push_str("  ");
            }
            if RIGHT[column] {
                out.push_str(&blank);
                out.push_str(cell);
            } else {
                out.push_str(cell);
                out.push_str(&blank);
            }
        }
        let _ = writeln!(text, "{}", out.trim_end());
    };
    line(&header[..]);
    for row in rows {
        let cells: Vec<&str> = row.iter().map(String::as_str).collect();
        line(&cells);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plans_beyond_the_gap_that_is_allowed_are_counted() {
        assert_eq!(
            gaps(&[0.0, 0.024], 0.05),
            "Every plan is within the gap of 5% that is allowed; the worst has 2.4%"
        );
        assert_eq!(
            gaps(&[0.0, 0.0], 0.005),
            "Every plan is within the gap of 0.5% that is allowed; the worst is optimal"
        );
        assert_eq!(
            gaps(&[0.0, 0.061, 0.07], 0.05),
            "2 of 3 plans not within the gap of 5% that is allowed; the worst has 7.0%"
        );
        assert_eq!(
            gaps(&[1.0], 0.05),
            "1 of 1 plan not within the gap of 5% that is allowed; the worst has no bound"
        );
    }
}
