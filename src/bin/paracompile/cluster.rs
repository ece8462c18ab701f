//! `paracompile cluster`: components of a kernel graph on a GPU and a CPU, with queues and components chosen by the predicted total time.

use std::fmt::Write;
use std::ops::RangeInclusive;
use std::path::Path;
use std::process::ExitCode;

use paracompile::cluster::{
    Candidate, Choice, ClusterError, Clusters, Configuration, Host, OnCpu, Starts, Sweep, choose,
};
use paracompile::compile::{Clustering, clustered};
use paracompile::cost::CostTable;
use paracompile::ir::VerifiedGraph;
use paracompile::kernels::{Grouping, Linked, is_kernel_graph};
use paracompile::plan::{Plan, counted, writable, write_json};
use paracompile::soc::{ProcessorId, Soc};
use serde_json::{Map, Value, json};

use crate::args::{ClusterArgs, ClusterGrouping, ClusterStarts, CpuHeads};
use crate::failure::{Failure, Kind};
use crate::figures::Scale;
use crate::grid::{Align, Grid};
use crate::{input, kernels, map, terminal};

/// Configurations of the table: the best.
const MOST_ROWS: usize = 10;

/// Runs the command.
pub(crate) fn run(args: &ClusterArgs) -> Result<ExitCode, Failure> {
    if !is_kernel_graph(&args.graph) {
        let what = format!("{}: is no kernel graph", args.graph.display());
        return Err(Failure::new(Kind::Usage, what).with_help(
            "cluster takes a .graph or .json file; paracompile MODEL --soc NAME maps networks",
        ));
    }
    if let Some(path) = &args.out {
        writable(path).map_err(|error| Failure::from_error(Kind::File, &error))?;
    }
    let options = kernels::plain_options(&args.kernel_dirs, &args.dims)?;
    let linked = kernels::linked(&args.graph, &options)?;
    let imported = kernels::lowered(&args.graph, &linked)?;
    let chip = input::soc(&args.soc, &args.processors, args.quiet || args.json)?;
    let table = input::costs(&imported.graph, &chip, args.costs.as_deref(), None)?;
    let grouping = match args.grouping {
        ClusterGrouping::Specified => Grouping::Specified,
        ClusterGrouping::Joined => Grouping::Joined,
    };
    let failed = |error: ClusterError| failure(&error).at(&args.graph);
    let clusters =
        Clusters::new(&linked.graph, &imported.graph, &table, grouping).map_err(failed)?;
    let sweep = Sweep {
        on_cpu: match args.cpu_heads {
            CpuHeads::Auto => None,
            CpuHeads::Specified => Some(OnCpu::Specified),
            CpuHeads::First(count) => Some(OnCpu::First(count)),
        },
        queues: queues(&clusters, &args.queues)?,
    };
    let host = host(args, &table);
    let choice = choose(&clusters, &sweep, host).map_err(failed)?;
    let plan = args
        .out
        .as_deref()
        .map(|path| write_plan(&clusters, &choice.best().configuration, path))
        .transpose()?;
    let answer = Answer {
        clusters: &clusters,
        choice: &choice,
        host,
        plan: plan.as_ref(),
    };
    input::printed(&if args.json {
        format!("{:#}\n", answer.json())
    } else {
        answer.table()
    })?;
    if let (Some(path), false) = (&args.out, args.quiet) {
        terminal::note(&format!("plan written to {}", path.display()));
    }
    Ok(ExitCode::SUCCESS)
}

/// The clustering that a specification asks for.
pub(crate) struct Specified<'a> {
    clusters: Clusters<'a>,
    configuration: Configuration,
}

impl Specified<'_> {
    /// The same for a compile run.
    pub(crate) const fn clustering(&self) -> Clustering<'_> {
        Clustering {
            clusters: &self.clusters,
            configuration: &self.configuration,
        }
    }
}

/// The clustering of a kernel graph whose specification names components, devices or queues.
///
/// None where it names nothing, where the chip lacks a device or its queues, or where kernels have no time there.
pub(crate) fn specified<'a>(
    linked: Option<&'a Linked>,
    graph: &'a VerifiedGraph,
    table: &'a CostTable,
) -> Option<Specified<'a>> {
    let kernels = &linked?.graph;
    let mut all = kernels.kernels.iter();
    let is_asked = !kernels.queues.is_empty()
        || all.any(|(_, kernel)| kernel.component.is_some() || kernel.device.is_some());
    if !is_asked {
        return None;
    }
    let clusters = Clusters::new(kernels, graph, table, Grouping::Specified).ok()?;
    let configuration = Configuration::specified(&clusters).ok()?;
    Some(Specified {
        clusters,
        configuration,
    })
}

fn failure(error: &ClusterError) -> Failure {
    let kind = match error {
        ClusterError::Circle { .. } | ClusterError::Divided { .. } => Kind::Model,
        ClusterError::NoDevice { .. } | ClusterError::Unmeasured { .. } => Kind::Profile,
        ClusterError::TooManyOnCpu { .. }
        | ClusterError::TooManyQueues { .. }
        | ClusterError::NoSuchQueues { .. }
        | ClusterError::TooManyConfigurations { .. } => Kind::Usage,
    };
    Failure::from_error(kind, error).with_help(error.remedy())
}

/// The numbers of queues to try on each device: those that are asked for, or all that it may have.
fn queues(
    clusters: &Clusters<'_>,
    asked: &[(String, RangeInclusive<usize>)],
) -> Result<Vec<(ProcessorId, RangeInclusive<usize>)>, Failure> {
    let name = |id: ProcessorId| clusters.table.soc.processors[id].name.as_str();
    let mut queues: Vec<(ProcessorId, RangeInclusive<usize>)> = clusters
        .devices()
        .map(|device| (device, 1..=clusters.most_queues(device)))
        .collect();
    for (position, (asked_for, numbers)) in asked.iter().enumerate() {
        let Some(known) = queues.iter_mut().find(|(id, _)| name(*id) == asked_for) else {
            let known: Vec<&str> = clusters.devices().map(name).collect();
            let what = format!("--queues: nothing is put on a processor `{asked_for}`");
            return Err(Failure::new(Kind::Usage, what).with_help(format!(
                "kernels go to {}: the chip's GPU and CPU by their names, or else the first of these kinds; --processors chooses others",
                known.join(" and ")
            )));
        };
        if asked[..position]
            .iter()
            .any(|(other, _)| other == asked_for)
        {
            let what = format!("--queues: `{asked_for}` is given twice");
            return Err(Failure::new(Kind::Usage, what)
                .with_help(format!("say it once, for example {asked_for}=1..3")));
        }
        known.1 = numbers.clone();
    }
    Ok(queues)
}

fn host(args: &ClusterArgs, table: &CostTable) -> Host {
    Host {
        enqueue: args.enqueue.unwrap_or(table.soc.enqueue).to_nanoseconds(),
        starts: match args.starts {
            ClusterStarts::First => Starts::First,
            ClusterStarts::Enqueued => Starts::Enqueued,
        },
    }
}

fn write_plan(
    clusters: &Clusters<'_>,
    configuration: &Configuration,
    path: &Path,
) -> Result<Plan, Failure> {
    let clustering = Clustering {
        clusters,
        configuration,
    };
    let name = path.display().to_string();
    let written = clustered(clustering, &name).map_err(|error| map::failed(&error))?;
    write_json(path, &written.plan).map_err(|error| Failure::from_error(Kind::File, &error))?;
    Ok(written.plan)
}

/// What is printed.
struct Answer<'a> {
    clusters: &'a Clusters<'a>,
    choice: &'a Choice,
    host: Host,
    plan: Option<&'a Plan>,
}

impl Answer<'_> {
    fn soc(&self) -> &Soc {
        &self.clusters.table.soc
    }

    /// Everything that was tried, for programs.
    fn json(&self) -> Value {
        let all = self.choice.candidates.iter();
        json!({
            "graph": self.clusters.kernels.name,
            "soc": self.soc().name,
            "kernels": self.clusters.components.of.len(),
            "components": self.clusters.components.all.len(),
            "enqueue_ns": self.host.enqueue.count(),
            "starts": match self.host.starts {
                Starts::First => "first",
                Starts::Enqueued => "enqueued",
            },
            "choice": self.candidate(self.choice.best()),
            "plan_latency_ns": self.plan.map(|plan| plan.predicted.latency_ns.count()),
            "configurations": all.map(|one| self.candidate(one)).collect::<Vec<_>>(),
            "left_out": self.choice.left_out.iter().map(ToString::to_string).collect::<Vec<_>>(),
        })
    }

    fn candidate(&self, candidate: &Candidate) -> Value {
        let Candidate {
            configuration,
            prediction,
        } = candidate;
        let devices = self.clusters.devices();
        let queues: Map<String, Value> = devices
            .map(|id| {
                let name = self.soc().processors[id].name.clone();
                (name, configuration.queues[id.index()].into())
            })
            .collect();
        let ends: Map<String, Value> = prediction
            .ends
            .iter()
            .map(|(&id, end)| (self.soc().processors[id].name.clone(), end.count().into()))
            .collect();
        json!({
            "queues": queues,
            "cpu_heads": configuration.cpu_heads,
            "total_ns": prediction.total.count(),
            "device_span_ns": prediction.device_span.count(),
            "host_ns": prediction.host.count(),
            "ends_ns": ends,
        })
    }

    /// The choice and what comes close to it, for people.
    fn table(&self) -> String {
        let devices: Vec<ProcessorId> = self.clusters.devices().collect();
        let name = |&id: &ProcessorId| self.soc().processors[id].name.clone();
        let mut columns: Vec<(String, Align)> = devices
            .iter()
            .map(|id| (format!("queues of {}", name(id)), Align::Right))
            .collect();
        columns.insert(0, (String::new(), Align::Left));
        for column in ["on the CPU", "total", "device span", "host"] {
            columns.push((column.to_owned(), Align::Right));
        }
        let mut order: Vec<usize> = (0..self.choice.candidates.len()).collect();
        order.sort_by_key(|&place| {
            let is_other = place != self.choice.chosen;
            (is_other, self.choice.candidates[place].prediction.total)
        });
        order.truncate(MOST_ROWS);
        let rows = || order.iter().map(|&place| &self.choice.candidates[place]);
        let scale = Scale::of_times(rows().map(|one| one.prediction.total.to_seconds()));
        let mut grid = Grid::new(columns);
        for (place, candidate) in rows().enumerate() {
            let Candidate {
                configuration,
                prediction,
            } = candidate;
            let mark = if place == 0 { "*" } else { "" };
            let queues = devices.iter().map(|id| configuration.queues[id.index()]);
            let times = [prediction.total, prediction.device_span, prediction.host];
            let times = times.map(|time| scale.text(time.to_seconds()));
            let words = std::iter::once(mark.to_owned())
                .chain(queues.map(|count| count.to_string()))
                .chain([configuration.cpu_heads.to_string()]);
            grid.push(words.chain(times));
        }
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{}: {} in {}, {} tried\n",
            self.clusters.kernels.name,
            counted(self.clusters.components.of.len(), "kernel"),
            counted(self.clusters.components.all.len(), "component"),
            counted(self.choice.candidates.len(), "configuration"),
        );
        text.push_str(&grid.text(2));
        if let Some(plan) = self.plan {
            let latency = scale.text(plan.predicted.latency_ns.to_seconds());
            let _ = writeln!(text, "\n  a frame of the plan, without the host: {latency}");
        }
        for reason in &self.choice.left_out {
            let _ = writeln!(text, "\n  left out: {reason}");
        }
        text
    }
}
