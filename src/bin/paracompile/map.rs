//! `paracompile MODEL --soc …`: the job that the program is for.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Instant;

use paracompile::compile::{
    self, CompileError, Compiled, Options, PlanFile, Points, Progress, compile, compile_kernels,
};
use paracompile::constraints::Constraints;
use paracompile::cost::{CostTable, PointTables, cost_facts, read_overrides};
use paracompile::emit::Goal;
use paracompile::explain::{Subject, UnknownOperator, explain, names_operator};
use paracompile::facts::model_facts;
use paracompile::front::{EnergyAxis, Front};
use paracompile::import::{Folded, Imported};
use paracompile::ir::VerifiedGraph;
use paracompile::kernels::{KernelGraph, Level};
use paracompile::mapping::decompose;
use paracompile::mapping::{Budget, Effort, Granularity};
use paracompile::partition::CutRule;
use paracompile::plan::{Plan, StoppedBy, WriteError, read_front, write_json, write_text};
use paracompile::plot;
use paracompile::report::{Known, Request, html};
use paracompile::soc::Soc;

use crate::args::{self, MapArgs};
use crate::clock::Clock;
use crate::export::{self, Export};
use crate::failure::{Failure, Kind};
use crate::input::Chip;
use crate::page::{REPORT, costs_at_points};
use crate::report::{Summary, report};
use crate::{cluster, demands, input, interrupt, notes, queues, terminal};

/// What the search does about energy; points of different power are worth nothing without it.
fn energy_axis(args: &MapArgs) -> EnergyAxis {
    match args.energy {
        args::Energy::ByProduct if !args.dvfs => EnergyAxis::ByProduct,
        args::Energy::ByProduct | args::Energy::Objective => EnergyAxis::Objective,
    }
}

/// Runs the command.
pub(crate) fn run(args: &MapArgs) -> Result<ExitCode, Failure> {
    let (model, soc) = asked(args)?;
    let started = Instant::now();
    let chip =
        queues::without_unused(input::soc(soc, &args.processors, args.quiet)?, &args.queues)?;
    refuse_unknown_energy(args, &chip.chosen)?;
    let queues = queues::counts(&chip.chosen, &args.queues)?;
    let (imported, linked) = input::model_and_kernels(model, &args.dims, args.quiet)?;
    refuse_granularity(args, linked.is_some())?;
    let graph = &imported.graph;
    let points = input::points(&chip.chosen, &args.points)?;
    let table = input::costs(graph, &chip, args.costs.as_deref(), Some(&points))?;
    tell_estimated(args, &table)?;
    let specified = cluster::specified(linked.as_ref(), graph, &table);
    let all_points = all_points(args, graph, &chip)?;
    let fixed = fixed_points(args, &chip);
    explainable(args, &imported)?;
    let constraints = demands::read(args, &imported, &chip.chosen)?;
    export::possible(&args.emit, model, graph)?;
    let directory = directory(args, graph, &chip.chosen);
    // A search of minutes should not end at a directory that cannot be written.
    let made = writable(&directory)?;
    // From here on an interrupt keeps what is complete; before, there is nothing to keep.
    interrupt::listen()?;

    let progress = terminal::Progress::new(args.quiet);
    let clock = Clock::new(started, args.time_limit, graph.ops.len());
    let stop = || clock.stop();
    let stop_blocks = || clock.stop_blocks();
    let left = || clock.left().unwrap_or_default();
    let budget = Budget::until(&stop).with_blocks_until(&stop_blocks);
    let budget = if args.time_limit.is_some() {
        budget.with_clock(&left)
    } else {
        budget
    };
    let show = |text: &str| {
        progress.show(&format!(
            "{:5.1} s  {text}",
            started.elapsed().as_secs_f64()
        ));
    };
    let options = Options {
        goal: goal(args.objective),
        granularity: granularity(args.mapping),
        cuts: CutRule::default(),
        max_stages: args
            .max_stages
            .and_then(|stages| usize::try_from(stages).ok()),
        gap_millionths: millionths(args.gap),
        effort: effort(args.effort),
        energy: energy_axis(args),
        points: all_points.as_ref().map(|tables| Points {
            tables,
            fixed: &fixed,
        }),
        queues: &queues,
        tasks: None,
        clustering: specified.as_ref().map(cluster::Specified::clustering),
        budget,
        constraints: &constraints,
        progress: Progress(&show),
    };
    let kernels = linked.as_ref().map(|linked| &linked.graph);
    let compiled = in_pool(args.threads, || {
        mapped(args, kernels, graph, &table, &options)
    });
    progress.clear();
    let compiled = compiled
        .and_then(|compiled| compiled.map_err(|error| refused(args, &error)))
        .inspect_err(|_| unmake(&made))?;

    let explanations = explanations(args, graph, &table, &constraints, &compiled)?;
    if !args.quiet {
        tell_replaced(&directory, &compiled);
    }
    Progress(&show).known("writing files", "plan", Some(known(&compiled)));
    let page = (!args.no_report).then(|| page(&chip, &imported, &table, &compiled));
    let page = page.transpose()?;
    write(&directory, &compiled, !args.no_plots, page.as_deref())
        .map_err(|error| Failure::from_error(Kind::File, &error))?;
    progress.clear();
    if !args.quiet {
        tell_choices(args, &chip.chosen);
        warn(&compiled);
    }
    print_result(
        args,
        &Summary {
            front: &compiled.front,
            asked_gap: args.gap,
            operators: compiled.segments.graph.ops.len(),
            cuts: compiled.segments.cuts.len(),
            gflop: gflop(graph),
            directory: directory.display().to_string(),
            alone: &notes::no_baselines(&compiled, &table, &constraints, options.clustering),
        },
        &explanations,
    )?;
    emit(args, &imported, &recommended(&compiled).plan, &directory)?;
    Ok(exit_code(compiled.front.stopped_by))
}

/// The front, with the granularity of tasks that is asked for.
fn mapped(
    args: &MapArgs,
    kernels: Option<&KernelGraph>,
    graph: &VerifiedGraph,
    table: &CostTable,
    options: &Options<'_>,
) -> Result<Compiled, CompileError> {
    match (args.granularity, kernels) {
        (Some(asked), Some(kernels)) => {
            compile_kernels(kernels, graph, table, tasks_by(asked), options)
        }
        (Some(_) | None, _) => compile(graph, table, options),
    }
}

/// Where the files of the run go.
fn directory(args: &MapArgs, graph: &VerifiedGraph, soc: &Soc) -> PathBuf {
    let name = || Path::new("output").join(format!("{}-{}", graph.name, soc.name));
    args.out.clone().unwrap_or_else(name)
}

/// Tasks of a network are what rule M12 makes of it.
fn refuse_granularity(args: &MapArgs, is_kernel_graph: bool) -> Result<(), Failure> {
    if args.granularity.is_none() || is_kernel_graph {
        return Ok(());
    }
    let message = "--granularity: the operators of a network become tasks by rule M12 alone: \
                   an anchor with the epilogues that its kernel computes";
    Err(Failure::new(Kind::Usage, message).with_help(
        "leave the option out, or map a kernel graph; --mapping says how finely tasks are mapped",
    ))
}

/// Without powers no plan takes less energy than another.
fn refuse_unknown_energy(args: &MapArgs, soc: &Soc) -> Result<(), Failure> {
    let wants_energy =
        args.objective == args::Objective::Energy || args.energy == args::Energy::Objective;
    if wants_energy && !notes::knows_power(soc) {
        let message = format!(
            "energy cannot be an objective: all powers of `{}` are zero",
            soc.name
        );
        return Err(Failure::new(Kind::Profile, message).with_help(
            "write into the profile what its processors draw; docs/soc-profile.md says where",
        ));
    }
    Ok(())
}

/// Says which operators a file of measured costs leaves to the profile.
fn tell_estimated(args: &MapArgs, table: &CostTable) -> Result<(), Failure> {
    let Some(path) = args.costs.as_deref().filter(|_| !args.quiet) else {
        return Ok(());
    };
    let overrides =
        read_overrides(path).map_err(|error| Failure::from_error(Kind::Profile, &error))?;
    let note = overrides
        .file()
        .and_then(|file| notes::estimated(path, file, table));
    if let Some(note) = note {
        terminal::note(&terminal::printable(&format!("note: {note}")));
    }
    Ok(())
}

/// Writes the recommended plan in the formats that were asked for.
fn emit(args: &MapArgs, imported: &Imported, plan: &Plan, directory: &Path) -> Result<(), Failure> {
    let (model, _) = asked(args)?;
    let is_quiet = args.quiet || args.json;
    let export = Export {
        plan,
        graph: &imported.graph,
        model,
        edits: &imported.edits,
        is_exact: !imported.depends_on_values,
        is_quiet,
    };
    export.write(&args.emit, &directory.join(EXPORT))
}

fn exit_code(stopped_by: StoppedBy) -> ExitCode {
    match stopped_by {
        StoppedBy::Interrupt => ExitCode::from(130),
        StoppedBy::Complete | StoppedBy::Gap | StoppedBy::Work | StoppedBy::Time => {
            ExitCode::SUCCESS
        }
    }
}

/// Model and chip, if the command line makes sense as a whole.
fn asked(args: &MapArgs) -> Result<(&Path, &str), Failure> {
    let (Some(model), Some(soc)) = (&args.model, &args.soc) else {
        return Err(Failure::new(Kind::Usage, "a model and --soc are needed")
            .with_help("paracompile --help"));
    };
    if args.json && !args.explain.is_empty() {
        return Err(
            Failure::new(Kind::Usage, "--explain answers in words and --json in JSON")
                .with_help("ask for one of them"),
        );
    }
    Ok((model, soc))
}

/// Costs at all operating points, where they are part of the choice.
fn all_points(
    args: &MapArgs,
    graph: &VerifiedGraph,
    chip: &Chip,
) -> Result<Option<PointTables>, Failure> {
    if !args.dvfs {
        return Ok(None);
    }
    PointTables::new(graph, &chip.chosen)
        .map(Some)
        .map_err(|error| Failure::from_error(Kind::Profile, &error))
}

/// Of each processor whether the user fixed its operating point.
fn fixed_points(args: &MapArgs, chip: &Chip) -> Vec<bool> {
    let processors = chip.chosen.processors.iter();
    processors
        .map(|(_, processor)| args.points.iter().any(|(name, _)| *name == processor.name))
        .collect()
}

/// What the run found, and what was to be explained.
fn print_result(
    args: &MapArgs,
    summary: &Summary<'_>,
    explanations: &[String],
) -> Result<(), Failure> {
    if args.json {
        let text = serde_json::to_string_pretty(summary.front).expect("a front serialises");
        return print(&format!("{text}\n"));
    }
    if !args.quiet {
        print(&report(summary))?;
    }
    for explanation in explanations {
        print(&format!("\n{explanation}"))?;
    }
    Ok(())
}

/// What ends the run, told to a program first that asked for JSON.
fn refused(args: &MapArgs, error: &CompileError) -> Failure {
    if args.json {
        print_no(error);
    }
    failed(error)
}

/// Tells a program that asked for JSON why the answer is no.
fn print_no(error: &CompileError) {
    let answer = match error {
        CompileError::Stranded(tasks) => demands::stranded_json(tasks),
        CompileError::Conflict(conflict) => demands::conflict_json(conflict),
        CompileError::NothingToMap
        | CompileError::TooManyProcessors { .. }
        | CompileError::DoesNotFit { .. }
        | CompileError::NoMapping { .. }
        | CompileError::Stopped(_)
        | CompileError::Wrong { .. }
        | CompileError::Disagreement { .. } => return,
    };
    // The failure itself goes to standard error, and is what counts.
    let _ = print(&format!("{answer:#}\n"));
}

fn print(text: &str) -> Result<(), Failure> {
    terminal::print(text).map_err(|error| Failure::from_error(Kind::File, &error))
}

/// Runs `work` on as many threads as asked for.
pub(crate) fn in_pool<T: Send>(
    threads: Option<u64>,
    work: impl FnOnce() -> T + Send,
) -> Result<T, Failure> {
    let threads = threads.and_then(|threads| usize::try_from(threads).ok());
    // Zero is one thread a core.
    rayon::ThreadPoolBuilder::new()
        .num_threads(threads.unwrap_or(0))
        .build()
        .map(|pool| pool.install(work))
        .map_err(|error| Failure::from_error(Kind::Usage, &error))
}

const fn goal(objective: args::Objective) -> Goal {
    match objective {
        args::Objective::Latency => Goal::Latency,
        args::Objective::Throughput => Goal::Throughput,
        args::Objective::Energy => Goal::Energy,
        args::Objective::Balanced => Goal::Balanced,
    }
}

const fn tasks_by(asked: args::Granularity) -> compile::Granularity {
    match asked {
        args::Granularity::Auto => compile::Granularity::Auto,
        args::Granularity::Operator => compile::Granularity::Level(Level::Operator),
        args::Granularity::Branch => compile::Granularity::Level(Level::Branch),
        args::Granularity::Segment => compile::Granularity::Level(Level::Segment),
        args::Granularity::Stage => compile::Granularity::Level(Level::Stage),
    }
}

const fn granularity(mapping: args::Mapping) -> Granularity {
    match mapping {
        args::Mapping::Coarse => Granularity::Coarse,
        args::Mapping::Fine => Granularity::Fine,
        args::Mapping::Auto => Granularity::Auto,
    }
}

/// Counted work, as asked for.
pub(crate) const fn effort(effort: args::Effort) -> Effort {
    match effort {
        args::Effort::Quick => Effort::Quick,
        args::Effort::Normal => Effort::Normal,
        args::Effort::Thorough => Effort::Thorough,
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the argument's parser holds the gap within [0, 1)"
)]
pub(crate) fn millionths(gap: f64) -> u32 {
    (gap * 1e6).round() as u32
}

#[expect(clippy::cast_precision_loss, reason = "a printed figure")]
fn gflop(graph: &VerifiedGraph) -> f64 {
    let flops: u64 = graph
        .ops
        .iter()
        .map(|(_, op)| op.work.flops())
        .fold(0, u64::saturating_add);
    flops as f64 / 1e9
}

/// A failure of the search, with what to do about it.
pub(crate) fn failed(error: &CompileError) -> Failure {
    match error {
        CompileError::NothingToMap => Failure::from_error(Kind::Model, error),
        CompileError::TooManyProcessors { .. } => Failure::from_error(Kind::Profile, error)
            .with_help("name those to use with --processors"),
        CompileError::DoesNotFit { .. } => Failure::from_error(Kind::No, error)
            .with_help("offer more processors, or correct the size of the memory in the profile"),
        CompileError::NoMapping { .. } => Failure::from_error(Kind::No, error)
            .with_help("no processor alone supports everything: allow more stages or processors"),
        CompileError::Stranded(tasks) => {
            demands::stranded(Failure::from_error(Kind::No, error), tasks)
        }
        CompileError::Conflict(conflict) => {
            demands::excluded(Failure::from_error(Kind::No, error), conflict)
        }
        CompileError::Stopped(StoppedBy::Time) => Failure::from_error(Kind::No, error)
            .with_help("give it more time with --time-limit, or ask for less with --effort quick"),
        CompileError::Stopped(_) => Failure::from_error(Kind::Interrupted, error),
        CompileError::Wrong { violations, .. } => {
            Failure::from_error(Kind::Bug, error).with_details(violations.iter().skip(1).take(20))
        }
        CompileError::Disagreement { .. } => Failure::from_error(Kind::Bug, error),
    }
}

fn explanations(
    args: &MapArgs,
    graph: &VerifiedGraph,
    table: &CostTable,
    constraints: &Constraints,
    compiled: &Compiled,
) -> Result<Vec<String>, Failure> {
    let recommended = recommended(compiled);
    let subject = Subject {
        graph,
        fused: &compiled.segments.graph,
        table: recommended.table.as_deref().unwrap_or(table),
        mapping: &recommended.mapping,
        estimate: &recommended.estimate,
        constraints,
    };
    args.explain
        .iter()
        .map(|query| explain(&subject, query).map_err(|error| unknown_operator(&error)))
        .collect()
}

fn unknown_operator(error: &UnknownOperator) -> Failure {
    let failure = Failure::new(Kind::Usage, format!("--explain: {error}"));
    if error.near.is_empty() {
        return failure.with_help(
            "give a node's name, the name of one of its outputs, or # and its index in the file; paracompile inspect MODEL --dot names all",
        );
    }
    let near: Vec<String> = error.near.iter().map(|name| format!("  {name}")).collect();
    failure.with_help(format!("did you mean one of these?\n{}", near.join("\n")))
}

/// Whether everything that is to be explained is an operator, asked before a search is spent on it.
fn explainable(args: &MapArgs, imported: &Imported) -> Result<(), Failure> {
    for query in &args.explain {
        names_operator(&imported.graph, query).map_err(|error| {
            left_out(&imported.folded, "--explain", query)
                .unwrap_or_else(|| unknown_operator(&error))
        })?;
    }
    Ok(())
}

/// Says that files of another run are about to go, where it was about something else.
fn tell_replaced(directory: &Path, compiled: &Compiled) {
    let plan = &recommended(compiled).plan;
    if let Some(note) = notes::replaced(directory, &compiled.front, plan) {
        terminal::note(&terminal::printable(&format!("note: {note}")));
    }
}

/// A node of the file that is no operator of the graph, so that there is nothing to explain.
pub(crate) fn left_out(folded: &Folded, option: &str, query: &str) -> Option<Failure> {
    let index: Option<usize> = query.strip_prefix('#').and_then(|index| index.parse().ok());
    let kinds = [
        (
            &folded.constants,
            "is a constant: no network input changes its result",
        ),
        (
            &folded.identities,
            "is its input under another name, and takes no time",
        ),
        (
            &folded.dropouts,
            "passes its input on at inference, and takes no time",
        ),
        (
            &folded.dead,
            "is left out, as no network output depends on it",
        ),
        (
            &folded.batch_norms,
            "was folded into the convolution before it; --as-written keeps it apart",
        ),
        (
            &folded.paddings,
            "was folded into the convolution or pool behind it; --as-written keeps it apart",
        ),
        (
            &folded.conversions,
            "was folded into the operators that read or write quantised tensors around it; --as-written keeps it apart",
        ),
    ];
    kinds.into_iter().find_map(|(nodes, fate)| {
        let node = nodes.iter().find(|node| {
            index == Some(node.node) || (!node.name.is_empty() && node.name == query)
        })?;
        Some(Failure::new(
            Kind::Usage,
            format!("{option}: `{query}` ({}) {fate}", node.op_type),
        ))
    })
}

/// Latency and bound of the recommended plan.
fn known(compiled: &Compiled) -> decompose::Known {
    let proof = &recommended(compiled).plan.proof;
    decompose::Known {
        value: proof.value_ns,
        bound: proof.bound_ns,
    }
}

fn recommended(compiled: &Compiled) -> &PlanFile {
    compiled
        .files
        .iter()
        .find(|file| file.file == compiled.front.recommended)
        .expect("the recommended plan is one of the files")
}

/// Says where operating points leave nothing to choose.
fn tell_choices(args: &MapArgs, chip: &Soc) {
    let mut processors = chip.processors.iter();
    if args.dvfs && processors.all(|(_, processor)| processor.operating_points.len() == 1) {
        terminal::note(&terminal::printable(&format!(
            "note: every processor of `{}` has one operating point, so --dvfs leaves nothing to choose",
            chip.name
        )));
    }
}

/// Says what people should know of the front besides its figures.
fn warn(compiled: &Compiled) {
    if let Some(note) = notes::busy_links(&recommended(compiled).plan) {
        terminal::note(&format!("warning: {note}"));
    }
    if let Some(note) = notes::waits(&recommended(compiled).plan) {
        terminal::note(&format!("note: {note}"));
    }
    if let Some(note) = notes::tight_memories(&compiled.tight) {
        terminal::note(&format!("note: {note}"));
    }
}

/// The page of the run.
fn page(
    chip: &Chip,
    imported: &Imported,
    table: &CostTable,
    compiled: &Compiled,
) -> Result<String, Failure> {
    let plans = compiled.files.iter();
    let plans: Vec<(&str, &Plan)> = plans.map(|file| (file.file.as_str(), &file.plan)).collect();
    let elsewhere = costs_at_points(&imported.graph, chip, None, &plans)?;
    let known = Known {
        model: &model_facts(&imported.graph),
        costs: &cost_facts(&imported.graph, table),
        elsewhere: &elsewhere,
    };
    let notes = notes::all(
        &chip.chosen,
        &imported.warnings,
        &compiled.tight,
        &recommended(compiled).plan,
    );
    let request = Request {
        front: &compiled.front,
        plans: &plans,
        known: Some(known),
        notes: &notes,
    };
    html(&request).map_err(|error| Failure::from_error(Kind::Bug, &error))
}

/// Makes the directory and tries to write there; returns the directories that it made, the innermost first.
fn writable(directory: &Path) -> Result<Vec<PathBuf>, Failure> {
    if fs::metadata(directory).is_ok_and(|found| !found.is_dir()) {
        return Err(Failure::new(
            Kind::File,
            format!("{}: is a file, not a directory", directory.display()),
        )
        .with_help("name another directory with --out"));
    }
    // What stands where a file or a folder must go would be noticed only after the search.
    for (name, must_be_folder) in [
        ("plans", true),
        ("baselines", true),
        (EXPORT, true),
        (REPORT, false),
        ("front.json", false),
    ] {
        let path = directory.join(name);
        if fs::metadata(&path).is_ok_and(|found| found.is_dir() != must_be_folder) {
            let (what, wanted) = if must_be_folder {
                ("a file", "a directory")
            } else {
                ("a directory", "a file")
            };
            return Err(Failure::new(
                Kind::File,
                format!("{}: is {what} where {wanted} has to be", path.display()),
            )
            .with_help("remove it, or name another directory with --out"));
        }
    }
    let made: Vec<PathBuf> = directory
        .ancestors()
        .take_while(|path| !path.as_os_str().is_empty() && !path.exists())
        .map(Path::to_owned)
        .collect();
    let failed = |error: std::io::Error| {
        Failure::new(
            Kind::File,
            format!("{}: cannot write here: {error}", directory.display()),
        )
        .with_help("name a directory that can be written with --out")
    };
    fs::create_dir_all(directory).map_err(failed)?;
    tempfile::tempfile_in(directory).map_err(failed)?;
    Ok(made)
}

/// Removes directories that were made for nothing.
fn unmake(made: &[PathBuf]) {
    for directory in made {
        // Whatever somebody else has put there meanwhile keeps it.
        if fs::remove_dir(directory).is_err() {
            return;
        }
    }
}

const EXPORT: &str = "export";
const PARETO: &str = "pareto.svg";
const GANTT: &str = "gantt-recommended.svg";

/// Writes plans, then pictures and the page, then `front.json`, and removes plans that an earlier front named and this one does not.
fn write(
    directory: &Path,
    compiled: &Compiled,
    pictures: bool,
    page: Option<&str>,
) -> Result<(), WriteError> {
    let failed = |path: PathBuf| move |source| WriteError::Io { path, source };
    let old = read_front(&directory.join("front.json")).ok();
    for folder in ["plans", "baselines"] {
        let folder = directory.join(folder);
        fs::create_dir_all(&folder).map_err(failed(folder.clone()))?;
    }
    for file in &compiled.files {
        write_json(&directory.join(&file.file), &file.plan)?;
    }
    let paintings = [PARETO, GANTT].map(|name| directory.join(name));
    if pictures {
        let front = plot::pareto(&compiled.front);
        write_text(&paintings[0], &front)?;
        let gantt = plot::gantt(&recommended(compiled).plan);
        write_text(&paintings[1], &gantt)?;
    } else if old.is_some() {
        for stale in &paintings {
            // Mostly there is none.
            let _ = fs::remove_file(stale);
        }
    }
    if let Some(page) = page {
        write_text(&directory.join(REPORT), page)?;
    } else if old.is_some() {
        let _ = fs::remove_file(directory.join(REPORT));
    }
    write_json(&directory.join("front.json"), &compiled.front)?;
    for stale in old.iter().flat_map(files_of) {
        let kept = compiled.files.iter().any(|file| file.file == stale);
        let inside = (stale.starts_with("plans/") || stale.starts_with("baselines/"))
            && !stale.contains("..");
        if !kept && inside {
            // Whoever removed it before us has done our work.
            let _ = fs::remove_file(directory.join(stale));
        }
    }
    Ok(())
}

fn files_of(front: &Front) -> impl Iterator<Item = &str> {
    let plans = front.plans.iter().map(|plan| plan.file.as_str());
    let baselines = front
        .baselines
        .iter()
        .map(|baseline| baseline.file.as_str());
    let best = front
        .best_by_strategy
        .values()
        .chain(front.most_frames_by_strategy.values())
        .filter_map(|best| best.plan.as_deref());
    plans.chain(baselines).chain(best)
}
