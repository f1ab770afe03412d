//! Tenants of a capacity run: servers, control groups, virtual machines, servers elsewhere.

use super::rows::messages;
use crate::Bytes;

const INSTALL_SERVER: &str = "install redis-server or valkey-server, or name the program: --server PATH";
const OTHER_KERNEL: &str = "name another kernel: --guest-kernel FILE";
const OTHER_SERVER: &str = "name another server: --server PATH";
const OTHER_AGENT: &str = "name a tiermark for x86-64: --guest-agent FILE";

messages! {
    Refusal server_missing(program: &str) options ["--server"]:
        "the server {program}", "{program} is not an executable program in PATH", { INSTALL_SERVER };

    Refusal podman_missing() options ["--wrap"]:
        "containers by podman", "podman is not an executable program in PATH",
        "install it (on Debian: apt-get install podman), or use another container manager: --wrap WORDS";

    Refusal wrapper_missing(program: &str) options ["--wrap"]:
        "servers behind {program}",
        "{program} is not an executable program in PATH",
        "install it, or give another command: --wrap WORDS";

    Refusal wrapper_unclosed() options ["--wrap"]:
        "--wrap", "a quote is not closed", "quote the whole command once more: --wrap \"COMMAND 'AN ARGUMENT'\"";

    Refusal virt_clone_missing() options ["--libvirt"]:
        "clones of virtual machines of libvirt", "virt-clone is not an executable program in PATH",
        "install it: apt install virtinst; or clone the machines yourself, and use --libvirt";

    Refusal no_guest_address(command: &str, seconds: u64) options ["--target"]:
        "the address of a virtual machine", "`{command}` showed none within {seconds} s",
        "see whether the machine boots and has a network of libvirt; or name its server with --target";

    Refusal virsh_missing() options ["--start", "--stop"]:
        "virtual machines of libvirt", "virsh is not an executable program in PATH",
        "install it (on Debian: apt-get install libvirt-clients), or name commands of another manager: --start and \
            --stop";

    Refusal server_not_started(command: &str, error: &str):
        "starting {command}", "{error}", "check the path of the program";

    Refusal server_ended(tenant: u32, status: &str, code: Option<i32>, output: &str)
        options (match code { Some(97) => vec!["--backend"], Some(126 | 127) => vec!["--server"], _ => vec![] }):
        "tenant {tenant}",
        { format!("the server ended before it answered ({status}){}", after_colon(output)) },
        {
            match code {
                Some(97) => "run as root, or use servers that run elsewhere: --backend external",
                Some(126 | 127) => INSTALL_SERVER,
                _ => "start it by hand to see what is wrong",
            }
        };

    Refusal server_silent(tenant: u32, seconds: u64, error: &str):
        "tenant {tenant}", "the server does not answer within {seconds} s: {error}",
        "check that the program is a Redis server, and that the machine is not overloaded";

    Refusal server_start_stopped(tenant: u32):
        "tenant {tenant}", "the run was stopped while the server started", "";

    Refusal port_taken(port: u16) options ["--first-port"]:
        "port {port}", "another program listens on it", "choose another --first-port";

    Refusal port_unusable(port: u16, error: &str) options ["--first-port"]:
        "port {port}", "{error}", "choose another --first-port";

    Refusal command_failed(command: &str, error: &str):
        "the command '{command}'", "{error}", "run it by hand to see what is wrong";

    Refusal server_not_empty(address: &str, keys: &str) options ["--overwrite"]:
        "{address}", "the server already holds keys ({keys}); the run could overwrite them",
        "name empty servers, or allow it: --overwrite";

    Refusal keyspace_unknown(address: &str, answer: &str) options ["--overwrite"]:
        "{address}", "the server does not report how many keys it holds: {answer}", "name empty Redis servers, or \
            skip this check: --overwrite";

    Refusal too_few_servers(tenants: usize, servers: usize) options ["--most-tenants"]:
        "{tenants} tenants", "--target names only {servers} servers", "name more servers, or choose a smaller \
            --most-tenants";

    Refusal one_tenant_fails(error: &str) options ["--records", "--memory-floor"]:
        "one tenant alone, with all free memory", "{error}", "choose fewer --records, or a smaller --memory-floor";

    Refusal not_root() options ["--backend", "--target"]:
        "tenants in control groups", "only root may make control groups",
        "run with sudo, or name servers that run already: --backend external --target HOST:PORT,...";

    Refusal no_memory_controller() options ["--backend"]:
        "limiting the tenants' memory", "no control group hierarchy with the memory controller is mounted",
        "boot without cgroup_disable=memory, or use servers that run elsewhere: --backend external";

    Refusal control_group_denied(action: &str, error: &str) options ["--backend"]:
        "{action}", "{error}", "run as root, or use servers that run elsewhere: --backend external";

    /// A step on a control group: a limit of it.
    Note setting_limit(file: &str, value: &str): "setting {file} to {value}";

    /// A step on a control group: its directory.
    Note making_group(directory: &str): "making the control group {directory}";

    Refusal swap_accounting_off(action: &str, error: &str):
        "{action}", "{error}", "boot with swapaccount=1";

    Refusal controller_off(action: &str, error: &str):
        "{action}", "{error}", "enable the controller in the parent group: echo +memory > cgroup.subtree_control";

    Refusal control_group_exists(action: &str, error: &str) options ["--restore"]:
        "{action}", "{error}", "wait until the other run ends; if no run uses the group, remove it: `tiermark tune \
            --restore`";

    Refusal control_group_failed(action: &str, error: &str):
        "{action}", "{error}", "";

    Refusal control_group_busy(path: &str, error: &str):
        "removing the control group {path}", "{error}", "end its processes, then: rmdir /{path}";

    Refusal limit_changed(path: &str, wanted: Bytes, found: &str) options ["--dram-budget"]:
        "setting {path}", "the kernel set '{found}' instead of {wanted}", "choose another --dram-budget";

    Refusal guests_need_x86() options ["--backend", "--target"]:
        "virtual machines as tenants", "--backend qemu works on x86-64 only",
        "use --backend process, or machines of your own: --backend external --target HOST:PORT,...";

    Refusal emulator_missing(program: &str):
        "virtual machines as tenants", "{program} is not in PATH", "install it (on Debian: apt-get install \
            qemu-system-x86)";

    Refusal guest_kernel_missing(pattern: &str) options ["--guest-kernel"]:
        "a kernel for the guests", "no file is named {pattern}",
        "name a kernel: --guest-kernel FILE, or install one (on Debian: apt-get install linux-image-cloud-amd64)";

    Refusal guest_kernel_unreadable(path: &str, error: &str) options ["--guest-kernel"]:
        "reading {path}", "{error}", { OTHER_KERNEL };

    Refusal module_unreadable(path: &str, error: &str) options ["--guest-kernel"]:
        "the kernel module {path}", "{error}", { OTHER_KERNEL };

    Refusal module_packed(path: &str, unpacker: &str, error: &str) options ["--guest-kernel"]:
        "the kernel module {path}", "{unpacker}: {error}", "install {unpacker}, or name another kernel: \
            --guest-kernel FILE";

    Refusal agent_unreadable(path: &str, error: &str) options ["--guest-agent"]:
        "reading {path}", "{error}", { OTHER_AGENT };

    Refusal agent_no_program(path: &str) options ["--guest-agent"]:
        "{path} inside of guests", "it is not an x86-64 program", { OTHER_AGENT };

    Refusal server_unreadable(path: &str, error: &str) options ["--server"]:
        "reading {path}", "{error}", { OTHER_SERVER };

    Refusal ldd_missing(program: &str, error: &str):
        "the shared objects of {program}", "ldd cannot be started: {error}", "install it (on Debian: apt-get install \
            libc-bin)";

    Refusal libraries_missing(program: &str, error: &str) options ["--server", "--guest-agent"]:
        "the shared objects of {program}", "{error}", "install what is missing, or name another program: --server \
            PATH or --guest-agent FILE";

    Refusal guest_files_too_large(error: &str) options ["--guest-agent", "--guest-kernel", "--server"]:
        "the guests' first file system", "{error}", "choose smaller files: --guest-agent, --guest-kernel or --server";

    Refusal guest_files_no_memory(error: &str):
        "the guests' first file system", "{error}", "free memory";

    Refusal guest_not_started(error: &str):
        "starting a virtual machine", "{error}", "free memory, or run fewer tenants";

    Refusal guest_failed(tenant: u32, error: &str, console: &str, memory: Bytes)
        options ["--guest-kernel", "--vm-memory"]:
        "the virtual machine of tenant {tenant}",
        { format!("{error}{}", after_colon(console)) },
        "try another kernel (--guest-kernel FILE), or more memory than {memory} (--vm-memory)";

    Refusal guest_server_failed(error: &str):
        "the server in the guest", "{error}", "start it by hand to see what is wrong";

    Note host_unreachable(error: &str): "sending to the host failed: {error}";

    Note attempt_stopped(): "the attempt was stopped";

    Note guest_takes_nothing(error: &str): "the guest accepts no request: {error}";

    Note guest_unreadable(problem: &str): "the guest sent {problem}";

    Note guest_line_too_long(most: usize): "a line longer than {most} bytes";

    Note guest_line_malformed(error: &str): "a line cannot be parsed as a message: {error}";

    Note guest_ended(status: &str): "the virtual machine ended ({status})";

    Note guest_hung_up(): "the virtual machine closed its serial port";

    Note guest_restarted(): "the guest restarted";

    Note guest_silent(seconds: f64): "the guest sent nothing for {seconds:.0} s";

    Note guest_tenants_wrong(tenants: usize): "the guest reported {tenants} tenants instead of one";

    Note guest_refuses(refusal: &str): "{refusal}";

    Note guest_not_ready(reply: &str): "the guest sent {reply} before it was ready";

    Note guest_boots_too_long(): "the guest did not become ready in time";

    Refusal guest_request_unreadable(error: &str) options ["--guest-agent"]:
        "a request of the host", "{error}", "use the same version of tiermark as --guest-agent";
}

/// Output of a program, after a colon.
fn after_colon(output: &str) -> String {
    if output.is_empty() { String::new() } else { format!(": {output}") }
}
