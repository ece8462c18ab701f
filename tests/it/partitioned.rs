//! What the fuzz target `graph_partition` does.

use paracompile::arena::Id;
use paracompile::ir::verify;
use paracompile::partition::{fuse, inspect, segment, to_dot};
use paracompile_testkit::fuzz::network::network;

/// Verifies the graph that `data` describes, and fuses, cuts and draws it if it is one; segments must hold each task once, in order.
pub(crate) fn graph_partition(data: &[u8]) {
    let graph = match verify(network(data)) {
        Ok(graph) => graph,
        Err(violations) => {
            for violation in violations {
                let _ = violation.to_string();
            }
            return;
        }
    };
    let segments = segment(fuse(&graph));
    let listed: Vec<_> = segments
        .segments
        .iter()
        .flat_map(|segment| segment.ops.clone())
        .collect();
    assert!(
        listed.into_iter().eq(0..segments.graph.ops.len()),
        "segments are not the tasks in order"
    );
    let members: usize = segments
        .graph
        .ops
        .iter()
        .map(|(_, task)| task.members.len())
        .sum();
    let costly = graph.ops.iter().filter(|(_, op)| op.class().is_some());
    assert_eq!(
        members,
        costly.count(),
        "tasks do not hold each operator once"
    );
    for id in (0..segments.graph.ops.len()).map(Id::from_index) {
        for producer in segments.graph.producers(id) {
            assert!(producer < id, "a task stands before what it reads");
        }
    }
    let inspection = inspect(&graph, &segments);
    assert_eq!(inspection.segments.len(), segments.segments.len());
    let _ = inspection.to_string();
    let _ = to_dot(&segments);
}

#[cfg(test)]
mod tests {
    use paracompile_testkit::fuzz::corpus;

    use super::graph_partition;

    #[test]
    fn the_committed_graphs_are_cut_or_refused() {
        let inputs = corpus::inputs("graph_partition").expect("the corpus is committed");
        assert!(inputs.len() >= 50, "only {} inputs", inputs.len());
        for (_, bytes) in inputs {
            graph_partition(&bytes);
        }
    }
}
