//! Decisions that the bytes of a fuzzer's input make.

/// Numbers at which arithmetic goes wrong.
const EXTREMES: [i64; 14] = [
    -1,
    0,
    i64::MIN,
    i64::MAX,
    i64::MIN + 1,
    i64::MAX - 1,
    1 << 31,
    1 << 32,
    1 << 53,
    1 << 62,
    -(1 << 31),
    4096,
    4097,
    65,
];

/// Bytes as a sequence of decisions; behind the last byte every decision is the first alternative, so that every input ends.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    rest: &'a [u8],
}

impl<'a> Choices<'a> {
    /// The decisions that `data` makes.
    pub const fn new(data: &'a [u8]) -> Self {
        Self { rest: data }
    }

    /// Whether all bytes are used.
    pub const fn is_done(&self) -> bool {
        self.rest.is_empty()
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.rest.split_first() else {
            return 0;
        };
        self.rest = rest;
        first
    }

    /// A number below `count`, which is at most 256; zero if `count` is zero.
    pub fn below(&mut self, count: usize) -> usize {
        usize::from(self.byte()).checked_rem(count).unwrap_or(0)
    }

    /// Whether something happens that happens `often` times in 256.
    pub fn happens(&mut self, often: u8) -> bool {
        self.byte() > u8::MAX - often
    }

    /// One of `alternatives`.
    ///
    /// # Panics
    /// If there is none.
    pub fn one_of<T: Copy>(&mut self, alternatives: &[T]) -> T {
        alternatives[self.below(alternatives.len())]
    }

    /// A small number most times, sometimes one at the edge of what a type holds.
    pub fn integer(&mut self) -> i64 {
        match self.byte() {
            byte @ 0..=199 => i64::from(byte % 10) - 1,
            byte @ 200..=219 => i64::from(byte) - 200,
            byte @ 220..=249 => EXTREMES[usize::from(byte) % EXTREMES.len()],
            _ => {
                let bytes = std::array::from_fn(|_| self.byte());
                i64::from_le_bytes(bytes)
            }
        }
    }

    /// An extent: positive most times.
    pub fn extent(&mut self) -> i64 {
        match self.byte() {
            byte @ 0..=239 => i64::from(byte % 8) + 1,
            _ => self.integer(),
        }
    }

    /// A number.
    pub fn float(&mut self) -> f32 {
        const USUAL: [f32; 10] = [
            0.0,
            1.0,
            2.0,
            0.5,
            -1.0,
            f32::INFINITY,
            f32::NEG_INFINITY,
            f32::NAN,
            f32::MAX,
            1e-40,
        ];
        self.one_of(&USUAL)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_input_ends_and_no_alternative_is_out_of_reach() {
        let mut choices = Choices::new(&[7, 255, 0]);
        assert_eq!(choices.below(4), 3);
        assert!(choices.happens(1));
        assert!(!choices.happens(255));
        assert!(choices.is_done());
        assert_eq!(choices.integer(), -1);
        assert_eq!(choices.below(0), 0);
        assert_eq!(choices.one_of(&["first", "second"]), "first");
    }
}
