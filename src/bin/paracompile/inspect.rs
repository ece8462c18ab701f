//! `paracompile inspect`: what a model contains, what became of its nodes, and what is missing for a mapping.
//!
//! It succeeds on every valid model: what hinders a mapping is an answer here, not a failure.

use std::fmt::Write;
use std::process::ExitCode;

use paracompile::import::{
    Examined, Folded, Header, Imported, NodePath, Outcome, Problem, UnboundSymbol, examine,
};
use paracompile::kernels::is_kernel_graph;
use paracompile::partition::{Inspection, Segments, fuse, inspect, segment, to_dot};
use serde_json::{Map, Value, json};

use crate::args::InspectArgs;
use crate::failure::{Failure, Kind};
use crate::input::{self, counted, printed};
use crate::{kernels, model_failure};

/// Names of nodes that a line shows.
const SHOWN: usize = 3;

/// Runs the command.
pub(crate) fn run(args: &InspectArgs) -> Result<ExitCode, Failure> {
    if is_kernel_graph(&args.model) {
        return kernel_graph(args);
    }
    let options = input::import_options(&args.dims)?;
    let examined = examine(&args.model, &options)
        .map_err(|error| model_failure::picture(&error, &args.model))?;
    match &examined.outcome {
        Outcome::Complete(imported) => complete(args, &examined, imported),
        Outcome::Incomplete { unbound, missing } => {
            if args.dot {
                return Err(not_drawn(args, unbound, missing));
            }
            if args.json {
                return printed(&text_of(&incomplete_json(&examined, unbound, missing)));
            }
            printed(&incomplete_text(args, &examined, unbound, missing))
        }
    }
}

fn kernel_graph(args: &InspectArgs) -> Result<ExitCode, Failure> {
    let options = kernels::options(&args.model, &args.dims)?;
    let linked = kernels::linked(&args.model, &options)?;
    let imported = kernels::lowered(&args.model, &linked)?;
    let segments = segment(fuse(&imported.graph));
    if args.dot {
        return printed(&to_dot(&segments));
    }
    let inspection = inspect(&imported.graph, &segments);
    if args.json {
        let mut value = serde_json::to_value(&inspection).expect("figures and names serialise");
        value["complete"] = true.into();
        value["kernels"] = kernels::about_json(&linked.graph);
        return printed(&text_of(&value));
    }
    printed(&(inspection.to_string() + &kernels::about(&linked.graph)))
}

fn complete(
    args: &InspectArgs,
    examined: &Examined,
    imported: &Imported,
) -> Result<ExitCode, Failure> {
    let segments = segment(fuse(&imported.graph));
    if args.dot {
        input::warn(&imported.warnings, false);
        return printed(&to_dot(&segments));
    }
    let inspection = inspect(&imported.graph, &segments);
    if args.json {
        return printed(&text_of(&complete_json(
            examined,
            imported,
            &inspection,
            &segments,
        )));
    }
    let mut text = inspection.to_string();
    write_about(&mut text, examined, imported, &segments).expect("text takes everything");
    printed(&text)
}

fn text_of(value: &Value) -> String {
    let text = serde_json::to_string_pretty(value).expect("figures and names serialise");
    format!("{text}\n")
}

/// A kind of nodes that are no operators of the graph, and what became of them.
struct FoldedKind<'a> {
    name: &'static str,
    nodes: &'a [NodePath],
    became: &'static str,
}

fn kinds(folded: &Folded) -> [FoldedKind<'_>; 9] {
    let kind = |name, nodes, became| FoldedKind {
        name,
        nodes,
        became,
    };
    [
        kind(
            "identities",
            &folded.identities,
            "their result is their operand",
        ),
        kind("dropouts", &folded.dropouts, "they do nothing at inference"),
        kind(
            "constants",
            &folded.constants,
            "no input can change their results",
        ),
        kind(
            "unused operators",
            &folded.dead,
            "no output depends on them",
        ),
        kind(
            "batch normalisations",
            &folded.batch_norms,
            "part of the weights of the convolutions before them",
        ),
        kind(
            "paddings",
            &folded.paddings,
            "part of the convolutions and pools behind them",
        ),
        kind(
            "function calls",
            &folded.calls,
            "the nodes of the function took their place",
        ),
        kind(
            "conditions",
            &folded.conditions,
            "the nodes of the branch that is taken took their place",
        ),
        kind(
            "conversions",
            &folded.conversions,
            "the operators around them read or write quantised tensors by themselves",
        ),
    ]
}

/// Pairs of an operator that starts a task and the types that joined it, with how often that happens.
fn fused(imported: &Imported, segments: &Segments) -> Vec<(String, usize)> {
    let mut counts = std::collections::BTreeMap::<String, usize>::new();
    for (_, task) in segments.graph.ops.iter() {
        let mut types = task
            .members
            .iter()
            .map(|&member| &imported.graph.ops[member])
            .filter(|op| op.class().is_some())
            .map(|op| op.op_type.as_str());
        let (Some(anchor), joined) = (types.next(), types.collect::<Vec<_>>()) else {
            continue;
        };
        if !joined.is_empty() {
            *counts
                .entry(format!("{anchor} + {}", joined.join(" + ")))
                .or_default() += 1;
        }
    }
    let mut counts: Vec<_> = counts.into_iter().collect();
    counts.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    counts
}

fn write_about(
    text: &mut String,
    examined: &Examined,
    imported: &Imported,
    segments: &Segments,
) -> std::fmt::Result {
    writeln!(text, "\n  file        {}", about(&examined.header))?;
    let constant = examined.outputs.iter().filter(|output| {
        let mut outputs = imported.graph.outputs.iter();
        !outputs.any(|&id| imported.graph.tensors[id].name == output.name)
    });
    for output in constant {
        if let Some((dtype, shape)) = &output.inferred {
            writeln!(
                text,
                "  left out    output {} {dtype} {shape}: no input can change it, or it is another one under a second name",
                output.name
            )?;
        }
    }
    let folded: Vec<_> = kinds(&imported.folded)
        .into_iter()
        .filter(|kind| !kind.nodes.is_empty())
        .collect();
    if !folded.is_empty() {
        writeln!(text, "\n  left out of the file")?;
        for kind in folded {
            let what = format!("{} {}", kind.nodes.len(), kind.name);
            writeln!(text, "  {what:<26} {}: {}", kind.became, few(kind.nodes))?;
        }
    }
    let fused = fused(imported, segments);
    if !fused.is_empty() {
        writeln!(text, "\n  fused into one task")?;
        for (what, count) in fused {
            writeln!(text, "  {count:>6} times  {what}")?;
        }
    }
    if !imported.warnings.is_empty() {
        writeln!(text, "\n  assumed or noticed")?;
        for warning in &imported.warnings {
            writeln!(text, "  {warning}")?;
        }
    }
    Ok(())
}

/// The first of some nodes.
fn few(nodes: &[NodePath]) -> String {
    let mut shown: Vec<String> = nodes.iter().take(SHOWN).map(ToString::to_string).collect();
    if nodes.len() > SHOWN {
        shown.push("…".to_owned());
    }
    shown.join(", ")
}

fn about(header: &Header) -> String {
    let opsets: Vec<String> = header
        .opsets
        .iter()
        .map(|(domain, version)| match domain.as_str() {
            "" | "ai.onnx" => format!("opset {version}"),
            domain => format!("{domain} {version}"),
        })
        .collect();
    let mut parts = vec![format!("IR version {}", header.ir_version)];
    parts.extend(opsets);
    if header.functions > 0 {
        parts.push(counted(header.functions, "function"));
    }
    if !header.producer.is_empty() {
        parts.push(format!("written by {}", header.producer));
    }
    parts.join(", ")
}

fn incomplete_text(
    args: &InspectArgs,
    examined: &Examined,
    unbound: &[UnboundSymbol],
    missing: &[Problem],
) -> String {
    let header = &examined.header;
    let mut lines = vec![header.model.clone()];
    lines.push(format!("  file        {}", about(header)));
    for (name, declared) in &examined.inputs {
        lines.push(format!("  input       {name} {declared}"));
    }
    for output in &examined.outputs {
        let shown = match &output.inferred {
            Some((dtype, shape)) => format!("{dtype} {shape}"),
            None => format!("{} (as declared)", output.declared),
        };
        lines.push(format!("  output      {} {shown}", output.name));
    }
    let nodes: usize = header.operators.iter().map(|(_, count)| count).sum();
    let types: Vec<String> = header
        .operators
        .iter()
        .map(|(name, count)| format!("{name} {count}"))
        .collect();
    lines.push(format!("  nodes       {nodes}: {}", types.join(", ")));
    lines.push(String::new());
    lines.push("  missing for a mapping".to_owned());
    for symbol in unbound {
        lines.push(format!("  dimension {symbol} has no value"));
    }
    for problem in missing {
        lines.push(format!("  {problem}"));
        lines.extend(model_failure::more(problem, "  "));
        lines.extend(problem.remedy().map(|remedy| format!("    {remedy}")));
    }
    if !unbound.is_empty() {
        let flags: Vec<String> = unbound
            .iter()
            .map(|symbol| format!("--dim '{}=N'", symbol.name))
            .collect();
        lines.push(String::new());
        lines.push(format!(
            "  next        paracompile inspect {} {}",
            args.model.display(),
            flags.join(" ")
        ));
    }
    lines.push(String::new());
    lines.join("\n")
}

fn not_drawn(args: &InspectArgs, unbound: &[UnboundSymbol], missing: &[Problem]) -> Failure {
    let count = counted(unbound.len() + missing.len(), "thing");
    Failure::new(
        Kind::Model,
        format!(
            "{}: cannot be drawn, {count} missing for a graph",
            args.model.display()
        ),
    )
    .with_help("without --dot, inspect lists them")
}

fn header_json(examined: &Examined) -> Value {
    let header = &examined.header;
    let opsets: Map<String, Value> = header
        .opsets
        .iter()
        .map(|(domain, version)| (domain.clone(), json!(version)))
        .collect();
    let nodes: Map<String, Value> = header
        .operators
        .iter()
        .map(|(name, count)| (name.clone(), json!(count)))
        .collect();
    json!({
        "ir_version": header.ir_version,
        "producer": header.producer,
        "opsets": opsets,
        "nodes": nodes,
        "functions": header.functions,
    })
}

fn complete_json(
    examined: &Examined,
    imported: &Imported,
    inspection: &Inspection,
    segments: &Segments,
) -> Value {
    let mut value = serde_json::to_value(inspection).expect("figures and names serialise");
    let kinds = kinds(&imported.folded);
    let name = |kind: &FoldedKind<'_>| kind.name.replace(' ', "_");
    value["complete"] = true.into();
    value["file"] = header_json(examined);
    // All of them, constants and second names included, unlike `outputs`, which a mapping has to produce.
    value["results"] = outputs_json(examined);
    value["folded"] = kinds
        .iter()
        .map(|kind| (name(kind), kind.nodes.len().into()))
        .collect::<Map<_, _>>()
        .into();
    value["folded_nodes"] = kinds
        .iter()
        .map(|kind| {
            let nodes: Vec<String> = kind.nodes.iter().map(ToString::to_string).collect();
            (name(kind), nodes.into())
        })
        .collect::<Map<_, _>>()
        .into();
    value["fused"] = fused(imported, segments)
        .into_iter()
        .map(|(what, count)| (what, count.into()))
        .collect::<Map<_, _>>()
        .into();
    let warnings = imported.warnings.iter().map(ToString::to_string);
    value["warnings"] = warnings.collect::<Vec<_>>().into();
    value
}

fn outputs_json(examined: &Examined) -> Value {
    let outputs = examined
        .outputs
        .iter()
        .map(|output| match &output.inferred {
            Some((dtype, shape)) => {
                json!({ "name": output.name, "dtype": dtype.name(), "shape": shape.0 })
            }
            None => json!({ "name": output.name, "declared": output.declared }),
        });
    outputs.collect::<Vec<_>>().into()
}

fn incomplete_json(examined: &Examined, unbound: &[UnboundSymbol], missing: &[Problem]) -> Value {
    let inputs: Vec<Value> = examined
        .inputs
        .iter()
        .map(|(name, declared)| json!({ "name": name, "declared": declared }))
        .collect();
    let unbound: Vec<Value> = unbound
        .iter()
        .map(|symbol| json!({ "name": symbol.name, "input": symbol.input, "axis": symbol.axis }))
        .collect();
    let missing: Vec<String> = missing.iter().map(ToString::to_string).collect();
    json!({
        "model": examined.header.model,
        "complete": false,
        "file": header_json(examined),
        "inputs": inputs,
        "results": outputs_json(examined),
        "unbound": unbound,
        "missing": missing,
    })
}
