//! Operators on shapes: free views, and questions about a shape, whose answers are constants because all shapes are.

use paracompile_plan::OpClass;

use crate::ir::DataType;

use super::super::Fault;
use super::super::infer::{Effect, Pass, Produced, Rule, Site};
use super::super::value::{Data, data_type, elements, extents, product, resolve_axis};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("BitCast", bit_cast),
    ("Dropout", dropout),
    ("Flatten", flatten),
    ("Identity", identity),
    ("Reshape", reshape),
    ("Shape", shape),
    ("Size", size),
    ("Squeeze", squeeze),
    ("Unsqueeze", unsqueeze),
];

fn view(site: &Site<'_>, shape: Vec<u64>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    Ok(Effect::view(
        Produced::new(input.dtype, shape).with_data(input.data.clone()),
    ))
}

fn identity(site: &Site<'_>) -> Result<Effect, Fault> {
    let mut effect = view(site, site.operand(0, "input")?.shape.0.clone())?;
    effect.passes = Some(Pass::Identity);
    Ok(effect)
}

/// The same bits, read as another type of the same size.
fn bit_cast(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let to = site
        .attributes
        .int("to")?
        .ok_or(Fault::MissingAttribute { attribute: "to" })?;
    let to = data_type(to)?;
    if to.bits() != input.dtype.bits() {
        return Err(Fault::Type {
            operand: "input",
            found: input.dtype,
            expected: "the bits of its elements have to fit the new type",
        });
    }
    Ok(Effect::view(Produced::new(to, input.shape.clone())))
}

fn dropout(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let mut effect = view(site, input.shape.0.clone())?;
    effect.passes = Some(Pass::Dropout);
    if site.outputs > 1 {
        // Nothing is dropped at inference, so the mask is a constant.
        let dtype = if site.opset < 10 {
            input.dtype
        } else {
            DataType::Bool
        };
        effect
            .outputs
            .push(Produced::new(dtype, input.shape.0.clone()));
    }
    Ok(effect)
}

fn reshape(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let wanted = site.required_by_version("shape", 1, 5)?;
    let keeps_zero = site.attributes.is_set("allowzero")?;
    let invalid = |expected| Fault::Value {
        what: "the new shape",
        found: format!("{wanted:?} for {}", input.shape),
        expected,
    };
    let mut free = None;
    let mut shape = Vec::with_capacity(wanted.len());
    for (axis, &extent) in wanted.iter().enumerate() {
        shape.push(match extent {
            -1 if free.is_none() => {
                free = Some(axis);
                1
            }
            0 if !keeps_zero => *input
                .shape
                .0
                .get(axis)
                .ok_or_else(|| invalid("a zero copies an axis that the operand has"))?,
            extent => u64::try_from(extent)
                .map_err(|_| invalid("one extent may be -1, and no other is negative"))?,
        });
    }
    let count = elements(&input.shape)?;
    if let Some(axis) = free {
        let known = product("the new shape", shape.iter().copied())?;
        if known == 0 || count % known != 0 {
            return Err(invalid("the extent -1 has no solution"));
        }
        shape[axis] = count / known;
    }
    if product("the new shape", shape.iter().copied())? == count {
        view(site, shape)
    } else {
        Err(invalid("a view keeps the number of elements"))
    }
}

fn flatten(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "input")?;
    let rank = input.shape.0.len();
    let axis = site.attributes.int_or("axis", 1)?;
    // Unlike elsewhere, the axis may stand behind the last one.
    let axis = if usize::try_from(axis) == Ok(rank) {
        rank
    } else {
        resolve_axis(axis, rank)?
    };
    let (rows, columns) = input.shape.0.split_at(axis);
    let what = "the flattened extent";
    let shape = vec![
        product(what, rows.iter().copied())?,
        product(what, columns.iter().copied())?,
    ];
    view(site, shape)
}

fn squeeze(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = input.shape.0.len();
    let is_dropped: Vec<bool> = match site.integers_by_version("axes", 1, 13)? {
        None => input.shape.0.iter().map(|&extent| extent == 1).collect(),
        Some(axes) => {
            let mut is_dropped = vec![false; rank];
            for &axis in axes {
                let dropped = resolve_axis(axis, rank)?;
                if input.shape.0[dropped] != 1 {
                    return Err(Fault::Value {
                        what: "the squeezed axis",
                        found: format!("{dropped} of {}", input.shape),
                        expected: "its extent has to be 1",
                    });
                }
                is_dropped[dropped] = true;
            }
            is_dropped
        }
    };
    let kept = input.shape.0.iter().zip(is_dropped);
    let shape = kept
        .filter_map(|(&extent, is_dropped)| (!is_dropped).then_some(extent))
        .collect();
    view(site, shape)
}

fn unsqueeze(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let axes = site.required_by_version("axes", 1, 13)?;
    let rank = input.shape.0.len() + axes.len();
    let mut is_new = vec![false; rank];
    for &axis in axes {
        let inserted = resolve_axis(axis, rank)?;
        if is_new[inserted] {
            return Err(Fault::Value {
                what: "axes",
                found: format!("{axes:?}"),
                expected: "an axis can be inserted once",
            });
        }
        is_new[inserted] = true;
    }
    let mut old = input.shape.0.iter().copied();
    let shape = is_new
        .into_iter()
        .map(|is_new| {
            if is_new {
                1
            } else {
                old.next().expect("as many old axes as the rank leaves")
            }
        })
        .collect();
    view(site, shape)
}

fn shape(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let rank = i64::try_from(input.shape.0.len()).expect("ranks are small");
    let bound = |attribute: &'static str, default: i64| -> Result<usize, Fault> {
        let bound = site.attributes.int_or(attribute, default)?;
        let from_start = if bound < 0 {
            bound.saturating_add(rank)
        } else {
            bound
        };
        Ok(usize::try_from(from_start.clamp(0, rank)).expect("clamped to the rank"))
    };
    let (start, end) = (bound("start", 0)?, bound("end", rank)?);
    let part = input.shape.0.get(start..end).unwrap_or_default();
    let values = part
        .iter()
        .map(|&extent| i64::try_from(extent).map_err(|_| Fault::Overflow { what: "an extent" }))
        .collect::<Result<Vec<_>, _>>()?;
    let output = Produced::new(DataType::Int64, vec![values.len() as u64]);
    Ok(Effect::compute(
        OpClass::Other,
        output.with_data(Some(Data::Integers(values))),
    ))
}

fn size(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "data")?;
    let count = i64::try_from(elements(&input.shape)?).map_err(|_| Fault::Overflow {
        what: "the number of elements",
    })?;
    let output = Produced::new(DataType::Int64, extents("rank", &[])?);
    Ok(Effect::compute(
        OpClass::Other,
        output.with_data(Some(Data::Integers(vec![count]))),
    ))
}
