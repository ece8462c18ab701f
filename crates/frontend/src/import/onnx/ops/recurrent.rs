//! Recurrent layers: one matrix product a time step, counted together.

use paracompile_plan::OpClass;

use crate::ir::Work;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{extent, product};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("GRU", |site| layer(site, 3, false)),
    ("LSTM", |site| layer(site, 4, true)),
    ("RNN", |site| layer(site, 1, false)),
];

const MACS: &str = "the number of multiply-accumulates";

fn layer(site: &Site<'_>, gates: u64, has_cell: bool) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 3..=3, "steps, batch and features are needed")?;
    let weights =
        site.operand_of_rank(1, "W", 3..=3, "directions, gates and features are needed")?;
    site.operand_of_rank(
        2,
        "R",
        3..=3,
        "directions, gates and hidden size are needed",
    )?;
    let directions = weights.shape.0[0];
    let features = input.shape.0[2];
    let hidden = match site.attributes.int("hidden_size")? {
        Some(hidden) => extent("hidden_size", hidden)?,
        None => weights.shape.0[1] / gates,
    };
    let gate_rows = product("the gates' extent", [gates, hidden])?;
    if weights.shape.0[1] != gate_rows || weights.shape.0[2] != features {
        return Err(Fault::Mismatch {
            left: input.shape.clone(),
            right: weights.shape.clone(),
            why: "weights have a row for each gate and hidden unit, and a column a feature",
        });
    }
    let is_batch_first = site.attributes.is_set("layout")?;
    let (steps, batch) = if is_batch_first {
        (input.shape.0[1], input.shape.0[0])
    } else {
        (input.shape.0[0], input.shape.0[1])
    };
    let (sequence, state) = if is_batch_first {
        (
            vec![batch, steps, directions, hidden],
            vec![batch, directions, hidden],
        )
    } else {
        (
            vec![steps, directions, batch, hidden],
            vec![directions, batch, hidden],
        )
    };
    let mut outputs = vec![
        Produced::new(input.dtype, sequence),
        Produced::new(input.dtype, state.clone()),
    ];
    if has_cell {
        outputs.push(Produced::new(input.dtype, state));
    }
    let rows = product(MACS, [steps, batch])?;
    let depth = features
        .checked_add(hidden)
        .ok_or(Fault::Overflow { what: MACS })?;
    let work = Work {
        macs: product(MACS, [rows, gate_rows, depth, directions])?,
        // A transcendental function a gate.
        other_flops: product(MACS, [rows, gate_rows, directions, 8])?,
        rows,
        columns: gate_rows,
        depth,
        groups: directions,
        ..Work::default()
    };
    Ok(Effect::compute_all(OpClass::Recurrent, outputs).with_work(work))
}
