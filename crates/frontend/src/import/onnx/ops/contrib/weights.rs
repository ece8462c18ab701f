//! Operators whose weights alone are quantised, in blocks of a few bits an element, or whose activations are quantised on the way.

use paracompile_plan::{Bytes, OpClass};

use super::super::super::Fault;
use super::super::super::infer::{Effect, Produced, Rule, Site};
use super::super::super::value::{Value, elements, extent, product, resolve_axis};
use super::quantized::{quantizing, to_float};
use crate::ir::{DataType, Shape, Work};

pub(in super::super) const RULES: &[(&str, Rule)] = &[
    ("DynamicQuantizeLSTM", lstm),
    ("DynamicQuantizeMatMul", quantizing),
    ("GatherBlockQuantized", gather),
    ("MatMulBnb4", |site| matmul(site, 4)),
    ("MatMulIntegerToFloat", to_float),
    ("MatMulNBits", |site| {
        let bits = site.attributes.int_or("bits", 4)?;
        matmul(site, extent("bits", bits)?)
    }),
];

const MACS: &str = "the number of multiply-accumulates";
/// Of the attribute `accuracy_level`: activations are quantised to bytes first.
const IN_BYTES: i64 = 4;

/// The second factor is packed, so that attributes say what it is.
fn matmul(site: &Site<'_>, bits: u64) -> Result<Effect, Fault> {
    let left = site.operand_of_rank(0, "A", 1..=usize::MAX, "a matrix is needed")?;
    let right = site.operand(1, "B")?;
    let required = |attribute: &'static str| {
        let value = site.attributes.int(attribute)?;
        extent(
            attribute,
            value.ok_or(Fault::MissingAttribute { attribute })?,
        )
    };
    let (depth, columns, block) = (required("K")?, required("N")?, required("block_size")?);
    let [batch @ .., inner] = left.shape.0.as_slice() else {
        unreachable!("the rank is at least 1");
    };
    if *inner != depth {
        return Err(Fault::Value {
            what: "K",
            found: format!("{depth} for {}", left.shape),
            expected: "it is the inner extent of the product",
        });
    }
    holds(right, bits, depth, columns, block)?;
    let shape: Vec<u64> = batch.iter().copied().chain([columns]).collect();
    let rows = product(MACS, batch.iter().copied())?;
    let mut work = Work {
        macs: product(MACS, [rows, depth, columns])?,
        rows,
        columns,
        depth,
        groups: 1,
        ..Work::default()
    };
    if site.optional(5).is_some() {
        work.other_flops = product(MACS, [rows, columns])?;
    }
    let arithmetic = if site.attributes.int_or("accuracy_level", 0)? == IN_BYTES {
        DataType::Int8
    } else {
        left.dtype
    };
    Ok(
        Effect::compute(OpClass::Gemm, Produced::new(left.dtype, shape))
            .with_work(work)
            .computing_in(arithmetic),
    )
}

/// Whether a packed tensor has the bytes of its elements, in whole blocks a column or without any gap.
fn holds(packed: &Value, bits: u64, depth: u64, columns: u64, block: u64) -> Result<(), Fault> {
    let found = packed.shape.bytes(packed.dtype).map_or(0, Bytes::count);
    let size = |depth: u64| {
        let bits = product("the size of the weights", [depth, columns, bits])?;
        Ok::<_, Fault>(bits.div_ceil(8))
    };
    let padded = depth
        .checked_next_multiple_of(block.max(1))
        .ok_or(Fault::Overflow {
            what: "the size of the weights",
        })?;
    if found == size(padded)? || found == size(depth)? {
        Ok(())
    } else {
        Err(Fault::Value {
            what: "B",
            found: format!("{} {}", packed.dtype, packed.shape),
            expected: "it needs the bytes of all blocks that `K`, `N`, `bits` and `block_size` say",
        })
    }
}

/// Rows of a table; bytes of it can hold several elements each.
fn gather(site: &Site<'_>) -> Result<Effect, Fault> {
    let table = site.operand_of_rank(0, "data", 1..=usize::MAX, "a table is needed")?;
    let indices = site.operand(1, "indices")?;
    let scales = site.operand(2, "scales")?;
    let rank = table.shape.0.len();
    let axis = resolve_axis(site.attributes.int_or("gather_axis", 0)?, rank)?;
    let bits = extent("bits", site.attributes.int_or("bits", 4)?)?;
    let mut whole = table.shape.0.clone();
    if table.dtype.bits() == 8 && matches!(bits, 1 | 2 | 4) {
        whole[rank - 1] = product("the extent of a row", [whole[rank - 1], 8 / bits])?;
    }
    let shape = [&whole[..axis], &indices.shape.0, &whole[axis + 1..]].concat();
    let output = Produced::new(scales.dtype, shape);
    let written = elements(&output.shape)?;
    let stored = |value: &Value| value.shape.bytes(value.dtype).map_or(0, Bytes::count);
    // As large a part of the table as its elements are of the result, but no more than all of it.
    let all = elements(&Shape(whole))?.max(1);
    let part = |bytes: u64| {
        let part = u128::from(bytes) * u128::from(written) / u128::from(all);
        u64::try_from(part).unwrap_or(u64::MAX).min(bytes)
    };
    let read = part(stored(table)).saturating_add(part(stored(scales)));
    let mut effect = Effect::compute(OpClass::Gather, output)
        .with_flops_per_element(2)?
        .with_parameters([3]);
    if table.constant {
        effect.work.weight_bytes = Bytes::new(read.max(1));
    }
    Ok(effect)
}

/// Weights have a row a feature here, and a column for each gate and hidden unit.
fn lstm(site: &Site<'_>) -> Result<Effect, Fault> {
    const GATES: u64 = 4;
    let input = site.operand_of_rank(0, "X", 3..=3, "steps, batch and features are needed")?;
    let weights =
        site.operand_of_rank(1, "W", 3..=3, "directions, features and gates are needed")?;
    site.operand_of_rank(
        2,
        "R",
        3..=3,
        "directions, hidden size and gates are needed",
    )?;
    let (steps, batch, features) = (input.shape.0[0], input.shape.0[1], input.shape.0[2]);
    let directions = weights.shape.0[0];
    let hidden = weights.shape.0[2] / GATES;
    let columns = product(MACS, [GATES, hidden])?;
    if weights.shape.0[1] != features || weights.shape.0[2] != columns {
        return Err(Fault::Mismatch {
            left: input.shape.clone(),
            right: weights.shape.clone(),
            why: "weights have a row a feature, and a column for each gate and hidden unit",
        });
    }
    let state = Produced::new(input.dtype, Shape(vec![directions, batch, hidden]));
    let outputs = vec![
        Produced::new(input.dtype, vec![steps, directions, batch, hidden]),
        state.clone(),
        state,
    ];
    let rows = product(MACS, [steps, batch])?;
    let depth = features
        .checked_add(hidden)
        .ok_or(Fault::Overflow { what: MACS })?;
    let work = Work {
        macs: product(MACS, [rows, columns, depth, directions])?,
        other_flops: product(MACS, [rows, columns, directions, 8])?,
        rows,
        columns,
        depth,
        groups: directions,
        ..Work::default()
    };
    Ok(Effect::compute_all(OpClass::Recurrent, outputs)
        .with_work(work)
        .with_parameters(8..12)
        .computing_in(weights.dtype))
}
