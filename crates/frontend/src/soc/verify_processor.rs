//! The processors of a profile: names, queues and what they fuse; operating points have a file of their own.

use std::collections::BTreeMap;

use paracompile_plan::plan::{Layout, Source};
use paracompile_plan::{OpClass, Seconds, Slowdown, Watts};

use super::error::Defect;
use super::reading::{At, Reading, join};
use super::verify_point::operating_points;
use super::{LocationId, MemoryId, OperatingPoint, Processor};

/// The longest time of anything: an hour. Larger numbers are mistakes of a unit, and sums of smaller ones fit 64 bits of nanoseconds.
pub(super) const SECONDS: (f64, f64) = (0.0, 3600.0);
/// Ten kilowatts at most, so that energies fit 64 bits of nanojoules.
pub(super) const WATTS: (f64, f64) = (0.0, 1e4);
/// Factors by which things slow each other.
pub(super) const FACTOR: (f64, f64) = (1.0, 1e3);

const MOST_QUEUES: usize = 64;
/// More than there are classes or features, so that too many of them are reported as duplicates.
pub(super) const MOST_CLASSES: usize = 64;

/// A processor whose home location is not known yet.
#[derive(Debug)]
pub(super) struct Draft {
    pub(super) name: String,
    pub(super) kind: String,
    pub(super) memory: MemoryId,
    pub(super) layout: Layout,
    pub(super) sharing: Vec<Slowdown>,
    pub(super) dispatch: Seconds,
    pub(super) fuses: Vec<OpClass>,
    pub(super) operating_points: Vec<OperatingPoint>,
}

impl Draft {
    pub(super) fn at_home(self, home: LocationId) -> Processor {
        Processor {
            name: self.name,
            kind: self.kind,
            memory: self.memory,
            layout: self.layout,
            home,
            sharing: self.sharing,
            dispatch: self.dispatch,
            fuses: self.fuses,
            operating_points: self.operating_points,
        }
    }
}

/// Everything but the name, which the caller needs before; `None` if a part cannot be read.
pub(super) fn processor(
    reading: &mut Reading,
    at: &At<'_>,
    name: Option<&str>,
    memories: &BTreeMap<&str, MemoryId>,
) -> Option<Draft> {
    let kind = reading.word_field(
        at,
        "kind",
        "kind of processor",
        &["cpu", "gpu", "npu", "dsp"].map(|kind| (kind, kind)),
    );
    if let Some(device) = at
        .optional("device")
        .filter(|device| !device.value.is_null())
    {
        reading.text(&device);
    }
    let memory = memory_field(reading, at, "memory", memories);
    let layout = reading.word_field(
        at,
        "layout",
        "layout",
        &[
            ("nchw", Layout::Nchw),
            ("nhwc", Layout::Nhwc),
            ("any", Layout::Any),
        ],
    );
    let sharing = sharing(reading, at);
    let dispatch = match at.optional("dispatch_s") {
        Some(field) if !field.value.is_null() => {
            let read = seconds_field(reading, at, "dispatch_s", Source::Assumed);
            read.map(|(seconds, _)| seconds)
        }
        Some(_) | None => Some(Seconds::ZERO),
    };
    let fuses = fuses(reading, at);
    let points = operating_points(reading, at, fuses.as_deref().unwrap_or_default());
    Some(Draft {
        name: name?.to_owned(),
        kind: kind?.to_owned(),
        memory: memory?,
        layout: layout?,
        sharing: sharing?,
        dispatch: dispatch?,
        fuses: fuses?,
        operating_points: points?,
    })
}

/// A field that names a memory.
pub(super) fn memory_field(
    reading: &mut Reading,
    at: &At<'_>,
    key: &str,
    memories: &BTreeMap<&str, MemoryId>,
) -> Option<MemoryId> {
    let field = reading.field(at, key)?;
    let name = reading.text(&field)?;
    let found = memories.get(name).copied();
    if found.is_none() {
        reading.unknown(&field, "memory", name, memories.keys().copied());
    }
    found
}

/// A factor in thousandths, rounded half up.
pub(super) fn slowdown(reading: &mut Reading, at: &At<'_>, inherited: Source) -> Option<Slowdown> {
    let factor = reading.number(at, inherited, FACTOR)?.value;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "the range keeps it between a thousand and a million"
    )]
    Slowdown::from_thousandths((factor * 1000.0 + 0.5).floor() as u32)
}

fn sharing(reading: &mut Reading, at: &At<'_>) -> Option<Vec<Slowdown>> {
    #[expect(clippy::cast_precision_loss, reason = "a small constant")]
    let range = (1.0, MOST_QUEUES as f64);
    let queues = reading
        .field(at, "compute_queues_max")
        .and_then(|field| reading.count(&field, range));
    let list = reading.some_of(at, "sharing", MOST_QUEUES, "slowdown, the first 1")?;
    let factors: Vec<Option<Slowdown>> = list
        .iter()
        .map(|entry| slowdown(reading, entry, Source::Assumed))
        .collect();
    let factors: Vec<Slowdown> = factors.into_iter().collect::<Option<_>>()?;
    if let (Some(first), Some(entry)) = (factors.first(), list.first())
        && *first != Slowdown::NONE
    {
        let value = f64::from(first.thousandths()) / 1000.0;
        reading.report(entry, Defect::FirstSharing(value));
    }
    let expected = usize::try_from(queues?).unwrap_or(MOST_QUEUES);
    if !factors.is_empty() && factors.len() != expected {
        reading.report_at(
            join(&at.path, "sharing"),
            Defect::Length {
                found: factors.len(),
                expected,
                what: "number of queues up to `compute_queues_max`",
            },
        );
    }
    Some(factors)
}

fn fuses(reading: &mut Reading, at: &At<'_>) -> Option<Vec<OpClass>> {
    let list = reading.list(at, "fuses", MOST_CLASSES)?;
    let mut first = BTreeMap::new();
    for entry in &list {
        match class(reading, entry) {
            Some(OpClass::Opaque) => {
                let defect = Defect::NeverFused(OpClass::Opaque.name().to_owned());
                reading.report(entry, defect);
            }
            Some(class) => {
                unique(reading, &mut first, "class", class.name(), entry);
            }
            None => {}
        }
    }
    Some(
        OpClass::ALL
            .into_iter()
            .filter(|class| first.contains_key(class.name()))
            .collect(),
    )
}

pub(super) fn class(reading: &mut Reading, at: &At<'_>) -> Option<OpClass> {
    reading.word(
        at,
        "operator class",
        &OpClass::ALL.map(|class| (class.name(), class)),
    )
}

pub(super) fn unknown_class(reading: &mut Reading, at: &At<'_>, word: &str) {
    reading.unknown(
        at,
        "operator class",
        word,
        OpClass::ALL.iter().map(|class| class.name()),
    );
}

/// Remembers where a name appeared first, and reports its later appearances.
pub(super) fn unique<'a>(
    reading: &mut Reading,
    first: &mut BTreeMap<&'a str, String>,
    what: &'static str,
    name: &'a str,
    at: &At<'_>,
) -> bool {
    if let Some(earlier) = first.get(name) {
        let defect = Defect::Duplicate {
            what,
            name: name.to_owned(),
            first: earlier.clone(),
        };
        reading.report(at, defect);
        return false;
    }
    first.insert(name, at.path.clone());
    true
}

/// Time of a link before the first byte and the like.
pub(super) fn seconds_field(
    reading: &mut Reading,
    at: &At<'_>,
    key: &str,
    inherited: Source,
) -> Option<(Seconds, Source)> {
    let number = reading.number_field(at, key, inherited, SECONDS)?;
    Some((Seconds::new(number.value)?, number.source))
}

/// A power.
pub(super) fn watts_field(
    reading: &mut Reading,
    at: &At<'_>,
    key: &str,
    inherited: Source,
) -> Option<(Watts, Source)> {
    let number = reading.number_field(at, key, inherited, WATTS)?;
    Some((Watts::new(number.value)?, number.source))
}
