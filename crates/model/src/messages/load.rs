//! The load generator, its servers, and where results are kept.

use super::rows::messages;
use super::{HOME, server_errors};
use crate::{Bytes, count_of, format_time, nearest, shell_word};

messages! {
    /// Cpus on which the client may not run: absent, or outside its cpuset; `online`: the online cpus as the kernel
    /// lists them, or empty.
    Refusal client_cpus_unusable(cpus: &[usize], online: &str, absent: bool) options ["--client-cpus"]:
        {
            let named = cpus.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            format!("client threads on cpu{} {named}", if cpus.len() == 1 { "" } else { "s" })
        },
        {
            match (online, absent) {
                ("", _) => "this process may not run there".to_owned(),
                (_, true) => format!("this machine has cpus {online}"),
                (_, false) => {
                    format!("this process may not run there (its control group's cpuset); this machine has cpus \
                        {online}")
                }
            }
        },
        "name usable cpus with --client-cpus";

    Refusal workload_impossible(what: &str, why: &str, cure: &str):
        "{what}", "{why}", "{cure}";

    Refusal no_target() options ["--target"]:
        "a run without tenants", "no server is named", "name a server: --target HOST:PORT";

    Refusal inventory_program_missing(inventory: &str) options ["--target"]:
        "the inventory {inventory}", "ansible-inventory is not a program in PATH",
        "install it (on Debian: apt-get install ansible-core), or name the servers: --target HOST:PORT";

    /// A failure of ansible-inventory. What it writes may quote the variables of hosts, so that it is not shown.
    Refusal inventory_failed(inventory: &str, problem: &str):
        "the inventory {inventory}", "{problem}",
        { format!("see why: ansible-inventory -i {} --graph", shell_word(inventory)) };

    Note inventory_command_failed(): "ansible-inventory ended with an error";

    Refusal inventory_too_large(most: Bytes) options ["--target"]:
        "the inventory", "ansible-inventory prints more than {most}", "name a smaller inventory, or --target HOST:PORT";

    Refusal inventory_unreadable():
        "the output of `ansible-inventory --list`", "it is not the JSON of groups and hosts",
        "use the ansible-inventory of ansible-core 2.9 or later";

    /// A group without hosts; `known`: the groups of the inventory.
    Refusal inventory_group_empty(group: &str, known: &[&str]) options ["--group"]:
        "the group {group}",
        {
            match known {
                [] => "the inventory has no groups".to_owned(),
                _ if known.contains(&group) => "it has no hosts".to_owned(),
                _ => format!("the inventory has no such group{}", nearest(group, known)),
            }
        },
        "name a group that `ansible-inventory --graph` shows: --group NAME";

    Refusal inventory_host_wrong(host: &str, variable: &str, wanted: &str) options ["--group"]:
        "the host {host} of the inventory", "{variable} is not {wanted}", "correct the inventory, or name another --group";

    Refusal inventory_server_twice(first: &str, second: &str, address: &str) options ["--group"]:
        "the hosts {first} and {second} of the inventory", "both have the server {address}",
        "set tiermark_port or ansible_host of one of them, or name another --group";

    Refusal merge_unmeasured(name: &str):
        "{name}", "it has no complete measurement", "leave it out";

    Refusal merge_without_histograms(name: &str) options ["--json", "--histograms"]:
        "{name}", "it has no histograms, and percentiles cannot be merged without them",
        "measure again with --json=FILE --histograms";

    Refusal merge_without_start(name: &str):
        "{name}", "it does not say when its measurement began", "measure again with this version";

    Refusal merge_of_another_load(first: &str, name: &str, differs: &[String]):
        "{name}",
        { format!("its load is another than that of {first}: {}", differs.join(", ")) },
        "give all clients the same options";

    Refusal merge_twice(host: &str, target: &str) options ["--label"]:
        "the tenant {target} of {host}", "two of the documents have it",
        "name each document once, and name the hosts: --label host=NAME";

    Warning clients_apart(seconds: f64, first: &str, last: &str):
        "the clients began {seconds:.1} s apart, {first} first and {last} last by their clocks",
        "for that time not all tenants were busy",
        "give all clients the same --at, some seconds after the last of them is ready, and synchronise their clocks";

    Refusal load_stopped():
        "the run", "it was stopped before it began", "";

    Refusal client_memory_short(tenants: u64, connections: u64, value: Bytes, needed: Bytes, available: Bytes)
        options ["--pipeline-depth", "--verify"]:
        "a client of {connections} connections to each of {tenants} servers, for values of {value}",
        "it needs {needed} of memory while servers answer; {available} are available",
        "use fewer connections (-c) or targets, smaller values (-d), a smaller --pipeline-depth, or leave out --verify";

    Warning load_beside_others(busy: f64, cpus: u64, programs: &str):
        {
            let programs = if programs.is_empty() { String::new() } else { format!(", by {programs}") };
            format!("{busy:.1} of the client's {} busy when the run began{programs}", count_of(cpus, "cpu"))
        },
        "the client waits for cpus, sends requests and reads answers late, and the latencies include these delays",
        "stop that work, or name idle cpus with --client-cpus; `tiermark doctor` shows what is running";

    Note client_threads_idle(threads: u64, servers: u64):
        {
            format!(
                "--threads {threads} has no effect beyond {servers}, with {}: each server has one client thread. For \
                 more load on one server, start `tiermark load` several times, each with its own --key-prefix",
                count_of(servers, "server")
            )
        };

    Refusal client_thread_refused(error: &str) options ["--client-cpus"]:
        "a thread of the client", "{error}", "check --client-cpus and the limits of this process";

    Refusal nobody_listens(address: &str):
        "{address}", "no server listens there", "start the server, or check host and port";

    Refusal connecting_timed_out(address: &str):
        "{address}", "no answer to the attempt to connect", "check the host, and firewalls on the way";

    Refusal address_unknown(address: &str):
        "{address}", "there is no such socket or host", "check the name";

    Refusal name_unanswered(address: &str, seconds: u64):
        "{address}", "the system's resolver has not found the address of this host within {seconds} s",
        "give the address in numbers, write the name into /etc/hosts, or check the name servers in /etc/resolv.conf";

    Refusal open_files_exhausted(address: &str):
        "{address}", "this process may open no more files",
        "raise the limit with `ulimit -n 65536`, or use fewer connections";

    Refusal connecting_failed(address: &str, error: &str):
        "{address}", "connecting failed: {error}", "check the address";

    Refusal server_hung_up(address: &str):
        "{address}", "the server closed the connection", "look at the server's log: maxclients, protected mode, TLS";

    Refusal server_answers_nothing(address: &str):
        "{address}", "the server accepts connections and does not answer",
        "check that it is a Redis server, and that it is not stopped or swapping";

    Refusal connection_failed(address: &str, error: &str):
        "{address}", "the connection failed: {error}", "look at the server's log";

    Refusal answer_unreadable(address: &str, error: &str):
        "{address}", "{error}", "check that this is the port of a Redis server";

    Refusal password_refused(address: &str, answer: &str) options ["--password"]:
        "{address}", "the password was not accepted: {answer}",
        "check user and password; leave --password out if the server has none";

    Refusal password_missing(address: &str, answer: &str) options ["--password"]:
        "{address}", "the server requires a password: {answer}", "give --password, or REDISCLI_AUTH in the environment";

    Refusal server_refuses(address: &str, answer: &str):
        "{address}", { server_errors::shown_by(answer) }, { server_errors::cure_of(answer) };

    Refusal server_of_another_kind(address: &str, answer: &str):
        "{address}", "the answer to PING is not PONG: {answer}", "check that this is the port of a Redis server";

    Note tenant_answers_nothing(seconds: f64): "no answer for {seconds:.1} s";

    Note tenant_hung_up(): "it closed the connection";

    Note tenant_refuses(answer: &str): { format!("it refuses: {}", server_errors::explained(answer)) };

    Note tenant_unreadable(problem: &str): "the server's answer cannot be parsed: {problem}";

    Note tenant_unasked(): "the server sent an answer without a request";

    Note reading_failed(error: &str): "reading failed: {error}";

    Note writing_failed(error: &str): "writing failed: {error}";

    Refusal journal_refused(directory: &str, why: &str):
        "a journal in {directory}", "{why}", "free space, or set TIERMARK_HOME to a directory that can be written";

    Refusal journal_broken(path: &str, error: &str):
        "the journal {path}", "{error}; the run continues, but its results are lost if it is killed from now on", { HOME };

    Refusal saved_elsewhere(directory: &str, error: &str, path: &str):
        "saving in {directory}", "{error}; the document is in {path} instead", { HOME };

    Refusal saved_unreadable(error: &str):
        "reading the saved document back", "{error}", "keep the file and report this as a defect";

    Refusal runs_unreadable(directory: &str, error: &str):
        "listing the runs in {directory}", "{error}", "make the directory readable, or set TIERMARK_HOME to another";

    Refusal record_unwritable(path: &str, error: &str) options ["--no-record"]:
        "writing the machine's record {path}", "{error}", "make the directory writable, or give --no-record";

    Refusal record_closed(path: &str, error: &str) options ["--no-record"]:
        "the machine's record {path}", "{error}; no number is compared with it", "give --no-record to leave it alone";

    /// A record of the machine that is damaged; `aside`: where it is now, if it could be moved.
    Refusal record_damaged(path: &str, error: &str, aside: Option<&str>):
        "the machine's record {path}",
        {
            let place = aside.map_or_else(String::new, |aside| format!("; it is set aside as {aside}"));
            format!("it cannot be read: {error}{place}")
        },
        "no action is needed: the next run starts a new record";

    Note load_tenant_lost(filling: bool, name: &str, answered_seconds: f64, fault: &str):
        {
            let what = if filling { "filling " } else { "" };
            let after = if answered_seconds > 0.0 { format!(" after {answered_seconds:.1} s") } else { String::new() };
            format!("{what}{name}: no answers{after}: {fault}")
        };

    Note load_answers_failed(percent: f64, error: &str):
        { format!("{percent:.2} % of the answers were errors, the first: {}", server_errors::explained(error)) };

    Note load_unanswered(requests: u64): "{requests} requests were never answered";

    Note load_keys_missing(percent: f64):
        "{percent:.2} % of the GETs found no key, which is less work for the server; --fill writes all keys first";

    Note load_values_wrong(values: u64):
        "{values} values differ from the values that this program writes for their keys";

    Note load_closed_loop():
        "closed loop: a slow answer delays the next request, so the latencies miss the time that requests wait for \
         the server (use --rps)";

    Note load_paced_loop(percent: f64):
        "closed loop with a rate: {percent:.1} % of the requests due were not sent, because the client waited for an \
         answer then; the service times leave them out, an open loop (--pacing open) sends them";

    Note load_server_slow(name: &str, p99_ns: u64, others_ns: u64):
        {
            let [slow, other] = [p99_ns, others_ns].map(|ns| format_time(ns as f64));
            format!("{name} was slow: P99 from send to answer {slow}, of the other servers at most {other}")
        };

    Note load_not_kept_up(percent: f64, is_depth_reached: bool):
        {
            let why = if is_depth_reached { ": the limit of requests in flight was reached (--pipeline-depth)" } else { "" };
            format!("only {percent:.1} % of the requests due were answered in time{why}")
        };

    Note load_sent_late(percent: f64, late_us: f64, is_memory_held: bool, more_cpu: &str):
        {
            let why = match is_memory_held {
                false => format!("the client or its cpu is too busy ({more_cpu})"),
                true => "requests to slow servers held its memory (fewer --connections, smaller values, or load the \
                         servers apart)".to_owned(),
            };
            format!("the client sent {percent:.1} % of the requests more than {late_us:.0} µs late: {why}")
        };

    Note load_read_late(percent: f64, late_us: f64, more_cpu: &str):
        "the client may have read {percent:.1} % of the answers more than {late_us:.0} µs late, which adds to their \
         times ({more_cpu})";

    Note load_server_delayed(percent: f64, late_us: f64):
        "the server delayed {percent:.1} % of the requests by more than {late_us:.0} µs: response times include this \
         delay, service times do not";

    Note load_stopped_early(): "the run was stopped before its end";
}
