//! Which of the models of a class costs an operator, by the type that it computes in.
//!
//! A profile may have measured a class in several types.
//! An operator takes the model of its own type, or of the one that differs in sign only, else the one for any type, else the nearest other
//! that its processor has: one that is at least as exact, since runtimes widen quantised networks where they have no kernels for them.
//! What was measured in another type is an estimate, except for whole numbers of 32 bits and more, and masks: nobody measures those, and
//! they move as floats of as many bytes do.
//! A processor whose models of a class are all for quantised numbers does not run the class in floating point.

use crate::ir::DataType;
use crate::soc::ClassModel;

/// Of a model that was found for all types.
const ANY: &str = "any";
const HALVES: [&str; 3] = ["float16", "bfloat16", "float"];

/// The model for an operator that computes in `arithmetic`, and whether it was found for that type.
pub(crate) fn choose(models: &[ClassModel], arithmetic: DataType) -> Option<(&ClassModel, bool)> {
    let of = |name: &str| models.iter().find(|model| model.dtype == name);
    let own = [arithmetic.name()].into_iter().chain(twin(arithmetic));
    let fits = own.chain([ANY]).find_map(of);
    let nearest = || {
        let mut wider = wider(arithmetic).iter();
        let found = wider.find_map(|name| of(name))?;
        Some((
            found,
            moves_like_floats(arithmetic) && found.dtype == "float",
        ))
    };
    fits.map(|model| (model, true)).or_else(nearest)
}

/// The type that differs in sign only.
fn twin(dtype: DataType) -> Option<&'static str> {
    Some(match dtype {
        DataType::Int64 => "uint64",
        DataType::Int32 => "uint32",
        DataType::Int16 => "uint16",
        DataType::Int8 => "uint8",
        DataType::Int4 => "uint4",
        DataType::Int2 => "uint2",
        DataType::Uint64 => "int64",
        DataType::Uint32 => "int32",
        DataType::Uint16 => "int16",
        DataType::Uint8 => "int8",
        DataType::Uint4 => "int4",
        DataType::Uint2 => "int2",
        DataType::Float
        | DataType::Double
        | DataType::Float16
        | DataType::BFloat16
        | DataType::Float8
        | DataType::Float6
        | DataType::Float4
        | DataType::Bool
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => return None,
    })
}

/// Types to compute in where there is no model of the own one, nearest first.
fn wider(dtype: DataType) -> &'static [&'static str] {
    match dtype {
        // Runtimes round networks to half precision for processors that have nothing else.
        DataType::Float => &["double", "float16", "bfloat16"],
        DataType::Double => &["float"],
        DataType::Float16 => &["bfloat16", "float"],
        DataType::BFloat16 => &["float16", "float"],
        DataType::Float8 | DataType::Float6 | DataType::Int8 | DataType::Uint8 => &[
            "int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float",
        ],
        DataType::Float4 | DataType::Int4 | DataType::Uint4 | DataType::Int2 | DataType::Uint2 => {
            &[
                "int4", "uint4", "int8", "uint8", "int16", "uint16", "float16", "bfloat16", "float",
            ]
        }
        DataType::Int16 | DataType::Uint16 => &HALVES,
        DataType::Int64
        | DataType::Int32
        | DataType::Uint64
        | DataType::Uint32
        | DataType::Bool
        | DataType::Complex64
        | DataType::Complex128
        | DataType::String => &["float", "double", "float16", "bfloat16", "int8", "uint8"],
    }
}

/// Whether a type computes nothing that networks wait for: indices and masks, which only move.
const fn moves_like_floats(dtype: DataType) -> bool {
    matches!(
        dtype,
        DataType::Int64
            | DataType::Int32
            | DataType::Uint64
            | DataType::Uint32
            | DataType::Bool
            | DataType::Complex64
            | DataType::Complex128
            | DataType::String
    )
}

#[cfg(test)]
mod tests {
    use paracompile_plan::plan::Source;

    use super::*;
    use crate::soc::Winograd;

    fn chosen(dtypes: &[&str], arithmetic: DataType) -> Option<(String, bool)> {
        let model = |dtype: &&str| ClassModel {
            dtype: (*dtype).to_owned(),
            features: Vec::new(),
            coefficients: Vec::new(),
            max: false,
            winograd: Winograd::default(),
            seen: Vec::new(),
            source: Source::Fitted,
        };
        let models: Vec<_> = dtypes.iter().map(model).collect();
        choose(&models, arithmetic).map(|(model, fits)| (model.dtype.clone(), fits))
    }

    fn found(name: &str, fits: bool) -> (String, bool) {
        (name.to_owned(), fits)
    }

    #[test]
    fn the_own_type_comes_first_and_any_before_others() {
        let all = ["any", "float", "float16", "int8"];
        assert_eq!(
            chosen(&all, DataType::Float16),
            Some(found("float16", true))
        );
        assert_eq!(chosen(&all, DataType::Uint8), Some(found("int8", true)));
        assert_eq!(chosen(&all, DataType::Int4), Some(found("any", true)));
        assert_eq!(
            chosen(&all[1..], DataType::Int4),
            Some(found("int8", false))
        );
    }

    #[test]
    fn quantised_numbers_fall_back_on_floats_and_not_the_other_way_round() {
        assert_eq!(
            chosen(&["float"], DataType::Int8),
            Some(found("float", false))
        );
        assert_eq!(
            chosen(&["float", "float16"], DataType::Int8),
            Some(found("float16", false))
        );
        assert_eq!(chosen(&["int8"], DataType::Float), None);
        assert_eq!(
            chosen(&["float16"], DataType::Float),
            Some(found("float16", false))
        );
    }

    #[test]
    fn indices_and_masks_move_like_floats() {
        assert_eq!(
            chosen(&["float"], DataType::Int64),
            Some(found("float", true))
        );
        assert_eq!(
            chosen(&["float"], DataType::Bool),
            Some(found("float", true))
        );
        assert_eq!(
            chosen(&["float16"], DataType::Int64),
            Some(found("float16", false))
        );
    }
}
