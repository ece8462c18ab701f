//! What an operator with branches or a body runs, for those that stay one operator.

use paracompile_plan::OpClass;

use super::Work;

/// The alternatives of an operator: one of them runs, and which one is not known, so it costs what the dearest does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Control {
    /// What runs, in order.
    pub alternatives: Vec<Vec<Step>>,
}

/// One operator inside, so many times.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// How often it runs.
    pub times: u64,
    /// What it costs like.
    pub class: OpClass,
    /// Its arithmetic and traffic.
    pub work: Work,
    /// What it runs itself, if it has branches or a body too.
    pub control: Option<Control>,
}

impl Control {
    /// The most multiply-accumulates and other floating-point operations of an alternative.
    pub fn operations(&self) -> (u64, u64) {
        let totals = self.alternatives.iter().map(|steps| {
            let total = |of: fn(&Step) -> u64| {
                steps.iter().fold(0_u64, |sum, step| {
                    sum.saturating_add(of(step).saturating_mul(step.times))
                })
            };
            (
                total(|step| step.work.macs),
                total(|step| step.work.other_flops),
            )
        });
        totals.fold((0, 0), |most, total| {
            (most.0.max(total.0), most.1.max(total.1))
        })
    }
}
