//! What moves cost (rule M3): the part of the cost table that looks at links.

use paracompile_plan::{Bytes, Nanojoules, Nanoseconds, Seconds, Watts};

use super::error::CostError;
use super::table::{CostTable, MOST_SECONDS};
use crate::ir::{TensorRole, VerifiedGraph};
use crate::soc::{Link, Location, LocationId, Soc};

/// Cost of moving one tensor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Move {
    /// Duration.
    pub time: Nanoseconds,
    /// Energy.
    pub energy: Nanojoules,
}

/// A link as a pair of locations uses it.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkCost {
    latency: Seconds,
    seconds_per_byte: Seconds,
    /// Zero where the layouts fit.
    convert_seconds_per_byte: Seconds,
    power: Watts,
}

impl CostTable {
    /// Cost of moving `bytes` between locations; `None` where the locations fit and nothing moves (rule M3).
    ///
    /// In double precision, from left to right: `latency + bytes · seconds_per_byte`, and `+ bytes · convert_seconds_per_byte` where the layouts do not fit, with `seconds_per_byte = 1 / bytes_per_s` computed once.
    /// The energy is the link's power times that decimal time; both are rounded half up once.
    pub fn transfer(&self, bytes: Bytes, from: LocationId, to: LocationId) -> Option<Move> {
        let link = self.links[from.index() * self.soc.locations.len() + to.index()]?;
        let time = link.seconds(bytes)?;
        Some(Move {
            time: time.to_nanoseconds(),
            energy: link.power.over(time).to_nanojoules(),
        })
    }

    /// Longer tensors take longer on every link, so the largest one stands for all.
    pub(super) fn check_moves(&self, graph: &VerifiedGraph) -> Result<(), CostError> {
        let largest = graph
            .tensors
            .iter()
            .filter(|(_, tensor)| !matches!(tensor.role, TensorRole::Weight(_)))
            .map(|(_, tensor)| tensor.bytes)
            .max()
            .unwrap_or_default();
        let locations = &self.soc.locations;
        let pairs = locations
            .iter()
            .flat_map(|(_, from)| locations.iter().map(move |(_, to)| (from, to)));
        for ((from, to), link) in pairs.zip(&self.links) {
            let Some(link) = link else { continue };
            let seconds = link.decimal_seconds(largest);
            if seconds > MOST_SECONDS {
                return Err(CostError::MoveTooLong {
                    from: self.soc.memories[from.memory].name.clone(),
                    to: self.soc.memories[to.memory].name.clone(),
                    bytes: largest,
                    seconds,
                });
            }
        }
        Ok(())
    }
}

/// For each pair of locations, row by row: the link between them, or `None` where nothing moves.
pub(super) fn links(soc: &Soc) -> Result<Vec<Option<LinkCost>>, CostError> {
    let mut links = Vec::with_capacity(soc.locations.len() * soc.locations.len());
    for (_, &from) in soc.locations.iter() {
        for (_, &to) in soc.locations.iter() {
            if from.fits(to) {
                links.push(None);
                continue;
            }
            let link = soc
                .links
                .iter()
                .find(|link| link.from == from.memory && link.to == to.memory)
                .ok_or_else(|| CostError::NoLink {
                    from: soc.memories[from.memory].name.clone(),
                    to: soc.memories[to.memory].name.clone(),
                })?;
            links.push(Some(LinkCost::new(link, from, to)));
        }
    }
    Ok(links)
}

/// The reciprocal of the bandwidth, computed in this one way; an hour for a chip made by hand with a bandwidth that has none.
pub(super) fn seconds_per_byte(link: &Link) -> Seconds {
    Seconds::new(1.0 / link.bytes_per_second)
        .or_else(|| Seconds::new(MOST_SECONDS))
        .unwrap_or_default()
}

impl LinkCost {
    fn new(link: &Link, from: Location, to: Location) -> Self {
        let fits = from.layout.fits(to.layout);
        Self {
            latency: link.latency,
            seconds_per_byte: seconds_per_byte(link),
            convert_seconds_per_byte: if fits {
                Seconds::ZERO
            } else {
                link.convert_seconds_per_byte
            },
            power: link.power,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "no memory holds 2^53 bytes")]
    fn decimal_seconds(&self, bytes: Bytes) -> f64 {
        let bytes = bytes.count() as f64;
        self.latency.value()
            + bytes * self.seconds_per_byte.value()
            + bytes * self.convert_seconds_per_byte.value()
    }

    fn seconds(&self, bytes: Bytes) -> Option<Seconds> {
        Seconds::new(self.decimal_seconds(bytes))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::cost::CostOverrides;
    use crate::cost::small_graph::{example, processor, small_graph, table};

    #[test]
    fn moves_take_latency_bandwidth_and_conversion() {
        let soc = example(|_| ());
        let table = table(&soc);
        let home = |name| soc.processors[processor(&soc, name)].home;
        let (cpu, gpu) = (home("cpu"), home("gpu"));
        // 500 µs + 8192 · (1 ns + 0.5 ns); times half a watt.
        let there = table.transfer(Bytes::new(8192), cpu, gpu).unwrap();
        assert_eq!(there.time, Nanoseconds::new(512_288));
        assert_eq!(there.energy, Nanojoules::new(256_144));
        // Network inputs have no layout of their own, so nothing is converted, and the CPU takes them where they are.
        let input = table
            .transfer(Bytes::new(8192), soc.io_location, gpu)
            .unwrap();
        assert_eq!(input.time, Nanoseconds::new(508_192));
        assert_eq!(table.transfer(Bytes::new(8192), soc.io_location, cpu), None);
        assert_eq!(table.transfer(Bytes::new(8192), gpu, gpu), None);
    }

    #[test]
    fn layouts_in_one_memory_are_converted_by_its_own_link() {
        let soc = example(|profile| {
            profile["processors"][1]["memory"] = json!("dram");
            profile["links"] = json!([{
                "from": "dram", "to": "dram", "latency_s": 0, "bytes_per_s": 1e9,
                "convert_s_per_byte": 1e-9, "power_w": 0
            }]);
        });
        let table = table(&soc);
        let home = |name| soc.processors[processor(&soc, name)].home;
        let converted = table
            .transfer(Bytes::new(1000), home("cpu"), home("gpu"))
            .unwrap();
        assert_eq!(converted.time, Nanoseconds::new(2000));
        assert_eq!(
            table.transfer(Bytes::new(1000), soc.io_location, home("gpu")),
            None
        );
    }

    #[test]
    fn absurd_moves_are_refused() {
        let soc = example(|profile| profile["links"][0]["bytes_per_s"] = json!(1));
        let error = CostTable::new(&small_graph(), &soc, &CostOverrides::default(), None)
            .unwrap_err()
            .to_string();
        assert!(
            error.starts_with("moving 8.0 KiB from `dram` to `vram` takes 8192"),
            "{error}"
        );
    }
}
