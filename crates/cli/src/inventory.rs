//! Servers of an Ansible inventory (`--inventory`, `--group`): Ansible reads the inventory, whatever its kind.

use std::process::Command;
use std::time::Duration;

use clap::Args;
use tiermark_load::{Address, MOST_INVENTORY_BYTES, servers_of};
use tiermark_model::messages::load as says;
use tiermark_model::messages::undo::codes;
use tiermark_model::{Note, Refusal};
use tiermark_undo::output_until;

use crate::signals::Stop;

/// An inventory of a cloud is made of many answers of its servers.
const MOST: Duration = Duration::from_secs(120);

/// The options that name tenants by an inventory.
#[derive(Debug, Clone, Default, Args)]
pub(crate) struct InventoryArgs {
    /// Ansible inventory whose hosts are the servers, in place of --target (needs ansible-core)
    ///
    /// A file, a directory or a list of hosts, as for ansible -i; `ansible-inventory` reads it. The address of a server
    /// is ansible_host, else the host's name; its port is the variable tiermark_port, else redis_port, else 6379.
    #[arg(hide_short_help = true, long, value_name = "INVENTORY", requires = "group", conflicts_with = "targets")]
    pub(crate) inventory: Option<String>,
    /// Group of --inventory whose hosts are used, with those of the groups in it
    #[arg(hide_short_help = true, long, value_name = "GROUP", requires = "inventory")]
    pub(crate) group: Option<String>,
}

impl InventoryArgs {
    /// The hosts of the group by name, with their servers, in the order of the inventory; none without `--inventory`.
    ///
    /// # Errors
    /// A [`Refusal`] if Ansible is missing, fails or is stopped, or if the group has no usable hosts. None quotes the
    /// output of Ansible, which may hold passwords.
    pub(crate) fn servers(&self, stop: &Stop) -> Result<Vec<(String, Address)>, Refusal> {
        let (Some(inventory), Some(group)) = (&self.inventory, &self.group) else { return Ok(Vec::new()) };
        let mut command = Command::new("ansible-inventory");
        command.arg(format!("--inventory={inventory}")).arg("--list");
        let listed = output_until(command, MOST, MOST_INVENTORY_BYTES, &|| stop.exit().is_some());
        servers_of(&listed.map_err(|problem| failed(inventory, problem))?, group)
    }
}

fn failed(inventory: &str, problem: Note) -> Refusal {
    match problem.code {
        code if code == codes::command_not_started => says::inventory_program_missing(inventory),
        code if code == codes::command_said => {
            says::inventory_failed(inventory, &says::inventory_command_failed().text)
        }
        _ => says::inventory_failed(inventory, &problem.text),
    }
}
