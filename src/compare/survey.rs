//! Several models on one chip: means of their changes.

use serde::Serialize;

use super::comparison::Comparison;
use super::published::{Board, PUBLISHED_MODELS, Published};
use super::relation::{Change, Pair};

/// What several comparisons on one chip say together.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// Profile name.
    pub soc: String,
    /// One for each [`Pair`].
    pub means: Vec<Mean>,
}

/// Arithmetic means of the changes of one pair, in percent.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Mean {
    /// Which comparison.
    pub pair: Pair,
    /// Over how many models.
    pub models: usize,
    /// Over all of them.
    pub all: Change,
    /// How many of the models stand for those of the paper.
    pub published_models: usize,
    /// Over these alone.
    pub like_published: Change,
    /// What the paper says.
    pub published: Published,
}

impl Survey {
    /// The means over `comparisons`, all of which are on the same chip.
    pub fn of(soc: &str, comparisons: &[&Comparison]) -> Self {
        let board = Board::of_soc(soc);
        let means = Pair::ALL.into_iter().map(|pair| {
            let changes = |of_paper: bool| -> Vec<Change> {
                comparisons
                    .iter()
                    .filter(|it| !of_paper || PUBLISHED_MODELS.contains(&it.model.as_str()))
                    .flat_map(|comparison| &comparison.relations)
                    .filter(|relation| relation.pair == pair)
                    .filter_map(|relation| relation.change().copied())
                    .collect()
            };
            let (all, like_published) = (changes(false), changes(true));
            Mean {
                pair,
                models: all.len(),
                all: mean(&all),
                published_models: like_published.len(),
                like_published: mean(&like_published),
                published: board.map_or_else(Published::default, |board| board.published(pair)),
            }
        });
        Self {
            soc: soc.to_owned(),
            means: means.collect(),
        }
    }
}

fn mean(changes: &[Change]) -> Change {
    let of = |value: fn(&Change) -> Option<f64>| {
        let values: Vec<f64> = changes.iter().filter_map(value).collect();
        let count = u32::try_from(values.len())
            .ok()
            .filter(|&count| count > 0)?;
        Some(values.iter().sum::<f64>() / f64::from(count))
    };
    Change {
        stream_latency: of(|change| change.stream_latency),
        latency: of(|change| change.latency),
        throughput: of(|change| change.throughput),
        efficiency: of(|change| change.efficiency),
    }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::{StoppedBy, Strategy};

    use super::*;
    use crate::compare::contender::{Contender, Kind};
    use crate::compare::fixtures::plan;
    use crate::compare::relation::Relation;

    fn comparison(model: &str, pipe: f64, hybrid: f64) -> Comparison {
        let contenders = [("pipe-only", pipe), ("hybrid-L", hybrid)].map(|(name, time)| {
            let figures = plan(Strategy::Hybrid, [time; 3]).figures;
            Contender::new(name, Kind::Ours, figures)
        });
        Comparison {
            model: model.to_owned(),
            soc: "vim3".to_owned(),
            synthetic: false,
            board: Board::of_soc("vim3"),
            stopped_by: StoppedBy::Complete,
            relations: Pair::ALL
                .into_iter()
                .map(|pair| Relation::of(pair, &contenders, None))
                .collect(),
            contenders: contenders.into(),
        }
    }

    #[test]
    fn means_are_over_all_models_and_over_those_of_the_paper() {
        let (theirs, other) = (
            comparison("googlenet", 10.0, 8.0),
            comparison("resnet50", 10.0, 9.0),
        );
        let survey = Survey::of("vim3", &[&theirs, &other]);
        let of = |pair| survey.means.iter().find(|mean| mean.pair == pair).unwrap();
        let mean = of(Pair::HybridLOverPipeOnly);
        assert_eq!((mean.models, mean.published_models), (2, 1));
        assert!((mean.all.stream_latency.unwrap() + 15.0).abs() < 1e-9);
        assert!((mean.like_published.stream_latency.unwrap() + 20.0).abs() < 1e-9);
        assert_eq!(mean.published.latency, Some(-36.0));
        let absent = of(Pair::FineOverCoarse);
        assert_eq!((absent.models, absent.all), (0, Change::default()));
    }

    #[test]
    fn every_network_of_the_paper_has_a_model_here() {
        let models = concat!(env!("CARGO_MANIFEST_DIR"), "/models");
        for name in PUBLISHED_MODELS {
            let path = format!("{models}/{name}.onnx");
            assert!(std::path::Path::new(&path).exists(), "{path}");
        }
    }
}
