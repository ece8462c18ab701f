//! What stands around the panels of a front: its heading above, its legend to the right.

use paracompile_plan::front::{EnergyAxis, Front};
use paracompile_plan::plan::Strategy;

use super::axis::{round_number, time_unit};
use super::canvas::{Canvas, HPos, Lettering, Mark, Point, VPos};
use super::palette::{ACCENT, INK, SOFT, strategy, tint};
use super::pareto::{
    BASELINE, LEFT, LEGEND, LINE, LOWER, PALE, UPPER, Vertical, WIDTH, is_near, knows_energy,
};

pub(super) fn draw_heading(canvas: &Canvas<'_>, front: &Front) {
    let left = (HPos::Left, VPos::Center);
    let room = f64::from(WIDTH) - LEFT - 20.0;
    let heading = Lettering::bold(17.0, INK);
    let title = format!("{} on {}", front.model, front.soc);
    let title = heading.fit(&title, room).unwrap_or_default();
    canvas.text(&title, (LEFT, 28.0), left, heading);
    let energy = match front.energy {
        EnergyAxis::ByProduct | EnergyAxis::Objective if !knows_energy(front) => {
            "energies are unknown"
        }
        EnergyAxis::ByProduct => "energy is what the mappings chosen by time take",
        EnergyAxis::Objective => "energy is an objective",
    };
    let plans = match front.plans.len() {
        1 => "1 plan".to_owned(),
        count => format!("{count} plans"),
    };
    let subtitle = format!(
        "{plans} on the front of {} mappings; {energy}",
        front.candidates
    );
    let look = Lettering::plain(12.0, SOFT);
    let subtitle = look.fit(&subtitle, room).unwrap_or_default();
    canvas.text(&subtitle, (LEFT, 52.0), left, look);
}

/// What marks, line and dots mean, and what lies outside.
pub(super) fn draw_legend(canvas: &Canvas<'_>, front: &Front, outside: usize) {
    let text = Lettering::plain(12.0, INK);
    let left = (HPos::Left, VPos::Center);
    let mut y = UPPER.top + 10.0;
    let bottom = if Vertical::Energy.is_known(front) {
        LOWER.bottom
    } else {
        UPPER.bottom + 40.0
    };
    let mut entry = |draw: &dyn Fn(Point), label: &str| {
        if y > bottom {
            return;
        }
        draw((LEGEND + 12.0, y));
        let room = f64::from(WIDTH) - LEGEND - 34.0;
        let label = text.fit(label, room).unwrap_or_default();
        canvas.text(&label, (LEGEND + 30.0, y), left, text);
        y += 23.0;
    };
    for of in [
        Strategy::Single,
        Strategy::ParaOnly,
        Strategy::PipeOnly,
        Strategy::Hybrid,
    ] {
        let plans = front.plans.iter().filter(|plan| plan.strategy == of);
        let count = plans.count();
        let (colour, mark) = strategy(of);
        if count > 0 {
            let label = format!("{} ({count})", of.name());
            entry(&|at| canvas.mark(mark, at, 5.5, colour), &label);
        }
    }
    if !front.baselines.is_empty() {
        entry(
            &|at| canvas.mark(Mark::Cross, at, 6.0, BASELINE),
            "baseline",
        );
    }
    for baseline in &front.baselines {
        if let Some(plan) = baseline.name.strip_prefix("twin:") {
            entry(&|_| (), &format!("{}: plan {plan} with", baseline.name));
            entry(&|_| (), "the run's own points");
        }
    }
    entry(&|at| canvas.ring(at, 9.0, ACCENT), "recommended");
    entry(
        &|(x, y)| canvas.line(&[(x - 9.0, y), (x + 9.0, y)], LINE, 2),
        "best of these two",
    );
    if let Some(cloud) = &front.cloud {
        let pale = |of: Strategy, (x, y): Point| {
            let (colour, mark) = strategy(of);
            canvas.mark(mark, (x, y), 2.6, tint(colour, PALE));
        };
        entry(
            &|(x, y)| {
                pale(Strategy::PipeOnly, (x - 7.0, y));
                pale(Strategy::ParaOnly, (x, y));
                pale(Strategy::Hybrid, (x + 7.0, y));
            },
            "other mappings",
        );
        if cloud.width > 0.0 {
            let label = format!("alike within {}%:", round_number(cloud.width * 100.0));
            entry(&|_| (), &label);
            entry(&|_| (), "only one is drawn");
        }
        if outside > 0 {
            let lie = if outside == 1 { "lies" } else { "lie" };
            entry(&|_| (), &format!("{outside} more {lie} outside"));
            entry(&|_| (), "the panel");
        }
    }
    for far in front
        .baselines
        .iter()
        .filter(|b| !is_near(front, &b.figures))
    {
        let (unit, per_second) = time_unit(far.figures.latency_s);
        let latency = round_number(far.figures.latency_s * per_second);
        let throughput = round_number(far.figures.throughput_fps);
        entry(
            &|at| canvas.mark(Mark::Cross, at, 6.0, tint(BASELINE, 0.5)),
            &far.name,
        );
        entry(&|_| (), &format!("outside: {latency} {unit},"));
        let energy = if knows_energy(front) {
            format!(", {} J", round_number(far.figures.energy_active_j))
        } else {
            String::new()
        };
        entry(&|_| (), &format!("{throughput} fps{energy}"));
    }
}
