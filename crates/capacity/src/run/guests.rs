//! What a run needs before its tenants can be virtual machines.

use std::rc::Rc;

use tiermark_model::Refusal;
use tiermark_model::messages::capacity as messages;

use super::{Event, Run, ended};
use crate::backend::{Hypervisor, Qemu, TenantMemory};
use crate::cgroup::{Budget, Layout};
use crate::saved::SavedRun;
use crate::scenario::{Backend as Kind, Scenario};

impl Run<'_, '_> {
    /// Makes what virtual machines boot, and finds out whether KVM works: by booting one, since a device that is there
    /// says nothing.
    pub(super) fn prepare(&mut self, scenario: &Scenario, saved: &SavedRun) -> Result<(), Refusal> {
        if scenario.backend != Kind::Qemu {
            return Ok(());
        }
        let (shape, server) = (scenario.guest(), &scenario.tenant.server);
        let hypervisor = Rc::new(Hypervisor::prepare(&self.setup.guest, server, shape)?);
        let failed = match (self.layout(scenario)?, Hypervisor::may_have_kvm()) {
            (Some(layout), true) => self.try_kvm(layout, &hypervisor, scenario, saved)?,
            _ => Some("there is no /dev/kvm".to_owned()),
        };
        match failed {
            None => hypervisor.use_kvm(),
            Some(why) => (self.tell)(&Event::Warning(&messages::emulated(&why))),
        }
        self.hypervisor = Some(hypervisor);
        Ok(())
    }

    /// Boots a machine with KVM, in a group that has room for two. `None` where it works.
    fn try_kvm(
        &self,
        layout: Layout,
        hypervisor: &Rc<Hypervisor>,
        scenario: &Scenario,
        saved: &SavedRun,
    ) -> Result<Option<String>, Refusal> {
        let mut system = self.system(saved, "trying KVM")?;
        let budget = Budget { memory: scenario.vm_memory().saturating_mul(2), swap: true };
        let room = TenantMemory { budget, near: u32::MAX, nodes: None };
        let mut backend = Qemu::new(layout, Rc::clone(hypervisor), room, Vec::new());
        let tried = backend.try_kvm(self.environment.stop, &mut system);
        ended(Box::new(backend), system, tried)
    }
}
