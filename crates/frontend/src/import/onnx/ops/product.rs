//! Matrix products.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Shape, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, broadcast, product};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("Det", det),
    ("Gemm", gemm),
    ("MatMul", matmul),
    ("MatMulInteger", matmul_integer),
    ("QLinearMatMul", qlinear_matmul),
];

const MACS: &str = "the number of multiply-accumulates";
const MATRIX: &str = "a matrix is needed";

/// By elimination: a third of the extent cubed.
fn det(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 2..=usize::MAX, "square matrices are needed")?;
    let [batch @ .., rows, columns] = input.shape.0.as_slice() else {
        unreachable!("the rank is at least 2");
    };
    if rows != columns {
        return Err(Fault::Rank {
            operand: "X",
            expected: "square matrices are needed",
            found: input.shape.clone(),
        });
    }
    let cubes = batch.iter().chain([rows, rows, rows]).copied();
    let work = Work {
        other_flops: product("the number of operations", cubes)? / 3 * 2,
        ..Work::default()
    };
    let output = Produced::new(input.dtype, batch.to_vec());
    Ok(Effect::compute(OpClass::Other, output).with_work(work))
}

pub(super) fn gemm(site: &Site<'_>) -> Result<Effect, Fault> {
    let left = site.operand_of_rank(0, "A", 2..=2, MATRIX)?;
    let right = site.operand_of_rank(1, "B", 2..=2, MATRIX)?;
    let ordered = |value: &Value, transposed: bool| {
        let (first, second) = (value.shape.0[0], value.shape.0[1]);
        if transposed {
            (second, first)
        } else {
            (first, second)
        }
    };
    let (rows, depth) = ordered(left, site.attributes.is_set("transA")?);
    let (depth_again, columns) = ordered(right, site.attributes.is_set("transB")?);
    if depth != depth_again {
        return Err(inner_extents(left, right));
    }
    let output = Produced::new(left.dtype, vec![rows, columns]);
    let mut work = Work {
        macs: product(MACS, [rows, depth, columns])?,
        rows,
        columns,
        depth,
        groups: 1,
        ..Work::default()
    };
    if let Some(bias) = site.optional(2) {
        if broadcast(&bias.shape, &output.shape)? != output.shape {
            return Err(Fault::Mismatch {
                left: bias.shape.clone(),
                right: output.shape,
                why: "the addend has to be broadcast to the product",
            });
        }
        work.other_flops = product(MACS, [rows, columns])?;
    }
    Ok(Effect::compute(class(left, right), output).with_work(work))
}

fn matmul(site: &Site<'_>) -> Result<Effect, Fault> {
    let left = site.operand(0, "A")?;
    multiply(left, site.operand(1, "B")?, left.dtype)
}

pub(super) fn matmul_integer(site: &Site<'_>) -> Result<Effect, Fault> {
    multiply(
        site.operand(0, "A")?,
        site.operand(1, "B")?,
        DataType::Int32,
    )
    .map(|effect| effect.with_parameters_from(2))
}

fn qlinear_matmul(site: &Site<'_>) -> Result<Effect, Fault> {
    let dtype = site.operand(7, "y_zero_point")?.dtype;
    let left = site.operand(0, "a")?;
    let effect = multiply(left, site.operand(3, "b")?, dtype)?;
    Ok(effect
        .with_parameters([1, 2, 4, 5, 6, 7])
        .computing_in(left.dtype))
}

/// A fully connected layer if one factor is a weight.
fn class(left: &Value, right: &Value) -> OpClass {
    if left.constant || right.constant {
        OpClass::Gemm
    } else {
        OpClass::Matmul
    }
}

fn inner_extents(left: &Value, right: &Value) -> Fault {
    Fault::Mismatch {
        left: left.shape.clone(),
        right: right.shape.clone(),
        why: "the inner extents of a matrix product have to be equal",
    }
}

/// numpy's `matmul`: vectors are promoted to matrices, leading axes are broadcast.
pub(super) fn multiply(left: &Value, right: &Value, dtype: DataType) -> Result<Effect, Fault> {
    let (left_batch, rows, depth) = match left.shape.0.as_slice() {
        [] => return Err(scalar("A", left)),
        [depth] => (&[][..], None, *depth),
        [batch @ .., rows, depth] => (batch, Some(*rows), *depth),
    };
    let (right_batch, depth_again, columns) = match right.shape.0.as_slice() {
        [] => return Err(scalar("B", right)),
        [depth] => (&[][..], *depth, None),
        [batch @ .., depth, columns] => (batch, *depth, Some(*columns)),
    };
    if depth != depth_again {
        return Err(inner_extents(left, right));
    }
    let batch = broadcast(&Shape(left_batch.to_vec()), &Shape(right_batch.to_vec()))?;
    let repetitions = product(MACS, batch.0.iter().copied())?;
    let shape: Vec<_> = batch.0.iter().copied().chain(rows).chain(columns).collect();
    let (rows, columns) = (rows.unwrap_or(1), columns.unwrap_or(1));
    // One matrix for the whole batch makes a single tall product.
    let is_shared = right_batch.iter().all(|&extent| extent == 1);
    let (rows, groups) = if is_shared {
        (product(MACS, [repetitions, rows])?, 1)
    } else {
        (rows, repetitions)
    };
    let work = Work {
        macs: product(MACS, [rows, depth, columns, groups])?,
        rows,
        columns,
        depth,
        groups,
        ..Work::default()
    };
    Ok(Effect::compute(class(left, right), Produced::new(dtype, shape)).with_work(work))
}

fn scalar(operand: &'static str, value: &Value) -> Fault {
    Fault::Rank {
        operand,
        expected: "a matrix product needs vectors or matrices",
        found: value.shape.clone(),
    }
}
