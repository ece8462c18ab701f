//! Pointwise operators as expressions of OpenCL C, for kernels of their own and for the ends of convolutions and products.
//!
//! Sources: the definitions of the operators in the ONNX standard.

use paracompile_frontend::import::onnx::Attribute;

use super::Site;

/// The expression of a single-precision operator of one operand, with `x` for the operand; `None` if it is none.
pub fn unary(site: &Site<'_>) -> Option<String> {
    if !site.call.domain.is_empty() {
        return None;
    }
    let literal = |value: f32| format!("as_float(0x{:08x}u)", value.to_bits());
    let text = match site.call.op_type.as_str() {
        "Relu" => "fmax(x, 0.0f)".to_owned(),
        "LeakyRelu" => format!(
            "(x < 0.0f ? x * {} : x)",
            literal(site.float("alpha", 0.01))
        ),
        "Sigmoid" => "(1.0f / (1.0f + exp(-x)))".to_owned(),
        "Tanh" => "tanh(x)".to_owned(),
        "HardSigmoid" => format!(
            "clamp(x * {} + {}, 0.0f, 1.0f)",
            literal(site.float("alpha", 0.2)),
            literal(site.float("beta", 0.5))
        ),
        "HardSwish" => "(x * clamp(x * (1.0f / 6.0f) + 0.5f, 0.0f, 1.0f))".to_owned(),
        "Clip" => {
            let (low, high) = limits(site)?;
            format!("fmin(fmax(x, {}), {})", literal(low), literal(high))
        }
        "Erf" => "erf(x)".to_owned(),
        "Gelu" => match site.text("approximate", "none") {
            "tanh" => {
                "(0.5f * x * (1.0f + tanh(0.7978845608f * (x + 0.044715f * x * x * x))))".to_owned()
            }
            _ => "(0.5f * x * (1.0f + erf(x * 0.70710678118f)))".to_owned(),
        },
        "Exp" => "exp(x)".to_owned(),
        "Log" => "log(x)".to_owned(),
        "Sqrt" => "sqrt(x)".to_owned(),
        "Neg" => "(-x)".to_owned(),
        "Abs" => "fabs(x)".to_owned(),
        "Reciprocal" => "(1.0f / x)".to_owned(),
        "Identity" => "x".to_owned(),
        _ => return None,
    };
    Some(text)
}

/// The limits of a `Clip` that are known.
fn limits(site: &Site<'_>) -> Option<(f32, f32)> {
    const AS_OPERANDS: i64 = 11;
    if site.call.opset < AS_OPERANDS {
        return Some((site.float("min", f32::MIN), site.float("max", f32::MAX)));
    }
    #[expect(
        clippy::cast_possible_truncation,
        reason = "the elements are single-precision numbers"
    )]
    let limit = |position: usize, default: f32| match site.reals(position) {
        Ok(None) => Some(default),
        Ok(Some([value])) => Some(*value as f32),
        Ok(Some(_)) | Err(_) => None,
    };
    Some((limit(1, f32::NEG_INFINITY)?, limit(2, f32::INFINITY)?))
}

/// The expression of a single-precision operator of two operands, with `x` and `y` for them; `None` if it is none.
pub fn binary(site: &Site<'_>) -> Option<&'static str> {
    if !site.call.domain.is_empty() {
        return None;
    }
    Some(match site.call.op_type.as_str() {
        "Add" | "Sum" if site.operands.len() == 2 => "(x + y)",
        "Sub" => "(x - y)",
        "Mul" => "(x * y)",
        "Div" => "(x / y)",
        "Max" if site.operands.len() == 2 => "fmax(x, y)",
        "Min" if site.operands.len() == 2 => "fmin(x, y)",
        "PRelu" => "(x < 0.0f ? x * y : x)",
        "Pow" if !matches!(site.call.attributes.get("fmod"), Some(Attribute::Int(_))) => {
            "pow(x, y)"
        }
        _ => return None,
    })
}
