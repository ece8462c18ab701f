//! `paracompile export`, and `--emit` of a mapping: files for other tools.

use std::fmt::Write as _;
use std::fs::{self, File};
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::num::NonZeroU64;
use std::ops::Deref;
use std::path::{Component, Path, PathBuf};
use std::process::ExitCode;

use paracompile::export::{
    Copied, ExportError, No, StageFile, annotate, arm_co_up, is_known_to_arm_co_up, rewritten,
    sorted, stage_models, weight_files,
};
use paracompile::facts::model_facts;
use paracompile::import::{NodeEdit, map};
use paracompile::ir::VerifiedGraph;
use paracompile::plan::{
    ModelKind, Plan, WriteError, check_structure, read_plan, write_json, write_text, write_with,
};

use crate::args::{DimArgs, Emit, ExportArgs};
use crate::check::unreadable;
use crate::failure::{Failure, Kind};
use crate::input::counted;
use crate::{input, terminal};

/// The annotated model, in a folder of its own so that its weights can lie beside it.
const ANNOTATED: &str = "annotated";
/// The models of the stages.
const STAGES: &str = "stages";
const MANIFEST: &str = "stages.json";
const COMMAND: &str = "arm-co-up.txt";
/// How many violations of a plan are printed.
const SHOWN: usize = 20;

/// Runs the command.
pub(crate) fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let plan = read_plan(&args.plan).map_err(|error| unreadable(&args.plan, &error))?;
    let imported = input::model(&args.model, &bound(&args.dims, &plan), true)?;
    let graph = &imported.graph;
    fits(args, &plan, graph)?;
    if graph.kind == ModelKind::Kernels {
        possible(&args.emit, &args.model, graph)?;
    }
    let export = Export {
        plan: &plan,
        graph,
        model: &args.model,
        edits: &imported.edits,
        is_exact: !imported.depends_on_values,
        is_quiet: args.quiet,
    };
    match &args.out {
        Some(directory) => export.write(&args.emit, directory)?,
        None if args.emit.iter().all(|&format| format == Emit::ArmCoUp) => {
            terminal::print(&export.command()?)
                .map_err(|error| Failure::from_error(Kind::File, &error))?;
        }
        None => {
            return Err(Failure::new(Kind::Usage, "where to write is missing")
                .with_help("name a directory with -o"));
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The bindings of the plan, and those given beside them, which have to say the same.
fn bound(dims: &DimArgs, plan: &Plan) -> DimArgs {
    let of_plan = plan.model.dims.iter();
    let of_plan = of_plan.map(|(name, &value)| (name.clone(), value));
    DimArgs {
        dims: of_plan.chain(dims.dims.iter().cloned()).collect(),
        kernel_dirs: dims.kernel_dirs.clone(),
        as_written: dims.as_written,
        expose_heads: dims.expose_heads.or_else(|| heads(&plan.model.rewrites)),
    }
}

/// How the plan's model was split by head, if it was.
fn heads(rewrites: &[String]) -> Option<NonZeroU64> {
    rewrites.iter().find_map(|rewrite| {
        let groups = rewrite.strip_prefix("expose-heads")?;
        match groups.strip_prefix('=') {
            Some(groups) => groups.parse().ok(),
            None => groups.is_empty().then_some(NonZeroU64::MAX),
        }
    })
}

/// An error unless the plan is one for the model.
fn fits(args: &ExportArgs, plan: &Plan, graph: &VerifiedGraph) -> Result<(), Failure> {
    if plan.model.graph_digest != graph.digest {
        return Err(Failure::new(
            Kind::Plan,
            format!(
                "{}: this plan is for another model\n  the plan's: `{}`, digest {}\n  the one given: `{}`, digest {}",
                args.plan.display(),
                plan.model.name,
                plan.model.graph_digest,
                graph.name,
                graph.digest,
            ),
        )
        .with_help("give --model the file that the plan was made from"));
    }
    let mut facts = model_facts(graph);
    // The file may have been renamed: what it holds is what the plan is for.
    facts.name.clone_from(&plan.model.name);
    let violations = check_structure(plan, &facts);
    if violations.is_empty() {
        return Ok(());
    }
    let failure = Failure::new(
        Kind::Plan,
        format!(
            "{}: this is no plan for the model: {}",
            args.plan.display(),
            counted(violations.len(), "violation")
        ),
    )
    .with_details(violations.iter().take(SHOWN));
    let of_heads = |rewrites: &[String]| {
        let found = rewrites
            .iter()
            .find(|name| name.starts_with("expose-heads"));
        found.cloned()
    };
    let (made, given) = (of_heads(&plan.model.rewrites), of_heads(&graph.rewrites));
    Err(if made != given {
        failure.with_help(made.map_or_else(
            || "leave --expose-heads out: the plan was made without it".to_owned(),
            |made| {
                format!("the plan was made with --{made}: leave the option out, the plan says it")
            },
        ))
    } else if args.dims.as_written {
        failure.with_help("leave --as-written out, unless the plan was made with it")
    } else {
        failure.with_help("give --as-written too, if the plan was made with it")
    })
}

/// An error if no plan for the model could be exported: said before a search of minutes, not after it.
pub(crate) fn possible(
    formats: &[Emit],
    model: &Path,
    graph: &VerifiedGraph,
) -> Result<(), Failure> {
    if graph.kind == ModelKind::Kernels && !formats.is_empty() {
        let what = format!(
            "{}: these formats are for networks, not for kernel graphs",
            model.display()
        );
        return Err(Failure::new(Kind::Usage, what)
            .with_help("paracompile convert writes kernel graphs in other formats"));
    }
    if formats.contains(&Emit::ArmCoUp) {
        is_known_to_arm_co_up(graph).map_err(|no| refused(&no))?;
    }
    if formats.contains(&Emit::Stages) {
        let file = map(model).map_err(|error| Failure::from_error(Kind::Model, &error))?;
        let locations = weight_files(&file);
        let locations =
            locations.map_err(|error| Failure::from_error(Kind::Model, &error).at(model))?;
        for location in locations {
            weights(model, &location).map_err(|unfound| match unfound {
                Unfound::Missing(path) => missing(&path),
                Unfound::Wrong(failure) => failure,
            })?;
        }
    }
    Ok(())
}

/// A plan that leaves for other tools.
pub(crate) struct Export<'a> {
    pub(crate) plan: &'a Plan,
    pub(crate) graph: &'a VerifiedGraph,
    /// The model's file.
    pub(crate) model: &'a Path,
    /// Nodes of the file that the importer rewrote.
    pub(crate) edits: &'a [NodeEdit],
    /// Whether every frame has the extents that were inferred.
    pub(crate) is_exact: bool,
    pub(crate) is_quiet: bool,
}

impl Export<'_> {
    /// Writes each format once below `directory`; what cannot be said in one of them does not keep the others back.
    pub(crate) fn write(&self, formats: &[Emit], directory: &Path) -> Result<(), Failure> {
        let mut formats = formats.to_vec();
        formats.sort_unstable();
        formats.dedup();
        let failures = formats
            .into_iter()
            .filter_map(|format| {
                match format {
                    Emit::Annotated => self.annotated(directory),
                    Emit::Stages => self.stages(directory),
                    Emit::ArmCoUp => self.arm_co_up(directory),
                }
                .err()
            })
            .collect();
        Failure::all(failures).map_or(Ok(()), Err)
    }

    /// The model's bytes: mapped, and in memory only where nodes were rewritten.
    fn file(&self) -> Result<Box<dyn Deref<Target = [u8]>>, Failure> {
        let file = map(self.model).map_err(|error| Failure::from_error(Kind::Model, &error))?;
        if self.edits.is_empty() {
            return Ok(Box::new(file));
        }
        let mut bytes = Vec::new();
        let pieces = rewritten(&file, self.edits).map_err(|error| self.failed(&error))?;
        pieces
            .write_to(&mut bytes)
            .expect("memory takes everything");
        Ok(Box::new(bytes))
    }

    fn annotated(&self, directory: &Path) -> Result<(), Failure> {
        let file = self.file()?;
        let annotated = annotate(self.plan, &file).map_err(|error| self.failed(&error))?;
        let folder = directory.join(ANNOTATED);
        made(&folder)?;
        let name = Path::new(self.model.file_name().unwrap_or_default());
        for location in weight_files(&file).map_err(|error| self.failed(&error))? {
            self.copy_weights(&location, &folder, name)?;
        }
        let target = folder.join(name);
        if self.edits.is_empty() {
            written(write_with(&target, |out| annotated.model.write_to(out)))?;
        } else {
            let mut bytes = Vec::with_capacity(annotated.model.len());
            let pieces = &annotated.model;
            pieces
                .write_to(&mut bytes)
                .expect("memory takes everything");
            let sorted = sorted(&bytes).map_err(|error| self.failed(&error))?;
            written(write_with(&target, |out| sorted.write_to(out)))?;
        }
        for node in &annotated.torn {
            self.note(&format!(
                "warning: node {node} carries no annotation: its operators are on several processors or in several stages"
            ));
        }
        self.say(&format!(
            "{}: {} annotated ({}), {} that belong to no one place left as they are",
            target.display(),
            counted(annotated.annotated, "node"),
            annotated.layers.join(", "),
            annotated.shared,
        ))
    }

    /// Copies a file of weights to the same relative place; one that is missing stays missing, with a warning.
    fn copy_weights(&self, location: &str, folder: &Path, model: &Path) -> Result<(), Failure> {
        let is_normal = |part: &Component<'_>| matches!(part, Component::Normal(_));
        let parts = Path::new(location).components().filter(is_normal);
        if parts.eq(model.components()) {
            return Err(Failure::new(
                Kind::Model,
                format!("weights lie in `{location}`, which is the name of the annotated model"),
            )
            .with_help("rename the file of weights"));
        }
        let source = match weights(self.model, location) {
            Ok(source) => source,
            Err(Unfound::Missing(path)) => {
                self.note(&format!(
                    "warning: {}: not found, so the annotated model has to be given its weights",
                    path.display()
                ));
                return Ok(());
            }
            Err(Unfound::Wrong(failure)) => return Err(failure),
        };
        let target = folder.join(location);
        if let Some(parent) = target.parent() {
            made(parent)?;
        }
        // A link of an earlier run, or of somebody else, must not lead the copy away.
        let inside = target
            .parent()
            .is_some_and(|parent| is_below(parent, folder));
        if !inside || target.is_symlink() {
            return Err(Failure::new(
                Kind::File,
                format!("{}: a link is in the way", target.display()),
            )
            .with_help("name another directory"));
        }
        let mut file = File::open(&source).map_err(|error| unreadable_weights(&source, &error))?;
        written(write_with(&target, |out| {
            io::copy(&mut file, out).map(drop)
        }))
    }

    fn stages(&self, directory: &Path) -> Result<(), Failure> {
        let file = self.file()?;
        let models = stage_models(self.plan, self.graph, &file, self.is_exact)
            .map_err(|error| self.failed(&error))?;
        let sources = models
            .files
            .iter()
            .map(|stage| self.sources(stage))
            .collect::<Result<Vec<_>, _>>()?;
        let folder = directory.join(STAGES);
        made(&folder)?;
        for (index, (stage, sources)) in models.files.iter().zip(&sources).enumerate() {
            let data = folder.join(format!("stage-{index}.data"));
            if stage.copied.is_empty() {
                // Mostly there is none of an earlier run.
                let _ = fs::remove_file(&data);
            } else {
                written(write_with(&data, |out| {
                    copy_parts(&stage.copied, sources, out)
                }))?;
            }
            let model = folder.join(format!("stage-{index}.onnx"));
            written(write_with(&model, |out| stage.model.write_to(out)))?;
        }
        written(write_json(&folder.join(MANIFEST), &models.manifest))?;
        remove_more(&folder, models.files.len());
        self.say(&format!(
            "{}: {} and {MANIFEST}",
            folder.display(),
            counted(models.files.len(), "stage model"),
        ))
    }

    /// The files that a stage's data file is made of, part by part, each long enough.
    fn sources(&self, stage: &StageFile<'_>) -> Result<Vec<PathBuf>, Failure> {
        stage
            .copied
            .iter()
            .map(|part| {
                let path = match weights(self.model, &part.location) {
                    Ok(path) => path,
                    Err(Unfound::Wrong(failure)) => return Err(failure),
                    Err(Unfound::Missing(path)) => {
                        return Err(Failure::new(
                            Kind::Model,
                            format!("{}: not found; the stage models need these weights", path.display()),
                        )
                        .with_help("put the file where the model expects it"));
                    }
                };
                let length = fs::metadata(&path)
                    .map_err(|error| unreadable_weights(&path, &error))?
                    .len();
                let end = part.offset.checked_add(part.length);
                if end.is_none_or(|end| end > length) {
                    return Err(Failure::new(
                        Kind::Model,
                        format!(
                            "{}: has {length} bytes, but the model places weights at {} of {} bytes",
                            path.display(),
                            part.offset,
                            part.length
                        ),
                    )
                    .with_help("the file is truncated, or belongs to another model"));
                }
                Ok(path)
            })
            .collect()
    }

    fn arm_co_up(&self, directory: &Path) -> Result<(), Failure> {
        let text = self.command()?;
        made(directory)?;
        written(write_text(&directory.join(COMMAND), &text))?;
        if self.is_quiet {
            return Ok(());
        }
        terminal::print(&text).map_err(|error| Failure::from_error(Kind::File, &error))
    }

    /// Notes as comments of a shell, then the command.
    fn command(&self) -> Result<String, Failure> {
        let found = arm_co_up(self.plan, self.graph).map_err(|no| refused(&no))?;
        let mut text = String::new();
        for note in &found.notes {
            let _ = writeln!(text, "# {note}");
        }
        let _ = writeln!(text, "{}", found.command);
        Ok(text)
    }

    fn failed(&self, error: &ExportError) -> Failure {
        let failure = Failure::from_error(Kind::Model, error).at(self.model);
        let help = match error {
            ExportError::TornNode { .. } => {
                "export another plan: one whose cuts leave this node whole, or --emit annotated"
            }
            ExportError::UnknownType(_) => "declare the tensor in the model's value_info",
            ExportError::ExternalAttribute(_) => "store the constant inside of the model",
            ExportError::External { .. } => "export the model again from where it was made",
            ExportError::NoSuch { .. }
            | ExportError::Backwards { .. }
            | ExportError::Malformed
            | ExportError::Cycle => return failure,
        };
        failure.with_help(help)
    }

    fn note(&self, text: &str) {
        if !self.is_quiet {
            terminal::note(&terminal::printable(text));
        }
    }

    fn say(&self, text: &str) -> Result<(), Failure> {
        if self.is_quiet {
            return Ok(());
        }
        terminal::print(&format!("{text}\n"))
            .map_err(|error| Failure::from_error(Kind::File, &error))
    }
}

/// A file of weights; links may not lead out of the model's folder.
fn weights(model: &Path, location: &str) -> Result<PathBuf, Unfound> {
    let folder = match model.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder,
        Some(_) | None => Path::new("."),
    };
    let path = folder.join(location);
    let found = match path.canonicalize() {
        Ok(found) => found,
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return Err(Unfound::Missing(path));
        }
        Err(error) => return Err(Unfound::Wrong(unreadable_weights(&path, &error))),
    };
    let wrong = |what: &str| {
        let failure = Failure::new(Kind::Model, format!("{}: {what}", path.display()));
        Unfound::Wrong(failure.with_help("put the weights into the model's folder"))
    };
    if !is_below(&found, folder) {
        return Err(wrong(
            "a link leads out of the model's folder, and is not followed",
        ));
    }
    if !found.is_file() {
        return Err(wrong("is not a regular file"));
    }
    Ok(found)
}

enum Unfound {
    Missing(PathBuf),
    Wrong(Failure),
}

/// A no, with what could be asked instead.
fn refused(no: &No) -> Failure {
    let help = match no {
        No::Network { .. } | No::Missing(_) => "docs/arm-co-up.md says how a network is recognised",
        No::Stages(_) => "map with --max-stages 3",
        No::Parallel { .. } => "export a plan of the strategy pipe-only or single",
        No::Letter { .. } => "map with --processors big,little,gpu",
        No::InsideLayer { .. } => "export another plan; docs/arm-co-up.md lists the layers",
    };
    Failure::from_error(Kind::No, no).with_help(help)
}

fn missing(path: &Path) -> Failure {
    Failure::new(
        Kind::Model,
        format!(
            "{}: not found; the stage models need these weights",
            path.display()
        ),
    )
    .with_help("put the file where the model expects it")
}

fn copy_parts(parts: &[Copied], sources: &[PathBuf], out: &mut dyn Write) -> io::Result<()> {
    let mut end = 0;
    for (part, source) in parts.iter().zip(sources) {
        io::copy(&mut io::repeat(0).take(part.at - end), out)?;
        let mut file = File::open(source)?;
        file.seek(SeekFrom::Start(part.offset))?;
        let copied = io::copy(&mut file.take(part.length), out)?;
        if copied != part.length {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        end = part.at + part.length;
    }
    Ok(())
}

/// Removes models of stages that an earlier plan had and this one has not.
fn remove_more(folder: &Path, count: usize) {
    for index in count.. {
        let model = folder.join(format!("stage-{index}.onnx"));
        if fs::remove_file(&model).is_err() {
            return;
        }
        let _ = fs::remove_file(folder.join(format!("stage-{index}.data")));
    }
}

/// Whether a path lies below a folder, links resolved.
fn is_below(path: &Path, folder: &Path) -> bool {
    match (path.canonicalize(), folder.canonicalize()) {
        (Ok(path), Ok(folder)) => path.starts_with(folder),
        _ => false,
    }
}

fn made(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| {
        Failure::new(
            Kind::File,
            format!("{}: cannot write here: {error}", folder.display()),
        )
        .with_help("name a directory that can be written")
    })
}

fn written(done: Result<(), WriteError>) -> Result<(), Failure> {
    done.map_err(|error| Failure::from_error(Kind::File, &error))
}

fn unreadable_weights(path: &Path, error: &io::Error) -> Failure {
    Failure::new(
        Kind::Model,
        format!("{}: cannot read: {error}", path.display()),
    )
}
