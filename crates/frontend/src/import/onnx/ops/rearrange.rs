//! Permutations of elements.

use paracompile_plan::OpClass;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, product, resolve_axis, strided_indices, strides};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("DepthToSpace", depth_to_space),
    ("ReverseSequence", reverse_sequence),
    ("SpaceToDepth", space_to_depth),
    ("Transpose", transpose),
    ("Trilu", trilu),
];

fn transpose(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let order: Vec<usize> = match site.attributes.ints("perm")? {
        None => (0..rank).rev().collect(),
        Some(order) => {
            let resolved = order
                .iter()
                .map(|&axis| resolve_axis(axis, rank))
                .collect::<Result<Vec<_>, _>>()?;
            let mut sorted = resolved.clone();
            sorted.sort_unstable();
            if !sorted.into_iter().eq(0..rank) {
                return Err(Fault::Value {
                    what: "perm",
                    found: format!("{order:?} for {}", input.shape),
                    expected: "it has to name every axis once",
                });
            }
            resolved
        }
    };
    let shape: Vec<u64> = order.iter().map(|&axis| input.shape.0[axis]).collect();
    let output = Produced::new(input.dtype, shape.clone()).evaluated(|| {
        let steps = strides(&input.shape.0);
        let steps: Vec<u64> = order.iter().map(|&axis| steps[axis]).collect();
        input
            .data
            .as_ref()?
            .pick(strided_indices(&shape, &steps).into_iter())
    });
    Ok(Effect::compute(OpClass::Transpose, output))
}

fn block<'a>(site: &Site<'a>) -> Result<(&'a Value, u64), Fault> {
    let input = site.operand_of_rank(
        0,
        "input",
        4..=4,
        "batch, channels, height and width are needed",
    )?;
    let edge = site
        .attributes
        .int("blocksize")?
        .ok_or(Fault::MissingAttribute {
            attribute: "blocksize",
        })?;
    u64::try_from(edge)
        .ok()
        .filter(|&edge| edge > 0)
        .map(|edge| (input, edge))
        .ok_or_else(|| Fault::Value {
            what: "blocksize",
            found: edge.to_string(),
            expected: "it is positive",
        })
}

fn depth_to_space(site: &Site<'_>) -> Result<Effect, Fault> {
    let (input, edge) = block(site)?;
    let area = product("the block", [edge, edge])?;
    let [batch, channels, height, width] = planes(input);
    if channels % area != 0 {
        return Err(not_divisible(input));
    }
    let what = "the result's extent";
    let shape = vec![
        batch,
        channels / area,
        product(what, [height, edge])?,
        product(what, [width, edge])?,
    ];
    Ok(Effect::compute(
        OpClass::Transpose,
        Produced::new(input.dtype, shape),
    ))
}

fn space_to_depth(site: &Site<'_>) -> Result<Effect, Fault> {
    let (input, edge) = block(site)?;
    let [batch, channels, height, width] = planes(input);
    if height % edge != 0 || width % edge != 0 {
        return Err(not_divisible(input));
    }
    let channels = product("the result's extent", [channels, edge, edge])?;
    let shape = vec![batch, channels, height / edge, width / edge];
    Ok(Effect::compute(
        OpClass::Transpose,
        Produced::new(input.dtype, shape),
    ))
}

fn planes(input: &Value) -> [u64; 4] {
    let shape = &input.shape.0;
    [shape[0], shape[1], shape[2], shape[3]]
}

fn not_divisible(input: &Value) -> Fault {
    Fault::Value {
        what: "the operand's shape",
        found: input.shape.to_string(),
        expected: "the block has to divide it",
    }
}

fn reverse_sequence(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    Ok(Effect::compute(OpClass::Transpose, Produced::like(input)))
}

fn trilu(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    Effect::compute(OpClass::Elementwise, Produced::like(input))
        .with_parameters_from(1)
        .with_flops_per_element(1)
}
