//! Energy a frame (rule M11) and the sources of the predicted time.

use super::frames::interval;
use super::placement::Placement;
use super::profile::Profile;
use super::timing::{MoveCost, Schedule, Work};
use super::violation::{Place, Violation, compare};
use crate::plan::{Provenance, Source};
use crate::{Nanojoules, Seconds, Slowdown};

/// Compares energies with those that follow.
pub(super) fn judge(
    placement: &Placement<'_>,
    profile: &Profile<'_>,
    work: &[Work],
    factors: &[Slowdown],
    moves: &[MoveCost],
    used: &Schedule,
    found: &mut Vec<Violation>,
) {
    let plan = placement.plan;
    let mut active = Nanojoules::ZERO;
    for (index, (work, &factor)) in work.iter().zip(factors).enumerate() {
        let energy = work.energy.slowed(factor);
        active += energy;
        let stated = plan.tasks[index].energy_nj.count();
        compare(
            found,
            &Place::Task(index),
            "energy_nj",
            &stated,
            &energy.count(),
        );
    }
    for (index, entry) in moves.iter().enumerate() {
        active += entry.energy;
        let stated = plan.transfers[index].energy_nj.count();
        compare(
            found,
            &Place::Transfer(index),
            "energy_nj",
            &stated,
            &entry.energy.count(),
        );
    }
    // Whoever is used pays while it waits for the next frame.
    let interval = interval(used).max(plan.admission_interval_ns);
    active += profile.static_power().over(interval);
    let board = active + profile.facts.base.over(interval);
    let predicted = &plan.predicted;
    let at = Place::Predicted;
    compare(
        found,
        &at,
        "energy_active_nj",
        &predicted.energy_active_nj.count(),
        &active.count(),
    );
    compare(
        found,
        &at,
        "energy_board_nj",
        &predicted.energy_board_nj.count(),
        &board.count(),
    );
    provenance(&predicted.provenance, work, found);
}

/// Compares the shares of the predicted time; the order of decimal sums may differ in the last digit.
fn provenance(stated: &Provenance, work: &[Work], found: &mut Vec<Violation>) {
    let shares = [
        ("provenance.measured", stated.measured, Source::Measured),
        ("provenance.fitted", stated.fitted, Source::Fitted),
        ("provenance.estimated", stated.estimated, Source::Estimated),
        ("provenance.borrowed", stated.borrowed, Source::Borrowed),
        ("provenance.assumed", stated.assumed, Source::Assumed),
    ];
    let parts = || work.iter().flat_map(|task| &task.parts);
    let total: f64 = parts().map(|(time, _)| *time).sum::<Seconds>().value();
    for (field, stated, source) in shares {
        let time = (parts().filter(|(_, from)| *from == source))
            .map(|(time, _)| *time)
            .sum::<Seconds>()
            .value();
        let share = if total > 0.0 { time / total } else { 0.0 };
        let rounded = (stated * 1e4).round() / 1e4;
        let agrees = (share - stated).abs() <= 0.5e-4 + 1e-9 && (rounded - stated).abs() < 1e-12;
        if !agrees {
            found.push(Violation::Differs {
                at: Place::Predicted,
                field,
                stated: stated.to_string(),
                derived: format!("{share:.4}"),
            });
        }
    }
}
