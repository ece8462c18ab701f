//! From the name of an operator type to its rule.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::infer::Rule;
use super::{
    activation, contrib, convolution, einsum, elementwise, generator, join, normalization, pooling,
    product, quantization, rearrange, recurrent, reduction, resize, select, shape,
};

static RULES: LazyLock<BTreeMap<&'static str, Rule>> =
    LazyLock::new(|| FAMILIES.iter().copied().flatten().copied().collect());

static CONTRIBUTED: LazyLock<BTreeMap<&'static str, Rule>> = LazyLock::new(|| {
    let families = contrib::FAMILIES.iter().copied();
    families.flatten().copied().collect()
});

const FAMILIES: &[&[(&str, Rule)]] = &[
    activation::RULES,
    contrib::DEFAULT,
    convolution::RULES,
    einsum::RULES,
    elementwise::RULES,
    generator::RULES,
    join::RULES,
    normalization::RULES,
    pooling::RULES,
    product::RULES,
    quantization::RULES,
    rearrange::RULES,
    recurrent::RULES,
    reduction::RULES,
    resize::RULES,
    select::RULES,
    shape::RULES,
];

/// The rule of an operator type; `None` if it is opaque to us.
pub(in super::super) fn rule(domain: &str, op_type: &str) -> Option<Rule> {
    match domain {
        "" | "ai.onnx" => RULES.get(op_type).copied(),
        "com.microsoft" => CONTRIBUTED.get(op_type).copied(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_families_claim_an_operator() {
        let rules: usize = FAMILIES.iter().map(|family| family.len()).sum();
        assert_eq!(RULES.len(), rules);
        let rules: usize = contrib::FAMILIES.iter().map(|family| family.len()).sum();
        assert_eq!(CONTRIBUTED.len(), rules);
    }

    #[test]
    fn other_domains_are_opaque() {
        assert!(rule("", "Conv").is_some());
        assert!(rule("ai.onnx", "Conv").is_some());
        assert!(rule("com.example", "Conv").is_none());
    }
}
