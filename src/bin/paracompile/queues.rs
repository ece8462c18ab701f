//! `--queues`: how many compute queues the processors of a run may have (rule M10).

use paracompile::mapping::QueueCounts;
use paracompile::soc::{ProcessorId, Soc};

use crate::args::Queues;
use crate::failure::{Failure, Kind};
use crate::input::Chip;

/// The chip without processors that are given no queue.
pub(crate) fn without_unused(chip: Chip, queues: &Queues) -> Result<Chip, Failure> {
    let Queues::Named(named) = queues else {
        return Ok(chip);
    };
    let unused: Vec<ProcessorId> = named
        .iter()
        .filter(|(_, count)| *count == 0)
        .map(|(name, _)| known(&chip.chosen, name))
        .collect::<Result<_, _>>()?;
    if unused.is_empty() {
        return Ok(chip);
    }
    let processors = chip.chosen.processors.iter();
    let left: Vec<String> = processors
        .filter(|(id, _)| !unused.contains(id))
        .map(|(_, processor)| processor.name.clone())
        .collect();
    if left.is_empty() {
        return Err(Failure::new(
            Kind::Usage,
            "--queues: no processor is left, as each has 0 queues",
        )
        .with_help("leave one of them out of --queues"));
    }
    let chosen = chip
        .whole
        .restricted(&left)
        .map_err(|error| Failure::new(Kind::Usage, format!("--queues: {error}")))?;
    Ok(Chip { chosen, ..chip })
}

/// Every number of queues that each processor may have, ascending.
pub(crate) fn every_count(soc: &Soc) -> Vec<Vec<usize>> {
    let processors = soc.processors.ids();
    processors.map(|id| (1..=most(soc, id)).collect()).collect()
}

fn most(soc: &Soc, id: ProcessorId) -> usize {
    soc.processors[id]
        .sharing
        .len()
        .min(QueueCounts::MOST_LANES)
}

/// The numbers of queues that are asked for, ascending.
pub(crate) fn counts(soc: &Soc, queues: &Queues) -> Result<Vec<Vec<usize>>, Failure> {
    let most = |id: ProcessorId| most(soc, id);
    let mut counts = every_count(soc);
    if let Queues::All(count) = queues {
        for (id, counts) in soc.processors.ids().zip(&mut counts) {
            *counts = vec![(*count).min(most(id))];
        }
    }
    let Queues::Named(named) = queues else {
        return few_enough(counts);
    };
    for (position, (name, count)) in named.iter().enumerate() {
        if named[..position]
            .iter()
            .any(|(other, number)| other == name && number != count)
        {
            return Err(Failure::new(
                Kind::Usage,
                format!("--queues: `{name}` is given two numbers of queues; a plan has one"),
            ));
        }
        if *count == 0 {
            continue;
        }
        let id = known(soc, name)?;
        if *count > most(id) {
            return Err(Failure::new(
                Kind::Usage,
                format!("--queues: `{name}` may have {} at most", queue_or_queues(most(id))),
            )
            .with_help(
                "measure it with more, and write them to `compute_queues_max` and `sharing` of the profile",
            ));
        }
        counts[id.index()] = vec![*count];
    }
    few_enough(counts)
}

/// The same numbers, unless even the least of them are more than a stage may have.
fn few_enough(counts: Vec<Vec<usize>>) -> Result<Vec<Vec<usize>>, Failure> {
    let all: usize = counts.iter().filter_map(|counts| counts.first()).sum();
    let most = QueueCounts::MOST_LANES;
    if all > most {
        return Err(Failure::new(
            Kind::Usage,
            format!("--queues: {all} queues are more than the {most} that are searched at once"),
        )
        .with_help("ask for fewer, or name the processors to use with --processors"));
    }
    Ok(counts)
}

fn queue_or_queues(count: usize) -> String {
    match count {
        1 => "1 queue".to_owned(),
        _ => format!("{count} queues"),
    }
}

fn known(soc: &Soc, name: &str) -> Result<ProcessorId, Failure> {
    soc.processor(name).ok_or_else(|| {
        let known = soc.processors.iter();
        let known: Vec<&str> = known.map(|(_, known)| known.name.as_str()).collect();
        Failure::new(
            Kind::Usage,
            format!("--queues: `{}` has no processor `{name}`", soc.name),
        )
        .with_help(format!("its processors: {}", known.join(", ")))
    })
}
