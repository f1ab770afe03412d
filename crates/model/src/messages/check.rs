//! Messages of `check`: mistakes in an expectation, and why one could not be judged.

use super::rows::messages;
use crate::written::count_of;
use crate::{IdSet, near, nearest};

messages! {
    /// A name that expectations do not have. Characters count from 1.
    Note name_unknown(at: usize, name: &str, known: &[&str]):
        {
            let meant = match near(name, known) {
                Some(_) => nearest(name, known),
                None => "; `tiermark check --list` shows the names".to_owned(),
            };
            format!("character {at}: unknown name '{name}'{meant}")
        };

    Note span_missing(at: usize, name: &str):
        "character {at}: '{name}' lacks its cores: write {name}.one (one core) or {name}.all (all cores)";

    Note operand_expected(at: usize, found: &str):
        { format!("character {at}: expected a number or a name{}", instead(found)) };

    Note operator_expected(at: usize, found: &str):
        { format!("character {at}: expected x, / or one of <= >= < > == !={}", instead(found)) };

    Note comparison_missing(): "no comparison: write, for example, \"latency.dram <= 120 ns\"";

    Note expectation_without_name(): "no figure is named: write, for example, \"latency.dram <= 120 ns\" (`tiermark \
        check --list`)";

    Note comparison_twice(at: usize): "character {at}: compare once; write a second expectation for the second limit";

    Note number_wrong(at: usize, text: &str): "character {at}: '{text}' is not a number";

    Note unit_unknown(at: usize, unit: &str, known: &[&str]):
        {
            match near(unit, known) {
                Some(_) => format!("character {at}: unknown unit '{unit}'{}", nearest(unit, known)),
                None => format!("character {at}: unknown unit '{unit}'; units are {}", known.join(", ")),
            }
        };

    Note units_differ(left: &str, right: &str):
        "the left side is {left}, the right side {right}: give a number its unit, as in 120 ns, 30 GB/s or 4800 MT/s; \
         put a text between quotes";

    /// A text in a product, or compared otherwise than with `==` and `!=`.
    Note text_not_calculated(): "a text can only be compared, with == or !=: write, for example, 'kernel == \"6.8.0\"'";

    Note expectation_too_long(most: usize): "longer than {most} characters or parts: write several expectations";

    Note no_expectations(): "no expectation: write [[expect]], and below it that = \"latency.dram <= 120 ns\"";

    Note too_many_expectations(most: usize): "a file can have at most {most} expectations: write several files";

    Note expectation_no_table(): "write each expectation as [[expect]]";

    Note figure_not_measured(name: &str, command: &str): "{name} was not measured: run `tiermark {command}`";

    Note figure_refused(name: &str, why: &str, cure: &str):
        {
            let cure = if cure.is_empty() { String::new() } else { format!(". To measure it, {cure}") };
            format!("{name} was refused: {why}{cure}")
        };

    Note second_core_lacking(name: &str, cpus: &IdSet):
        "{name} cannot be measured: it needs two cores, and the process may use one (cpus {cpus}; taskset or \
         cpuset.cpus allow more, where the machine has more)";

    Note other_memory_forbidden(name: &str, memory: &IdSet, set_by: Option<&str>):
        {
            let cure = set_by.map_or_else(|| "allow it more nodes".to_owned(), |file| format!("{file} sets this"));
            format!("{name} cannot be measured: the process may use memory of node {memory} only ({cure})")
        };

    Note cycles_unknown(name: &str):
        "{name} is not known: the clock of the core was not measured beside it, or the cache has a clock of its own";

    Note clock_unknown(): "the clock of the cores was not measured";

    Note interruptions_unknown(): "the cpus were not watched for interruptions";

    Note no_own_memory(name: &str, memory: &IdSet, homes: &IdSet):
        "{name} cannot be measured: all memory that the process may use is of node {memory}, its cpus are of \
         node {homes} (`tiermark doctor` names the cure; expectations of remote memory are judged)";

    Note no_such_memory(name: &str, nodes: usize):
        { format!("{name}: this machine has no such memory ({})", count_of(nodes as u64, "node")) };

    Note figure_withheld(name: &str, reasons: &[String]):
        { format!("{name} was withheld{}", because(reasons)) };

    Note figure_suspect(name: &str, reasons: &[String]):
        { format!("{name} is suspect{}", because(reasons)) };

    Note bound_does_not_decide(): "this bound does not decide: measure again on a quiet machine, or with --full";

    Note shared_may_pass(): "other programs ran, and the interval reaches the limit: run it again on a quiet machine";

    Note fewer_cores(name: &str, used: u64, cores: u64):
        { format!("{name} was measured on {used} of {}, so it is a lower bound", count_of(cores, "core")) };

    Note peak_is_upper_bound(): "the theoretical peak is an upper bound: slot names do not show which modules share \
        a channel";

    Note cores_offline(nodes: &IdSet, cpus: &IdSet):
        "cores of node {nodes} are offline, and the others may not fill its memory channels; offline cpus: {cpus} \
         (echo 1 > /sys/devices/system/cpu/cpuN/online)";

    /// A module that runs at the rated speed of slower modules. The speed is in transfers a second.
    Note module_held_back(name: &str, transfers: f64, slower: &str):
        { format!("{name}, held back by {slower}: rated at only {:.0} MT/s", transfers / 1e6) };

    Note check_peak_unknown():
        "the theoretical peak is not known: it follows from the memory modules (SMBIOS), which only root can read and \
         some boards do not describe";

    Note check_peak_of_guest(hypervisor: &str):
        "the theoretical peak is not known: the machine is a guest of {hypervisor}";

    Note check_peak_of_nodes(nodes: &str):
        "the theoretical peak of node {nodes} alone is not known";

    Note link_unknown(): "the links between sockets are not known for this processor, or the machine has one socket";

    Note check_link_of_guest(hypervisor: &str):
        "what links between sockets carry is not known: the machine is a guest of {hypervisor}";

    Note link_is_upper_bound(): "the limit assumes that the board wires all links of the processor; it may wire fewer";

    Note needs_two_sockets(sockets: usize, offline: &IdSet):
        {
            let offline = match offline.is_empty() {
                true => String::new(),
                false => format!(", by their online cpus; offline cpus: {offline}"),
            };
            format!(
                "links and distances are compared on machines of two sockets only; sockets of this one: \
                 {sockets}{offline}"
            )
        };

    Note needs_two_nodes(): "this machine has memory on one node only";

    Note needs_whole_sockets(): "firmware splits each socket into several nodes, whose memory is not equally far";

    Note needs_one_kind_of_core(): "the cores are of several kinds, which differ in the bytes of a cycle";

    Note needs_one_module_a_channel():
        "which modules share a memory channel is not known: the sum of each channel counts, not the size of a module";

    Note needs_uneven_channels():
        "each socket has an even number of memory channels with modules, or their number is not known";

    Note not_examined(): "the run has no check-up of the machine: an older tiermark made it";

    Note node_sizes_unknown(): "the memory of each node is not reported";

    Note nothing_compared(): "the soak compared no memory, or did not prove that it would find an error";

    Note soak_too_short(): "the soak was too short to judge its speed: fewer than 20 samples of reading";

    Note soak_not_covered(): "the soak did not compare all planned memory: give it more time (--time)";

    Note soak_ended_early(why: &str): "the soak ended early: {why}";

    Note needs_bare_metal(hypervisor: &str):
        "the machine is a guest of {hypervisor}, which may declare other hardware and shares it with other guests";

    Note modules_unknown(what: &str): "{what} of the memory modules is not known: `tiermark machine` says why (only \
        root can read SMBIOS, and guests have no real modules)";

    Note modules_stated_in_part(what: &str, stated: usize, all: usize):
        "firmware states {what} of {stated} of {all} memory modules only";

    Note modules_not_listed():
        "firmware (SMBIOS) does not list all memory modules: the kernel has more memory than the listed ones hold";

    Note channels_unknown():
        "memory channels are not known: they are derived from slot names (SMBIOS, which only root can read) and the \
            processor's family";

    Note fact_not_reported(name: &str): "{name} is not reported by this system";

    Note size_not_resolved(tier: &str, reasons: &[String]):
        { format!("the size of {tier} was not measured{}", because(reasons)) };

    Note core_limit_unknown():
        "the limits of this processor's cores are not known: its family is not in the table (`tiermark machine -v`), \
         or a hypervisor hides it";

    Note record_unknown():
        "the machine has no record of these figures: its first run makes one; simulated runs, --no-save and \
         --no-record have none";

    Note errors_not_reported():
        "the run has no counts of memory errors: no EDAC driver was loaded (guests have none), or an older tiermark \
            made it";

    Note throttling_not_reported():
        "the run has no counts of throttling: only Intel processors outside of guests have them, or an older \
            tiermark made it";

    Note counter_lost(name: &str): "{name}: the counter could not be read at the end of the run";

    Note backing_unknown(): "the page size is not proven for any figure of memory on huge pages";

    Note base_pages_requested(): "the run used base pages (`--pages base`): no figure of memory requested huge pages";

    Note no_common_place(): "the two sides were not measured at the same place";

    Note quotient_undefined(): "the divisor is 0";

    Note too_many_places(most: usize): "more than {most} pairs of places, the most that `check` compares";
}

/// What was found instead.
fn instead(found: &str) -> String {
    if found.is_empty() { ", but the text ends".to_owned() } else { format!(", not '{found}'") }
}

fn because(reasons: &[String]) -> String {
    if reasons.is_empty() { String::new() } else { format!(": {}", reasons.join("; ")) }
}
