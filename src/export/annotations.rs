//! The model with the stage and processor of each node as metadata, spliced into the original bytes.
//!
//! Two vocabularies, since no tool reads both: ONNX's multi-device metadata (`ModelProto.configuration`, `NodeProto.device_configurations`,
//! IR version 11) and onnxruntime's layer annotations (`metadata_props` with the key `layer_ann`).
//! Entries that an earlier run left are replaced.

use std::collections::BTreeSet;

use paracompile_plan::plan::Plan;

use super::ExportError;
use super::homes::{Home, homes};
use super::placement::{Placement, Spot};
use super::protobuf::{Pieces, fields};
use super::written::{Node, Written, number, text};

/// The name of our configuration in the model.
const CONFIGURATION: &str = "paracompile";
/// onnxruntime's key.
const LAYER: &str = "layer_ann";
/// The first IR version with multi-device metadata.
const IR_VERSION: u64 = 11;

/// A model with annotations.
#[derive(Debug)]
pub struct Annotated<'m> {
    /// The model's bytes.
    pub model: Pieces<'m>,
    /// The layer annotations in use, by stage, then processor.
    pub layers: Vec<String>,
    /// How many nodes are annotated.
    pub annotated: usize,
    /// Nodes that hold operators of several stages or processors, and carry no annotation.
    pub torn: Vec<String>,
    /// How many nodes that no task runs belong to several stages or processors, or to none, and carry no annotation.
    pub shared: usize,
}

/// Annotates a model with `plan`; `file` holds the model's bytes.
pub fn annotate<'m>(plan: &Plan, file: &'m [u8]) -> Result<Annotated<'m>, ExportError> {
    let written = Written::read(file)?;
    let order = written.order()?;
    let placement = Placement::of(plan, written.nodes.len())?;
    let homes = homes(&written, &order, &placement);
    let spots = spots(&written, &order, &homes);
    let names = Names::of(plan);
    let mut model = Pieces::default();
    let mut nodes = written.nodes.iter().zip(&spots);
    let mut version = Some(raised(&written));
    for field in &written.fields {
        match (field.number, field.delimited()) {
            (number::MODEL_IR_VERSION, _) => {
                // Of a field that may come once, the last one counts: one is left.
                if let Some(version) = version.take() {
                    model.integer(1, version);
                }
            }
            (number::MODEL_GRAPH, Some(graph)) => {
                model.message(7, annotated_graph(graph, &mut nodes, &names)?);
            }
            (number::MODEL_CONFIGURATION, Some(message)) if text(message, 1)? == CONFIGURATION => {}
            _ => model.keep(field.whole),
        }
    }
    if let Some(version) = version {
        model.integer(1, version);
    }
    model.message(26, names.configuration());
    let used: BTreeSet<Spot> = spots.iter().flatten().copied().collect();
    let is_torn = |home: &Home| {
        matches!(
            home,
            Home::Torn(_)
                | Home::Stage {
                    processor: None,
                    ..
                }
        )
    };
    let torn = (0..written.nodes.len())
        .filter(|&index| placement.spots(index).next().is_some() && is_torn(&homes[index]))
        .map(|index| written.nodes[index].spelled(index))
        .collect::<Vec<_>>();
    let annotated = spots.iter().flatten().count();
    Ok(Annotated {
        model,
        layers: used.iter().map(|&spot| names.layer(spot)).collect(),
        annotated,
        shared: written.nodes.len() - annotated - torn.len(),
        torn,
    })
}

fn raised(written: &Written<'_>) -> u64 {
    let versions = written.fields.iter();
    let versions = versions.filter(|field| field.number == number::MODEL_IR_VERSION);
    versions
        .filter_map(super::protobuf::Field::integer)
        .next_back()
        // A negative number is none that could be raised further.
        .filter(|&version| u32::try_from(version).is_ok())
        .map_or(IR_VERSION, |version| version.max(IR_VERSION))
}

/// The spot of each node that has one and no other.
fn spots(written: &Written<'_>, order: &[usize], homes: &[Home]) -> Vec<Option<Spot>> {
    let mut readers = vec![Readers::None; homes.len()];
    let mut spots = vec![None; homes.len()];
    // Readers first: what belongs to them is where they are, if that is one place.
    for &index in order.iter().rev() {
        let is_read = !matches!(readers[index], Readers::None);
        spots[index] = match (&homes[index], readers[index]) {
            (
                Home::Stage {
                    stage,
                    processor: Some(processor),
                },
                _,
            ) => Some(Spot {
                stage: *stage,
                processor: *processor,
            }),
            (Home::Readers, Readers::At(spot)) => Some(spot),
            (Home::Stage { .. } | Home::Torn(_) | Home::Readers, _) => None,
        };
        // A node that nothing reads and no task runs is dead, and its operands owe it nothing.
        if is_read || matches!(homes[index], Home::Stage { .. } | Home::Torn(_)) {
            for &writer in written.nodes[index]
                .reads()
                .filter_map(|name| written.writers.get(name))
            {
                readers[writer] = readers[writer].and(spots[index]);
            }
        }
    }
    spots
}

/// Where the readers of a node are.
#[derive(Clone, Copy, Debug)]
enum Readers {
    None,
    At(Spot),
    Several,
}

impl Readers {
    fn and(self, spot: Option<Spot>) -> Self {
        match (self, spot) {
            (Self::None, Some(spot)) => Self::At(spot),
            (Self::At(before), Some(spot)) if before == spot => self,
            (Self::None | Self::At(_) | Self::Several, _) => Self::Several,
        }
    }
}

fn annotated_graph<'m, 'a>(
    graph: &'m [u8],
    nodes: &mut impl Iterator<Item = (&'a Node<'m>, &'a Option<Spot>)>,
    names: &Names<'_>,
) -> Result<Pieces<'m>, ExportError>
where
    'm: 'a,
{
    let mut annotated = Pieces::default();
    for field in fields(graph) {
        let field = field?;
        let is_node = field.number == number::GRAPH_NODE && field.delimited().is_some();
        match is_node.then(|| nodes.next()).flatten() {
            Some((node, spot)) => annotated.message(1, annotated_node(node, *spot, names)?),
            None => annotated.keep(field.whole),
        }
    }
    Ok(annotated)
}

fn annotated_node<'m>(
    node: &Node<'m>,
    spot: Option<Spot>,
    names: &Names<'_>,
) -> Result<Pieces<'m>, ExportError> {
    let mut annotated = Pieces::default();
    for field in fields(node.message) {
        let field = field?;
        let is_ours = match (field.number, field.delimited()) {
            (number::NODE_METADATA, Some(entry)) => text(entry, 1)? == LAYER,
            (number::NODE_CONFIGURATION, Some(entry)) => text(entry, 1)? == CONFIGURATION,
            _ => false,
        };
        if !is_ours {
            annotated.keep(field.whole);
        }
    }
    let Some(spot) = spot else {
        return Ok(annotated);
    };
    let mut layer = Pieces::default();
    layer.text(1, LAYER);
    layer.text(2, &names.layer(spot));
    annotated.message(9, layer);
    let mut configuration = Pieces::default();
    configuration.text(1, CONFIGURATION);
    for output in node.writes() {
        // One device and no sharded axis: the whole tensor is there.
        let mut sharding = Pieces::default();
        sharding.text(1, output);
        sharding.integer(2, spot.processor as u64);
        configuration.message(2, sharding);
    }
    configuration.integer(3, spot.stage as u64);
    annotated.message(10, configuration);
    Ok(annotated)
}

/// How stages and processors are called in the model.
struct Names<'p> {
    processors: Vec<&'p str>,
    /// Their names without the characters that have a meaning in onnxruntime's settings, and still different from each other.
    labels: Vec<String>,
}

impl<'p> Names<'p> {
    fn of(plan: &'p Plan) -> Self {
        let processors: Vec<&str> = plan
            .processors
            .iter()
            .map(|processor| processor.name.as_str())
            .collect();
        let mut labels: Vec<String> = Vec::new();
        for (index, name) in processors.iter().enumerate() {
            let is_plain =
                |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.' | '+');
            let mut name = name.replace(|c| !is_plain(c), "_");
            if name.is_empty() || labels.contains(&name) {
                name = format!("{name}#{index}");
            }
            labels.push(name);
        }
        Self { processors, labels }
    }

    fn layer(&self, spot: Spot) -> String {
        let name = self.labels.get(spot.processor);
        format!("stage{}/{}", spot.stage, name.map_or("", String::as_str))
    }

    fn configuration(&self) -> Pieces<'static> {
        let mut configuration = Pieces::default();
        configuration.text(1, CONFIGURATION);
        configuration.integer(2, self.processors.len() as u64);
        for name in &self.processors {
            configuration.text(3, name);
        }
        configuration
    }
}
