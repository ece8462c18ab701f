//! From the domain and name of an operator type to its rule.

use std::collections::BTreeMap;
use std::sync::LazyLock;

use super::super::infer::Rule;
use super::super::operator_sets::domain;
use super::{
    activation, attention, classic, contrib, convolution, einsum, elementwise, generator, join,
    loss, normalization, optional, pooling, product, quantization, rearrange, recurrent, reduction,
    resize, scatter, select, shape, signal, survivors, text,
};

static RULES: LazyLock<BTreeMap<(&'static str, &'static str), Rule>> = LazyLock::new(|| {
    let families = FAMILIES.iter();
    families
        .flat_map(|&(domain, family)| {
            family
                .iter()
                .map(move |&(name, rule)| ((domain, name), rule))
        })
        .collect()
});

/// The domain of each family, and its rules.
const FAMILIES: &[(&str, &[(&str, Rule)])] = &[
    ("ai.onnx", activation::RULES),
    ("ai.onnx", attention::RULES),
    ("ai.onnx", contrib::DEFAULT),
    ("ai.onnx", convolution::RULES),
    ("ai.onnx", einsum::RULES),
    ("ai.onnx", elementwise::RULES),
    ("ai.onnx", generator::RULES),
    ("ai.onnx", join::RULES),
    ("ai.onnx", loss::RULES),
    ("ai.onnx", normalization::RULES),
    ("ai.onnx", optional::RULES),
    ("ai.onnx", pooling::RULES),
    ("ai.onnx", product::RULES),
    ("ai.onnx", quantization::RULES),
    ("ai.onnx", rearrange::RULES),
    ("ai.onnx", recurrent::RULES),
    ("ai.onnx", reduction::RULES),
    ("ai.onnx", resize::RULES),
    ("ai.onnx", scatter::RULES),
    ("ai.onnx", select::RULES),
    ("ai.onnx", shape::RULES),
    ("ai.onnx", signal::RULES),
    ("ai.onnx", survivors::RULES),
    ("ai.onnx", text::RULES),
    ("ai.onnx.ml", classic::RULES),
    ("ai.onnx.preview", attention::PREVIEW),
    ("ai.onnx.preview.training", loss::OPTIMIZERS),
    ("com.microsoft", contrib::ATTENTION),
    ("com.microsoft", contrib::FUSED),
    ("com.microsoft", contrib::NORMALIZATION),
    ("com.microsoft", contrib::QUANTIZED),
    ("com.microsoft", contrib::WEIGHTS),
];

/// The rule of an operator type; `None` if it is opaque to us.
pub(in super::super) fn rule(name: &str, op_type: &str) -> Option<Rule> {
    RULES.get(&(domain(name), op_type)).copied()
}

#[cfg(test)]
mod tests {
    use super::super::super::operator_sets::operators;
    use super::*;

    /// `docs/operators.md` says why for each of them.
    #[test]
    fn all_operators_of_the_standard_have_a_rule_but_these() {
        let opaque: Vec<String> = operators()
            .filter(|operator| !RULES.contains_key(operator))
            .map(|(domain, name)| format!("{domain} {name}"))
            .collect();
        assert_eq!(
            opaque,
            [
                "ai.onnx If",
                "ai.onnx ImageDecoder",
                "ai.onnx Loop",
                "ai.onnx Scan",
                "ai.onnx.ml CastMap",
                "ai.onnx.ml DictVectorizer",
                "ai.onnx.ml SVMClassifier",
                "ai.onnx.ml SVMRegressor",
                "ai.onnx.ml ZipMap",
                "ai.onnx.preview.training Gradient",
            ]
        );
    }

    #[test]
    fn every_rule_is_of_an_operator_of_the_standard_or_of_onnxruntime() {
        let known: Vec<_> = operators().collect();
        let added = contrib::DEFAULT.iter().map(|(name, _)| *name);
        let added: Vec<_> = added.collect();
        for operator in RULES.keys() {
            let is_added = operator.0 == "com.microsoft" || added.contains(&operator.1);
            assert!(is_added || known.contains(operator), "{operator:?}");
        }
    }

    #[test]
    fn no_two_families_claim_an_operator() {
        let rules: usize = FAMILIES.iter().map(|(_, family)| family.len()).sum();
        assert_eq!(RULES.len(), rules);
    }

    #[test]
    fn domains_are_told_apart_and_unknown_ones_are_opaque() {
        assert!(rule("", "Conv").is_some());
        assert!(rule("ai.onnx", "Conv").is_some());
        assert!(rule("ai.onnx.ml", "Conv").is_none());
        assert!(rule("ai.onnx.ml", "Scaler").is_some());
        assert!(rule("com.example", "Conv").is_none());
    }
}
