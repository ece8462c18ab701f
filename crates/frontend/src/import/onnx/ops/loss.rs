//! Losses and optimizers: operators of training that exported networks sometimes still have.

use paracompile_plan::OpClass;

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("NegativeLogLikelihoodLoss", |site| loss(site, 2)),
    ("SoftmaxCrossEntropyLoss", cross_entropy),
];

/// Of the domain `ai.onnx.preview.training`; the number is how many tensors belong to a parameter, itself included.
pub(super) const OPTIMIZERS: &[(&str, Rule)] = &[
    ("Adagrad", |site| optimizer(site, 3)),
    ("Adam", |site| optimizer(site, 4)),
    ("Momentum", |site| optimizer(site, 3)),
];

const SCORES: &str = "batch and classes are needed";

fn loss(site: &Site<'_>, flops: u64) -> Result<Effect, Fault> {
    let scores = site.operand_of_rank(0, "input", 2..=usize::MAX, SCORES)?;
    let labels = site.operand(1, "target")?;
    let [batch, _, rest @ ..] = scores.shape.0.as_slice() else {
        unreachable!("the rank is at least 2");
    };
    let expected: Vec<u64> = [batch].into_iter().chain(rest).copied().collect();
    if labels.shape.0 != expected {
        return Err(Fault::Mismatch {
            left: scores.shape.clone(),
            right: labels.shape.clone(),
            why: "there has to be one label wherever there are scores of classes",
        });
    }
    let shape = match site.attributes.string("reduction")? {
        Some("none") => expected,
        _ => Vec::new(),
    };
    let mut effect =
        Effect::compute(OpClass::Reduce, Produced::like(scores)).with_flops_per_element(flops)?;
    effect.outputs = vec![Produced::new(scores.dtype, shape)];
    Ok(effect)
}

/// The loss, and the logarithms of the probabilities.
fn cross_entropy(site: &Site<'_>) -> Result<Effect, Fault> {
    let mut effect = loss(site, 8)?;
    let scores = site.operand(0, "scores")?;
    effect.outputs.push(Produced::like(scores));
    Ok(effect)
}

/// Rate and time step, then for every parameter itself, its gradient and its statistics, kind by kind.
/// The results are all but the gradients.
fn optimizer(site: &Site<'_>, kinds: usize) -> Result<Effect, Fault> {
    let tensors = site.inputs.len().saturating_sub(2);
    if tensors == 0 || !tensors.is_multiple_of(kinds) {
        return Err(Fault::Value {
            what: "the number of operands",
            found: site.inputs.len().to_string(),
            expected: "a rate, a time step, and as many tensors of each kind are needed",
        });
    }
    let parameters = tensors / kinds;
    let mut outputs = Vec::with_capacity(tensors - parameters);
    for position in 0..tensors {
        let value = site.operand(position + 2, "inputs")?;
        let is_gradient = (parameters..2 * parameters).contains(&position);
        if !is_gradient {
            outputs.push(Produced::like(value));
        }
    }
    Effect::compute_all(OpClass::Elementwise, outputs).with_flops_per_element(12)
}
