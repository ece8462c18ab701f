//! Scheduling instances: operators, durations and edges, without a network.
//!
//! Two formats lie in `solver_tests/instances`: one problem a file with delays for each pair of processors, and lists of small ones (`unrelated_comm.json`, `heft_examples.json`).
//! All are read as one tensor an edge (rule M3), without ends, energies or memories.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use paracompile_plan::OpClass;
use paracompile_plan::plan::Layout;
use serde::Deserialize;

use crate::case::{Link, Memory, Network, Operator, Processor, Soc, Tensor};

/// A scheduling instance: R|prec, comm|Cmax.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SchedulingInstance {
    /// Its name.
    pub name: String,
    /// Duration of each operator on each processor, `None` where it is not supported.
    pub durations: Vec<Vec<Option<u64>>>,
    /// Dependencies.
    pub edges: Vec<Edge>,
    /// What is known of its optimum.
    pub known: Option<Known>,
}

/// A dependency.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edge {
    /// Who writes.
    pub from: usize,
    /// Who reads.
    pub to: usize,
    /// `delays[p][q]`: time from the end of `from` on `p` until `to` can start on `q`.
    pub delays: Vec<Vec<u64>>,
}

/// What is known of an optimum.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The best makespan that was found.
    pub best: u64,
    /// No schedule is below.
    pub bound: u64,
    /// Makespans of published heuristics, by name in lower case.
    pub heuristics: BTreeMap<String, u64>,
}

impl SchedulingInstance {
    /// The same problem as a case of one stage, for the oracle: a memory a processor, a tensor an edge, free ends.
    ///
    /// `None` where delays depend on the pair of processors: a tensor has one size.
    pub fn to_network(&self) -> Option<(Network, Soc)> {
        let processors = self.durations.first().map_or(0, Vec::len);
        let processor_name = |index: usize| format!("p{index}");
        let memory_name = |index: usize| format!("m{index}");
        let edge_name = |index: usize| format!("e{index}");
        let mut network = Network {
            inputs: vec![Tensor {
                name: "in".to_owned(),
                bytes: 0,
            }],
            ..Network::default()
        };
        // Operators have to stand in topological order, which instances do not promise.
        let mut order: Vec<usize> = Vec::new();
        while order.len() < self.durations.len() {
            let is_open = |operator: &usize| {
                !order.contains(operator)
                    && self
                        .edges
                        .iter()
                        .all(|edge| edge.to != *operator || order.contains(&edge.from))
            };
            order.push((0..self.durations.len()).find(is_open)?);
        }
        for operator in order {
            let mut reads: Vec<_> = self.edges_where(|edge| edge.to == operator);
            let mut writes = Vec::new();
            for index in self.edges_where(|edge| edge.from == operator) {
                writes.push(Tensor {
                    name: edge_name(index),
                    bytes: self.edges[index].uniform_delay()?,
                });
            }
            if writes.is_empty() {
                let name = format!("out{operator}");
                network.outputs.push(name.clone());
                writes.push(Tensor { name, bytes: 0 });
            }
            let reads = match reads.len() {
                0 => vec!["in".to_owned()],
                _ => reads.drain(..).map(edge_name).collect(),
            };
            network.operators.push(Operator {
                name: format!("op{operator}"),
                class: OpClass::Other,
                reads,
                writes,
                weights: 0,
                workspace: 0,
                time_ns: self.durations[operator]
                    .iter()
                    .enumerate()
                    .filter_map(|(index, time)| Some((processor_name(index), (*time)?)))
                    .collect(),
                energy_nj: BTreeMap::new(),
                free: None,
            });
        }
        let memories: Vec<_> = (0..=processors).map(memory_name).collect();
        let link = |from: usize, to: usize| Link {
            from: memory_name(from),
            to: memory_name(to),
            latency_ns: 0,
            ns_per_byte: 1,
            convert_ns_per_byte: 0,
            power_mw: 0,
        };
        let soc = Soc {
            io: memory_name(processors),
            memories: memories
                .into_iter()
                .map(|name| Memory { name, bytes: None })
                .collect(),
            processors: (0..processors)
                .map(|index| Processor {
                    name: processor_name(index),
                    memory: memory_name(index),
                    layout: Layout::Any,
                    static_mw: 0,
                    fuses: Vec::new(),
                    sharing: vec![1000],
                })
                .collect(),
            links: (0..=processors)
                .flat_map(|from| (0..=processors).map(move |to| (from, to)))
                .filter(|(from, to)| from != to)
                .map(|(from, to)| link(from, to))
                .collect(),
            ..Soc::default()
        };
        Some((network, soc))
    }

    fn edges_where(&self, is_wanted: impl Fn(&Edge) -> bool) -> Vec<usize> {
        (0..self.edges.len())
            .filter(|&index| is_wanted(&self.edges[index]))
            .collect()
    }
}

impl Edge {
    /// The delay between any two different processors, if there is one.
    fn uniform_delay(&self) -> Option<u64> {
        let mut between = self.delays.iter().enumerate().flat_map(|(from, row)| {
            row.iter()
                .enumerate()
                .filter(move |(to, _)| *to != from)
                .map(|(_, &delay)| delay)
        });
        let first = between.next().unwrap_or(0);
        between.all(|delay| delay == first).then_some(first)
    }
}

/// Why an instance file is not one: the fault of the file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum InstanceError {
    /// The file cannot be read.
    #[error("{}: cannot be read", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
    /// The file has another form.
    #[error("{}: {source}", path.display())]
    Json {
        /// The file.
        path: PathBuf,
        /// Why.
        source: serde_json::Error,
    },
    /// Lists of different lengths, or an index beyond its list.
    #[error("{name}: {fault}")]
    Inconsistent {
        /// The instance.
        name: String,
        /// What does not fit.
        fault: &'static str,
    },
}

/// Reads the instance of a file of its own, with what `best_known.json` says of it.
pub fn read_instance(folder: &Path, name: &str) -> Result<SchedulingInstance, InstanceError> {
    let raw: RawMapping = read(&folder.join(format!("{name}.json")))?;
    let known: BTreeMap<String, RawKnown> = read(&folder.join("best_known.json"))?;
    let durations: Vec<Vec<Option<u64>>> = raw
        .t
        .iter()
        .map(|row| row.iter().map(|&time| u64::try_from(time).ok()).collect())
        .collect();
    if raw.comm.len() != raw.edges.len() {
        return Err(inconsistent(name, "not one table of delays an edge"));
    }
    let edges = raw
        .edges
        .iter()
        .zip(raw.comm)
        .map(|(&[from, to], delays)| Edge { from, to, delays })
        .collect();
    checked(SchedulingInstance {
        name: raw.name,
        durations,
        edges,
        known: known.get(name).map(|known| Known {
            best: known.best_known,
            bound: known.best_bound,
            heuristics: BTreeMap::new(),
        }),
    })
}

/// Names of the instances that have a file of their own, ascending.
pub fn instance_names(folder: &Path) -> Result<Vec<String>, InstanceError> {
    let known: BTreeMap<String, RawKnown> = read(&folder.join("best_known.json"))?;
    Ok(known.into_keys().collect())
}

/// Reads `unrelated_comm.json`: small instances whose optima are proven unless `bound < best`.
pub fn read_unrelated(folder: &Path) -> Result<Vec<SchedulingInstance>, InstanceError> {
    let raw: RawUnrelated = read(&folder.join("unrelated_comm.json"))?;
    raw.instances
        .into_iter()
        .map(|raw| {
            let processors = raw.tasks.first().map_or(0, Vec::len);
            let heuristics = [("heft", raw.heft), ("cpop", raw.cpop), ("peft", raw.peft)];
            checked(SchedulingInstance {
                edges: raw
                    .edges
                    .iter()
                    .map(|&(from, to, delay)| uniform(from, to, delay, processors))
                    .collect(),
                durations: raw.tasks,
                known: Some(Known {
                    best: whole(raw.best),
                    bound: whole(raw.bound),
                    heuristics: heuristics
                        .into_iter()
                        .map(|(name, value)| (name.to_owned(), value))
                        .collect(),
                }),
                name: raw.name,
            })
        })
        .collect()
}

/// Reads `heft_examples.json`: two textbook examples.
pub fn read_textbook(folder: &Path) -> Result<Vec<SchedulingInstance>, InstanceError> {
    let raw: BTreeMap<String, RawTextbook> = read(&folder.join("heft_examples.json"))?;
    raw.into_iter()
        .map(|(name, raw)| {
            let processors = raw.computation_cost.first().map_or(0, Vec::len);
            let value = |key: &str| raw.makespan.get(key).and_then(serde_json::Value::as_f64);
            let best = value("optimal_cpsat");
            let bound = value("optimal_bound");
            let known = best.zip(bound).map(|(best, bound)| Known {
                best: whole(best),
                bound: whole(bound),
                heuristics: ["HEFT", "CPOP", "PEFT"]
                    .into_iter()
                    .filter_map(|key| Some((key.to_lowercase(), whole(value(key)?))))
                    .collect(),
            });
            checked(SchedulingInstance {
                durations: raw
                    .computation_cost
                    .iter()
                    .map(|row| row.iter().copied().map(Some).collect())
                    .collect(),
                // Papers count tasks from one.
                edges: raw
                    .edges
                    .iter()
                    .map(|edge| {
                        let (from, to) = (edge.src.saturating_sub(1), edge.dst.saturating_sub(1));
                        uniform(from, to, edge.comm, processors)
                    })
                    .collect(),
                known,
                name,
            })
        })
        .collect()
}

#[derive(Deserialize)]
struct RawMapping {
    name: String,
    t: Vec<Vec<i64>>,
    edges: Vec<[usize; 2]>,
    comm: Vec<Vec<Vec<u64>>>,
}

#[derive(Deserialize)]
struct RawKnown {
    best_known: u64,
    best_bound: u64,
}

#[derive(Deserialize)]
struct RawUnrelated {
    instances: Vec<RawSmall>,
}

#[derive(Deserialize)]
struct RawSmall {
    name: String,
    tasks: Vec<Vec<Option<u64>>>,
    edges: Vec<(usize, usize, u64)>,
    heft: u64,
    cpop: u64,
    peft: u64,
    best: f64,
    bound: f64,
}

#[derive(Deserialize)]
struct RawTextbook {
    computation_cost: Vec<Vec<u64>>,
    edges: Vec<RawEdge>,
    makespan: BTreeMap<String, serde_json::Value>,
}

#[derive(Deserialize)]
struct RawEdge {
    src: usize,
    dst: usize,
    comm: u64,
}

fn read<T: for<'a> Deserialize<'a>>(path: &Path) -> Result<T, InstanceError> {
    let text = std::fs::read_to_string(path).map_err(|source| InstanceError::Read {
        path: path.to_owned(),
        source,
    })?;
    serde_json::from_str(&text).map_err(|source| InstanceError::Json {
        path: path.to_owned(),
        source,
    })
}

fn uniform(from: usize, to: usize, delay: u64, processors: usize) -> Edge {
    let row = |source| {
        (0..processors)
            .map(|target| if source == target { 0 } else { delay })
            .collect()
    };
    Edge {
        from,
        to,
        delays: (0..processors).map(row).collect(),
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "makespans are small whole numbers that a solver printed as decimals"
)]
fn whole(value: f64) -> u64 {
    value.round() as u64
}

fn inconsistent(name: &str, fault: &'static str) -> InstanceError {
    InstanceError::Inconsistent {
        name: name.to_owned(),
        fault,
    }
}

fn checked(instance: SchedulingInstance) -> Result<SchedulingInstance, InstanceError> {
    let processors = instance.durations.first().map_or(0, Vec::len);
    let operators = instance.durations.len();
    let fault = if instance.durations.iter().any(|row| row.len() != processors) {
        Some("not one duration a processor")
    } else if instance
        .edges
        .iter()
        .any(|edge| edge.from >= operators || edge.to >= operators)
    {
        Some("an edge of an operator that it lacks")
    } else if instance.edges.iter().any(|edge| {
        edge.delays.len() != processors || edge.delays.iter().any(|row| row.len() != processors)
    }) {
        Some("not one delay a pair of processors")
    } else {
        None
    };
    match fault {
        Some(fault) => Err(inconsistent(&instance.name, fault)),
        None => Ok(instance),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder() -> PathBuf {
        Path::new(env!("CARGO_MANIFEST_DIR")).join("../../solver_tests/instances")
    }

    #[test]
    fn every_instance_is_read_with_a_bound_not_above_its_value() {
        let names = instance_names(&folder()).unwrap();
        assert!(names.len() >= 20, "{names:?}");
        for name in names {
            let instance = read_instance(&folder(), &name).unwrap();
            let known = instance.known.expect("listed names are known");
            assert!(known.bound <= known.best, "{name}");
        }
    }

    #[test]
    fn textbook_examples_have_the_published_makespans() {
        let examples = read_textbook(&folder()).unwrap();
        let known = |index: usize| examples[index].known.clone().unwrap();
        assert_eq!(examples[0].name, "arabnejad2014_peft");
        assert_eq!((known(0).best, known(0).heuristics["heft"]), (113, 133));
        assert_eq!(examples[1].name, "topcuoglu2002");
        assert_eq!((known(1).best, known(1).heuristics["heft"]), (73, 80));
        assert_eq!(examples[1].edges[0].from, 0);
    }

    #[test]
    fn no_heuristic_is_below_the_optimum() {
        for instance in read_unrelated(&folder()).unwrap() {
            let known = instance.known.unwrap();
            assert!(known.bound <= known.best, "{}", instance.name);
            for (heuristic, value) in known.heuristics {
                assert!(value >= known.bound, "{}: {heuristic}", instance.name);
            }
        }
    }

    #[test]
    fn an_edge_of_an_operator_that_is_missing_is_refused() {
        let instance = SchedulingInstance {
            name: "two".to_owned(),
            durations: vec![vec![Some(1)], vec![Some(1)]],
            edges: vec![uniform(0, 2, 1, 1)],
            known: None,
        };
        assert!(checked(instance).is_err());
    }
}
