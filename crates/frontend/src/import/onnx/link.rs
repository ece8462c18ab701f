//! Resolves names: which node writes which tensor, and which nodes read it, those in branches and bodies included.
//!
//! The nodes of the top-level graph come first.
//! What a function call or a branch stands for is appended when the walk enters it ([`Links::enter`]), so that every later step sees one flat list.
//! Names belong to scopes: a branch sees the names around it, a function only what its call hands over.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::rc::Rc;

use bytes::Bytes;

use super::attributes::{Attributes, Environment};
use super::body::Body;
use super::captures::captures;
use super::operator_sets::OperatorSets;
use super::payload::{Constant, constant};
use super::problems::Problems;
use super::value::Data;
use super::wire::{NodeProto, ValueInfoProto};
use super::{ImportError, NodePath, Problem, limits};

/// Index of a tensor of the file.
pub(super) type Slot = usize;

/// Index of a scope.
pub(super) type ScopeId = usize;

/// The scope of the top-level graph.
pub(super) const TOP: ScopeId = 0;

/// Tensors and nodes with names resolved.
#[derive(Debug)]
pub(super) struct Links<'m> {
    /// Unique names of tensors, by slot.
    pub(super) names: Vec<Cow<'m, str>>,
    /// Where each tensor comes from, by slot.
    pub(super) origins: Vec<Origin>,
    pub(super) nodes: Vec<Node<'m>>,
    /// Network outputs, each once.
    pub(super) outputs: Vec<Slot>,
    pub(super) scopes: Vec<Scope<'m>>,
    /// Names of tensors below the top-level graph.
    inner: HashSet<String>,
    /// Elements of constants that may still be propagated.
    propagated: u64,
    /// Nodes, and what belongs to them, that entering bodies may still add.
    room: u64,
    /// Bytes of names that entering bodies may still add.
    text: u64,
    /// How many tensors below the top-level graph would have the same name.
    copies: HashMap<String, u32>,
}

/// A node in its place.
#[derive(Debug)]
pub(super) struct Node<'m> {
    pub(super) proto: &'m NodeProto,
    pub(super) scope: ScopeId,
    /// Index among the nodes of its graph or function.
    pub(super) index: usize,
    /// Operands, then what its bodies capture.
    pub(super) reads: Vec<Option<Slot>>,
    /// How many of the reads are operands.
    pub(super) operands: usize,
    /// Results; `None` where one has no name.
    pub(super) writes: Vec<Option<Slot>>,
}

/// Where names mean something.
#[derive(Debug)]
pub(super) struct Scope<'m> {
    /// Whose names are seen too.
    pub(super) parent: Option<ScopeId>,
    /// Tensors by name; `None` for an operand that a call leaves out.
    pub(super) slots: HashMap<&'m str, Option<Slot>>,
    /// Declared types by name.
    pub(super) declared: HashMap<&'m str, &'m ValueInfoProto>,
    /// Attributes of the call.
    pub(super) environment: Option<Rc<Environment<'m>>>,
    pub(super) sets: Rc<OperatorSets<'m>>,
    pub(super) place: Place,
}

impl Scope<'_> {
    /// Attributes that a call gave.
    fn environment_size(&self) -> u64 {
        self.environment
            .as_ref()
            .map_or(0, |given| given.len() as u64)
    }
}

/// Where a body stands in the file.
#[derive(Clone, Debug, Default)]
pub(super) struct Place {
    /// Indices of nodes from the top-level graph on; behind a node with bodies, the body's position among them.
    pub(super) path: Vec<u32>,
    /// What people call it; nothing for the top-level graph.
    pub(super) body: Option<String>,
    /// What the names of its tensors begin with where they would not be unique.
    pub(super) prefix: String,
    /// Scopes around it.
    pub(super) depth: usize,
}

/// Where a tensor comes from.
#[derive(Debug)]
pub(super) enum Origin {
    /// Index in the graph's list of inputs.
    Input(usize),
    Constant(Box<Constant>),
    Node(usize),
    /// A formal parameter of a body that runs more or less often.
    Parameter,
    /// Something is wrong with it, which was reported.
    Broken,
}

/// Nothing in a scope or around it has the name.
#[derive(Debug)]
struct Undefined;

/// A body whose nodes are linked.
#[derive(Debug)]
pub(super) struct Entered {
    /// Its nodes.
    pub(super) nodes: std::ops::Range<usize>,
    /// Its results, by position; `None` where one is not defined, which was reported.
    pub(super) results: Vec<Option<Slot>>,
}

impl<'m> Links<'m> {
    /// Links the top-level graph.
    pub(super) fn of(
        file: &Bytes,
        graph: &'m super::wire::GraphProto,
        sets: OperatorSets<'m>,
        problems: &mut Problems,
    ) -> Self {
        let body = Body::of_graph(graph);
        let mut links = Self {
            names: Vec::new(),
            origins: Vec::new(),
            nodes: Vec::with_capacity(graph.node.len()),
            outputs: Vec::new(),
            scopes: vec![Scope {
                parent: None,
                slots: HashMap::new(),
                declared: body.declared(),
                environment: None,
                sets: Rc::new(sets),
                place: Place::default(),
            }],
            inner: HashSet::new(),
            propagated: limits::PROPAGATED,
            room: limits::INLINED,
            text: limits::INLINED_TEXT,
            copies: HashMap::new(),
        };
        links.declare_constants(file, &body, TOP, problems);
        links.declare_inputs(graph, problems);
        let nodes = links.add(&body, TOP, BTreeMap::new(), problems);
        debug_assert_eq!(nodes.len(), graph.node.len(), "every node is added");
        links.resolve_outputs(graph, problems);
        links
    }

    /// Links `body` in a scope of its own, whose results of the given names are tensors that exist already.
    ///
    /// `slots` holds what the body's parameters mean.
    pub(super) fn enter(
        &mut self,
        file: &Bytes,
        body: &Body<'m>,
        scope: Scope<'m>,
        results: BTreeMap<&'m str, Slot>,
        problems: &mut Problems,
    ) -> Result<Entered, ImportError> {
        let size = body.size();
        let entries = 1 + size.entries + scope.environment_size();
        let place =
            (scope.place.prefix.len() + scope.place.body.as_ref().map_or(0, String::len)) as u64;
        let text = size.text.saturating_add(entries.saturating_mul(place));
        let too_large = |what, limit| ImportError::TooLarge { what, limit };
        self.room = self.room.checked_sub(entries).ok_or(too_large(
            "nodes, operands and attributes of functions and branches, counted as often as they are used",
            limits::INLINED,
        ))?;
        self.text = self.text.checked_sub(text).ok_or(too_large(
            "bytes of names of functions and branches, counted as often as they are used",
            limits::INLINED_TEXT,
        ))?;
        let id = self.scopes.len();
        self.scopes.push(scope);
        self.declare_constants(file, body, id, problems);
        let nodes = self.add(body, id, results, problems);
        let results = body
            .results
            .iter()
            .map(|name| self.result(id, name, problems))
            .collect();
        Ok(Entered { nodes, results })
    }

    /// The slot of a tensor of the top-level graph.
    pub(super) fn slot(&self, name: &str) -> Option<Slot> {
        self.scopes[TOP].slots.get(name).copied().flatten()
    }

    /// Whether a tensor has this unique name.
    pub(super) fn is_taken(&self, name: &str) -> bool {
        self.scopes[TOP].slots.contains_key(name) || self.inner.contains(name)
    }

    /// For each node of a range, those of the same range that write what it reads, as often as it reads it.
    pub(super) fn predecessors(&self, nodes: &std::ops::Range<usize>) -> Vec<Vec<usize>> {
        let writer = |slot: &Slot| match self.origins[*slot] {
            Origin::Node(node) if nodes.contains(&node) => Some(node - nodes.start),
            Origin::Node(_)
            | Origin::Input(_)
            | Origin::Constant(_)
            | Origin::Parameter
            | Origin::Broken => None,
        };
        self.nodes[nodes.clone()]
            .iter()
            .map(|node| node.reads.iter().flatten().filter_map(writer).collect())
            .collect()
    }

    /// The attributes of a node, those of its call put in.
    pub(super) fn attributes(&self, node: usize) -> Attributes<'_> {
        let node = &self.nodes[node];
        Attributes {
            own: &node.proto.attribute,
            environment: self.scopes[node.scope].environment.as_deref(),
        }
    }

    /// The operator sets that a node's types belong to.
    pub(super) fn sets(&self, node: usize) -> &OperatorSets<'m> {
        &self.scopes[self.nodes[node].scope].sets
    }

    /// The version of the operator set that a node's type belongs to.
    pub(super) fn opset(&self, node: usize) -> i64 {
        self.sets(node).version(&self.nodes[node].proto.domain)
    }

    /// Where a node stands.
    pub(super) fn path(&self, node: usize) -> NodePath {
        let node = &self.nodes[node];
        self.path_in(node.scope, node.index, node.proto)
    }

    /// The path of a node as plans spell it: the top-level node, then the way inside.
    pub(super) fn steps(&self, node: usize) -> Vec<u32> {
        let node = &self.nodes[node];
        let mut steps = self.scopes[node.scope].place.path.clone();
        steps.push(index(node.index));
        steps
    }

    fn path_in(&self, scope: ScopeId, node: usize, proto: &NodeProto) -> NodePath {
        let place = &self.scopes[scope].place;
        let mut steps = place.path.iter().map(|&step| step as usize).chain([node]);
        NodePath {
            node: steps.next().unwrap_or(node),
            inside: steps.collect(),
            name: shown(&proto.name),
            op_type: shown(&spelled(proto)),
            body: place.body.clone(),
        }
    }

    /// What `name` means in `scope`; `None` if a call leaves it out.
    fn lookup(&self, scope: ScopeId, name: &str) -> Result<Option<Slot>, Undefined> {
        let mut current = Some(scope);
        while let Some(id) = current {
            let scope = &self.scopes[id];
            if let Some(&slot) = scope.slots.get(name) {
                return Ok(slot);
            }
            current = scope.parent;
        }
        Err(Undefined)
    }

    /// A tensor of `scope`, without saying there what it is called.
    fn push(&mut self, scope: ScopeId, name: &'m str, origin: Origin) -> Slot {
        let slot = self.names.len();
        let name = if scope == TOP {
            Cow::Borrowed(name)
        } else {
            Cow::Owned(self.unique(scope, name))
        };
        self.names.push(name);
        self.origins.push(origin);
        slot
    }

    /// The tensor of a formal parameter, which is to be named in the scope that is entered next.
    pub(super) fn parameter(&mut self, place: &Place, name: &str) -> Slot {
        let slot = self.names.len();
        let name = self.unique_at(&place.prefix, name);
        self.names.push(Cow::Owned(name));
        self.origins.push(Origin::Parameter);
        slot
    }

    fn unique(&mut self, scope: ScopeId, name: &str) -> String {
        let prefix = self.scopes[scope].place.prefix.clone();
        self.unique_at(&prefix, name)
    }

    fn unique_at(&mut self, prefix: &str, name: &str) -> String {
        let plain = format!("{prefix}{name}");
        let mut unique = plain.clone();
        // Counted and not lengthened, since a thousand branches may each have a tensor of this name.
        while self.is_taken(&unique) {
            let copies = self.copies.entry(plain.clone()).or_default();
            *copies += 1;
            unique = match *copies {
                1 => format!("{plain}'"),
                more => format!("{plain}'{more}"),
            };
        }
        self.inner.insert(unique.clone());
        unique
    }

    fn declare_inputs(&mut self, graph: &'m super::wire::GraphProto, problems: &mut Problems) {
        let mut listed = HashSet::new();
        for (index, input) in graph.input.iter().enumerate() {
            let is_first = listed.insert(input.name.as_str());
            // Before IR version 4, constants had to be listed as inputs too.
            if input.name.is_empty() {
                problems.push(Problem::Input {
                    input: String::new(),
                    what: "it has no name".to_owned(),
                });
            } else if !self.scopes[TOP].slots.contains_key(input.name.as_str()) {
                let slot = self.push(TOP, &input.name, Origin::Input(index));
                self.scopes[TOP].slots.insert(&input.name, Some(slot));
            } else if !is_first {
                problems.push(Problem::Input {
                    input: input.name.clone(),
                    what: "it is listed twice".to_owned(),
                });
            }
        }
    }

    fn declare_constants(
        &mut self,
        file: &Bytes,
        body: &Body<'m>,
        scope: ScopeId,
        problems: &mut Problems,
    ) {
        for tensor in body.constants {
            let origin = match constant(file, tensor) {
                Ok(mut constant) => {
                    let known = constant.value.data.as_ref().map_or(0, Data::len) as u64;
                    match self.propagated.checked_sub(known) {
                        Some(rest) => self.propagated = rest,
                        None => constant.value.data = None,
                    }
                    Origin::Constant(Box::new(constant))
                }
                Err(what) => {
                    problems.push(Problem::Constant {
                        place: format!("constant `{}`", tensor.name),
                        what,
                    });
                    Origin::Broken
                }
            };
            self.declare_constant(scope, &tensor.name, origin, problems);
        }
        for sparse in body.sparse {
            let name = sparse
                .values
                .as_ref()
                .map_or("", |values| values.name.as_str());
            problems.push(Problem::Unsupported {
                place: format!("constant `{name}`"),
                what: "sparse constants are not supported; store it densely".to_owned(),
            });
            self.declare_constant(scope, name, Origin::Broken, problems);
        }
    }

    fn declare_constant(
        &mut self,
        scope: ScopeId,
        name: &'m str,
        origin: Origin,
        problems: &mut Problems,
    ) {
        if self.scopes[scope].slots.contains_key(name) {
            problems.push(Problem::Constant {
                place: format!("constant `{name}`"),
                what: "it is stored twice".to_owned(),
            });
            return;
        }
        let slot = self.push(scope, name, origin);
        self.scopes[scope].slots.insert(name, Some(slot));
    }

    /// Appends the nodes of a body; those of its results that are in `results` are tensors that exist already.
    fn add(
        &mut self,
        body: &Body<'m>,
        scope: ScopeId,
        mut results: BTreeMap<&'m str, Slot>,
        problems: &mut Problems,
    ) -> std::ops::Range<usize> {
        let first = self.nodes.len();
        for (index, proto) in body.nodes.iter().enumerate() {
            let writes = self.declare_results(scope, index, proto, &mut results, problems);
            self.nodes.push(Node {
                proto,
                scope,
                index,
                reads: Vec::new(),
                operands: proto.input.len(),
                writes,
            });
        }
        for node in first..self.nodes.len() {
            self.nodes[node].reads = self.resolve_operands(node, problems);
        }
        first..self.nodes.len()
    }

    fn declare_results(
        &mut self,
        scope: ScopeId,
        index: usize,
        proto: &'m NodeProto,
        results: &mut BTreeMap<&'m str, Slot>,
        problems: &mut Problems,
    ) -> Vec<Option<Slot>> {
        let node = self.nodes.len();
        let mut writes = Vec::with_capacity(proto.output.len());
        for name in &proto.output {
            if name.is_empty() {
                writes.push(None);
                continue;
            }
            if self.scopes[scope].slots.contains_key(name.as_str()) {
                problems.push(Problem::WrittenTwice {
                    tensor: name.clone(),
                    at: self.path_in(scope, index, proto),
                });
                writes.push(None);
                continue;
            }
            let slot = if let Some(slot) = results.remove(name.as_str()) {
                self.origins[slot] = Origin::Node(node);
                slot
            } else {
                self.push(scope, name, Origin::Node(node))
            };
            self.scopes[scope].slots.insert(name, Some(slot));
            writes.push(Some(slot));
        }
        writes
    }

    fn resolve_operands(&mut self, node: usize, problems: &mut Problems) -> Vec<Option<Slot>> {
        let (proto, scope) = (self.nodes[node].proto, self.nodes[node].scope);
        let operands = proto.input.iter().map(String::as_str);
        let captured = captures(proto);
        let mut reads = Vec::with_capacity(proto.input.len() + captured.len());
        for name in operands.chain(captured) {
            if name.is_empty() {
                reads.push(None);
                continue;
            }
            let slot = self.lookup(scope, name).unwrap_or_else(|Undefined| {
                problems.push(Problem::Undefined {
                    tensor: name.to_owned(),
                    at: self.path(node),
                });
                // Declared as broken, so that it is reported once.
                Some(self.broken(scope, name))
            });
            reads.push(slot);
        }
        reads
    }

    fn broken(&mut self, scope: ScopeId, name: &'m str) -> Slot {
        let slot = self.push(scope, name, Origin::Broken);
        self.scopes[scope].slots.insert(name, Some(slot));
        slot
    }

    fn result(&mut self, scope: ScopeId, name: &'m str, problems: &mut Problems) -> Option<Slot> {
        let found = self.lookup(scope, name);
        if found.is_err() {
            problems.push(Problem::UndefinedResult {
                tensor: name.to_owned(),
                body: self.scopes[scope].place.body.clone().unwrap_or_default(),
            });
        }
        found.ok().flatten()
    }

    fn resolve_outputs(&mut self, graph: &super::wire::GraphProto, problems: &mut Problems) {
        let mut is_listed = vec![false; self.names.len()];
        for output in &graph.output {
            match self.slot(&output.name) {
                Some(slot) if is_listed[slot] => {}
                Some(slot) => {
                    is_listed[slot] = true;
                    self.outputs.push(slot);
                }
                None => problems.push(Problem::UndefinedOutput {
                    tensor: output.name.clone(),
                }),
            }
        }
    }
}

/// As much of a name as a report shows; names of networks are far shorter.
pub(super) fn shown(name: &str) -> String {
    match name.char_indices().nth(limits::SHOWN) {
        None => name.to_owned(),
        Some((end, _)) => format!("{}…", &name[..end]),
    }
}

/// An index as plans hold it.
pub(super) fn index(index: usize) -> u32 {
    u32::try_from(index).expect("the number of nodes is limited")
}

/// The operator type with its domain, where that is not the default one.
pub(super) fn spelled(node: &NodeProto) -> String {
    match node.domain.as_str() {
        "" | "ai.onnx" => node.op_type.clone(),
        domain => format!("{domain}.{}", node.op_type),
    }
}
