//! Weights that import folds: computed from what the file, or a seed, says of them before.

use paracompile_frontend::import::onnx::{ImportOptions, Weight, load};
use paracompile_runtime::interpret::constants;
use paracompile_runtime::opencl::devices;
use paracompile_runtime::solo::Solo;
use paracompile_runtime::weights::RandomWeights;

fn floats(bytes: &[u8]) -> Vec<f32> {
    let (chunks, rest) = bytes.as_chunks::<4>();
    assert!(rest.is_empty());
    chunks
        .iter()
        .map(|&chunk| f32::from_le_bytes(chunk))
        .collect()
}

/// Filters are scaled in their own place, so that what they are computed from has the same id as the result.
#[test]
fn a_filter_that_is_scaled_in_its_place_is_computed_from_what_it_was() {
    let model = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/../../models/raw/mobilenet_v2.onnx"
    );
    let program = load(model.as_ref(), &ImportOptions::default()).unwrap();
    let random = RandomWeights::of(&program, 7).unwrap();
    let solo = Solo::new(&devices().unwrap()[0]).unwrap();
    let known = constants(&program, &solo, &mut |id| {
        let stored = || program.stored_bytes(id).map_err(Into::into);
        random
            .bytes(id)
            .map_or_else(stored, |bytes| Ok(Some(bytes)))
    })
    .unwrap();
    let mut in_place = 0;
    for (&id, weight) in &program.rewritten {
        let &Weight::ScaledFilter {
            filter,
            scale,
            variance,
            epsilon,
            ..
        } = weight
        else {
            continue;
        };
        assert_eq!(filter, id);
        in_place += 1;
        let raw = floats(&random.bytes(filter).unwrap());
        let (scale, variance) = (floats(&known[&scale]), floats(&known[&variance]));
        let of_channel = raw.len() / scale.len();
        for (index, (&found, &raw)) in floats(&known[&id]).iter().zip(&raw).enumerate() {
            let channel = index / of_channel;
            let expected = raw * scale[channel] / (variance[channel] + epsilon).sqrt();
            assert!(
                (found - expected).abs() <= 1e-6 * expected.abs(),
                "{index}: {found} {expected}"
            );
        }
    }
    assert_eq!(in_place, 52);
}
