//! Messages about counters of traffic: sources that cannot be opened, and what is wrong with their events.

use super::rows::messages;
use crate::CounterSight;

/// Event sources that a sentence names.
const NAMED: usize = 4;
const CONTROLLERS: &str = "counters of memory controllers (perf)";
const MONITORING: &str = "memory bandwidth monitoring (resctrl)";
const PORT: &str = "host system management port (hsmp)";
const CORES: &str = "misses of cores in the last-level cache (core)";
const SEND: &str = "`tiermark machine --capture FILE` writes a description to send; docs/COUNTERS.md says where and \
    how to add the events";

messages! {
    /// A machine without event sources of memory.
    Refusal no_pmu():
        { CONTROLLERS }, "the kernel has no event source of a memory controller in /sys/bus/event_source/devices, as \
            in virtual machines",
        "in a virtual machine, count on its host; else load the module of the processor: `sudo modprobe \
            intel_uncore` (amd_uncore, arm_cmn, arm_dmc620_pmu, nvidia_cspmu)";

    /// A processor whose events are not known.
    Refusal events_unknown(cpu: &str, sources: &[String]):
        { CONTROLLERS }, { format!("the events of {cpu} are not known; its sources are {}", listed(sources)) }, { SEND };

    /// Event sources whose formats lack a term that the events need.
    Refusal format_lacks(source: &str, why: &str):
        { CONTROLLERS }, "{source} does not take the events that its processor's family has: it {why}", { SEND };

    /// A user who may not count.
    Refusal denied(paranoid: Option<i64>, error: &str):
        { CONTROLLERS },
        {
            let level = paranoid.map_or_else(String::new, |level| format!(": kernel.perf_event_paranoid is {level}, \
                and this process has no CAP_PERFMON"));
            format!("{error}{level}")
        },
        "run as root, or `sudo setcap cap_perfmon=ep PROGRAM`, or `sudo sysctl kernel.perf_event_paranoid=0` (in a \
            container: on its host)";

    /// Event sources that refuse every event.
    Refusal none_opened(error: &str):
        { CONTROLLERS }, { format!("the kernel opened no event of memory{}", if error.is_empty() { String::new() } else { format!(": {error}") }) }, { SEND };

    /// A captured machine, on which nothing can be opened.
    Refusal not_this_machine(source: &str):
        "{source}", "this is a description of a machine, so nothing was opened", "run `tiermark list counters` on \
            the machine";

    /// A processor that does not count the traffic of groups.
    Refusal no_bandwidth_monitoring():
        { MONITORING }, "the processor or the hypervisor has no counters of memory traffic for resctrl (cqm_mbm_total)",
        "no action is possible; Xeon from Broadwell and EPYC from Zen 2 have them outside of virtual machines";

    /// The file system of monitoring groups is not mounted.
    Refusal resctrl_not_mounted(path: &str):
        { MONITORING }, "{path} is not mounted", "`sudo mount -t resctrl resctrl {path}`";

    /// A monitoring group that cannot be made.
    Refusal monitoring_group_refused(group: &str, error: &str):
        { MONITORING }, "{group}: {error}", "run as root; if all monitors are in use, another program must give up a \
            group of its own";

    /// Monitoring groups that are there, and that were not tried since that makes one.
    Refusal group_not_made():
        { MONITORING }, "opening it makes a monitoring group, so that it was not tried", "";

    /// A source that is a file of another program.
    Refusal needs_a_file(program: &str, source: &str):
        "the output of {program}", "it is a file that {program} writes", "name the file: `--counters-from \
            {source}=FILE`";

    /// A kernel's name of an event that counts only a part.
    Note partial_alias(source: &str, alias: &str):
        "{source}: the kernel's event {alias} counts one of two sub-channels, so that perf and tools that use it see \
            half of the traffic; tiermark counts both";

    /// A kernel's name of an event that stands for another event than the family's.
    Note alias_differs(source: &str, alias: &str):
        "{source}: the kernel's event {alias} differs from the event that tiermark counts";

    /// A cpu that a source is to be opened on and that is offline.
    Note source_cpu_offline(source: &str, cpu: u32):
        "{source}: cpu {cpu} is offline, so that its socket is not counted";

    /// An event source that cannot take an event of its family.
    Note source_lacks_format(source: &str, why: &str):
        "{source} does not take an event that its processor's family has, and does not count it: it {why}";

    /// Boxes that have a name and are not there.
    Note boxes_absent(boxes: u64):
        { crate::written::count_of(boxes, "event source") + " cannot be opened: this processor lacks the box behind" };

    /// A program that sets the same counters.
    Note other_monitor(pid: u32, name: &str):
        "{name} (process {pid}) may set the same counters, so that their counts jump";

    /// Counts that another program writes at times of its own.
    Note counts_come_late(program: &str):
        "{program} counts in intervals of its own: traffic within one interval cannot be separated";

    /// A processor or system without the host system management port.
    Refusal hsmp_absent():
        { PORT }, "there is no /dev/hsmp", "on EPYC from Zen 3, outside of virtual machines: `sudo modprobe \
            amd_hsmp` (hsmp_acpi on newer systems)";

    /// The port does not answer.
    Refusal hsmp_refused(error: &str):
        { PORT }, "/dev/hsmp: {error}", "update the firmware; messages 0Fh and 14h need version 3 of the port";

    /// The port states a peak that cannot be.
    Refusal hsmp_implausible(socket: u32, most: f64, clock: f64):
        { PORT }, "socket {socket} states a peak of {most} GB/s at a memory clock of {clock} MHz, which no processor \
            has",
        { SEND };

    /// Counts that are sums of rates.
    Note rates_are_sampled():
        "the firmware states a rate, in whole GB/s, over a time that AMD does not document: counts are rates times \
            the time between readings, and mean nothing for less than a second";

    /// A server that does not answer.
    Refusal pcm_server_refused(address: &str, error: &str):
        "pcm-sensor-server", "http://{address}/metrics: {error}", "start it as root: `sudo pcm-sensor-server`";

    /// A server that does not answer in time, or with a failure of its own.
    Refusal pcm_server_failed(address: &str, error: &str):
        "pcm-sensor-server", "http://{address}/metrics: {error}", "see its log, or start it again";

    /// A server of another program.
    Refusal pcm_server_is_another(address: &str, why: &str):
        "pcm-sensor-server", "http://{address}/metrics: {why}", "name where pcm-sensor-server listens: \
            `--counters-from http://HOST:PORT`";

    /// A server whose counts are of no use.
    Refusal pcm_server_counts_nothing(address: &str, why: &str):
        "pcm-sensor-server", "http://{address}/metrics: {why}", "stop other programs that use the counters; in a \
            virtual machine, run pcm-sensor-server on the host";

    /// A file that another program than the named one writes.
    Refusal counts_of_another_program(source: &str, named: &str, found: &str):
        "{source}", "it has no counts in the form of {named}; it looks like the output of {found}", "`--counters-from {found}={source}`";

    /// Samples without traffic, and why the first source does not open.
    Note watch_without_traffic(why: &str):
        "there is no column of memory traffic, because no source of counters opened: {why}; `tiermark list counters` \
            shows all sources";

    /// Counters that a user requires and that never counted.
    Refusal nothing_came(source: &str, cause: &str):
        "counters of memory traffic", "{source} counted nothing during the watch: {cause}",
        "name another source (`tiermark list counters`), or leave out `--counters require` and `--counters-from`";

    /// The same after so short a time that the source may be healthy.
    Note watch_too_short_for_counts(source: &str):
        "{source} had no new counts during the watch, which was too short: a source writes counts about once a \
         second, or when it ends; watch for 5 s or longer";

    /// A source whose counts have stopped.
    Note counts_stopped(source: &str, since: &str, seconds: u64):
        { format!("no new counts of {source} since {since}, for {}", ago(seconds)) };

    /// The same once they go on.
    Note counts_resumed(source: &str):
        "{source} counts again";

    /// A file that is empty.
    Note file_is_empty(program: &str):
        "the file is empty: {program} has written nothing";

    /// Cores that do not count their misses.
    Refusal no_core_misses(error: &str):
        { CORES }, "the kernel does not count reads that missed the last-level cache: {error}",
        "no action is possible on EPYC; in a virtual machine, the host must give it a PMU";

    /// A user who may not count the events of cores.
    Refusal cores_denied(paranoid: Option<i64>, error: &str):
        { CORES },
        {
            let level = paranoid.map_or_else(String::new, |level| format!(": kernel.perf_event_paranoid is {level}, \
                and this process has no CAP_PERFMON"));
            format!("{error}{level}")
        },
        "run as root, or `sudo setcap cap_perfmon=ep PROGRAM`, or `sudo sysctl kernel.perf_event_paranoid=0` (in a \
            container: on its host)";

    /// Counts that are a lower bound.
    Note only_core_misses(stores: bool):
        {
            let what = if stores { "loads and stores" } else { "loads" };
            format!("counts are a lower bound: {what} of cores that missed the last-level cache, times 64 bytes, \
                without hardware prefetches, written lines and devices; lines from caches of other sockets are \
                included")
        };

    /// Counts that are a multiple or a part of what a known stream moved.
    Note counts_by_factor(of: &str, factor: f64, ratio: f64):
        "{of}: {ratio:.2} are counted for each byte of a known stream, close to {factor:.2}: the events count a \
            part, or the same traffic twice";

    /// Counts that differ from what a known stream moved.
    Note counts_off(of: &str, ratio: f64):
        "{of}: {ratio:.2} are counted for each byte of a known stream, which has no known reason; other programs \
            used the memory, or the events are wrong";

    /// A stream that no box counted.
    Note nothing_counted():
        "no counter of the socket counted a known stream to its memory";

    /// A channel that counts nothing.
    Note box_silent(unit: &str, socket: Option<u32>):
        { format!("{unit}{} counted nothing of a known stream although its clock ticks", on(socket)) };

    /// Counts of boxes of a socket that are 0 and cannot be.
    Note boxes_stay_zero(units: &[String], socket: Option<u32>, counts: CounterSight, beside: f64):
        {
            format!(
                "{}{} counted no {} while memory moved {:.1} GB/s: counters that do not work or have stopped, or no \
                    modules there; these counts are not used",
                listed(units), on(socket), of_sight(counts), beside / 1e9
            )
        };

    /// Boxes of a socket that count reads or writes alone.
    Note boxes_count_a_part(units: &[String], socket: Option<u32>, counts: CounterSight):
        { format!("{}{} counted only {}: sums of reads and writes that need these places are left out", listed(units), on(socket), of_sight(counts)) };

    /// Boxes of a socket whose counts are missing.
    Note boxes_lost(units: &[String], socket: Option<u32>):
        { format!("{}{}: the source no longer counts there, so sums that need these counts are left out", listed(units), on(socket)) };

    /// Boxes of a socket whose counts went back.
    Note boxes_set_back(units: &[String], socket: Option<u32>):
        {
            format!(
                "{}{}: counts fell, so no rate can be computed: another program reset them, or the source restarted",
                listed(units), on(socket)
            )
        };

    /// Boxes of a socket whose counters never had their turn.
    Note boxes_without_turn(units: &[String], socket: Option<u32>):
        {
            format!(
                "{}{}: other programs use the counters (stop these programs); sums that need these counts are left out",
                listed(units), on(socket)
            )
        };

    /// Boxes of a socket that counted more than they can carry.
    Note boxes_impossible(units: &[String], socket: Option<u32>, rate: f64):
        { format!("{}{} counted {:.0} GB/s, more than it can carry: these counts are not used", listed(units), on(socket), rate / 1e9) };

    /// Fewer channels with traffic than with modules.
    Note few_boxes(boxes: u64, channels: u64):
        "{boxes} of {channels} channels with modules counted a known stream";

    /// A channel whose counters did not count all the time.
    Note box_interrupted(unit: &str, socket: Option<u32>):
        { format!("{unit}{} did not count a known stream all the time: its counters take turns, or another program \
            sets or stops them", on(socket)) };

    /// A channel that counts what it cannot carry.
    Note box_phantom(unit: &str, socket: Option<u32>):
        { format!("{unit}{} counted what a known stream did not cause, or more than a channel carries", on(socket)) };

    /// Counts that a run requires and that its check found wrong.
    Refusal counts_of_no_use(source: &str, faults: &str):
        "--counters require", "the counts of {source} disagree with a known stream: {faults}",
        "`--counters auto` measures all the same, and `--counters-from` names another source";

    /// A file with counts that cannot be read.
    Refusal counts_unreadable(source: &str, error: &str):
        "{source}", "{error}", "name a file that the program writes now";

    /// A file of another program that was written long ago.
    Note file_is_old(file: &str, seconds: u64, program: &str):
        { format!("{file} was last written {} ago; is {program} still running?", ago(seconds)) };

    /// A file of another program that no longer grows.
    Note file_does_not_grow(file: &str, seconds: u64, program: &str):
        { format!("no new line in {file} for {}; is {program} still running?", ago(seconds)) };

    /// Outputs of likwid whose metrics of memory are no numbers.
    Refusal likwid_uncounted(source: &str, metric: &str, group: &str, cell: &str):
        "{source}", "likwid could not count all channels: '{metric}' of the group {group} is '{cell}'",
        "run likwid-perfctr as root with the access daemon or direct access, and stop other programs that use the \
         counters; `likwid-perfctr -i` says which counters the processor has";

    /// A column of another program's output without a number.
    Note no_number(column: &str, cell: &str, program: &str):
        {
            let cause = match cell.contains(',') && cell.contains('.') {
                true => format!("it has a separator of thousands: run {program} with LC_ALL=C"),
                false => format!("{program} could not read all its counters; run it as root, and stop other programs \
                    that use the counters"),
            };
            format!("'{column}' is '{cell}', which is no count: {cause}")
        };

    /// Lines of another program's output without counts, and why the first has none.
    Note lines_skipped(lines: u64, program: &str, first: &str):
        {
            let lines = crate::written::count_of(lines, "line");
            format!("{lines} of {program} without counts: traffic of that time is missing; cause of the first: {first}")
        };

    /// A sum that a program states itself, and that its parts contradict.
    Note sums_differ(program: &str, stated: f64, parts: f64):
        { format!("{program} states {:.1} GB/s for the machine (System), but its parts add up to {:.1} GB/s: a part \
            is missing or counted twice; figures are those of the parts", stated / 1e9, parts / 1e9) };

    /// A socket whose traffic another program states as 0 from some line on.
    Note socket_reads_zero(program: &str, socket: u32, since: &str):
        "{program} has stated no traffic of socket {socket} since {since}, while other sockets have some: \
         the counters of that socket may have stopped, or the socket is idle";

    /// Outputs of likwid whose sockets are not known.
    Note likwid_sockets_unknown(counting: u64, threads: u64):
        "{counting} of {threads} threads of likwid counted memory, one for each socket; they are not cpus of this \
         machine, so a socket whose counters do not work is not noticed";

    /// A line of another program's output without any number.
    Note cells_empty(program: &str):
        "all cells of memory are empty: {program} could not read its counters; run it as root, and stop other \
            programs that use the counters";

    /// Lines whose times do not rise.
    Note time_of_lines(is_older: bool):
        {
            let course = if is_older { "runs backwards" } else { "stands still" };
            format!("the time of its lines {course}, so no rate can be computed: more than one program may write them")
        };

    /// A line of another width than its header.
    Note row_width(cells: usize, header: usize, program: &str):
        {
            let cause = match cells < header {
                true => "the line is cut".to_owned(),
                false => format!(
                    "the header is cut, or the decimal sign is a comma, as cells are separated: run {program} with \
                        LC_ALL=C"
                ),
            };
            format!("a line has {cells} cells, its header {header}: {cause}")
        };

    /// A line whose time makes no sense.
    Note no_time_of_day(cell: &str, program: &str):
        "'{cell}' is no time of the day, as {program} writes it (03:04:05.123)";

    /// A file that may get counts later.
    Note no_counts_yet(program: &str):
        "the file has no counts yet: counting begins with the next line that {program} writes";

    /// Counts of a server that no longer change.
    Note counts_stand_still(program: &str, seconds: u64):
        "no count of memory of {program} has changed for {seconds} s, which no running system has: its counters are \
         stopped, or it hangs; start it again";

    /// A count that no counter has.
    Note count_unusable(unit: &str, socket: Option<u32>, program: &str):
        { format!("{program} writes a value for {unit}{} that no counter has: there is no sum with it", on(socket)) };

    /// Outputs of likwid whose time is 0.
    Refusal likwid_no_time(source: &str, group: &str):
        "{source}", "the time of the group {group} is 0: likwid-perfctr measured no time",
        "measure a program, or a region, that runs longer";

    /// Outputs of likwid with more or fewer values than threads.
    Refusal likwid_row_width(source: &str, metric: &str, values: usize, threads: usize):
        "{source}",
        {
            let commas = "the decimal sign is a comma, as cells are separated";
            let cause = if values < threads { "the line is cut" } else { commas };
            format!("'{metric}' has {values} values for {threads} threads: {cause}")
        },
        "use the file as `likwid-perfctr -O` writes it, with LC_ALL=C";

    /// Counts that are all zero.
    Note all_zero(program: &str):
        "{program} counted nothing at all: every count of memory is 0, which no running system has; in a virtual \
         machine, or without the rights to program the counters, {program} writes zeros";

    /// Columns of memory that is not DRAM.
    Note other_memory_left_out(columns: &[String]):
        { format!("figures are of DRAM: the traffic of other memory ({}) is left out", listed(columns)) };

    /// Outputs of likwid whose groups do not count memory.
    Refusal likwid_without_memory(source: &str, groups: &str):
        "{source}", "its groups ({groups}) do not state all bytes of memory ('Memory data volume [GBytes]')", "run likwid-perfctr with `-g MEM`, or name another source";

    /// The same, of an output that came later.
    Note no_memory_group(groups: &str):
        "its groups ({groups}) do not state all bytes of memory ('Memory data volume [GBytes]'); run likwid-perfctr \
            with `-g MEM`";

    /// A value of a file of events that cannot be.
    Note event_file_value(why: &str):
        "{why}";
}

/// The socket of a box, if it is known.
fn on(socket: Option<u32>) -> String {
    socket.map_or_else(String::new, |socket| format!(" of socket {socket}"))
}

/// What of reads and writes is counted.
fn of_sight(counts: CounterSight) -> &'static str {
    match counts {
        CounterSight::Reads => "reads",
        CounterSight::Writes => "writes",
        _ => "reads and writes",
    }
}

/// A time of seconds to days.
fn ago(seconds: u64) -> String {
    match seconds {
        0..600 => format!("{seconds} s"),
        600..36_000 => format!("{} minutes", seconds / 60),
        36_000..172_800 => format!("{} hours", seconds / 3600),
        _ => format!("{} days", seconds / 86_400),
    }
}

/// The first names, and how many more there are.
fn listed(names: &[String]) -> String {
    let more = names.len().saturating_sub(NAMED);
    let named = names.iter().take(NAMED).map(String::as_str).collect::<Vec<_>>().join(", ");
    if more == 0 { named } else { format!("{named} and {more} more") }
}
