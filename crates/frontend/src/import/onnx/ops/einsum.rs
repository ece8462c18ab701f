//! Einstein summation: the result's shape and the matrix product that it amounts to.

use std::collections::BTreeMap;

use paracompile_plan::OpClass;

use crate::ir::{Shape, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, broadcast, elements, product};

pub(super) const RULES: &[(&str, Rule)] = &[("Einsum", einsum)];

const MACS: &str = "the number of multiply-accumulates";

fn einsum(site: &Site<'_>) -> Result<Effect, Fault> {
    let equation = site
        .attributes
        .string("equation")?
        .ok_or(Fault::MissingAttribute {
            attribute: "equation",
        })?;
    let compact: String = equation
        .chars()
        .filter(|letter| !letter.is_whitespace())
        .collect();
    let (sources, target) = match compact.split_once("->") {
        Some((sources, target)) => (sources, Some(target)),
        None => (compact.as_str(), None),
    };
    let terms: Vec<&str> = sources.split(',').collect();
    if terms.len() != site.inputs.len() {
        return Err(invalid(equation, "it needs one term an operand"));
    }
    let mut extents = Extents::default();
    for (position, term) in terms.iter().enumerate() {
        extents.bind(equation, term, site.operand(position, "Inputs")?)?;
    }
    let target = target.map_or_else(|| implicit_target(&terms), str::to_owned);
    let shape = extents.shape(equation, &target)?;
    let first = site.operand(0, "Inputs")?;
    let effect = Effect::compute(OpClass::Reduce, Produced::new(first.dtype, shape.0));
    let [left, right] = terms.as_slice() else {
        let mut touched = 0u64;
        for value in site.inputs.iter().flatten() {
            touched = touched.saturating_add(elements(&value.shape)?);
        }
        return Ok(effect.with_work(Work {
            other_flops: touched,
            ..Work::default()
        }));
    };
    let work = extents.pairwise(left, right, &target)?;
    let is_weighted = site.inputs.iter().flatten().any(|value| value.constant);
    let class = if is_weighted {
        OpClass::Gemm
    } else {
        OpClass::Matmul
    };
    Ok(Effect::compute(class, effect.outputs[0].clone()).with_work(work))
}

fn invalid(equation: &str, expected: &'static str) -> Fault {
    Fault::Value {
        what: "equation",
        found: format!("`{equation}`"),
        expected,
    }
}

/// Without an arrow: the ellipsis, then the letters that occur once, in alphabetical order.
fn implicit_target(terms: &[&str]) -> String {
    let mut counts = BTreeMap::<char, usize>::new();
    for letter in terms.iter().flat_map(|term| term.chars()) {
        *counts.entry(letter).or_default() += 1;
    }
    let ellipsis = if terms.iter().any(|term| term.contains("...")) {
        "..."
    } else {
        ""
    };
    let once = counts
        .iter()
        .filter(|&(&letter, &count)| count == 1 && letter != '.')
        .map(|(&letter, _)| letter);
    ellipsis.chars().chain(once).collect()
}

/// Extents of the letters and of what the ellipsis stands for.
#[derive(Default)]
struct Extents {
    letters: BTreeMap<char, u64>,
    ellipsis: Shape,
}

impl Extents {
    fn bind(&mut self, equation: &str, term: &str, value: &Value) -> Result<(), Fault> {
        let named = term.replacen("...", "", 1);
        if named.contains('.') || !named.chars().all(|letter| letter.is_ascii_alphabetic()) {
            return Err(invalid(
                equation,
                "terms are letters with at most one ellipsis",
            ));
        }
        let rank = value.shape.0.len();
        let hidden = match rank.checked_sub(named.len()) {
            Some(0) => 0,
            Some(hidden) if named.len() < term.len() => hidden,
            _ => return Err(invalid(equation, "terms need one letter an axis")),
        };
        let start = term.find("...").unwrap_or(0);
        let (before, rest) = value.shape.0.split_at(start);
        let (covered, after) = rest.split_at(hidden);
        self.ellipsis = broadcast(&self.ellipsis, &Shape(covered.to_vec()))?;
        for (letter, &extent) in named.chars().zip(before.iter().chain(after)) {
            let bound = self.letters.entry(letter).or_insert(extent);
            if *bound == 1 {
                *bound = extent;
            } else if extent != 1 && extent != *bound {
                return Err(invalid(equation, "a letter stands for one extent"));
            }
        }
        Ok(())
    }

    fn shape(&self, equation: &str, target: &str) -> Result<Shape, Fault> {
        let mut shape = Vec::new();
        let mut rest = target;
        while let Some(letter) = rest.chars().next() {
            if let Some(behind) = rest.strip_prefix("...") {
                shape.extend(&self.ellipsis.0);
                rest = behind;
                continue;
            }
            let extent = self.letters.get(&letter).copied();
            shape.push(extent.ok_or_else(|| invalid(equation, "its result names a new letter"))?);
            rest = &rest[letter.len_utf8()..];
        }
        Ok(Shape(shape))
    }

    /// The product of two operands: letters in both and in the result are batch, in both only are depth.
    fn pairwise(&self, left: &str, right: &str, target: &str) -> Result<Work, Fault> {
        let of = |belongs: fn(bool, bool, bool) -> bool| {
            let extents = self.letters.iter().filter(|&(&letter, _)| {
                belongs(
                    left.contains(letter),
                    right.contains(letter),
                    target.contains(letter),
                )
            });
            product(MACS, extents.map(|(_, &extent)| extent))
        };
        let rows = of(|left, right, _| left && !right)?;
        let columns = of(|left, right, _| right && !left)?;
        let depth = of(|left, right, kept| left && right && !kept)?;
        let batch = of(|left, right, kept| left && right && kept)?;
        let groups = product(MACS, self.ellipsis.0.iter().copied().chain([batch]))?;
        Ok(Work {
            macs: product(MACS, [rows, columns, depth, groups])?,
            rows,
            columns,
            depth,
            groups,
            ..Work::default()
        })
    }
}
