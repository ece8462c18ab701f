//! One plan over another, in percent.

use serde::Serialize;

use super::contender::Contender;

/// Which two plans are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Pair {
    /// `para-only` over the better of `heft` and `cpop` by latency.
    ParaOnlyOverList,
    /// `pipe-only` over `para-only`.
    PipeOnlyOverParaOnly,
    /// The same the other way round, as the paper states throughput.
    ParaOnlyOverPipeOnly,
    /// `hybrid-L` over `pipe-only`.
    HybridLOverPipeOnly,
    /// `hybrid-T` over `pipe-only`.
    HybridTOverPipeOnly,
    /// `hybrid-L` over `para-only`.
    HybridLOverParaOnly,
    /// `hybrid-T` over `para-only`.
    HybridTOverParaOnly,
    /// Two CPU clusters in one stage, mapped branch by branch, over `single:big`.
    ClustersOverBig,
    /// Two CPU clusters in one stage, mapped operator by operator over branch by branch.
    FineOverCoarse,
}

/// Changes in percent, each `new / old − 1`; `None` where the old figure is zero.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Change {
    /// Of the latency in a stream, which is what the paper measured.
    pub stream_latency: Option<f64>,
    /// Of the latency of one frame alone.
    pub latency: Option<f64>,
    /// Of frames a second.
    pub throughput: Option<f64>,
    /// Of frames a joule of active energy.
    pub efficiency: Option<f64>,
}

/// What a comparison says.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Verdict {
    /// Both plans are there.
    Changed(Change),
    /// One of them is not, and why.
    NotApplicable(String),
}

/// Two plans and what lies between them.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Relation {
    /// Which comparison.
    pub pair: Pair,
    /// Name of the plan that is judged.
    pub new: String,
    /// Name of the plan that it is judged by.
    pub old: String,
    /// The outcome.
    pub verdict: Verdict,
}

impl Pair {
    /// All of them, in the order of tables.
    pub const ALL: [Self; 9] = [
        Self::ParaOnlyOverList,
        Self::PipeOnlyOverParaOnly,
        Self::ParaOnlyOverPipeOnly,
        Self::HybridLOverPipeOnly,
        Self::HybridTOverPipeOnly,
        Self::HybridLOverParaOnly,
        Self::HybridTOverParaOnly,
        Self::ClustersOverBig,
        Self::FineOverCoarse,
    ];

    /// The words for it in tables.
    pub const fn title(self) -> &'static str {
        match self {
            Self::ParaOnlyOverList => "para-only over HEFT or CPOP",
            Self::PipeOnlyOverParaOnly => "pipe-only over para-only",
            Self::ParaOnlyOverPipeOnly => "para-only over pipe-only",
            Self::HybridLOverPipeOnly => "hybrid-L over pipe-only",
            Self::HybridTOverPipeOnly => "hybrid-T over pipe-only",
            Self::HybridLOverParaOnly => "hybrid-L over para-only",
            Self::HybridTOverParaOnly => "hybrid-T over para-only",
            Self::ClustersOverBig => "two clusters over big",
            Self::FineOverCoarse => "fine over coarse on two clusters",
        }
    }

    /// The contender that is judged.
    pub(super) const fn new_name(self) -> &'static str {
        match self {
            Self::ParaOnlyOverList | Self::ParaOnlyOverPipeOnly => "para-only",
            Self::PipeOnlyOverParaOnly => "pipe-only",
            Self::HybridLOverPipeOnly | Self::HybridLOverParaOnly => "hybrid-L",
            Self::HybridTOverPipeOnly | Self::HybridTOverParaOnly => "hybrid-T",
            Self::ClustersOverBig => COARSE_CLUSTERS,
            Self::FineOverCoarse => FINE_CLUSTERS,
        }
    }

    /// The contenders that it can be judged by; of several the fastest counts.
    pub(super) const fn old_names(self) -> &'static [&'static str] {
        match self {
            Self::ParaOnlyOverList => &["heft", "cpop"],
            Self::PipeOnlyOverParaOnly | Self::HybridLOverParaOnly | Self::HybridTOverParaOnly => {
                &["para-only"]
            }
            Self::ParaOnlyOverPipeOnly | Self::HybridLOverPipeOnly | Self::HybridTOverPipeOnly => {
                &["pipe-only"]
            }
            Self::ClustersOverBig => &["single:big"],
            Self::FineOverCoarse => &[COARSE_CLUSTERS],
        }
    }

    /// Whether it is about the two CPU clusters.
    pub(super) const fn needs_clusters(self) -> bool {
        match self {
            Self::ClustersOverBig | Self::FineOverCoarse => true,
            Self::ParaOnlyOverList
            | Self::PipeOnlyOverParaOnly
            | Self::ParaOnlyOverPipeOnly
            | Self::HybridLOverPipeOnly
            | Self::HybridTOverPipeOnly
            | Self::HybridLOverParaOnly
            | Self::HybridTOverParaOnly => false,
        }
    }
}

/// Name of the contender on two clusters that is mapped branch by branch.
pub(super) const COARSE_CLUSTERS: &str = "big+little:coarse";

/// Name of the contender on two clusters that is mapped operator by operator.
pub(super) const FINE_CLUSTERS: &str = "big+little:fine";

impl Relation {
    /// What lies between the two plans of `pair`; `without_clusters` is why the contenders on two clusters are missing.
    pub(super) fn of(pair: Pair, contenders: &[Contender], without_clusters: Option<&str>) -> Self {
        let named = |name: &str| contenders.iter().find(|contender| contender.name == name);
        let new = named(pair.new_name());
        let old = pair
            .old_names()
            .iter()
            .filter_map(|name| named(name))
            .min_by(|a, b| a.figures.latency_s.total_cmp(&b.figures.latency_s));
        let verdict = match (new, old) {
            (Some(new), Some(old)) => Verdict::Changed(Change::between(new, old)),
            (new, old) => Verdict::NotApplicable(match without_clusters {
                Some(reason) if pair.needs_clusters() => reason.to_owned(),
                Some(_) | None => missing(pair, new, old),
            }),
        };
        Self {
            pair,
            new: pair.new_name().to_owned(),
            old: old.map_or_else(|| pair.old_names().join(" or "), |old| old.name.clone()),
            verdict,
        }
    }

    /// The change, if there is one.
    pub const fn change(&self) -> Option<&Change> {
        match &self.verdict {
            Verdict::Changed(change) => Some(change),
            Verdict::NotApplicable(_) => None,
        }
    }
}

fn missing(pair: Pair, new: Option<&Contender>, old: Option<&Contender>) -> String {
    let mut names = Vec::new();
    if new.is_none() {
        names.push(pair.new_name().to_owned());
    }
    if old.is_none() {
        names.push(pair.old_names().join(" or "));
    }
    format!("there is no plan {}", names.join(" and no "))
}

impl Change {
    fn between(new: &Contender, old: &Contender) -> Self {
        let percent = |new: f64, old: f64| (old > 0.0).then(|| (new / old - 1.0) * 100.0);
        let (a, b) = (&new.figures, &old.figures);
        Self {
            stream_latency: percent(a.saturated_latency_s, b.saturated_latency_s),
            latency: percent(a.latency_s, b.latency_s),
            throughput: percent(a.throughput_fps, b.throughput_fps),
            efficiency: percent(new.frames_per_joule, old.frames_per_joule),
        }
    }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::Strategy;

    use super::*;
    use crate::compare::contender::Kind;
    use crate::compare::fixtures::plan;

    fn contender(name: &str, times: [f64; 3]) -> Contender {
        Contender::new(name, Kind::Ours, plan(Strategy::ParaOnly, times).figures)
    }

    #[test]
    fn changes_are_relative_to_the_old_plan() {
        let contenders = [
            contender("pipe-only", [100.0, 200.0, 50.0]),
            contender("hybrid-L", [90.0, 100.0, 62.5]),
        ];
        let relation = Relation::of(Pair::HybridLOverPipeOnly, &contenders, None);
        let change = relation.change().unwrap();
        let near = |value: Option<f64>, expected: f64| (value.unwrap() - expected).abs() < 1e-9;
        assert!(near(change.stream_latency, -50.0));
        assert!(near(change.latency, -10.0));
        assert!(near(change.throughput, -20.0));
        // The energy of these plans is their interval, so an interval a quarter longer is a fifth less efficient.
        assert!(near(change.efficiency, -20.0));
    }

    #[test]
    fn the_faster_of_heft_and_cpop_is_the_rival() {
        let contenders = [
            contender("para-only", [8.0, 8.0, 8.0]),
            contender("heft", [12.0, 12.0, 12.0]),
            contender("cpop", [10.0, 10.0, 10.0]),
        ];
        let relation = Relation::of(Pair::ParaOnlyOverList, &contenders, None);
        assert_eq!(relation.old, "cpop");
        assert!((relation.change().unwrap().latency.unwrap() + 20.0).abs() < 1e-9);
    }

    #[test]
    fn what_is_missing_is_named() {
        let only = [contender("para-only", [8.0, 8.0, 8.0])];
        let reason = |pair, without| match Relation::of(pair, &only, without).verdict {
            Verdict::NotApplicable(reason) => reason,
            Verdict::Changed(_) => String::new(),
        };
        assert_eq!(
            reason(Pair::ParaOnlyOverList, None),
            "there is no plan heft or cpop"
        );
        assert_eq!(
            reason(Pair::HybridTOverPipeOnly, None),
            "there is no plan hybrid-T and no pipe-only"
        );
        assert_eq!(
            reason(Pair::FineOverCoarse, Some("`board` has no processor `big`")),
            "`board` has no processor `big`"
        );
    }
}
