//! Tenants that this program does not keep: servers that run already, or that commands start and stop.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::common::system::{alone, patient, restores_nothing};
use crate::common::{Ran, User, fullest};

/// A search of seconds, of servers of a few records.
const SEARCH: [&str; 13] = [
    "capacity",
    "--force",
    "--scenario=mini",
    "--backend=external",
    "--tiers=dram",
    "--records=2000",
    "--rps=4000",
    "--warmup=0",
    "--measure=0.2s",
    "--iterations=1",
    "--seed=1",
    "--quiet",
    "--json",
];

/// Servers on sockets of a directory, by number from 1; those that are left are ended with the test.
struct Servers {
    dir: tempfile::TempDir,
    count: usize,
    /// One test that changes the system at a time.
    _alone: File,
}

impl Servers {
    /// Room for some, none of which runs. `None`, with the reason told, where there is no server; CI must not skip.
    fn new(count: usize) -> Option<Self> {
        if Command::new("redis-server").arg("--version").output().is_err() {
            assert!(std::env::var_os("CI").is_none(), "CI must not skip: no redis-server");
            crate::common::skipped(format_args!("needs redis-server"));
            return None;
        }
        Some(Self { dir: tempfile::tempdir().unwrap(), count, _alone: alone() })
    }

    fn file(&self, number: usize, kind: &str) -> PathBuf {
        self.dir.path().join(format!("{number}.{kind}"))
    }

    fn targets(&self) -> String {
        let sockets: Vec<String> = (1..=self.count).map(|n| self.file(n, "sock").display().to_string()).collect();
        format!("--target={}", sockets.join(","))
    }

    /// The command that starts one; `{N}` is its number.
    fn starts(&self) -> String {
        let dir = self.dir.path().display();
        format!(
            "redis-server --port 0 --unixsocket {dir}/{{N}}.sock --pidfile {dir}/{{N}}.pid --dir {dir} --logfile \
             {dir}/{{N}}.log --save '' --daemonize yes"
        )
    }

    /// The command that stops it, and waits until it is gone.
    fn stops(&self) -> String {
        let pid = format!("$(cat {}/{{N}}.pid)", self.dir.path().display());
        format!(
            "pid={pid}; kill $pid; for i in $(seq 500); do kill -0 $pid 2>/dev/null || exit 0; sleep 0.02; done; exit 1"
        )
    }

    fn commands(&self) -> [String; 2] {
        [format!("--start={}", self.starts()), format!("--stop={}", self.stops())]
    }

    fn start_all(&self) {
        for number in 1..=self.count {
            let command = self.starts().replace("{N}", &number.to_string());
            assert!(Command::new("sh").args(["-c", &command]).stdout(Stdio::null()).status().unwrap().success());
            let begun = Instant::now();
            while !self.file(number, "sock").exists() {
                assert!(begun.elapsed() < Duration::from_secs(10), "redis-server does not start");
                thread::sleep(Duration::from_millis(10));
            }
        }
    }

    /// Processes of servers that run.
    fn running(&self) -> Vec<u32> {
        let pids = (1..=self.count).filter_map(|n| fs::read_to_string(self.file(n, "pid")).ok()?.trim().parse().ok());
        pids.filter(|pid: &u32| is_server(*pid)).collect()
    }
}

fn is_server(pid: u32) -> bool {
    fs::read_to_string(Path::new("/proc").join(pid.to_string()).join("comm")).is_ok_and(|comm| comm.contains("redis"))
}

impl Drop for Servers {
    fn drop(&mut self) {
        for pid in self.running() {
            let pid = rustix::process::Pid::from_raw(pid.cast_signed()).unwrap();
            let _ = rustix::process::kill_process(pid, rustix::process::Signal::KILL);
        }
    }
}

fn words(own: &[String]) -> Vec<&str> {
    SEARCH.iter().copied().chain(own.iter().map(String::as_str)).collect()
}

#[test]
fn commands_start_and_stop_tenants_for_each_probe() {
    let (user, Some(servers)) = (User::new(), Servers::new(2)) else { return };
    let own = [vec![servers.targets()], servers.commands().to_vec()].concat();
    let case = patient(&user, &words(&own)).measured().json()["cases"][0].clone();
    assert_eq!(fullest(&case)["tenants"], 2, "{case}");
    let probes = case["probes"].as_array().unwrap();
    assert!(probes.iter().any(|probe| probe["fresh"] == true && probe["tenants"] == 2), "{probes:?}");
    assert!(servers.running().is_empty());
    restores_nothing(&user);
}

/// Starts a run, and kills it as soon as two tenants are there.
fn killed_with_two(run: &mut Command, servers: &Servers) {
    let mut child = run.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let begun = Instant::now();
    while servers.running().len() < 2 {
        assert!(begun.elapsed() < Duration::from_secs(60) && child.try_wait().unwrap().is_none(), "never two tenants");
        thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn what_a_killed_run_started_elsewhere_is_stopped() {
    let (user, Some(servers)) = (User::new(), Servers::new(2)) else { return };
    let own = [vec![servers.targets()], servers.commands().to_vec()].concat();
    killed_with_two(&mut user.command(&words(&own)), &servers);
    assert_eq!(servers.running().len(), 2, "they are left");
    let restored = patient(&user, &["tune", "--restore", "--json"]).expect(0).json();
    assert_eq!(restored["changes"].as_array().unwrap().len(), 2, "{restored}");
    assert!(servers.running().is_empty());
}

/// A run cannot begin over changes that it cannot know; the user has to know which journal it is.
#[test]
fn a_journal_that_keeps_a_run_from_beginning_is_named() {
    let (user, _alone) = (User::new(), alone());
    fs::create_dir(user.path("state")).unwrap();
    fs::write(user.path("state/broken.changes"), "no journal\n").unwrap();
    let own = ["--target=127.0.0.1:1", "--start=false", "--stop=false"].map(str::to_owned);
    let told = patient(&user, &words(&own)).expect(4).err;
    assert!(told.contains("state/broken.changes"), "{told}");
}

/// Others may have written the file: who trusts it sees the commands, also with --quiet.
#[test]
fn the_commands_of_a_trusted_run_are_always_shown() {
    let (user, Some(servers)) = (User::new(), Servers::new(1)) else { return };
    let own = [vec![servers.targets()], servers.commands().to_vec()].concat();
    patient(&user, &words(&own)).expect(0);
    let saved = fs::read_dir(user.path("capacity")).unwrap().flatten().map(|entry| entry.path());
    let saved = saved.into_iter().find(|path| path.extension().is_some_and(|e| e == "jsonl")).unwrap();
    let resume = format!("--resume={}", saved.display());
    let told = |more: &[&str]| patient(&user, &[&["capacity", &resume, "--quiet", "--json"], more].concat()).err;
    assert!(told(&["--trust"]).contains(": redis-server"), "{}", told(&["--trust"]));
    assert!(!told(&[]).contains(": redis-server"), "{}", told(&[]));
}

#[test]
fn servers_that_hold_something_are_not_written_to_unasked() {
    let (user, Some(servers)) = (User::new(), Servers::new(2)) else { return };
    servers.start_all();
    let own = [servers.targets(), "--most-tenants=1".to_owned()];
    let case = user.run(&words(&own)).measured().json()["cases"][0].clone();
    assert!(case["probes"].as_array().unwrap().iter().all(|probe| probe["fresh"] == false), "{case}");
    // It holds the records of that run now.
    let refused = user.run(&words(&own)).expect(4);
    let said = format!("{}{}", refused.out, refused.err);
    assert!(said.contains("db0:keys=2000,") && said.contains("--overwrite"), "{said}");
    user.run(&words(&[servers.targets(), "--most-tenants=1".to_owned(), "--overwrite".to_owned()])).expect(0);
    assert_eq!(servers.running().len(), 2, "nobody asked for them to be stopped");
}

#[test]
fn a_run_goes_on_as_it_was_begun() {
    let user = User::new();
    for more in
        ["--scenario=mini", "--records=5", "--client-cpus=0", "--max-time=5", "--first-port=7000", "--wrap=nice"]
    {
        let told = user.run(&["capacity", "--resume", more]).expect(2).err;
        assert!(told.contains("--resume"), "{more}: {told}");
    }
    // The password is no part of what is saved.
    user.run(&["capacity", "--resume", "--password=x"]).expect(4);
    user.run(&["capacity", "--scenario=mini", "--start=true", "--stop=true"]).expect(2);
}

/// A directory with a program of that name, in front of the usual path.
fn stand_in(name: &str, script: &str) -> (tempfile::TempDir, String) {
    let dir = tempfile::tempdir().unwrap();
    let program = dir.path().join(name);
    fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
    fs::set_permissions(&program, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", dir.path().display(), std::env::var("PATH").unwrap());
    (dir, path)
}

#[test]
fn libvirt_is_asked_to_start_and_destroy_machines() {
    let (user, Some(servers)) = (User::new(), Servers::new(2)) else { return };
    let by_number = |command: &str| command.replace("{N}", "$n");
    let script = format!(
        "echo \"$*\" >> $0.log; n=${{3#vm}}; case $2 in domstate) echo \"$STATE\" ;; start) {} ;; destroy) {} ;; *) \
            exit 9 ;; esac",
        by_number(&servers.starts()),
        by_number(&servers.stops())
    );
    let (dir, path) = stand_in("virsh", &script);
    let own = [servers.targets(), "--libvirt=vm{N}".to_owned()];
    let with =
        |state: &str| Ran::from(user.command(&words(&own)).env("PATH", &path).env("STATE", state).output().unwrap());
    with("running").expect(4);
    let log = || fs::read_to_string(dir.path().join("virsh.log")).unwrap();
    assert!(!log().contains("start") && !log().contains("destroy"), "{}", log());
    let case = with("shut off").measured().json()["cases"][0].clone();
    assert_eq!(fullest(&case)["tenants"], 2, "{case}");
    let log = log();
    let count = |line: &str| log.lines().filter(|one| *one == line).count();
    assert!(count("--quiet start vm2") > 0, "{log}");
    assert_eq!(count("--quiet start vm1"), count("--quiet destroy vm1"), "{log}");
    assert!(servers.running().is_empty());
}

/// The published set-up: machines cloned from one, whose addresses only libvirt knows; a killed run leaves clones,
/// which the journal names.
#[test]
fn machines_are_cloned_found_and_removed() {
    let (user, Some(servers)) = (User::new(), Servers::new(2)) else { return };
    let home = servers.dir.path().display();
    // A machine is a file until it is removed, and its server listens on an address of its own.
    let server = format!(
        "redis-server --bind 127.77.0.$n --port 6379 --pidfile {home}/$n.pid --dir {home} --logfile {home}/$n.log \
         --save '' --daemonize yes"
    );
    let virsh = format!(
        "echo \"$*\" >> $0.log; n=${{3##*-}}; case $2 in dominfo) test -e {home}/$3.domain ;; start) test -z \
         \"$FAILS\" && {server} ;; domifaddr) test -e $0.$n.asked && echo \" vnet$n 52:54:00:00:00:0$n ipv4 \
         127.77.0.$n/8\"; touch $0.$n.asked ;; destroy) {} ;; undefine) test -z \"$FAILS\" && rm {home}/$3.domain ;; \
             *) exit 9 ;; esac",
        servers.stops().replace("{N}", "$n").replace("exit 0", "break").replace("; exit 1", "")
    );
    let (dir, path) = stand_in("virsh", &virsh);
    let clone = format!(
        "#!/bin/sh\ntest \"$*\" = \"--quiet --original base --name $5 --auto-clone\" && touch {home}/$5.domain\n"
    );
    fs::write(dir.path().join("virt-clone"), clone).unwrap();
    fs::set_permissions(dir.path().join("virt-clone"), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    let own = ["--libvirt-base=base".to_owned(), "--tenants=2".to_owned()];
    let case =
        Ran::from(user.command(&words(&own)).env("PATH", &path).output().unwrap()).expect(0).json()["cases"][0].clone();
    assert_eq!((&case["answer"]["kind"], &case["answer"]["outcome"]), (&"fixed".into(), &"pass".into()), "{case}");
    let domains = || {
        fs::read_dir(servers.dir.path())
            .unwrap()
            .flatten()
            .filter(|e| e.path().extension().is_some_and(|e| e == "domain"))
    };
    assert_eq!((domains().count(), servers.running().len()), (0, 0));
    let log = fs::read_to_string(dir.path().join("virsh.log")).unwrap();
    let count =
        |words: &str| log.lines().filter(|line| line.starts_with(&format!("--quiet {words} tiermark-"))).count();
    assert_eq!([count("start"), count("destroy"), count("undefine")], [2; 3], "{log}");
    assert!(count("domifaddr") > 2, "the first answer of each has no address yet: {log}");
    // Killed once both run: what is left has the run's own names, and is removed.
    killed_with_two(user.command(&words(&own)).env("PATH", &path), &servers);
    assert_eq!(domains().count(), 2);
    let restore = || Ran::from(user.command(&["tune", "--restore"]).env("PATH", &path).output().unwrap());
    restore().expect(0);
    assert_eq!((domains().count(), servers.running().len()), (0, 0));
    // One that was cloned, did not start, and could not be removed then, stays noted.
    let failed = user.command(&words(&own)).env("PATH", &path).env("FAILS", "1").output().unwrap();
    assert!(!failed.status.success() && domains().count() == 1, "{failed:?}");
    restore().expect(0);
    assert_eq!(domains().count(), 0);
    // None is left where it was removed at once.
    restore().expect(0);
}

#[test]
fn podman_runs_servers_in_their_groups() {
    if !rustix::process::geteuid().is_root() {
        crate::common::skipped(format_args!("control groups need root"));
        return;
    }
    let (user, Some(_servers)) = (User::new(), Servers::new(0)) else { return };
    // A container is whatever stands behind the image's name; what was left of it is removed by name.
    let script =
        "echo \"$*\" >> $0.log; [ $1 = run ] || exit 0; while [ $1 != image ]; do shift; done; shift; exec \"$@\"";
    let (dir, path) = stand_in("podman", script);
    let local = ["--podman=image", "--backend=process", "--most-tenants=1", "--dram-budget=64M", "--memory-floor=64M"];
    let mut arguments: Vec<&str> = SEARCH.iter().copied().filter(|word| !word.starts_with("--backend")).collect();
    arguments.extend(local);
    let ran = Ran::from(user.command(&arguments).env("PATH", &path).output().unwrap());
    let case = ran.measured().json()["cases"][0].clone();
    assert_eq!(fullest(&case)["tenants"], 1, "{case}");
    let log = fs::read_to_string(dir.path().join("podman.log")).unwrap();
    let count = |start: &str| log.lines().filter(|line| line.starts_with(start)).count();
    assert!(count("run --rm --interactive --network=host --cgroups=disabled") > 0, "{log}");
    assert_eq!(count("run"), count("rm --force --ignore tiermark-"), "{log}");
    assert!(log.contains("-1 image redis-server -"), "{log}");
}

#[test]
fn a_dry_run_names_servers_and_commands() {
    let user = User::new();
    let own = ["--target=a:1,b:2", "--start=ssh host{N} up", "--stop=ssh host{N} down", "--dry-run"];
    let plan = ["capacity", "--scenario=mini", "--backend=external", "--tiers=dram"];
    let shown = user.run(&[&plan[..], &own].concat()).expect(0).out;
    for said in ["75000", "a:1, b:2", "ssh host{N} up", "ssh host{N} down"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    let words = ["capacity", "--scenario=mini", "--dry-run", "--wrap=nice -n '5 6'"];
    // Whoever may not have control groups is told so as well.
    assert!(user.run(&words).out.contains(": nice -n 5 6"));
    user.run(&["capacity", "--scenario=mini", "--dry-run", "--wrap=nice '"]).expect(4);
}

/// A message as one line.
fn flat(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Nothing of it waits for half an hour of probes of the tiers before.
#[test]
fn everything_that_is_wrong_is_told_before_the_first_probe() {
    let user = User::new();
    let wrong = [
        "capacity",
        "--scenario=mini",
        "--tiers=dram,zram:nonesuch,swap:/nonexistent/x,node:77",
        "--server=/nonexistent/redis",
        "--client-cpus=999",
    ];
    let said = ["zram", "swap:/nonexistent/x", "node:77", "/nonexistent/redis", "999"];
    for more in [&[][..], &["--dry-run"]] {
        let ran = user.run(&[&wrong[..], more].concat()).expect(4);
        said.iter().for_each(|said| assert!(ran.err.contains(said), "{said}: {}", ran.err));
        assert!(ran.err.lines().all(|line| line.starts_with("tiermark: error: ")), "{}", ran.err);
        assert!(!user.path("capacity").exists(), "no run was begun");
    }
    let shown = flat(&user.run(&[&wrong[..], &["--dry-run"]].concat()).out);
    for said in ["# dram is available", "# swap:/nonexistent/x is not available", "# node:77 is not available"] {
        assert!(shown.contains(said), "{said}: {shown}");
    }
    // Mistakes of a file of prices beside it.
    fs::write(user.path("prices.toml"), "currency = 5\n").unwrap();
    for (prices, said) in
        [("--prices=prices.toml", "prices.toml: line 1: currency"), ("--prices=none", "prices 'none'")]
    {
        let told = user.run(&[&wrong[..], &[prices]].concat()).expect(2).err;
        assert!(told.contains(said) && told.contains("node:77"), "{told}");
    }
}

#[test]
fn servers_that_do_not_answer_are_told_together() {
    let user = User::new();
    let own = [format!("--target={0}/a,{0}/b,{0}/c", user.home.path().display()), "--most-tenants=2".to_owned()];
    let told = user.run(&words(&own)).expect(4).err;
    assert!(told.contains("/a") && told.contains("/b") && !told.contains("/c"), "{told}");
    assert!(!user.path("capacity").exists(), "no run was begun");
}

#[test]
fn cpus_that_are_not_there_are_refused_with_those_that_are() {
    let online = fs::read_to_string("/sys/devices/system/cpu/online").unwrap();
    let told = User::new().run(&["load", "--target=/nonexistent", "--client-cpus=999"]).expect(4).err;
    assert!(told.contains("999") && told.contains(online.trim()), "{told}");
}

/// Standard error of tests is no terminal, as that of CI.
#[test]
fn a_log_has_a_line_for_each_probe_and_none_with_quiet() {
    let (user, Some(servers)) = (User::new(), Servers::new(1)) else { return };
    let own = [vec![servers.targets()], servers.commands().to_vec()].concat();
    let quiet = user.run(&words(&own)).expect(0);
    assert_eq!(quiet.err, "");
    let told: Vec<&str> = words(&own).into_iter().filter(|word| *word != "--quiet").collect();
    let ran = user.run(&told).expect(0);
    assert!(ran.err.contains("1/1"), "{}", ran.err);
    let probes = ran.json()["cases"][0]["probes"].as_array().unwrap().len();
    let lines = ran.err.lines().filter(|line| line.contains(" 1 tenant (")).count();
    assert_eq!(lines, probes, "{}", ran.err);
}

#[test]
fn reports_are_as_wide_as_the_flag_or_the_environment_says() {
    let (user, long) = (User::new(), format!("--start=echo {}", "word ".repeat(30)));
    let dry = [
        "capacity",
        "--scenario=mini",
        "--backend=external",
        "--tiers=dram",
        "--target=a:1",
        &long,
        "--stop=true",
        "--dry-run",
    ];
    let widest = |arguments: &[&str], columns: &str| {
        let out = Ran::from(user.command(arguments).env("COLUMNS", columns).output().unwrap()).out;
        // What belongs to the scenario's file is as long as it is.
        let lines = out.lines().filter(|line| arguments[0] != "capacity" || line.starts_with('#'));
        lines.map(|line| line.chars().count()).max().unwrap()
    };
    for arguments in [&["tune"][..], &["doctor"], &["machine"], &dry] {
        let [narrow, usual, wide] = ["60", "", "110"].map(|columns| widest(arguments, columns));
        assert!(
            narrow <= 60 && (61..=80).contains(&usual) && (81..=110).contains(&wide),
            "{arguments:?}: {narrow} {usual} {wide}"
        );
        assert_eq!(widest(&[arguments, &["--width=60"]].concat(), "110"), narrow, "{arguments:?}");
    }
}
