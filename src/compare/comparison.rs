//! One model on one chip: all contenders and what lies between them.

use paracompile_frontend::cost::CostTable;
use paracompile_frontend::ir::VerifiedGraph;
use paracompile_frontend::soc::{ProcessorSet, Soc};
use paracompile_plan::plan::StoppedBy;
use serde::Serialize;

use super::contender::{Contender, Kind, contenders};
use super::published::Board;
use super::relation::{COARSE_CLUSTERS, FINE_CLUSTERS, Pair, Relation};
use crate::compile::{CompileError, Options, compile, one_stage};
use crate::emit::figures;
use crate::mapping::Granularity;

/// The two CPU clusters of the paper, by their names in a profile.
const CLUSTERS: [&str; 2] = ["big", "little"];

/// Plans of one model on one chip, side by side.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Comparison {
    /// Model name.
    pub model: String,
    /// Profile name.
    pub soc: String,
    /// Whether every number of the profile is assumed.
    pub synthetic: bool,
    /// The board of the paper that the profile describes.
    pub board: Option<Board>,
    /// Why the search stopped.
    pub stopped_by: StoppedBy,
    /// Ours, then baselines, then those on a part of the chip.
    pub contenders: Vec<Contender>,
    /// One for each [`Pair`].
    pub relations: Vec<Relation>,
}

impl Comparison {
    /// The contender of a name.
    pub fn contender(&self, name: &str) -> Option<&Contender> {
        self.contenders
            .iter()
            .find(|contender| contender.name == name)
    }

    /// The fastest baseline of one processor.
    pub fn fastest_single(&self) -> Option<&Contender> {
        self.contenders
            .iter()
            .filter(|contender| contender.name.starts_with("single:"))
            .min_by(|a, b| a.figures.latency_s.total_cmp(&b.figures.latency_s))
    }
}

/// Maps `graph` and sets what was found beside the baselines.
///
/// On a chip with processors `big` and `little` these two are mapped alone too, as one stage that uses both, branch by branch and operator by operator.
pub fn compare(
    graph: &VerifiedGraph,
    table: &CostTable,
    options: &Options<'_>,
) -> Result<Comparison, CompileError> {
    let soc = &table.soc;
    let compiled = compile(graph, table, options)?;
    let streaming = compiled.streaming_hybrid.as_ref();
    let streaming = streaming.map(|file| figures(soc, &file.plan));
    let mut all = contenders(&compiled.front, streaming);
    let mut without_clusters = None;
    match clusters(soc) {
        Ok(set) => {
            for (name, granularity) in [
                (COARSE_CLUSTERS, Granularity::Coarse),
                (FINE_CLUSTERS, Granularity::Fine),
            ] {
                (options.progress.0)("mapping two clusters alone");
                let options = Options {
                    granularity,
                    ..*options
                };
                match one_stage(graph, table, set, name, &options)? {
                    Some(file) => {
                        all.push(Contender::new(
                            name,
                            Kind::Restricted,
                            figures(soc, &file.plan),
                        ));
                    }
                    None => {
                        without_clusters =
                            Some("the two clusters alone cannot run or hold the model".to_owned());
                    }
                }
            }
        }
        Err(reason) => without_clusters = Some(reason),
    }
    let relations = Pair::ALL
        .into_iter()
        .map(|pair| Relation::of(pair, &all, without_clusters.as_deref()))
        .collect();
    Ok(Comparison {
        model: compiled.front.model.clone(),
        soc: soc.name.clone(),
        synthetic: soc.synthetic,
        board: Board::of_soc(&soc.name),
        stopped_by: compiled.front.stopped_by,
        contenders: all,
        relations,
    })
}

/// The set of both clusters, or which of them the chip lacks.
fn clusters(soc: &Soc) -> Result<ProcessorSet, String> {
    let missing: Vec<String> = CLUSTERS
        .iter()
        .filter(|name| soc.processor(name).is_none())
        .map(|name| format!("`{name}`"))
        .collect();
    if missing.is_empty() {
        Ok(CLUSTERS
            .iter()
            .filter_map(|name| soc.processor(name))
            .collect())
    } else {
        Err(format!(
            "`{}` has no processor {}",
            soc.name,
            missing.join(" and no ")
        ))
    }
}
