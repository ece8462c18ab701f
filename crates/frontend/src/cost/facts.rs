//! The cost facts that the checker judges plans by, from a cost table.

use paracompile_plan::facts::{ContentionFacts, CostFacts, LinkFacts, MemoryFacts, ProcessorFacts};

use super::table::CostTable;
use super::transfer::seconds_per_byte;
use crate::arena::Id;
use crate::ir::VerifiedGraph;

/// Everything of `table` that a checker needs, decimals included.
///
/// Operators stand in the graph's order without free ones, as in the model facts.
pub fn cost_facts(graph: &VerifiedGraph, table: &CostTable) -> CostFacts {
    let soc = &table.soc;
    CostFacts {
        soc_name: soc.name.clone(),
        soc_digest: table.digest.clone(),
        io: soc.io.index(),
        memories: soc
            .memories
            .iter()
            .map(|(_, memory)| MemoryFacts {
                name: memory.name.clone(),
                limit: memory.limit,
            })
            .collect(),
        processors: soc
            .processors
            .iter()
            .map(|(id, processor)| ProcessorFacts {
                name: processor.name.clone(),
                memory: processor.memory.index(),
                layout: processor.layout,
                operating_point: table.operating_point(id).name.clone(),
                static_power: table.static_power(id),
                dispatch: processor.dispatch.to_nanoseconds(),
                sharing: processor.sharing.clone(),
                fuses: processor.fuses.clone(),
            })
            .collect(),
        operators: graph
            .ops
            .iter()
            .filter(|(_, op)| op.class().is_some())
            .map(|(id, _)| table.operators[id].clone())
            .collect(),
        links: soc
            .links
            .iter()
            .map(|link| LinkFacts {
                from: link.from.index(),
                to: link.to.index(),
                latency: link.latency,
                seconds_per_byte: seconds_per_byte(link),
                convert_seconds_per_byte: link.convert_seconds_per_byte,
                power: link.power,
            })
            .collect(),
        contention: soc
            .contention
            .iter()
            .map(|entry| ContentionFacts {
                set: entry.set.iter().map(Id::index).collect(),
                factor: entry
                    .factor
                    .iter()
                    .map(|(processor, factor)| (processor.index(), *factor))
                    .collect(),
            })
            .collect(),
        enqueue: soc.enqueue.to_nanoseconds(),
        base: table.base_power(),
    }
}

#[cfg(test)]
mod tests {
    use paracompile_plan::{Milliwatts, Nanoseconds};

    use super::*;
    use crate::cost::CostOverrides;
    use crate::cost::small_graph::small_graph;
    use crate::soc::Soc;

    #[test]
    fn facts_are_the_table_without_free_operators() {
        let soc = Soc::builtin("vim3").unwrap();
        let graph = small_graph();
        let table = CostTable::new(&graph, &soc, &CostOverrides::default(), None).unwrap();
        let facts = cost_facts(&graph, &table);
        assert_eq!(facts.soc_digest, soc.digest);
        // Convolution, activation and addition; the view between them is none.
        assert_eq!(facts.operators.len(), 3);
        let ids: Vec<_> = graph.ops.ids().collect();
        assert_eq!(facts.operators[2], table.operators[ids[3]]);
        assert_eq!(facts.base, Milliwatts::new(2250));
        assert_eq!(facts.enqueue, Nanoseconds::new(20_000));
        assert_eq!(facts.processors[0].operating_point, "2208MHz");
        assert_eq!(facts.contention[3].set, [0, 1, 2]);
    }

    #[test]
    fn a_checker_gets_the_same_times_of_moves_from_facts() {
        let soc = Soc::builtin("vim3").unwrap();
        let graph = small_graph();
        let table = CostTable::new(&graph, &soc, &CostOverrides::default(), None).unwrap();
        let facts = cost_facts(&graph, &table);
        for link in &facts.links {
            let location = |memory| {
                let found = soc
                    .locations
                    .iter()
                    .find(|(_, at)| at.memory.index() == memory);
                found.unwrap().0
            };
            for count in [0_u32, 1, 7, 602_112, u32::MAX] {
                // All layouts are one, so nothing is converted.
                let decimal =
                    link.latency.value() + f64::from(count) * link.seconds_per_byte.value();
                let time = paracompile_plan::Seconds::new(decimal).unwrap();
                let moved = table
                    .transfer(
                        paracompile_plan::Bytes::new(u64::from(count)),
                        location(link.from),
                        location(link.to),
                    )
                    .unwrap();
                assert_eq!(moved.time, time.to_nanoseconds());
                assert_eq!(moved.energy, link.power.over(time).to_nanojoules());
            }
        }
    }
}
