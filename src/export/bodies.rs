//! Branches and bodies in the attributes of a node: what they read from outside, what they call, and constants in other files.

use std::collections::BTreeSet;

use super::ExportError;
use super::protobuf::fields;
use super::written::{Callee, is_external, number, read_flat, text};

/// What the attributes of a node hold, read with a stack on the heap.
#[derive(Debug, Default)]
pub(super) struct Bodies<'m> {
    scopes: Vec<Scope<'m>>,
    /// What the node and the nodes in its bodies call.
    pub(super) calls: Vec<Callee<'m>>,
    /// Constants whose elements lie in another file.
    pub(super) external: Vec<&'m [u8]>,
}

#[derive(Debug, Default)]
struct Scope<'m> {
    parent: Option<usize>,
    defined: BTreeSet<&'m str>,
    read: BTreeSet<&'m str>,
}

#[derive(Clone, Copy)]
enum Kind {
    Node,
    Attribute,
    Graph,
    Tensor,
    SparseTensor,
}

impl<'m> Bodies<'m> {
    /// Of a node.
    pub(super) fn of(node: &'m [u8]) -> Result<Self, ExportError> {
        let mut bodies = Self::default();
        bodies.read(node)?;
        Ok(bodies)
    }

    fn read(&mut self, node: &'m [u8]) -> Result<(), ExportError> {
        let mut open = vec![(Kind::Node, node, None)];
        while let Some((kind, message, scope)) = open.pop() {
            let mut scope = scope;
            match kind {
                Kind::Node => {
                    let overload = text(message, 8)?;
                    let node = read_flat(message)?;
                    self.calls.push((node.domain, node.op_type, overload));
                    if let Some(scope) = scope {
                        let scope: &mut Scope<'m> = &mut self.scopes[scope];
                        scope.read.extend(node.reads());
                        scope.defined.extend(node.writes());
                    }
                }
                Kind::Graph => {
                    self.scopes.push(Scope {
                        parent: scope,
                        ..Scope::default()
                    });
                    scope = Some(self.scopes.len() - 1);
                }
                Kind::Tensor => {
                    if is_external(message)? {
                        self.external.push(message);
                    }
                }
                Kind::Attribute | Kind::SparseTensor => {}
            }
            for field in fields(message) {
                let field = field?;
                let Some(inner) = field.delimited() else {
                    continue;
                };
                match (kind, field.number) {
                    (Kind::Node, 5) => open.push((Kind::Attribute, inner, scope)),
                    (Kind::Attribute, 5 | 10) | (Kind::SparseTensor, 1 | 2) => {
                        open.push((Kind::Tensor, inner, scope));
                    }
                    (Kind::Attribute, 6 | 11) => open.push((Kind::Graph, inner, scope)),
                    (Kind::Attribute, 22) => open.push((Kind::SparseTensor, inner, scope)),
                    (Kind::Graph, number::GRAPH_NODE) => open.push((Kind::Node, inner, scope)),
                    (Kind::Graph, number::GRAPH_INITIALIZER) => {
                        self.define(scope, text(inner, 8)?);
                        open.push((Kind::Tensor, inner, scope));
                    }
                    (Kind::Graph, number::GRAPH_INPUT) => self.define(scope, text(inner, 1)?),
                    (Kind::Graph, number::GRAPH_OUTPUT) => {
                        if let Some(scope) = scope {
                            self.scopes[scope].read.insert(text(inner, 1)?);
                        }
                    }
                    _ => {}
                }
            }
        }
        Ok(())
    }

    fn define(&mut self, scope: Option<usize>, name: &'m str) {
        if let Some(scope) = scope {
            self.scopes[scope].defined.insert(name);
        }
    }

    /// Names that are read and not defined around the reader, in alphabetical order.
    pub(super) fn captured(&self) -> Vec<&'m str> {
        let mut captured = BTreeSet::new();
        for (index, scope) in self.scopes.iter().enumerate() {
            for &name in &scope.read {
                if !name.is_empty() && !self.is_defined(index, name) {
                    captured.insert(name);
                }
            }
        }
        captured.into_iter().collect()
    }

    fn is_defined(&self, scope: usize, name: &str) -> bool {
        let mut current = Some(scope);
        while let Some(index) = current {
            if self.scopes[index].defined.contains(name) {
                return true;
            }
            current = self.scopes[index].parent;
        }
        false
    }
}
