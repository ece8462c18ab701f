//! The model's file with the nodes that the importer rewrote, such as those of single attention heads.
//!
//! Everything else is a slice of the original bytes.

use std::collections::HashMap;

use paracompile_frontend::import::onnx::NodeEdit;

use super::ExportError;
use super::protobuf::{Pieces, fields};
use super::written::{Written, number};

/// `file` with `edits` in it: a node that gives way is replaced where it stands, and new nodes follow behind the last one.
pub fn rewritten<'m>(file: &'m [u8], edits: &'m [NodeEdit]) -> Result<Pieces<'m>, ExportError> {
    let is_graph = |number: u64| number == number::MODEL_GRAPH;
    let mut pieces = 0_usize;
    for field in fields(file) {
        let field = field?;
        pieces += usize::from(is_graph(field.number) && field.delimited().is_some());
    }
    let by_node: HashMap<usize, &NodeEdit> = edits.iter().map(|edit| (edit.node, edit)).collect();
    let mut model = Pieces::default();
    let mut node = 0_usize;
    for field in fields(file) {
        let field = field?;
        let Some(graph) = field.delimited().filter(|_| is_graph(field.number)) else {
            model.keep(field.whole);
            continue;
        };
        pieces -= 1;
        let mut changed = Pieces::default();
        for field in fields(graph) {
            let field = field?;
            if field.number != number::GRAPH_NODE || field.delimited().is_none() {
                changed.keep(field.whole);
                continue;
            }
            match by_node.get(&node) {
                Some(edit) => changed.message(1, Pieces::kept(&edit.proto)),
                None => changed.keep(field.whole),
            }
            node += 1;
        }
        // A graph may come in several pieces; new nodes belong behind the last one.
        if pieces == 0 {
            for edit in edits.iter().filter(|edit| edit.node >= node) {
                changed.message(1, Pieces::kept(&edit.proto));
            }
        }
        model.message(7, changed);
    }
    Ok(model)
}

/// The same model with its nodes in an order of computation, which ONNX demands and new nodes at the end do not keep.
pub fn sorted(file: &[u8]) -> Result<Pieces<'_>, ExportError> {
    let written = Written::read(file)?;
    let mut order = written.order()?.into_iter();
    let mut model = Pieces::default();
    for field in fields(file) {
        let field = field?;
        let is_graph = field.number == number::MODEL_GRAPH;
        let Some(graph) = field.delimited().filter(|_| is_graph) else {
            model.keep(field.whole);
            continue;
        };
        let mut changed = Pieces::default();
        for field in fields(graph) {
            let field = field?;
            let is_node = field.number == number::GRAPH_NODE && field.delimited().is_some();
            match is_node.then(|| order.next()).flatten() {
                Some(node) => changed.message(1, Pieces::kept(written.nodes[node].message)),
                None => changed.keep(field.whole),
            }
        }
        model.message(7, changed);
    }
    Ok(model)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_change_where_they_stand_and_new_ones_follow() {
        // A graph of two nodes around a name, in two pieces with an unknown field between them.
        let file = b"\x3a\x07\x0a\x01a\x12\x02g1\xa0\x06\x01\x3a\x03\x0a\x01b";
        let edits = [
            NodeEdit {
                node: 1,
                proto: b"B!".to_vec(),
            },
            NodeEdit {
                node: 2,
                proto: b"c".to_vec(),
            },
        ];
        let mut bytes = Vec::new();
        let pieces = rewritten(file, &edits).unwrap();
        pieces.write_to(&mut bytes).unwrap();
        assert_eq!(
            bytes,
            b"\x3a\x07\x0a\x01a\x12\x02g1\xa0\x06\x01\x3a\x07\x0a\x02B!\x0a\x01c"
        );
        let mut same = Vec::new();
        rewritten(file, &[]).unwrap().write_to(&mut same).unwrap();
        assert_eq!(same, file);
    }
}
