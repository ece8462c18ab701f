//! The command line, as typed.

use std::num::NonZeroU64;
use std::ops::RangeInclusive;
use std::path::PathBuf;

use clap::builder::{
    NonEmptyStringValueParser, PossibleValue, PossibleValuesParser, TypedValueParser,
};
use clap::{Args, Parser, Subcommand, ValueEnum};
use paracompile::OpClass;
use paracompile::plan::Seconds;
use paracompile::soc::{Bandwidth, ProcessorSketch};
use paracompile::solve::Method;

/// Maps a neural network onto the processors of a system-on-chip.
#[derive(Debug, Parser)]
#[command(
    name = "paracompile",
    bin_name = "paracompile",
    version,
    about = "Maps a neural network onto the processors of a system-on-chip",
    long_about = "Reads an ONNX network and a chip's profile, finds the Pareto-optimal ways to run it \
(pipeline stages over disjoint processor sets, operator parallelism inside a stage), predicts latency, \
throughput and energy, proves how far each mapping can be from the best one, and writes plan files.",
    after_help = "\
Examples:
  paracompile models/googlenet.onnx --soc vim3
  paracompile model.onnx --soc board.json --dim batch=1 --objective throughput
  paracompile model.onnx --soc vim3 --objective energy --dvfs
  paracompile model.onnx --soc vim3 --points big=1800MHz,gpu=500MHz
  paracompile model.onnx --soc vim3 --explain /fc/Gemm
  paracompile model.onnx --soc rk3588 --forbid '*Softmax*=npu0' --pin /fc/Gemm=big
  paracompile model.onnx --soc vim3 --require 'latency<=50ms' --require 'power<=3W'
  paracompile inspect model.onnx
  paracompile soc list
  paracompile simulate output/googlenet-vim3/plans/04-hybrid-gpu_big+little.json --trace trace.json
  paracompile check output/googlenet-vim3 --model models/googlenet.onnx --soc vim3
  paracompile compare models/googlenet.onnx --soc vim3
  paracompile report output/googlenet-vim3 --model models/googlenet.onnx --soc vim3
  paracompile export plan.json --model models/googlenet.onnx --emit stages -o exported

Exit codes:
  0    done
  1    the question was fine and the answer is no
  2    bad usage, model, profile or plan
  3    a bug of paracompile
  130  interrupted; what was complete is written",
    args_conflicts_with_subcommands = true,
    subcommand_negates_reqs = true
)]
pub(crate) struct Cli {
    /// What else to do than to map.
    #[command(subcommand)]
    pub(crate) command: Option<Command>,
    #[command(flatten)]
    pub(crate) map: MapArgs,
}

/// Everything but mapping.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show what a model contains: operators, work, gates, segments
    #[command(after_help = "\
Examples:
  paracompile inspect models/inception_v3.onnx
  paracompile inspect model.onnx --dim batch=1 --dot | dot -Tsvg -o model.svg")]
    Inspect(InspectArgs),
    /// List, show, sketch and check profiles of systems-on-chip
    #[command(after_help = "\
Examples:
  paracompile soc list
  paracompile soc show vim3 > board.json
  paracompile soc new board --processor big=cpu:4x2.0GHz --processor npu=npu:6TOPS -o board.json
  paracompile soc check board.json")]
    Soc {
        /// What to do.
        #[command(subcommand)]
        action: SocAction,
    },
    /// Write what every operator costs on every processor, to be corrected by measurements
    #[command(after_help = "\
Examples:
  paracompile costs model.onnx --soc vim3 -o costs.json
  paracompile model.onnx --soc vim3 --costs costs.json")]
    Costs(CostsArgs),
    /// Fit a profile's time models and powers to measurements on a board, or judge how well they predict
    #[command(after_help = "\
Examples:
  paracompile calibrate --data measurements --soc board.json -o calibrated.json
  paracompile calibrate --data measurements --soc vim3 --rename B=big,L=little,G=gpu --leave-one-out

docs/calibration.md describes the files in the directory.")]
    Calibrate(CalibrateArgs),
    /// Run a plan file in simulated time
    #[command(after_help = "\
Example:
  paracompile simulate output/googlenet-vim3/plans/04-hybrid-gpu_big+little.json
  paracompile simulate plan.json --frames 50 --serial-links --trace trace.json")]
    Simulate(SimulateArgs),
    /// Draw a front, a plan, or a fidelity report as SVG or PNG
    #[command(after_help = "\
Examples:
  paracompile plot output/googlenet-vim3/front.json
  paracompile plot plan.json --kind stages -o stages.png
  paracompile plot plan.json --kind graph -o graph.svg
  paracompile plot plan.json --kind graph -o graph.dot
  paracompile plot plan.json --measured measured.json -o both.svg
  paracompile plot eager.json heft.json clustering.json -o schedules.svg")]
    Plot(PlotArgs),
    /// Check a plan, or every plan below a directory, against its model and profile
    #[command(after_help = "\
Example:
  paracompile check output/googlenet-vim3 --model models/googlenet.onnx --soc vim3")]
    Check(CheckArgs),
    /// Compare the plans of models with baselines, and with published figures where there are any
    #[command(after_help = "\
Examples:
  paracompile compare models/googlenet.onnx --soc vim3
  paracompile compare models/*.onnx --soc vim3 --soc bst-a1000 --json
  paracompile compare models/*.onnx --soc vim3 --update docs/results.md")]
    Compare(CompareArgs),
    /// Make the HTML page of a run again, from front.json and the plans beside it
    #[command(after_help = "\
Example:
  paracompile report output/googlenet-vim3 --model models/googlenet.onnx --soc vim3
  paracompile report output/googlenet-vim3 -o googlenet.html")]
    Report(ReportArgs),
    /// Write a plan in formats of other tools: an annotated model, one model a stage, an ARM-CO-UP command line
    #[command(after_help = "\
Examples:
  paracompile export output/googlenet-vim3/plans/16-pipe-only-gpu_big.json --model models/googlenet.onnx --emit stages -o exported
  paracompile export plan.json --model model.onnx --emit annotated,stages -o exported
  paracompile export plan.json --model resnet50.onnx --emit arm-co-up

docs/export.md says what each format holds and how to run it.")]
    Export(ExportArgs),
    /// Write a kernel graph in another format: our own, or one of PySchedCL's two
    #[command(after_help = "\
Examples:
  paracompile convert app.graph -o app.json
  paracompile convert app.json -o app.graph
  paracompile convert app.graph --format expanded -o expanded.json

docs/kernel-graphs.md describes the formats.")]
    Convert(ConvertArgs),
    /// Put the components of a kernel graph on a GPU and a CPU, and choose queues and components by the predicted total time
    #[command(after_help = "\
Examples:
  paracompile cluster app.graph --soc board.json --costs costs.json
  paracompile cluster app.graph --soc board.json --costs costs.json --queues gpu=1..3,cpu=2 --cpu-heads 1 -o plan.json
  paracompile cluster app.graph --soc board.json --costs costs.json --starts enqueued --enqueue 6e-4 --json

docs/kernel-graphs.md says how the total time is predicted.")]
    Cluster(ClusterArgs),
    /// Solve a scheduling instance: operators, durations and delays without a network
    #[command(after_help = "\
Examples:
  paracompile solve solver_tests/instances/inc6_p3.json
  paracompile solve solver_tests/instances/tf16_p3.json --time-limit 60 --json
  paracompile solve solver_tests/instances/heft_examples.json --instance topcuoglu2002 --method heft
  echo '{\"tasks\": [[3, 5], [4, 2], [6, 4]], \"edges\": [[0, 1, 2], [0, 2, 1]]}' | paracompile solve -

An instance is a JSON object in one of three forms:
  {\"tasks\": [[time on processor 0, on 1, …], …], \"edges\": [[from, to, delay], …]}
  {\"t\": [[time on processor 0, on 1, …], …], \"edges\": [[from, to], …],
   \"comm\": [[[delay from processor 0 to 0, to 1, …], …], …], one matrix an edge}
  {\"computation_cost\": [[time on processor 0, on 1, …], …],
   \"edges\": [{\"src\": from, \"dst\": to, \"comm\": delay}, …]}, tasks counted from one
A time of null means that the processor does not support the task.
A file may hold several instances, as a list below \"instances\" or by name; --instance chooses one.
docs/solve.md has the details and what the answer holds.")]
    Solve(SolveArgs),
}

/// How a model is read.
#[derive(Debug, Args)]
pub(crate) struct DimArgs {
    /// Bind a symbolic dimension; repeat for several
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = parse_dim)]
    pub(crate) dims: Vec<(String, u64)>,
    /// Keep padding before and batch normalisation behind convolutions, and conversions around quantised operators apart, for runtimes that execute the file node by node
    #[arg(long)]
    pub(crate) as_written: bool,
    /// Split attention by head, into N groups of heads at most, so that heads can run side by side; without N, every head by itself
    #[arg(long, value_name = "N", num_args = 0..=1, require_equals = true, default_missing_value = EVERY_HEAD)]
    pub(crate) expose_heads: Option<NonZeroU64>,
    /// Look for descriptions of kernels in this folder first, of a kernel graph; repeat for several
    #[arg(long = "kernel-dir", value_name = "DIR")]
    pub(crate) kernel_dirs: Vec<PathBuf>,
}

/// The largest number of groups, so that every head is one: `NonZeroU64::MAX`.
const EVERY_HEAD: &str = "18446744073709551615";

/// Mapping a model.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field a flag of the command line, each independent of the others"
)]
pub(crate) struct MapArgs {
    /// The network, an ONNX file, or an OpenCL kernel graph, a .graph or .json file
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) model: Option<PathBuf>,
    /// A built-in profile's name (`paracompile soc list` has them), or a profile file
    #[arg(long, required = true, value_name = "NAME|FILE")]
    pub(crate) soc: Option<String>,
    /// Where to write; by default output/<model>-<soc>
    #[arg(long, short, alias = "output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Which plan of the front to recommend
    #[arg(long, value_enum, default_value_t = Objective::Balanced)]
    pub(crate) objective: Objective,
    /// Whether stages are mapped for time alone, or for every trade-off of time and energy
    #[arg(long, value_enum, default_value_t = Energy::ByProduct)]
    pub(crate) energy: Energy,
    /// Choose each processor's operating point too; implies --energy objective
    #[arg(long, conflicts_with = "costs")]
    pub(crate) dvfs: bool,
    /// Fix processors' operating points, for example big=1800MHz; the others run at their first. `paracompile soc list --json` names those of each processor
    #[arg(long, value_delimiter = ',', value_name = "PROCESSOR=POINT", value_parser = parse_point)]
    pub(crate) points: Vec<(String, String)>,
    /// How many compute queues processors have: as many as pay, up to `compute_queues_max` of the profile; N of each, or as many as it may have; or, for example, gpu=3,cpu=0, where 0 leaves a processor out and the others choose
    #[arg(long, default_value = "auto", value_name = "auto|N|PROC=N,…", value_parser = parse_queues)]
    pub(crate) queues: Queues,
    /// How finely operators are mapped inside a stage
    #[arg(long, value_enum, default_value_t = Mapping::Auto)]
    pub(crate) mapping: Mapping,
    /// How many kernels of a kernel graph are a task; auto chooses by what a simulation with the host's time says
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) granularity: Option<Granularity>,
    /// The largest number of pipeline stages
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=16), allow_negative_numbers = true)]
    pub(crate) max_stages: Option<u64>,
    /// Use these processors alone
    #[arg(long, value_delimiter = ',', value_name = "A,B", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) processors: Vec<String>,
    /// Neither improve nor prove further what is within this gap, for example 0.05 or 5%
    #[arg(long, value_name = "G", default_value_t = 0.0, value_parser = parse_gap, allow_negative_numbers = true)]
    pub(crate) gap: f64,
    /// Cut the search after this many seconds; the result then depends on the machine, and says so
    #[arg(long, value_name = "S", value_parser = parse_seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<f64>,
    /// How much counted work to spend where no proof is reached
    #[arg(long, value_enum, default_value_t = Effort::Normal)]
    pub(crate) effort: Effort,
    /// Worker threads; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024), allow_negative_numbers = true)]
    pub(crate) threads: Option<u64>,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Measured costs that override the profile's models
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
    /// Run an operator on this processor and no other: a node's name, an output's name, #index, or a pattern; repeat for several
    #[arg(long, value_name = "OP=PROCESSOR", allow_hyphen_values = true)]
    pub(crate) pin: Vec<String>,
    /// Keep an operator, or all that a pattern matches, away from a processor
    #[arg(long, value_name = "OP=PROCESSOR", allow_hyphen_values = true)]
    pub(crate) forbid: Vec<String>,
    /// Keep only plans within a limit: latency<=50ms, interval<=40ms, throughput>=20/s, energy<=1.2J, board-energy<=2J, power<=3W, board-power<=5W, memory<=200MB, or `memory[NAME]<=200MB` of one memory; repeat for several
    #[arg(long, value_name = "FIGURE<=VALUE")]
    pub(crate) require: Vec<String>,
    /// Read such demands from a file, one a line: pin OP=PROCESSOR, forbid OP=PROCESSOR, require FIGURE<=VALUE
    #[arg(long, value_name = "FILE")]
    pub(crate) constraints: Vec<PathBuf>,
    /// Explain where an operator is, and what moving it would change: a node's name, an output's name, or #index
    #[arg(long, value_name = "OP")]
    pub(crate) explain: Vec<String>,
    /// Write the recommended plan in formats of other tools too, in export/ below the output directory; docs/export.md
    #[arg(long, value_enum, value_delimiter = ',', value_name = "FORMAT")]
    pub(crate) emit: Vec<Emit>,
    /// Print front.json instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Draw no pictures
    #[arg(long)]
    pub(crate) no_plots: bool,
    /// Write no report.html
    #[arg(long)]
    pub(crate) no_report: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `paracompile convert`.
#[derive(Debug, Args)]
pub(crate) struct ConvertArgs {
    /// The kernel graph
    #[arg(value_name = "GRAPH")]
    pub(crate) graph: PathBuf,
    /// The file to write; descriptions of kernels go into info/ beside a .graph file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The format; by default the symbolic one for .graph and our own for .json
    #[arg(long, value_enum, value_name = "FORMAT")]
    pub(crate) format: Option<GraphFormat>,
    /// Bind a symbol; repeat for several
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = parse_dim)]
    pub(crate) dims: Vec<(String, u64)>,
    /// Look for descriptions of kernels in this folder first; repeat for several
    #[arg(long = "kernel-dir", value_name = "DIR")]
    pub(crate) kernel_dirs: Vec<PathBuf>,
    /// Replace files that are there
    #[arg(long)]
    pub(crate) force: bool,
}

/// `paracompile cluster`.
#[derive(Debug, Args)]
pub(crate) struct ClusterArgs {
    /// The kernel graph
    #[arg(value_name = "GRAPH")]
    pub(crate) graph: PathBuf,
    /// A profile with a GPU and a CPU: a file, or a built-in profile's name
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soc: String,
    /// Measured times of the kernels: a costs.json, or a table of PySchedCL
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
    /// Use these processors alone
    #[arg(long, value_delimiter = ',', value_name = "A,B", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) processors: Vec<String>,
    /// Numbers of queues to try, PROCESSOR=N or PROCESSOR=N..M; by default all that a processor may have
    #[arg(long, value_delimiter = ',', value_name = "NAME=N", value_parser = parse_queue_range)]
    pub(crate) queues: Vec<(String, RangeInclusive<usize>)>,
    /// How many components run on the CPU, the first ones: a number, auto to try every number, or specified for the devices of the file
    #[arg(long, value_name = "N", default_value = "auto", value_parser = parse_cpu_heads)]
    pub(crate) cpu_heads: CpuHeads,
    /// Which kernels are a component
    #[arg(long, value_enum, default_value_t = ClusterGrouping::Specified)]
    pub(crate) grouping: ClusterGrouping,
    /// When devices begin
    #[arg(long, value_enum, default_value_t = ClusterStarts::First)]
    pub(crate) starts: ClusterStarts,
    /// Time of the host to enqueue a kernel with its copies; that of the profile's host by default
    #[arg(long, value_name = "SECONDS", value_parser = parse_enqueue)]
    pub(crate) enqueue: Option<Seconds>,
    /// Write the plan of the choice to this file
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print all configurations as JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
    /// Bind a symbol; repeat for several
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = parse_dim)]
    pub(crate) dims: Vec<(String, u64)>,
    /// Look for descriptions of kernels in this folder first; repeat for several
    #[arg(long = "kernel-dir", value_name = "DIR")]
    pub(crate) kernel_dirs: Vec<PathBuf>,
}

/// `--cpu-heads`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum CpuHeads {
    /// Every number is tried.
    Auto,
    /// As the file says.
    Specified,
    /// The first so many.
    First(usize),
}

/// `--grouping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClusterGrouping {
    /// As the file says; where it says nothing, kernels that edges join
    Specified,
    /// Kernels that edges join
    Joined,
}

/// `--starts`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum ClusterStarts {
    /// With the first kernel, while the host enqueues the others
    First,
    /// When the host has enqueued everything
    Enqueued,
}

/// A format of kernel graphs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GraphFormat {
    /// Our own: JSON with a schema
    Kernels,
    /// PySchedCL's .graph text, with descriptions of kernels in info/
    Symbolic,
    /// PySchedCL's JSON list with numbers in place of expressions
    Expanded,
}

/// `paracompile solve`.
#[derive(Debug, Args)]
pub(crate) struct SolveArgs {
    /// The instance, a JSON file; `-` is standard input
    #[arg(value_name = "INSTANCE")]
    pub(crate) instance: PathBuf,
    /// Which one, where the file holds several
    #[arg(long = "instance", value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// How to solve it
    #[arg(long, value_name = "METHOD", default_value = "auto", value_parser = methods())]
    pub(crate) method: Method,
    /// Stop after this many seconds; the result then depends on the machine
    #[arg(long, value_name = "S", value_parser = parse_seconds, allow_negative_numbers = true)]
    pub(crate) time_limit: Option<f64>,
    /// Stop within this gap, for example 0.01 or 1%
    #[arg(long, value_name = "G", default_value_t = 0.0, value_parser = parse_gap, allow_negative_numbers = true)]
    pub(crate) gap: f64,
    /// How much counted work to spend where there is no time limit
    #[arg(long, value_enum, default_value_t = Effort::Normal)]
    pub(crate) effort: Effort,
    /// Print JSON: value, bound, gap, method, seconds, schedule
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paracompile inspect`.
#[derive(Debug, Args)]
pub(crate) struct InspectArgs {
    /// The network, an ONNX file, or an OpenCL kernel graph, a .graph or .json file
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Print the fused operator graph for Graphviz
    #[arg(long, conflicts_with = "json")]
    pub(crate) dot: bool,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paracompile soc …`.
#[derive(Debug, Subcommand)]
pub(crate) enum SocAction {
    /// The built-in profiles
    List {
        /// Print JSON
        #[arg(long)]
        json: bool,
    },
    /// Print a built-in profile as a file to start from
    Show {
        /// Its name (`paracompile soc list` has them)
        name: String,
        /// Let every processor fuse these classes, as a framework that fuses does; the name becomes NAME-fusing
        #[arg(long, value_delimiter = ',', value_name = "CLASS", value_parser = classes())]
        fuses: Vec<OpClass>,
    },
    /// Write a first profile from peak rates, every number marked as assumed
    #[command(after_help = "\
Example:
  paracompile soc new my-board --processor big=cpu:4x2.3GHz:4W --processor gpu=gpu:470GFLOPS \\
    --processor npu=npu:6TOPS --bandwidth 10GB/s -o my-board.json")]
    New {
        /// The name of the chip or board
        name: String,
        /// A processor: NAME=KIND:SPEED or NAME=KIND:SPEED:POWER; repeat for several.
        /// KIND is cpu, gpu, npu or dsp; SPEED is cores and clock as 4x2.3GHz, or a peak as 470GFLOPS, 6TOPS or 2TMACS; POWER is watts as 4W
        #[arg(long = "processor", required = true, value_name = "NAME=KIND:SPEED")]
        processors: Vec<ProcessorSketch>,
        /// What the memory delivers to one processor, as memcpy or STREAM measures it
        #[arg(long, default_value = "8GB/s", value_name = "RATE")]
        bandwidth: Bandwidth,
        /// Where to write
        #[arg(short, long, value_name = "FILE")]
        output: PathBuf,
    },
    /// Check a profile file
    Check {
        /// The file
        file: PathBuf,
    },
}

/// `paracompile costs`.
#[derive(Debug, Args)]
pub(crate) struct CostsArgs {
    /// The network, an ONNX file, or an OpenCL kernel graph, a .graph or .json file
    pub(crate) model: PathBuf,
    /// A built-in profile's name (`paracompile soc list` has them), or a profile file
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soc: String,
    /// Where to write
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: PathBuf,
    /// Replace a file even if measurements in it are lost
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
}

/// `paracompile calibrate`.
#[derive(Debug, Args)]
pub(crate) struct CalibrateArgs {
    /// Directory with `op_times.csv` and, where there are any, `group_times_power.csv` and `power_states.csv`
    #[arg(long, value_name = "DIR")]
    pub(crate) data: PathBuf,
    /// Profile for what was not measured: memories, links, contention, names
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soc: String,
    /// Names of the profile for those of the measurements
    #[arg(long, value_delimiter = ',', value_name = "MEASURED=NAME", value_parser = parse_rename)]
    pub(crate) rename: Vec<(String, String)>,
    /// Name of the written profile, and so of the directories of its plans; without it, that of the base
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Where the measurements come from; becomes part of every note
    #[arg(long, value_name = "TEXT", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) note: Option<String>,
    /// Where to write the profile
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// Predict each network from the others, and print the errors
    #[arg(long)]
    pub(crate) leave_one_out: bool,
    /// Write these predictions beside the measurements, to be plotted
    #[arg(long, value_name = "FILE")]
    pub(crate) report: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors and what is asked for by --leave-one-out or --json
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `paracompile simulate`.
#[derive(Debug, Args)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "one field a flag of the command line, each independent of the others"
)]
pub(crate) struct SimulateArgs {
    /// The plan file
    pub(crate) plan: PathBuf,
    /// How many frames to run, at least two; a plan's saturated latency is that of the 50th
    #[arg(long, default_value_t = 50, value_name = "N", value_parser = clap::value_parser!(u64).range(2..=100_000), allow_negative_numbers = true)]
    pub(crate) frames: u64,
    /// Let moves over one link wait for each other
    #[arg(long)]
    pub(crate) serial_links: bool,
    /// Slow processors down only while they are busy together
    #[arg(long)]
    pub(crate) dynamic_contention: bool,
    /// Add the host's time to enqueue each command
    #[arg(long)]
    pub(crate) host: bool,
    /// Write a trace for Chrome or Perfetto
    #[arg(long, value_name = "FILE")]
    pub(crate) trace: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
}

/// `paracompile plot`.
#[derive(Debug, Args)]
pub(crate) struct PlotArgs {
    /// front.json, a plan file, a measured schedule of a kernel graph, or a fidelity report; several schedules are drawn one below the other on one scale
    #[arg(required = true, value_name = "FILE")]
    pub(crate) files: Vec<PathBuf>,
    /// Where to write, .svg or .png; by default <FILE>-<KIND>.svg beside the first file or its front
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// What to draw; by default the front, the time chart of a plan or a schedule, or the scatter of a report
    #[arg(long, value_enum)]
    pub(crate) kind: Option<PlotKind>,
    /// What `pararun run --measured` wrote of the plan: drawn below the prediction
    #[arg(long, value_name = "FILE", conflicts_with = "kind")]
    pub(crate) measured: Option<PathBuf>,
}

/// `paracompile check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    /// A plan file, or a directory that holds some
    pub(crate) path: PathBuf,
    /// The network that the plans are for
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// The profile that they are for
    #[arg(long, value_name = "NAME|FILE")]
    pub(crate) soc: String,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Measured costs that the plans were made with
    #[arg(long, value_name = "FILE")]
    pub(crate) costs: Option<PathBuf>,
}

/// A format of other tools.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, ValueEnum)]
pub(crate) enum Emit {
    /// The model with stages and processors as ONNX and onnxruntime metadata
    Annotated,
    /// One ONNX model a stage, and who gives what to whom
    Stages,
    /// A command line of ARM-CO-UP, for the networks that it knows
    ArmCoUp,
}

/// `paracompile export`.
#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// A plan file
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The network that the plan is for; symbolic dimensions are bound as the plan says
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// The formats, separated by commas
    #[arg(
        long,
        required = true,
        value_enum,
        value_delimiter = ',',
        value_name = "FORMAT"
    )]
    pub(crate) emit: Vec<Emit>,
    /// The directory to write to; for arm-co-up alone it can be left out
    #[arg(long, short, alias = "output", value_name = "DIR")]
    pub(crate) out: Option<PathBuf>,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `paracompile compare`.
#[derive(Debug, Args)]
#[command(group = clap::ArgGroup::new("form").args(["json", "markdown", "update"]))]
pub(crate) struct CompareArgs {
    /// The networks, ONNX files
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,
    /// A built-in profile's name (`paracompile soc list` has them), or a profile file; repeat for several
    #[arg(long, required = true, value_name = "NAME|FILE")]
    pub(crate) soc: Vec<String>,
    /// Use these processors alone
    #[arg(long, value_delimiter = ',', value_name = "A,B", value_parser = NonEmptyStringValueParser::new())]
    pub(crate) processors: Vec<String>,
    /// How much counted work to spend where no proof is reached
    #[arg(long, value_enum, default_value_t = Effort::Normal)]
    pub(crate) effort: Effort,
    /// Worker threads; the result does not depend on it
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..=1024), allow_negative_numbers = true)]
    pub(crate) threads: Option<u64>,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Print JSON
    #[arg(long)]
    pub(crate) json: bool,
    /// Print tables over all models as Markdown
    #[arg(long)]
    pub(crate) markdown: bool,
    /// Put these tables between the marks `compare:SOC` of a Markdown file
    #[arg(long, value_name = "FILE")]
    pub(crate) update: Option<PathBuf>,
    /// Print nothing but results and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `--kind`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PlotKind {
    /// Of a front: throughput and energy over latency
    Pareto,
    /// Of a plan: queues over time, with the critical path
    Gantt,
    /// Of a plan: what the queues of each stage do, in sums
    Stages,
    /// Of a plan: tasks and tensors, coloured by processor
    Graph,
    /// Of a fidelity report: predicted over measured
    Fidelity,
    /// Of what `pararun schedule --measured` wrote: kernels and copies on queues over time
    Schedule,
}

/// `paracompile report`.
#[derive(Debug, Args)]
pub(crate) struct ReportArgs {
    /// A directory that paracompile wrote
    pub(crate) directory: PathBuf,
    /// Where to write; report.html in the directory otherwise
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    /// The network that the plans are for: adds classes of operators
    #[arg(long, value_name = "MODEL", requires = "soc")]
    pub(crate) model: Option<PathBuf>,
    /// The profile that they are for: adds sources of times and sizes of memories
    #[arg(long, value_name = "NAME|FILE", requires = "model")]
    pub(crate) soc: Option<String>,
    /// The processors that the run was given
    #[arg(long, value_delimiter = ',', value_name = "A,B", value_parser = NonEmptyStringValueParser::new(), requires = "soc")]
    pub(crate) processors: Vec<String>,
    #[command(flatten)]
    pub(crate) dims: DimArgs,
    /// Measured costs that the plans were made with
    #[arg(long, value_name = "FILE", requires = "soc")]
    pub(crate) costs: Option<PathBuf>,
}

/// `--objective`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Objective {
    /// Least latency
    Latency,
    /// Most frames a second
    Throughput,
    /// Least energy a frame
    Energy,
    /// Least latency × interval
    Balanced,
}

/// `--energy`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Energy {
    /// Mappings are chosen by time; energy is what they happen to take
    ByProduct,
    /// All trade-offs of time and energy
    Objective,
}

/// `--mapping`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Mapping {
    /// A branch is one task on one processor
    Coarse,
    /// Operator by operator
    Fine,
    /// The better of both, never worse than HEFT or one processor
    Auto,
}

/// `--granularity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Granularity {
    /// The best of the levels and of groupings of small tasks
    Auto,
    /// A kernel
    Operator,
    /// A chain of kernels
    Branch,
    /// A fork and what joins it again
    Segment,
    /// The whole graph
    Stage,
}

/// `--effort`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Effort {
    /// A first answer
    Quick,
    /// The default
    Normal,
    /// Ten times the work
    Thorough,
}

/// How many compute queues processors have.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Queues {
    /// As many as pay.
    Auto,
    /// So many, or as many as the processor may have.
    All(usize),
    /// So many of those that are named.
    Named(Vec<(String, usize)>),
}

fn parse_queues(text: &str) -> Result<Queues, String> {
    let wrong =
        || "expected auto, a number from 1, or PROCESSOR=N, for example gpu=3,cpu=1".to_owned();
    if text == "auto" {
        return Ok(Queues::Auto);
    }
    if !text.contains('=') {
        let count = text.parse::<usize>().ok().filter(|&count| count > 0);
        return count.map(Queues::All).ok_or_else(wrong);
    }
    let named = text.split(',').map(|entry| match entry.split_once('=') {
        Some((processor, count)) if !processor.is_empty() => {
            let count = count.parse::<usize>().map_err(|_| wrong())?;
            Ok((processor.to_owned(), count))
        }
        _ => Err(wrong()),
    });
    named.collect::<Result<_, _>>().map(Queues::Named)
}

fn parse_queue_range(text: &str) -> Result<(String, RangeInclusive<usize>), String> {
    let wrong =
        || "expected PROCESSOR=N or PROCESSOR=N..M, for example gpu=3 or cpu=1..5".to_owned();
    let (name, numbers) = text.split_once('=').ok_or_else(wrong)?;
    let (first, last) = numbers.split_once("..").unwrap_or((numbers, numbers));
    let number = |text: &str| text.parse::<usize>().map_err(|_| wrong());
    let (first, last) = (number(first)?, number(last)?);
    if name.is_empty() || first > last {
        return Err(wrong());
    }
    Ok((name.to_owned(), first..=last))
}

fn parse_cpu_heads(text: &str) -> Result<CpuHeads, String> {
    match text {
        "auto" => Ok(CpuHeads::Auto),
        "specified" => Ok(CpuHeads::Specified),
        _ => text
            .parse()
            .map(CpuHeads::First)
            .map_err(|_| "expected a number of components, auto or specified".to_owned()),
    }
}

fn parse_enqueue(text: &str) -> Result<Seconds, String> {
    let seconds = text.parse().ok().filter(|seconds| *seconds <= 1.0);
    seconds
        .and_then(Seconds::new)
        .ok_or_else(|| "expected seconds from 0 to 1, for example 5e-6".to_owned())
}

fn parse_point(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((processor, point)) if !processor.is_empty() && !point.is_empty() => {
            Ok((processor.to_owned(), point.to_owned()))
        }
        _ => Err("expected PROCESSOR=POINT, for example big=1800MHz".to_owned()),
    }
}

fn parse_dim(text: &str) -> Result<(String, u64), String> {
    let (name, value) = text
        .rsplit_once('=')
        .ok_or("expected NAME=VALUE, for example batch=1")?;
    if name.is_empty() {
        return Err("the name before `=` is empty; expected for example batch=1".to_owned());
    }
    let value: u64 = value
        .parse()
        .map_err(|_| format!("`{value}` is not a whole number; expected for example {name}=1"))?;
    Ok((name.to_owned(), value))
}

/// The classes of operators by name.
fn classes() -> impl TypedValueParser<Value = OpClass> {
    PossibleValuesParser::new(OpClass::ALL.map(OpClass::name)).map(|name| {
        name.parse()
            .expect("the parser lets names of classes through alone")
    })
}

fn parse_rename(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((measured, name)) if !measured.is_empty() && !name.is_empty() => {
            Ok((measured.to_owned(), name.to_owned()))
        }
        _ => Err("expected a measured name and the profile's, for example B=big".to_owned()),
    }
}

/// The methods by name, each with its line of help.
fn methods() -> impl TypedValueParser<Value = Method> {
    let values = Method::ALL.map(|method| PossibleValue::new(method.name()).help(method.summary()));
    PossibleValuesParser::new(values).map(|name| {
        let found = Method::ALL.into_iter().find(|method| method.name() == name);
        found.expect("the parser lets names of methods through alone")
    })
}

fn parse_gap(text: &str) -> Result<f64, String> {
    let gap = match text.strip_suffix('%') {
        Some(percent) => percent.parse::<f64>().map(|percent| percent / 100.0),
        None => text.parse::<f64>(),
    };
    match gap {
        Ok(gap) if (0.0..1.0).contains(&gap) => Ok(gap),
        _ => Err(
            "expected a fraction of at least 0 and less than 1, for example 0.05 or 5%".to_owned(),
        ),
    }
}

fn parse_seconds(text: &str) -> Result<f64, String> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds > 0.0 && seconds <= 1e9 => Ok(seconds),
        _ => Err("expected a positive number of seconds, for example 10".to_owned()),
    }
}
