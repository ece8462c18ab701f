//! Task components in the plan of a clustering: which kernels go to one processor together.

use paracompile_plan::Plan;
use paracompile_plan::plan::KernelComponent;

/// Writes the component of each kernel into the task that launches it; `components` are by kernel, and where there are none the plan stays as it is.
///
/// # Panics
/// If the plan is of another graph: the driver hands over what belongs together.
pub fn name_components(plan: &mut Plan, components: &[KernelComponent]) {
    if components.is_empty() {
        return;
    }
    for task in &mut plan.tasks {
        let node = task.operators.first().map(|operator| operator.node);
        let node = node.expect("a task runs an operator");
        if let Some(kernel) = &mut task.kernel {
            kernel.component = Some(components[node as usize]);
        }
    }
}
