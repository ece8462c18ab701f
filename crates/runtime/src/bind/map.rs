//! `--map`, as typed.

use std::fmt;
use std::num::NonZeroUsize;
use std::str::FromStr;

/// A processor and the device that it runs on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DeviceMap {
    /// The plan's name of the processor.
    pub processor: String,
    /// An index, a kind, or a part of a name.
    pub device: String,
    /// How many compute units of the device; all without a number.
    pub units: Option<NonZeroUsize>,
}

impl FromStr for DeviceMap {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let form = "expected NAME=DEVICE or NAME=DEVICE/UNITS";
        let (processor, device) = text.split_once('=').ok_or(form)?;
        let (device, units) = match device.rsplit_once('/') {
            // Names of devices may hold a slash; a number behind one is never part of them.
            Some((device, digits)) if is_whole(digits) => {
                let units = digits
                    .parse()
                    .map_err(|_| format!("`{digits}` compute units: expected 1 or more"))?;
                (device, Some(units))
            }
            Some(_) | None => (device, None),
        };
        let (processor, device) = (processor.trim(), device.trim());
        if processor.is_empty() || device.is_empty() {
            return Err(form.to_owned());
        }
        Ok(Self {
            processor: processor.to_owned(),
            device: device.to_owned(),
            units,
        })
    }
}

/// Whether somebody meant a number of compute units, a sensible one or not.
fn is_whole(text: &str) -> bool {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit())
}

impl fmt::Display for DeviceMap {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.processor, self.device)?;
        self.units.map_or(Ok(()), |units| write!(f, "/{units}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<(String, String, Option<usize>), String> {
        let map: DeviceMap = text.parse()?;
        Ok((map.processor, map.device, map.units.map(NonZeroUsize::get)))
    }

    #[test]
    fn maps_name_a_device_and_perhaps_a_part_of_it() {
        let of =
            |processor: &str, device: &str, units| Ok((processor.into(), device.into(), units));
        assert_eq!(read("big=0"), of("big", "0", None));
        assert_eq!(read("big=0/12"), of("big", "0", Some(12)));
        assert_eq!(read("gpu=NVIDIA H200"), of("gpu", "NVIDIA H200", None));
        assert_eq!(read("x=a=b/c/3"), of("x", "a=b/c", Some(3)));
        assert_eq!(read("x=a/b"), of("x", "a/b", None));
    }

    #[test]
    fn half_a_map_is_refused() {
        for text in [
            "",
            "big",
            "big=",
            "=0",
            "big=0/0",
            "big=0/-1",
            "big=/4",
            "big=0/99999999999999999999999",
        ] {
            assert!(read(text).is_err(), "{text}");
        }
    }
}
