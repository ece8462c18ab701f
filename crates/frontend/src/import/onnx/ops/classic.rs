//! Classical machine learning, the domain `ai.onnx.ml`: trees, linear models, and preparation of features.
//!
//! Operators on maps (`CastMap`, `DictVectorizer`, `ZipMap`) and support vector machines are left out: they stay opaque.

use paracompile_plan::OpClass;

use crate::ir::{DataType, Work};

use super::super::Fault;
use super::super::infer::{Effect, Produced, Rule, Site};
use super::super::value::{Value, data_type, elements, extent, extents, product};

pub(super) const RULES: &[(&str, Rule)] = &[
    ("ArrayFeatureExtractor", array_feature_extractor),
    ("Binarizer", |site| like_first(site, None)),
    ("CategoryMapper", category_mapper),
    ("FeatureVectorizer", feature_vectorizer),
    ("Imputer", |site| like_first(site, None)),
    ("LabelEncoder", label_encoder),
    ("LinearClassifier", linear_classifier),
    ("LinearRegressor", linear_regressor),
    ("Normalizer", |site| like_first(site, Some(DataType::Float))),
    ("OneHotEncoder", one_hot_encoder),
    ("Scaler", |site| like_first(site, Some(DataType::Float))),
    ("TreeEnsemble", tree_ensemble),
    ("TreeEnsembleClassifier", tree_classifier),
    ("TreeEnsembleRegressor", tree_regressor),
];

const FEATURES: &str = "features, or a batch of them, are needed";
const FLOPS: &str = "the number of operations";

fn like_first(site: &Site<'_>, dtype: Option<DataType>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let output = Produced::new(dtype.unwrap_or(input.dtype), input.shape.clone());
    Effect::compute(OpClass::Elementwise, output).with_flops_per_element(2)
}

fn array_feature_extractor(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand_of_rank(0, "X", 1..=usize::MAX, FEATURES)?;
    let chosen = elements(&site.operand(1, "Y")?.shape)?;
    let rank = input.shape.0.len();
    let before = if rank == 1 {
        &[1]
    } else {
        &input.shape.0[..rank - 1]
    };
    let output = Produced::new(input.dtype, [before, &[chosen]].concat());
    Ok(Effect::compute(OpClass::Gather, output).reading_what_it_writes(input))
}

fn category_mapper(site: &Site<'_>) -> Result<Effect, Fault> {
    let dtype = if site.operand(0, "X")?.dtype == DataType::String {
        DataType::Int64
    } else {
        DataType::String
    };
    like_first(site, Some(dtype))
}

/// The type follows from which attribute has the values; version 1 knows strings and their numbers.
fn label_encoder(site: &Site<'_>) -> Result<Effect, Fault> {
    let attributes = site.attributes;
    if site.opset < 2 {
        return category_mapper(site);
    }
    let dtype = if let Some(values) = attributes.tensor("values_tensor")? {
        data_type(i64::from(values.data_type))?
    } else if attributes.contains("values_strings") {
        DataType::String
    } else if attributes.contains("values_int64s") {
        DataType::Int64
    } else if attributes.contains("values_floats") {
        DataType::Float
    } else {
        return Err(Fault::MissingAttribute {
            attribute: "values_tensor",
        });
    };
    like_first(site, Some(dtype))
}

fn one_hot_encoder(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = site.operand(0, "X")?;
    let categories = match site.attributes.ints("cats_int64s")? {
        Some(categories) => categories.len(),
        None => site
            .attributes
            .strings("cats_strings")?
            .ok_or(Fault::MissingAttribute {
                attribute: "cats_strings",
            })?,
    };
    let shape: Vec<u64> = input
        .shape
        .0
        .iter()
        .copied()
        .chain([categories as u64])
        .collect();
    Ok(Effect::compute(
        OpClass::Other,
        Produced::new(DataType::Float, shape),
    ))
}

fn feature_vectorizer(site: &Site<'_>) -> Result<Effect, Fault> {
    let attribute = "inputdimensions";
    let widths = site
        .attributes
        .ints(attribute)?
        .ok_or(Fault::MissingAttribute { attribute })?;
    let width = extents(attribute, widths)?
        .into_iter()
        .try_fold(0u64, u64::checked_add)
        .ok_or(Fault::Overflow {
            what: "the number of features",
        })?;
    let batch = batch(site.operand_of_rank(0, "X", 1..=2, FEATURES)?);
    let output = Produced::new(DataType::Float, vec![batch, width]);
    Ok(Effect::compute(OpClass::Concat, output))
}

/// Rows of a matrix of features; a vector is one.
fn batch(input: &Value) -> u64 {
    match *input.shape.0.as_slice() {
        [batch, _] => batch,
        _ => 1,
    }
}

fn input<'a>(site: &Site<'a>) -> Result<&'a Value, Fault> {
    site.operand_of_rank(0, "X", 1..=2, FEATURES)
}

fn linear(site: &Site<'_>, columns: u64) -> Result<Work, Fault> {
    let input = input(site)?;
    let (rows, depth) = (batch(input), *input.shape.0.last().unwrap_or(&1));
    Ok(Work {
        macs: product(FLOPS, [rows, columns, depth])?,
        other_flops: product(FLOPS, [rows, columns])?,
        rows,
        columns,
        depth,
        groups: 1,
        ..Work::default()
    })
}

fn linear_regressor(site: &Site<'_>) -> Result<Effect, Fault> {
    let targets = extent("targets", site.attributes.int_or("targets", 1)?)?;
    let output = Produced::new(DataType::Float, vec![batch(input(site)?), targets]);
    Ok(Effect::compute(OpClass::Gemm, output).with_work(linear(site, targets)?))
}

fn linear_classifier(site: &Site<'_>) -> Result<Effect, Fault> {
    let (dtype, classes) = labels(site, "classlabels_ints")?;
    let outputs = class_outputs(input(site)?, dtype, classes);
    Ok(Effect::compute_all(OpClass::Gemm, outputs).with_work(linear(site, classes)?))
}

/// The type of the labels and how many classes they tell apart.
fn labels(site: &Site<'_>, integers: &'static str) -> Result<(DataType, u64), Fault> {
    if let Some(labels) = site.attributes.ints(integers)? {
        return Ok((DataType::Int64, labels.len() as u64));
    }
    match site.attributes.strings("classlabels_strings")? {
        Some(labels) => Ok((DataType::String, labels as u64)),
        None => Err(Fault::MissingAttribute {
            attribute: integers,
        }),
    }
}

/// A label a row, and the scores of all classes.
fn class_outputs(input: &Value, dtype: DataType, classes: u64) -> Vec<Produced> {
    let batch = batch(input);
    vec![
        Produced::new(dtype, vec![batch]),
        Produced::new(DataType::Float, vec![batch, classes]),
    ]
}

fn tree_ensemble(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = input(site)?;
    let targets = extent("n_targets", site.attributes.int_or("n_targets", 1)?)?;
    let output = Produced::new(input.dtype, vec![batch(input), targets]);
    let trees = site
        .attributes
        .ints("tree_roots")?
        .unwrap_or_default()
        .len();
    let nodes = site
        .attributes
        .ints("nodes_featureids")?
        .unwrap_or_default()
        .len();
    Ok(Effect::compute(OpClass::Other, output).with_work(descent(input, trees, nodes)?))
}

fn tree_regressor(site: &Site<'_>) -> Result<Effect, Fault> {
    let input = input(site)?;
    let targets = extent("n_targets", site.attributes.int_or("n_targets", 1)?)?;
    let output = Produced::new(DataType::Float, vec![batch(input), targets]);
    Ok(Effect::compute(OpClass::Other, output).with_work(legacy_descent(site)?))
}

fn tree_classifier(site: &Site<'_>) -> Result<Effect, Fault> {
    let (dtype, classes) = labels(site, "classlabels_int64s")?;
    let outputs = class_outputs(input(site)?, dtype, classes);
    Ok(Effect::compute_all(OpClass::Other, outputs).with_work(legacy_descent(site)?))
}

fn legacy_descent(site: &Site<'_>) -> Result<Work, Fault> {
    let ids = site.attributes.ints("nodes_treeids")?.unwrap_or_default();
    // Nodes of a tree stand together.
    let trees = ids.chunk_by(|a, b| a == b).count();
    descent(input(site)?, trees, ids.len())
}

/// A comparison a level of every tree, which are taken to be balanced and equally deep.
fn descent(input: &Value, trees: usize, nodes: usize) -> Result<Work, Fault> {
    let depth = nodes
        .checked_div(trees)
        .map_or(0, |nodes| u64::from(nodes.max(1).ilog2()) + 1);
    Ok(Work {
        other_flops: product(FLOPS, [batch(input), trees as u64, depth])?,
        ..Work::default()
    })
}
