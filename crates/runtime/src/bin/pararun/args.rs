//! The command line, as typed.

use std::num::NonZeroU64;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};
use paracompile_runtime::bind::DeviceMap;
use paracompile_runtime::trace::TraceFormat;
use paracompile_runtime::weights::WeightSource;

/// Runs plans of paracompile on OpenCL devices, and measures devices for its profiles.
#[derive(Debug, Parser)]
#[command(
    name = "pararun",
    bin_name = "pararun",
    version,
    about = "Runs plans of paracompile on OpenCL devices, and measures devices for its profiles",
    after_help = "\
Examples:
  pararun devices
  pararun check plan.json --model model.onnx --map big=0/12 --map little=0/4 --map gpu=gpu

Exit codes:
  0    done
  1    the question was fine and the answer is no
  2    bad usage, model, plan, input or device
  3    a bug of pararun
  130  interrupted"
)]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// List the OpenCL devices and the energy meters of this machine
    #[command(after_help = "\
Examples:
  pararun devices
  pararun devices --json")]
    Devices(DevicesArgs),
    /// Check that a plan can run here, and say what would run where, without running it
    #[command(after_help = "\
Examples:
  pararun check plan.json --model model.onnx
  pararun check plan.json --model model.onnx --map big=0/12 --map little=0/4 --map gpu=NVIDIA --input x.npy")]
    Check(CheckArgs),
    /// Run a plan, and say what was predicted and what was measured
    #[command(after_help = "\
Examples:
  pararun run plan.json --model model.onnx
  pararun run plan.json --model model.onnx --map big=0/12 --map little=0/4 --map gpu=gpu --pace none
  pararun run plan.json --model model.onnx --weights random:1 --trace trace.json --measured measured.json
  pararun run plan.json --model model.onnx --input image.npy --output results
  pararun run plan.json --model kernels.json --map gpu=gpu --map cpu=cpu --output results")]
    Run(RunArgs),
    /// Measure the operators of models on devices, and write a profile for `paracompile --soc`
    #[command(after_help = "\
Examples:
  pararun profile model.onnx -o soc.json
  pararun profile googlenet.onnx resnet50.onnx --device big=cpu/12 --device little=cpu/4 --device gpu=NVIDIA -o soc.json
  paracompile googlenet.onnx --soc soc.json --costs soc.costs/googlenet.json
  pararun profile kernels.json --device gpu=gpu --device cpu=cpu --queues 5 -o soc.json")]
    Profile(ProfileArgs),
    /// Run a kernel graph without a plan: a policy chooses while it runs
    #[command(after_help = "\
Examples:
  pararun schedule kernels.json --policy eager --device gpu=gpu --device cpu=cpu
  pararun schedule attention.graph --policy clustering --device gpu=gpu --device cpu=cpu/4 --queues gpu=3,cpu=2 --cpu-heads 1
  pararun schedule attention.graph --policy heft --device gpu=cpu/12 --device cpu=cpu/4 --json
  pararun schedule kernels.json --policy eager --device gpu=gpu --device cpu=cpu --granularity auto")]
    Schedule(ScheduleArgs),
    /// Run a kernel graph by clustering with every number of queues and components on the CPU, and by the other policies, and print a table (CSV)
    #[command(after_help = "\
Examples:
  pararun sweep attention.graph --device gpu=gpu --device cpu=cpu > sweep.csv
  pararun sweep attention.graph --device gpu=cpu/1 --device cpu=cpu/1 --queues gpu=3,cpu=1 --frames 10")]
    Sweep(SweepArgs),
    /// Run every plan that paracompile wrote into a directory, and say how well its predictions hold
    #[command(after_help = "\
Examples:
  pararun validate output/googlenet-soc --model models/googlenet.onnx --weights random:1 --map big=0/12 --map little=0/4
  pararun validate output/googlenet-soc --model models/googlenet.onnx --fidelity fidelity.json
  paracompile plot fidelity.json")]
    Validate(ValidateArgs),
    /// Measure which tiles of matrix products are fast on devices, and keep the result for all later runs
    #[command(after_help = "\
Examples:
  pararun tune
  pararun tune --device gpu")]
    Tune(TuneArgs),
    /// Measure products, beside another library's where it is installed, and convolutions of published networks
    #[command(after_help = "\
Examples:
  pararun bench
  pararun bench products --device gpu")]
    Bench(BenchArgs),
    /// Run tests of operators in the form of the onnx wheel, and print a line of JSON for each
    #[command(after_help = "\
Example:
  pararun test onnx/backend/test/data/node/test_conv_*")]
    Test(TestArgs),
    /// Show the random weights of a model: digests of their bytes
    #[command(hide = true)]
    Weights(WeightsArgs),
}

/// `pararun devices`.
#[derive(Debug, Args)]
pub(crate) struct DevicesArgs {
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pararun check`.
#[derive(Debug, Args)]
pub(crate) struct CheckArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
}

/// A plan with all that it needs to run.
#[derive(Debug, Args)]
pub(crate) struct PlanArgs {
    /// The plan, a file that paracompile wrote
    #[arg(value_name = "PLAN")]
    pub(crate) plan: PathBuf,
    /// The model that the plan was made from, an ONNX file or a kernel graph
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// The device of a processor: its index, cpu or gpu, or a part of its name; with /UNITS a part of it with so many compute units. Repeat for several, also for processors that this plan does not use: the parts of a device are cut in the order of the maps. `pararun devices` lists devices
    #[arg(long, value_name = "NAME=DEVICE[/UNITS]")]
    pub(crate) map: Vec<DeviceMap>,
    /// An input, a .npy file or a tensor of ONNX (.pb): in the model's order, or by name; repeat for several. Without any, inputs are random
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(crate) input: Vec<String>,
    /// Where weights come from: the model's file, or random numbers. The seed is that of inputs too
    #[arg(long, value_name = "file|random:SEED", default_value_t = WeightSource::File)]
    pub(crate) weights: WeightSource,
}

/// Where the files of a kernel graph lie.
#[derive(Debug, Args)]
pub(crate) struct SourceArgs {
    /// A folder with descriptions and sources of kernels, looked in before the one of the kernel graph; repeat for several
    #[arg(long, value_name = "DIR")]
    pub(crate) kernel_dir: Vec<PathBuf>,
}

/// `pararun weights`.
#[derive(Debug, Args)]
pub(crate) struct WeightsArgs {
    /// The model, an ONNX file
    #[arg(value_name = "MODEL")]
    pub(crate) model: PathBuf,
    /// Bind a symbolic dimension; repeat for several
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim)]
    pub(crate) dims: Vec<(String, u64)>,
    /// The seed
    #[arg(long, value_name = "random:SEED", value_parser = seed)]
    pub(crate) weights: u64,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
}

/// `pararun run`.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    #[command(flatten)]
    pub(crate) plan: PlanArgs,
    /// How many frames
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..))]
    pub(crate) frames: u64,
    /// When frames are admitted
    #[arg(long, value_enum, default_value_t = Pace::None)]
    pub(crate) pace: Pace,
    /// Write the outputs of the last frame here, a .npy file each
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Write what ran when: for Perfetto (.json), or for Paje's tools (.paje or .trace)
    #[arg(long, value_name = "FILE", value_parser = trace)]
    pub(crate) trace: Option<(PathBuf, TraceFormat)>,
    /// Keep all that was measured, for `paracompile plot PLAN --measured FILE`
    #[arg(long, value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// When frames are admitted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Pace {
    /// One every interval of the plan
    Plan,
    /// As soon as the first stage takes it
    None,
}

/// `pararun profile`.
#[derive(Debug, Args)]
pub(crate) struct ProfileArgs {
    /// The models whose operators are measured: ONNX files, and kernel graphs (.graph, .json)
    #[arg(required = true, value_name = "MODEL")]
    pub(crate) models: Vec<PathBuf>,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Bind a symbolic dimension; repeat for several
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim)]
    pub(crate) dims: Vec<(String, u64)>,
    /// Split attention by head, into N groups of heads at most; without N, every head by itself, as `paracompile --expose-heads` does
    #[arg(
        long,
        value_name = "N",
        num_args = 0..=1,
        require_equals = true,
        default_missing_value = "18446744073709551615"
    )]
    pub(crate) expose_heads: Option<NonZeroU64>,
    /// A processor of the profile and its device, as in `pararun run`; repeat for several. Without any, every device is a processor
    #[arg(long, value_name = "NAME=DEVICE[/UNITS]")]
    pub(crate) device: Vec<DeviceMap>,
    /// Where to write the profile
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: PathBuf,
    /// The folder for the measured costs of each model; beside the profile if absent, as soc.costs beside soc.json
    #[arg(long, value_name = "DIR")]
    pub(crate) costs_dir: Option<PathBuf>,
    /// The name of the profile; that of its file if absent
    #[arg(long, value_name = "NAME")]
    pub(crate) name: Option<String>,
    /// Seconds for everything
    #[arg(long, value_name = "SECONDS", default_value_t = 120, value_parser = clap::value_parser!(u64).range(1..=86_400))]
    pub(crate) budget: u64,
    /// Command queues to try on each processor
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(1..=8))]
    pub(crate) queues: u8,
    /// Print all figures as JSON instead of a summary
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// A kernel graph to run without a plan.
#[derive(Debug, Args)]
pub(crate) struct GraphArgs {
    /// The kernel graph
    #[arg(value_name = "GRAPH")]
    pub(crate) path: PathBuf,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// Bind a symbol of the kernel graph; repeat for several
    #[arg(long = "dim", value_name = "NAME=VALUE", value_parser = dim)]
    pub(crate) dims: Vec<(String, u64)>,
}

/// `pararun sweep`.
#[derive(Debug, Args)]
pub(crate) struct SweepArgs {
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    /// A device and its name, as in `pararun run`: one of them is named gpu or is one, and one is named cpu or is one
    #[arg(long, value_name = "NAME=DEVICE[/UNITS]", required = true)]
    pub(crate) device: Vec<DeviceMap>,
    /// The most command queues of devices; five where nothing is said
    #[arg(long, value_name = "NAME=N", value_delimiter = ',', value_parser = queues)]
    pub(crate) queues: Vec<(String, usize)>,
    /// The most components on the CPU; all where nothing is said
    #[arg(long, value_name = "N")]
    pub(crate) cpu_heads: Option<usize>,
    /// How many frames each way
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) frames: u64,
    /// Fewer frames of a way, but three, where they take so many seconds
    #[arg(long, value_name = "SECONDS", default_value_t = 1, value_parser = clap::value_parser!(u64).range(1..=3600))]
    pub(crate) seconds: u64,
    /// The seed of random inputs
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Print no progress
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `pararun schedule`.
#[derive(Debug, Args)]
pub(crate) struct ScheduleArgs {
    #[command(flatten)]
    pub(crate) graph: GraphArgs,
    /// Who chooses what runs where
    #[arg(long, value_enum)]
    pub(crate) policy: PolicyName,
    /// A device and its name, as in `pararun run`; repeat for several, the preferred ones first. One named gpu or cpu is what its name says
    #[arg(long, value_name = "NAME=DEVICE[/UNITS]", required = true)]
    pub(crate) device: Vec<DeviceMap>,
    /// Command queues of devices; those of the kernel graph, or one, where it says nothing
    #[arg(long, value_name = "NAME=N", value_delimiter = ',', value_parser = queues)]
    pub(crate) queues: Vec<(String, usize)>,
    /// Clustering alone: kernels that edges join are a component, and so many of them, the first ones, go to the CPU
    #[arg(long, value_name = "N")]
    pub(crate) cpu_heads: Option<usize>,
    /// Eager and heft alone: how many kernels are dispatched as one task. Without it each is a task of its own
    #[arg(long, value_enum, value_name = "LEVEL")]
    pub(crate) granularity: Option<GranularityName>,
    /// With --granularity: run frames of all fixed levels too, in turn with those that count, and say what they took
    #[arg(long, requires = "granularity")]
    pub(crate) compare_levels: bool,
    /// How many frames
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u64).range(1..=100_000))]
    pub(crate) frames: u64,
    /// An input, a .npy file: in the graph's order, or by name; repeat for several. What is not given is as the kernel graph says, or random
    #[arg(long, value_name = "[NAME=]FILE")]
    pub(crate) input: Vec<String>,
    /// The seed of random inputs
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    pub(crate) seed: u64,
    /// Write the outputs of the last frame here, a .npy file each
    #[arg(long, value_name = "DIR")]
    pub(crate) output: Option<PathBuf>,
    /// Keep what --json prints in a file, for `paracompile plot`
    #[arg(long, value_name = "FILE")]
    pub(crate) measured: Option<PathBuf>,
    /// Write what ran when: for Perfetto (.json), or for Paje's tools (.paje or .trace)
    #[arg(long, value_name = "FILE", value_parser = trace)]
    pub(crate) trace: Option<(PathBuf, TraceFormat)>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// Who chooses what runs where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum PolicyName {
    /// Components and their devices are given, the highest rank first
    Clustering,
    /// Kernel by kernel, the highest rank to a free GPU, else to a free CPU
    Eager,
    /// Kernel by kernel, the highest rank to the device where it ends first
    Heft,
}

/// How many kernels are dispatched as one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum GranularityName {
    /// What a simulation with measured overheads and a few frames find best
    Auto,
    /// A kernel
    Operator,
    /// A chain of kernels
    Branch,
    /// Kernels between two gates; without gates, all that edges join
    Segment,
    /// All kernels
    Stage,
}

/// `pararun validate`.
#[derive(Debug, Args)]
pub(crate) struct ValidateArgs {
    /// A directory that paracompile wrote
    #[arg(value_name = "OUTPUT_DIR")]
    pub(crate) directory: PathBuf,
    /// The model that its plans were made from
    #[arg(long, value_name = "MODEL")]
    pub(crate) model: PathBuf,
    #[command(flatten)]
    pub(crate) sources: SourceArgs,
    /// The device of a processor, as in `pararun run`; repeat for several
    #[arg(long, value_name = "NAME=DEVICE[/UNITS]")]
    pub(crate) map: Vec<DeviceMap>,
    /// Where weights come from
    #[arg(long, value_name = "file|random:SEED", default_value_t = WeightSource::File)]
    pub(crate) weights: WeightSource,
    /// How many frames each plan runs
    #[arg(long, value_name = "N", default_value_t = 50, value_parser = clap::value_parser!(u64).range(2..))]
    pub(crate) frames: u64,
    /// Write predictions and measurements for `paracompile plot`
    #[arg(long, value_name = "FILE")]
    pub(crate) fidelity: Option<PathBuf>,
    /// Write all figures as JSON
    #[arg(long, short, value_name = "FILE")]
    pub(crate) out: Option<PathBuf>,
    /// Print JSON instead of a table
    #[arg(long)]
    pub(crate) json: bool,
    /// Print nothing but the result and errors
    #[arg(long, short)]
    pub(crate) quiet: bool,
}

/// `pararun tune`.
#[derive(Debug, Args)]
pub(crate) struct TuneArgs {
    /// The devices to tune for: index, cpu or gpu, or a part of a name; all without any
    #[arg(long, value_name = "DEVICE")]
    pub(crate) device: Vec<String>,
}

/// `pararun bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure; both without any
    #[arg(value_enum)]
    pub(crate) what: Option<Bench>,
    /// Only what has this in its name, in small letters or capitals
    #[arg(long, value_name = "TEXT", default_value = "")]
    pub(crate) only: String,
    /// The device: its index, cpu or gpu, or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "0")]
    pub(crate) device: String,
}

/// What is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Bench {
    /// Matrix products
    Products,
    /// Convolutions
    Convolutions,
}

/// `pararun test`.
#[derive(Debug, Args)]
pub(crate) struct TestArgs {
    /// Folders of one test each, in the form of the onnx wheel: `model.onnx` and `test_data_set_*/{input,output}_*.pb`
    #[arg(required = true, value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
    /// The device: its index, cpu or gpu, or a part of its name
    #[arg(long, value_name = "DEVICE", default_value = "0")]
    pub(crate) device: String,
}

fn seed(text: &str) -> Result<u64, String> {
    match text.parse()? {
        WeightSource::Random { seed } => Ok(seed),
        WeightSource::File => Err("expected `random:SEED`".to_owned()),
    }
}

fn dim(text: &str) -> Result<(String, u64), String> {
    let form = "expected NAME=VALUE";
    // Names of dimensions may hold `=` themselves.
    let (name, value) = text.rsplit_once('=').ok_or(form)?;
    let value = value
        .parse()
        .map_err(|_| format!("`{value}` is not a number"))?;
    if name.is_empty() {
        return Err(form.to_owned());
    }
    Ok((name.to_owned(), value))
}

fn queues(text: &str) -> Result<(String, usize), String> {
    const MOST: usize = 64;
    let (name, count) = text.split_once('=').ok_or("expected NAME=N")?;
    let count = count
        .parse()
        .ok()
        .filter(|count| (1..=MOST).contains(count));
    let count = count.ok_or_else(|| format!("expected 1 to {MOST} queues"))?;
    Ok((name.to_owned(), count))
}

fn trace(text: &str) -> Result<(PathBuf, TraceFormat), String> {
    let path = PathBuf::from(text);
    let format = TraceFormat::of(&path)
        .ok_or("expected a file named .json (Perfetto), or .paje or .trace (Paje)")?;
    Ok((path, format))
}
