//! RAPL: counters of microjoules a socket, as Linux shows them.

use std::fs;
use std::path::{Path, PathBuf};

use super::{Energy, Method, Part};

/// Where Linux shows them.
pub(super) const ROOT: &str = "/sys/class/powercap";

/// The counter of a socket.
#[derive(Debug)]
pub(super) struct Package {
    name: String,
    counter: PathBuf,
    /// Where the counter begins again.
    range: u64,
}

/// A counter that was read.
#[derive(Debug)]
pub(super) struct Running<'m> {
    package: &'m Package,
    start: Option<u64>,
}

/// The sockets with a counter that can be read, or why there are none.
pub(super) fn find(root: &Path) -> Result<Vec<Package>, String> {
    let entries = fs::read_dir(root).map_err(|error| format!("{}: {error}", root.display()))?;
    let mut folders: Vec<PathBuf> = entries
        .filter_map(|entry| Some(entry.ok()?.path()))
        .filter(|folder| is_package(folder))
        .collect();
    folders.sort();
    let mut unreadable = None;
    let mut found = Vec::new();
    for folder in folders {
        let counter = folder.join("energy_uj");
        match (read(&counter), read(&folder.join("max_energy_range_uj"))) {
            (Ok(_), Ok(range)) => {
                let name = fs::read_to_string(folder.join("name")).unwrap_or_default();
                let name = name.trim().to_owned();
                found.push(Package {
                    name,
                    counter,
                    range,
                });
            }
            (Err(error), _) | (_, Err(error)) => unreadable = Some(error),
        }
    }
    match (found.is_empty(), unreadable) {
        (false, _) => Ok(found),
        (true, Some(error)) => Err(error),
        (true, None) => Err(format!("{} names no socket", root.display())),
    }
}

/// Whether a folder is that of a socket: `intel-rapl:0`, while `intel-rapl:0:1` is a part of one.
fn is_package(folder: &Path) -> bool {
    let name = folder.file_name().and_then(|name| name.to_str());
    name.and_then(|name| name.strip_prefix("intel-rapl:"))
        .is_some_and(|number| {
            !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit())
        })
}

fn read(file: &Path) -> Result<u64, String> {
    let text = fs::read_to_string(file).map_err(|error| format!("{}: {error}", file.display()))?;
    let number = text.trim().parse();
    number.map_err(|_| format!("{}: not a number", file.display()))
}

impl Package {
    pub(super) fn part(&self) -> (String, Part, Method) {
        (self.name.clone(), Part::Cpu, Method::Counter)
    }

    pub(super) fn start(&self) -> Running<'_> {
        Running {
            package: self,
            start: read(&self.counter).ok(),
        }
    }
}

impl Running<'_> {
    pub(super) fn stop(self) -> Option<Energy> {
        let end = read(&self.package.counter).ok()?;
        let start = self.start?;
        // At 100 W a counter of 262 kJ begins again after 44 minutes; twice in one run cannot be seen.
        let microjoules = if end >= start {
            end - start
        } else {
            (self.package.range.checked_sub(start)?).checked_add(end)?
        };
        #[expect(
            clippy::cast_precision_loss,
            reason = "2^53 microjoules are two and a half megawatt-hours"
        )]
        let joules = microjoules as f64 / 1e6;
        Some(Energy {
            of: self.package.name.clone(),
            part: Part::Cpu,
            by: Method::Counter,
            joules,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn write(folder: &Path, name: &str, file: &str, text: &str) {
        fs::create_dir_all(folder.join(name)).unwrap();
        fs::write(folder.join(name).join(file), text).unwrap();
    }

    #[test]
    fn sockets_are_found_and_parts_of_them_are_not() {
        let root = tempfile::tempdir().unwrap();
        for name in ["intel-rapl:0", "intel-rapl:0:0", "intel-rapl", "dtpm"] {
            write(root.path(), name, "energy_uj", "900\n");
            write(root.path(), name, "max_energy_range_uj", "1000\n");
            write(root.path(), name, "name", "package-0\n");
        }
        let found = find(root.path()).unwrap();
        let running = found.iter().map(Package::start).collect::<Vec<_>>();
        // The counter begins again.
        write(root.path(), "intel-rapl:0", "energy_uj", "400\n");
        let energy: Vec<Energy> = running.into_iter().filter_map(Running::stop).collect();
        let expected = Energy {
            of: "package-0".to_owned(),
            part: Part::Cpu,
            by: Method::Counter,
            joules: 0.0005,
        };
        assert_eq!(energy, [expected]);
    }

    #[test]
    fn no_counter_says_why() {
        let root = tempfile::tempdir().unwrap();
        assert!(find(root.path()).unwrap_err().contains("names no socket"));
        write(root.path(), "intel-rapl:0", "energy_uj", "x");
        assert!(find(root.path()).unwrap_err().contains("not a number"));
        assert!(find(&root.path().join("missing")).is_err());
    }
}
