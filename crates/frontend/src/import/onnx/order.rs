//! Topological order of the nodes, which files need not have.
//!
//! The order is stable: of the nodes that are ready, the first in the file comes next, so a file in order keeps its order.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

/// Nodes in order, and one cycle among those that have none.
pub(super) struct Order {
    pub(super) nodes: Vec<usize>,
    /// Nodes of a cycle, the first in the file first, each reading from the one before; empty if there is none.
    pub(super) cycle: Vec<usize>,
}

/// Orders nodes by `predecessors`, which may list one several times.
pub(super) fn order(predecessors: &[Vec<usize>]) -> Order {
    let count = predecessors.len();
    let mut waiting: Vec<usize> = predecessors.iter().map(Vec::len).collect();
    let mut successors = vec![Vec::new(); count];
    for (node, before) in predecessors.iter().enumerate() {
        for &predecessor in before {
            successors[predecessor].push(node);
        }
    }
    let mut ready: BinaryHeap<_> = (0..count)
        .filter(|&node| waiting[node] == 0)
        .map(Reverse)
        .collect();
    let mut nodes = Vec::with_capacity(count);
    while let Some(Reverse(node)) = ready.pop() {
        nodes.push(node);
        for &successor in &successors[node] {
            waiting[successor] -= 1;
            if waiting[successor] == 0 {
                ready.push(Reverse(successor));
            }
        }
    }
    let cycle = find_cycle(predecessors, &waiting);
    Order { nodes, cycle }
}

/// Walks backwards from a node that still waits; each such node waits for another one, so the walk returns to where it was.
fn find_cycle(predecessors: &[Vec<usize>], waiting: &[usize]) -> Vec<usize> {
    let Some(start) = waiting.iter().position(|&count| count > 0) else {
        return Vec::new();
    };
    let mut step_of = vec![None; predecessors.len()];
    let mut walk = Vec::new();
    let mut node = start;
    let first = loop {
        if let Some(step) = step_of[node] {
            break step;
        }
        step_of[node] = Some(walk.len());
        walk.push(node);
        node = predecessors[node]
            .iter()
            .copied()
            .find(|&predecessor| waiting[predecessor] > 0)
            .expect("a node that was not ordered waits for one that was not");
    };
    let mut cycle = walk.split_off(first);
    cycle.reverse();
    let smallest = (0..cycle.len())
        .min_by_key(|&step| cycle[step])
        .unwrap_or(0);
    cycle.rotate_left(smallest);
    cycle
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_in_order_keeps_its_order() {
        let order = order(&[vec![], vec![], vec![0, 1, 1], vec![0]]);
        assert_eq!(order.nodes, [0, 1, 2, 3]);
        assert!(order.cycle.is_empty());
    }

    #[test]
    fn readers_move_behind_writers() {
        assert_eq!(order(&[vec![2], vec![0], vec![]]).nodes, [2, 0, 1]);
    }

    #[test]
    fn a_cycle_is_found_without_what_hangs_on_it() {
        let order = order(&[vec![], vec![0, 3], vec![1], vec![2], vec![3]]);
        assert_eq!(order.nodes, [0]);
        assert_eq!(order.cycle, [1, 2, 3]);
    }
}
