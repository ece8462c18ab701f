//! Random numbers by index: SplitMix64 that starts where the seed and a name say.
//!
//! Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators (2014); names are hashed by FNV-1a.

/// What SplitMix64 adds from number to number.
const STEP: u64 = 0x9e37_79b9_7f4a_7c15;

/// A sequence of random numbers, each of which can be asked for by itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Stream {
    start: u64,
}

impl Stream {
    /// The sequence of a name.
    pub fn new(seed: u64, name: &str) -> Self {
        Self {
            start: mix(hash(name) ^ mix(seed.wrapping_add(STEP))),
        }
    }

    /// Number `index`, all 64 bits of it.
    pub fn bits(self, index: u64) -> u64 {
        mix(self
            .start
            .wrapping_add(index.wrapping_add(1).wrapping_mul(STEP)))
    }

    /// Number `index` in `[0, 1)`, a multiple of 2⁻²⁴ so that single precision holds it exactly.
    pub fn unit(self, index: u64) -> f64 {
        #[expect(clippy::cast_precision_loss, reason = "24 bits are left")]
        let high = (self.bits(index) >> 40) as f64;
        high / f64::from(1_u32 << 24)
    }
}

fn mix(bits: u64) -> u64 {
    let bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    bits ^ (bits >> 31)
}

fn hash(name: &str) -> u64 {
    name.bytes().fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0000_0100_0000_01b3)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_generator_is_the_published_one() {
        // The first numbers of the reference implementation from state 1234567.
        let stream = Stream { start: 1_234_567 };
        assert_eq!(stream.bits(0), 6_457_827_717_110_365_317);
        assert_eq!(stream.bits(1), 3_203_168_211_198_807_973);
        assert_eq!(stream.bits(2), 9_817_491_932_198_370_423);
    }

    #[test]
    fn the_hash_is_the_published_one() {
        assert_eq!(hash(""), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash("a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(hash("foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn names_and_seeds_have_sequences_of_their_own() {
        let first = Stream::new(7, "w").bits(0);
        assert_ne!(first, Stream::new(8, "w").bits(0));
        assert_ne!(first, Stream::new(7, "v").bits(0));
    }

    #[test]
    fn units_fill_their_interval() {
        let stream = Stream::new(0, "x");
        let sum: f64 = (0..10_000).map(|index| stream.unit(index)).sum();
        assert!((sum / 10_000.0 - 0.5).abs() < 0.01, "{sum}");
    }
}
