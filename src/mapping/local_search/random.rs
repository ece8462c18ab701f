//! Random numbers that are the same on every machine.

/// `splitmix64`.
#[derive(Debug)]
pub(super) struct Random(u64);

impl Random {
    pub(super) const fn new(seed: u64) -> Self {
        Self(seed)
    }

    pub(super) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        z ^ (z >> 31)
    }

    /// Below `end`, which is not zero.
    pub(super) fn index(&mut self, end: usize) -> usize {
        let product = u128::from(self.next()) * end as u128;
        usize::try_from(product >> 64).expect("below a size")
    }

    /// At least zero and below one.
    #[expect(clippy::cast_precision_loss, reason = "53 bits fit")]
    pub(super) fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1_u64 << 53) as f64
    }
}

/// About `e^-x` for `x ≥ 0`, by multiplications alone, so that it is the same on every machine.
pub(super) fn falling_exponential(x: f64) -> f64 {
    let mut value = (1.0 - x / 256.0).max(0.0);
    for _ in 0..8 {
        value *= value;
    }
    value
}

/// The largest `x` whose [`falling_exponential`] is above `value`: about `-ln`, by square roots alone.
pub(super) fn falling_logarithm(value: f64) -> f64 {
    let mut root = value;
    for _ in 0..8 {
        root = root.sqrt();
    }
    256.0 * (1.0 - root)
}
