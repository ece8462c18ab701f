//! Numbers as sentences and tables have them.

use paracompile_plan::{Nanoseconds, Seconds};

/// What a table has where there is no figure.
pub(crate) const NOTHING: &str = "–";

/// Seconds with a unit that fits; nothing of what is no time.
pub(crate) fn time(seconds: f64) -> String {
    let time = Seconds::new(seconds).map(Seconds::to_nanoseconds);
    time.map_or_else(|| NOTHING.to_owned(), |time| time.to_string())
}

/// Frames a second at an interval.
pub(crate) fn rate(interval: Option<Nanoseconds>) -> String {
    let rate = interval.map(|interval| 1.0 / interval.to_seconds());
    let rate = rate.filter(|rate| rate.is_finite());
    rate.map_or_else(|| NOTHING.to_owned(), |rate| format!("{rate:.2}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_known_is_a_dash() {
        assert_eq!([time(20.4e-6), time(f64::NAN)], ["20.4 µs", NOTHING]);
        let interval = |count| Some(Nanoseconds::new(count));
        assert_eq!([rate(None), rate(interval(0))], [NOTHING; 2]);
        assert_eq!(rate(interval(500_000_000)), "2.00");
    }
}
