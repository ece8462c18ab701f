//! Comparisons as tables: one model for the terminal, all models of a chip for `docs/results.md`.

use std::collections::BTreeMap;
use std::fmt::Write;

use paracompile::compare::{Change, Comparison, Contender, Kind, Pair, Published, Survey, Verdict};
use paracompile::plan::StoppedBy;

use crate::figures::Scale;
use crate::grid::{Align, Grid};

/// One model on one chip, for people.
pub(crate) fn of_model(comparison: &Comparison) -> String {
    let mut text = format!(
        "{} on {}{}{}\n",
        comparison.model,
        comparison.soc,
        if comparison.synthetic {
            " (synthetic: every number of the chip is assumed)"
        } else {
            ""
        },
        match comparison.stopped_by {
            StoppedBy::Complete => "",
            StoppedBy::Gap | StoppedBy::Work => "; proofs stopped at the work of this effort",
            StoppedBy::Time | StoppedBy::Interrupt => "; the search was interrupted",
        }
    );
    let figures = || comparison.contenders.iter().map(|it| &it.figures);
    let time = Scale::of_times(figures().flat_map(|it| [it.saturated_latency_s, it.latency_s]));
    let energy = Scale::of_energies(figures().map(|it| it.energy_active_j));
    for (kind, title) in [
        (Kind::Ours, "Ours"),
        (Kind::Baseline, "Baselines"),
        (Kind::Restricted, "Two clusters alone"),
    ] {
        let mut grid = Grid::new([
            (title.to_owned(), Align::Left),
            ("stages".to_owned(), Align::Left),
            ("in stream".to_owned(), Align::Right),
            ("alone".to_owned(), Align::Right),
            ("frames/s".to_owned(), Align::Right),
            ("energy".to_owned(), Align::Right),
            ("frames/J".to_owned(), Align::Right),
            ("gap".to_owned(), Align::Right),
        ]);
        let those = comparison.contenders.iter().filter(|it| it.kind == kind);
        let mut is_empty = true;
        for contender in those {
            is_empty = false;
            grid.push(row(contender, time, energy));
        }
        if !is_empty {
            let _ = write!(text, "\n{}", grid.text(0));
        }
    }
    // A chip that nothing is published about has no such column, and no word about processors that it need not have.
    let width = 5 + usize::from(comparison.board.is_some());
    let titles = [
        ("Changes".to_owned(), Align::Left),
        ("in stream".to_owned(), Align::Right),
        ("alone".to_owned(), Align::Right),
        ("frames/s".to_owned(), Align::Right),
        ("frames/J".to_owned(), Align::Right),
        ("published mean".to_owned(), Align::Left),
    ];
    let mut grid = Grid::new(titles.into_iter().take(width));
    let mut apart = String::new();
    for relation in &comparison.relations {
        match &relation.verdict {
            Verdict::Changed(change) => {
                let published = comparison.board.map(|board| board.published(relation.pair));
                let cells = [
                    format!("{} over {}", relation.new, relation.old),
                    percent(change.stream_latency),
                    percent(change.latency),
                    percent(change.throughput),
                    percent(change.efficiency),
                    published.as_ref().map_or_else(String::new, in_words),
                ];
                grid.push(cells.into_iter().take(width));
            }
            Verdict::NotApplicable(reason) => {
                let of_clusters =
                    matches!(relation.pair, Pair::ClustersOverBig | Pair::FineOverCoarse);
                if comparison.board.is_some() || !of_clusters {
                    let title = relation.pair.title();
                    let _ = writeln!(apart, "{title}: not applicable: {reason}");
                }
            }
        }
    }
    let _ = write!(text, "\n{}{apart}", grid.text(0));
    text
}

/// Means over the models of one chip, for people.
pub(crate) fn of_survey(survey: &Survey, models: usize) -> String {
    let mut grid = Grid::new([
        (
            format!("Means over {models} models on {}", survey.soc),
            Align::Left,
        ),
        ("models".to_owned(), Align::Right),
        ("in stream".to_owned(), Align::Right),
        ("alone".to_owned(), Align::Right),
        ("frames/s".to_owned(), Align::Right),
        ("frames/J".to_owned(), Align::Right),
        ("published mean".to_owned(), Align::Left),
    ]);
    for mean in survey.means.iter().filter(|mean| mean.models > 0) {
        grid.push([
            mean.pair.title().to_owned(),
            mean.models.to_string(),
            percent(mean.all.stream_latency),
            percent(mean.all.latency),
            percent(mean.all.throughput),
            percent(mean.all.efficiency),
            in_words(&mean.published),
        ]);
    }
    grid.text(0)
}

/// All models of one chip as a part of a Markdown document.
pub(crate) fn markdown(comparisons: &[&Comparison], survey: &Survey) -> String {
    let mut text = String::new();
    for (title, cell) in FIGURES {
        let _ = write!(text, "### {title}\n\n");
        let _ = writeln!(text, "{}", figures(comparisons, cell).markdown());
    }
    for part in PARTS {
        let _ = write!(text, "### {}\n\n", part.title);
        let _ = writeln!(text, "{}", part.grid(comparisons, survey).markdown());
    }
    let reasons = not_applicable(comparisons);
    if !reasons.is_empty() {
        let _ = writeln!(text, "{reasons}");
    }
    text
}

/// Contenders that have a column, with its title.
const COLUMNS: [(&str, &str); 9] = [
    ("layer-switched", "layer-switched"),
    ("heft", "HEFT"),
    ("cpop", "CPOP"),
    ("peft", "PEFT"),
    ("lookahead-heft", "lookahead"),
    ("para-only", "para-only"),
    ("hybrid-L", "hybrid-L"),
    ("hybrid-T", "hybrid-T"),
    ("pipe-only", "pipe-only"),
];

type Cell = fn(&Contender) -> String;

const FIGURES: [(&str, Cell); 3] = [
    (
        "Latency in a stream (of one frame alone where that differs), in milliseconds",
        latency,
    ),
    ("Frames a second", |it| {
        significant(it.figures.throughput_fps)
    }),
    ("Frames a joule of active energy", |it| {
        significant(it.frames_per_joule)
    }),
];

/// One figure of every contender, a row a model.
fn figures(comparisons: &[&Comparison], cell: Cell) -> Grid {
    let columns = COLUMNS.map(|(_, title)| (title.to_owned(), Align::Right));
    let mut grid = Grid::new(
        [
            ("model".to_owned(), Align::Left),
            ("one processor".to_owned(), Align::Right),
        ]
        .into_iter()
        .chain(columns)
        .chain([
            ("para-only on".to_owned(), Align::Left),
            ("gap of para-only".to_owned(), Align::Right),
        ]),
    );
    for comparison in comparisons {
        let shown = |contender: Option<&Contender>| contender.map_or_else(missing, cell);
        let single = comparison.fastest_single().map_or_else(missing, |single| {
            let name = single.name.trim_start_matches("single:");
            format!("{} ({name})", cell(single))
        });
        let para_only = comparison.contender("para-only");
        let gap = para_only.map_or_else(missing, |it| gap(it.figures.gap));
        grid.push(
            [comparison.model.clone(), single]
                .into_iter()
                .chain(COLUMNS.map(|(name, _)| shown(comparison.contender(name))))
                .chain([para_only.map_or_else(missing, stages)])
                .chain([gap]),
        );
    }
    grid
}

/// Changes of one measure, a column a pair.
struct Part {
    title: &'static str,
    pairs: &'static [Pair],
    cell: fn(&Change) -> String,
    published: fn(&Published) -> Option<f64>,
}

const PARTS: [Part; 3] = [
    Part {
        title: "Change of latency in a stream (of one frame alone), in percent",
        pairs: &[
            Pair::ParaOnlyOverList,
            Pair::PipeOnlyOverParaOnly,
            Pair::HybridLOverPipeOnly,
            Pair::HybridTOverPipeOnly,
            Pair::HybridLOverParaOnly,
            Pair::HybridTOverParaOnly,
            Pair::ClustersOverBig,
            Pair::FineOverCoarse,
        ],
        cell: |change| match (change.stream_latency, change.latency) {
            (Some(stream), Some(alone)) if (stream - alone).abs() >= 0.05 => {
                format!("{} ({})", signed(stream), signed(alone))
            }
            (stream, _) => stream.map_or_else(missing, signed),
        },
        published: |published| published.latency,
    },
    Part {
        title: "Change of frames a second, in percent",
        pairs: &[
            Pair::ParaOnlyOverList,
            Pair::ParaOnlyOverPipeOnly,
            Pair::HybridLOverPipeOnly,
            Pair::HybridTOverPipeOnly,
            Pair::HybridTOverParaOnly,
            Pair::ClustersOverBig,
            Pair::FineOverCoarse,
        ],
        cell: |change| change.throughput.map_or_else(missing, signed),
        published: |published| published.throughput,
    },
    Part {
        title: "Change of frames a joule, in percent",
        pairs: &[
            Pair::HybridLOverParaOnly,
            Pair::HybridTOverParaOnly,
            Pair::HybridLOverPipeOnly,
            Pair::HybridTOverPipeOnly,
            Pair::ClustersOverBig,
        ],
        cell: |change| change.efficiency.map_or_else(missing, signed),
        published: |published| published.efficiency,
    },
];

impl Part {
    fn grid(&self, comparisons: &[&Comparison], survey: &Survey) -> Grid {
        let compared = survey.means.iter().filter(|mean| mean.models > 0);
        let compared: Vec<Pair> = compared.map(|mean| mean.pair).collect();
        let pairs = self.pairs.iter().filter(|pair| compared.contains(pair));
        let pairs: Vec<Pair> = pairs.copied().collect();
        let mut grid = Grid::new(
            std::iter::once(("model".to_owned(), Align::Left)).chain(
                pairs
                    .iter()
                    .map(|pair| (pair.title().to_owned(), Align::Right)),
            ),
        );
        let mut push = |name: &str, cell: &dyn Fn(Pair) -> String| {
            grid.push(std::iter::once(name.to_owned()).chain(pairs.iter().map(|&pair| cell(pair))));
        };
        for comparison in comparisons {
            push(&comparison.model, &|pair| {
                let relation = comparison.relations.iter().find(|it| it.pair == pair);
                relation
                    .and_then(|relation| relation.change())
                    .map_or_else(missing, self.cell)
            });
        }
        let mean = |pair: Pair| survey.means.iter().find(|mean| mean.pair == pair);
        push("**mean**", &|pair| {
            mean(pair)
                .filter(|mean| mean.models > 0)
                .map_or_else(missing, |mean| (self.cell)(&mean.all))
        });
        push("**mean of the networks like the paper's**", &|pair| {
            mean(pair)
                .filter(|mean| mean.published_models > 0)
                .map_or_else(missing, |mean| (self.cell)(&mean.like_published))
        });
        push("**published mean**", &|pair| {
            mean(pair)
                .and_then(|mean| (self.published)(&mean.published))
                .map_or_else(missing, signed)
        });
        grid
    }
}

/// Why cells are empty, one line a reason.
fn not_applicable(comparisons: &[&Comparison]) -> String {
    let mut models: BTreeMap<(Pair, &str), Vec<&str>> = BTreeMap::new();
    for comparison in comparisons {
        for relation in &comparison.relations {
            if let Verdict::NotApplicable(reason) = &relation.verdict {
                models
                    .entry((relation.pair, reason))
                    .or_default()
                    .push(&comparison.model);
            }
        }
    }
    let mut text = String::new();
    for ((pair, reason), models) in models {
        let of = if models.len() == comparisons.len() {
            String::new()
        } else {
            format!(" for {}", models.join(", "))
        };
        let _ = writeln!(text, "- {}{of}: not applicable: {reason}.", pair.title());
    }
    text
}

fn row(contender: &Contender, time: Scale, energy: Scale) -> [String; 8] {
    let figures = &contender.figures;
    [
        contender.name.clone(),
        stages(contender),
        time.text(figures.saturated_latency_s),
        time.text(figures.latency_s),
        significant(figures.throughput_fps),
        energy.text(figures.energy_active_j),
        significant(contender.frames_per_joule),
        gap(figures.gap),
    ]
}

fn stages(contender: &Contender) -> String {
    let stages = contender.figures.stages.iter();
    let processors: Vec<String> = stages.map(|stage| stage.processors.join("+")).collect();
    processors.join(" | ")
}

fn latency(contender: &Contender) -> String {
    let stream = significant(contender.figures.saturated_latency_s * 1e3);
    let alone = significant(contender.figures.latency_s * 1e3);
    if stream == alone {
        stream
    } else {
        format!("{stream} ({alone})")
    }
}

fn gap(gap: f64) -> String {
    if gap == 0.0 {
        "optimal".to_owned()
    } else if gap >= 1.0 {
        "unknown".to_owned()
    } else {
        format!("{:.1}%", gap * 100.0)
    }
}

fn missing() -> String {
    "–".to_owned()
}

/// Three digits, or more where they stand before the point; enough to compare, and stable against noise of the last digit.
fn significant(value: f64) -> String {
    match value {
        value if value >= 100.0 => format!("{value:.0}"),
        value if value >= 10.0 => format!("{value:.1}"),
        value if value >= 1.0 => format!("{value:.2}"),
        value if value >= 0.1 => format!("{value:.3}"),
        value if value >= 0.01 => format!("{value:.4}"),
        value => format!("{value:.5}"),
    }
}

fn signed(percent: f64) -> String {
    let text = format!("{percent:+.1}");
    // A change that rounds to nothing has no direction.
    if text == "-0.0" || text == "+0.0" {
        "0.0".to_owned()
    } else {
        text
    }
}

fn percent(value: Option<f64>) -> String {
    value.map_or_else(missing, |value| format!("{}%", signed(value)))
}

fn in_words(published: &Published) -> String {
    let parts = [
        ("latency", published.latency),
        ("frames/s", published.throughput),
        ("frames/J", published.efficiency),
    ];
    let words: Vec<String> = parts
        .into_iter()
        .filter_map(|(name, value)| Some(format!("{name} {:+}%", value?)))
        .collect();
    words.join(", ")
}
