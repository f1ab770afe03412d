//! Scenarios as people write them, right and wrong.

use proptest::prelude::*;
use tiermark_history::config::Mistake;
use tiermark_model::messages::files::codes as files;
use tiermark_model::messages::scenario::codes;

use super::*;
use crate::level::TenantAggregation;

fn text_of(name: &str) -> &'static str {
    built_in().iter().find(|(known, _)| *known == name).unwrap().1
}

fn read(name: &str) -> Scenario {
    Scenario::read(text_of(name)).unwrap_or_else(|mistakes| panic!("{name}: {mistakes:#?}"))
}

#[test]
fn the_brief_is_the_brief_s() {
    let brief = read("brief");
    assert_eq!((brief.tenant.records, brief.tenant.value, brief.load.rate), (3_300_000, Size(1024), 5000.0));
    assert_eq!(brief.load.mixes, [100.0, 70.0]);
    assert_eq!(brief.load.keys, [KeyDist::Uniform, KeyDist::Brief(10), KeyDist::Brief(25)]);
    // 3.3 million requests at 5,000 a second, one iteration to warm up and three that count.
    assert_eq!((brief.time.warm_up, brief.time.measure, brief.time.iterations), (660.0, 660.0, 3));
    assert_eq!(brief.level.to_string(), "average < 50 µs, P99 < 300 µs as means over the tenants (the brief's)");
    assert_eq!((brief.level.scope, brief.dram_budget), (TenantAggregation::Brief, Size(192 << 30)));
    assert_eq!(brief.searches().len(), 6);
    assert_eq!(brief.searches()[5].requests.to_string(), "70 % GET, brief:25");
}

fn with(name: &str, settings: &[&str]) -> Result<Scenario, Vec<String>> {
    let pair = |text: &&str| text.split_once('=').map(|(key, value)| (key.to_owned(), value.to_owned())).unwrap();
    Scenario::named(name, &settings.iter().map(pair).collect::<Vec<_>>())
}

#[test]
fn keys_are_set_in_place_of_the_file_s() {
    let set = with("mini", &["load.rate=77", "tenant.value=3K", "time.settle=3s", "load.brief-mix=true"]).unwrap();
    assert_eq!((set.load.rate, set.tenant.value, set.time.settle), (77.0, Size(3072), 3.0));
    assert!(set.load.brief_mix && set.tenant.records == read("mini").tenant.records);
    let set = with("mini", &["tiers=[\"dram\", \"zswap\"]", "load.mixes=[0, 50]"]).unwrap();
    assert_eq!((set.tiers.len(), set.load.mixes), (2, vec![0.0, 50.0]));
    // The last one counts, and a key without a table of its own gets one.
    assert_eq!(with("mini", &["load.rate=77", "seed=3", "load.rate=78"]).unwrap().load.rate, 78.0);
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), text_of("mini").replace("connections = 1\n", "connections = 9\n")).unwrap();
    let path = file.path().to_str().unwrap();
    assert_eq!(with(path, &["load.rate=77"]).unwrap().load.connections, 9);
    assert_eq!(with(path, &["load.connections=7"]).unwrap().load.connections, 7);
    // What the file lacks may come from here, and what keys are together is judged when options have changed them too.
    std::fs::write(file.path(), text_of("mini").replace("rate = 500.0\n", "")).unwrap();
    assert!(with(path, &["seed=1"]).unwrap_err().join("; ").starts_with(&format!("{path}: line ")));
    assert_eq!(with(path, &["load.rate=77"]).unwrap().load.rate, 77.0);
    let set = with("mini", &["tenant.vm-cpus=2"]).unwrap();
    assert!(!set.problems().is_empty(), "only virtual machines have cpus");
    assert!(Scenario { backend: Backend::Qemu, ..set }.problems().is_empty());
}

#[test]
fn keys_are_set_only_as_the_file_may_have_them() {
    let refused = |setting: &str| with("mini", &[setting]).unwrap_err().join("; ");
    for (setting, why) in [
        ("load.rates=77", "--set: load.rates: unknown key"),
        ("loads.rate=77", "--set: loads: unknown key"),
        ("load.rate=fast", "--set: load.rate: "),
        ("load.keys=3", "--set: load.keys"),
        ("seed.x=3", "--set: seed"),
        ("load.rate=1\nx = 3", "--set: load.rate: "),
    ] {
        let said = refused(setting);
        assert!(said.starts_with(why) && !said.contains("line "), "{setting}: {said}");
    }
    assert!(!with("mini", &["load.rate=-1"]).unwrap().problems().is_empty());
    assert!(refused("load.zzz=77").contains("pipeline") && refused("load.rats=77").contains("rate"));
}

#[test]
fn mini_fits_a_laptop() {
    let mini = read("mini");
    assert_eq!((mini.dram_budget, mini.tenant.records, mini.load.rate), (Size(512 << 20), 75_000, 500.0));
    assert_eq!(mini.level.to_string(), "P99 < 1 s of every tenant");
    assert_eq!(mini.tiers, [Tier::Dram, Tier::Zram(None)]);
    assert_eq!(mini.workload(), "redis-server of 75000 × 1 KiB, 500 requests/s each, in 512 MiB of DRAM");
}

#[test]
fn a_cache_is_a_scenario() {
    let cache = read("cache");
    assert_eq!(cache.tenant.maxmemory, MaxMemory::At(Size(48 << 20)));
    assert_eq!(cache.tenant.held(), 48 << 20, "less than its 75,000 values of 1 KiB");
    assert_eq!(
        cache.tenant.memory_limit().options(),
        ["--maxmemory", "50331648", "--maxmemory-policy", "allkeys-lru"].map(str::to_owned)
    );
    assert_eq!(read("mini").tenant.memory_limit().options()[1..], ["0", "--maxmemory-policy", "noeviction"]);
}

#[test]
fn built_in_scenarios_explain_themselves_and_come_back_from_json() {
    for (name, _) in built_in() {
        let scenario = read(name);
        assert!(scenario.name == *name && !scenario.title.is_empty() && scenario.about.len() > 100);
        let json = serde_json::to_string(&scenario).unwrap();
        assert_eq!(serde_json::from_str::<Scenario>(&json).unwrap(), scenario);
    }
}

#[test]
fn sizes_are_written_as_people_write_them() {
    for (bytes, text) in
        [(512 << 20, "\"512 MiB\""), (192 << 30, "\"192 GiB\""), (1536, "1536"), (0, "0"), (3 << 40, "\"3 TiB\"")]
    {
        assert_eq!(serde_json::to_string(&Size(bytes)).unwrap(), text);
        assert_eq!(serde_json::from_str::<Size>(text).unwrap(), Size(bytes));
    }
}

#[test]
fn dram_comes_first_whatever_the_order() {
    let text = text_of("mini").replace("[\"dram\", \"zram\"]", "[\"zram:lz4\", \"dram\"]");
    let scenario = Scenario::read(&text).unwrap();
    let parts = scenario.searches();
    assert_eq!(parts.iter().map(|p| p.tier.to_string()).collect::<Vec<_>>(), ["dram", "zram:lz4"]);
}

#[test]
fn tiers_are_read_and_written() {
    for text in [
        "dram",
        "swap:/dev/nvme1n1",
        "swap:/swapfile",
        "zram",
        "zram:lzo-rle",
        "zswap",
        "node:2",
        "demotion:2",
        "zram:lz4+swap:/s",
        "swap:/a+b",
        "zram+swap:/c++/x+y",
        "swap:/dev/a+/dev/b",
        "zram+swap:/dev/a+/dev/b+/dev/c+swap:/d",
    ] {
        assert_eq!(text.parse::<Tier>().unwrap().to_string(), text);
    }
    let areas = |text: &str| match text.parse::<Tier>() {
        Ok(Tier::Swap(areas)) => areas.len(),
        other => panic!("{other:?}"),
    };
    assert_eq!(["swap:/a+b", "swap:/c++/x", "swap:/a+/b", "swap:/a+b+/b"].map(areas), [1, 1, 2, 2]);
    for (text, said) in [
        ("swap:/a+/", "whole path"),
        ("swap:/a+/b+/a", "/a is named twice"),
        ("zrm", "did you mean 'zram'?"),
        ("cxl", "tiers are dram"),
        ("swap", "whole path"),
        ("swap:sda", "whole path"),
        ("swap:/dev/../etc/passwd", "whole path"),
        ("zram:", "write an algorithm"),
        ("zram:a b", "write an algorithm"),
        ("node:x", "node's number"),
        ("dram:1", "takes no argument"),
        ("zram+dram", "behind DRAM"),
        ("zram+zram", "different tiers"),
        ("node:1+node:2", "one node"),
        ("node:1+demotion:1", "one node"),
        ("demotion", "node's number"),
    ] {
        let error = text.parse::<Tier>().unwrap_err();
        assert!(error.contains(said), "{text}: {error}");
    }
}

/// The mistakes of `mini` with a change.
fn mistakes(from: &str, to: &str) -> Vec<Mistake> {
    let text = text_of("mini");
    assert!(text.contains(from), "{from}");
    Scenario::read(&text.replacen(from, to, 1)).expect_err(to)
}

#[test]
fn mistakes_are_told_with_line_and_key() {
    for (from, to, key, code) in [
        ("rate = 500.0", "rates = 500.0", "load.rates", files::key_unknown),
        ("rate = 500.0", "rate = 0", "load.rate", codes::rate_out_of_range),
        ("rate = 500.0", "rate = nan", "load.rate", codes::rate_out_of_range),
        ("rate = 500.0", "rate = 0.001", "level.limits", codes::limit_not_judged),
        ("\"zram\"", "\"zrm\"", "tiers", files::value_refused),
        ("\"zram\"", "\"dram\"", "tiers", files::listed_twice),
        ("\"process\"", "\"proces\"", "backend", files::choice_unknown),
        ("\"process\"", "\"external\"", "backend", codes::targets_missing),
        ("\"512M\"", "\"512Q\"", "dram-budget", files::value_refused),
        ("reserve = 0", "reserve = -1", "reserve", files::value_refused),
        ("reserve = 0", "reserve = \"1G\"", "reserve", codes::reserve_too_large),
        ("reserve = 0", "targets = [\"a:1\"]", "targets", codes::targets_of_another_backend),
        ("maxmemory = \"off\"", "vm-memory = \"1G\"", "tenant.vm-memory", codes::vm_of_another_backend),
        ("maxmemory = \"off\"", "vm-cpus = 2", "tenant.vm-cpus", codes::vm_of_another_backend),
        ("maxmemory = \"off\"", "vm-append = \"nohz=off\"", "tenant.vm-append", codes::vm_of_another_backend),
        ("\"off\"", "\"1Q\"", "tenant.maxmemory", files::value_refused),
        ("\"off\"", "true", "tenant.maxmemory", files::value_refused),
        ("\"off\"", "\"64M\"", "tenant.maxmemory", codes::maxmemory_without_policy),
        (
            "\"off\"",
            "\"off\"\nmaxmemory-policy = \"allkeys-lru\"",
            "tenant.maxmemory-policy",
            codes::policy_without_maxmemory,
        ),
        ("\"off\"", "\"64M\"\nmaxmemory-policy = \"volatile-lru\"", "tenant.maxmemory-policy", files::choice_unknown),
        (
            "\"off\"",
            "0\nmaxmemory-policy = \"allkeys-lru\"",
            "tenant.maxmemory-policy",
            codes::policy_without_maxmemory,
        ),
        ("\"off\"", "\"100\"\nmaxmemory-policy = \"allkeys-lru\"", "tenant.maxmemory", codes::maxmemory_too_small),
        ("75_000", "0", "tenant.records", codes::records_out_of_range),
        ("compressibility = 0.5", "compressibility = 1.5", "tenant.compressibility", files::number_out_of_range),
        ("mixes = [100.0]", "mixes = [101.0]", "load.mixes", files::number_out_of_range),
        ("mixes = [100.0]", "mixes = []", "load.mixes", codes::no_mix),
        ("[\"uniform\"]", "[\"brief:x\"]", "load.keys", files::value_refused),
        ("pipeline = 1000", "pipeline = 0", "load.pipeline", files::number_out_of_range),
        ("p99 < 1s", "p99 1s", "level.limits", files::value_refused),
        ("p99 < 1s", "p99.999 < 1s", "level.limits", codes::limit_not_judged),
        ("\"every\"", "\"all\"", "level.scope", files::value_refused),
        ("trial-seconds = 60.0", "trial-seconds = 5.0", "limits.trial-seconds", codes::trial_too_short),
        // Enough for what is clear at once, 7 s, and no more.
        ("trial-seconds = 60.0", "trial-seconds = 18.0", "limits.trial-seconds", codes::trial_too_short),
        ("iterations = 3", "iterations = 0", "time.iterations", files::number_out_of_range),
    ] {
        let line = 1 + text_of("mini").split(from).next().unwrap().matches('\n').count();
        let found = mistakes(from, to);
        let mistake =
            found.iter().find(|mistake| mistake.fault.code == code).unwrap_or_else(|| panic!("{to}: {found:?}"));
        let is_of_another_line = to == "rate = 0.001" || key == "tenant.maxmemory-policy";
        assert_eq!(mistake.key, key, "{to}");
        assert!(is_of_another_line || mistake.line == line, "{to}: {line} {mistake}");
    }
    assert!(mistakes("rate = 500.0", "rps = 500.0")[0].to_string().ends_with("did you mean 'rate'?"));
    let share = &mistakes("mixes = [100.0]", "mixes = [0.9]")[0];
    assert!(share.key == "load.mixes" && share.fault.text.ends_with("if 0.9 is a share of 1, write 90"), "{share}");
    // Found by every load, if no key is looked up.
    let sets = text_of("mini").replacen("[100.0]", "[0.0]", 1).replacen("p99 < 1s", "hit rate > 90%", 1);
    let found = Scenario::read(&sets).unwrap_err();
    assert!(found[0].key == "level.limits" && found[0].fault.code == codes::hit_rate_without_gets, "{found:?}");
    let suggested = &mistakes("rate = 500.0", "rates = 500.0")[0].fault;
    assert_eq!(suggested.data["name"], "rates");
    assert!(suggested.data["known"].as_array().unwrap().contains(&"rate".into()));
}

/// As in redis.conf.
#[test]
fn no_memory_limit_may_be_written_as_zero() {
    for zero in ["0", "\"0\""] {
        let text = text_of("mini").replace("maxmemory = \"off\"", &format!("maxmemory = {zero}"));
        assert_eq!(Scenario::read(&text).unwrap(), read("mini"));
    }
}

#[test]
fn numbers_and_times_may_be_written_as_on_the_command_line() {
    let text = text_of("mini").replace("75_000", "\"75k\"").replace("measure = 2.0", "measure = \"2s\"");
    let text =
        text.replace("total-seconds = 600.0", "total-seconds = \"10m\"").replace("settle = 0.0", "settle = \"0\"");
    assert_eq!(Scenario::read(&text).unwrap(), read("mini"));
    for (from, to, key, code, example) in [
        ("75_000", "\"lots\"", "tenant.records", files::value_refused, None),
        ("75_000", "true", "tenant.records", files::type_wrong, Some("75000")),
        ("rate = 500.0", "rate = \"5k\"", "load.rate", files::type_wrong, Some("500.0")),
        ("measure = 2.0", "measure = \"soon\"", "time.measure", files::value_refused, None),
        ("mixes = [100.0]", "mixes = 100.0", "load.mixes", files::type_wrong, None),
    ] {
        let Mistake { key: of, fault, .. } = mistakes(from, to).swap_remove(0);
        assert_eq!((of.as_str(), &fault.code), (key, &code), "{to}: {fault}");
        assert_eq!(fault.data.get("example").and_then(|example| example.as_str()), example, "{to}");
    }
}

#[test]
fn one_round_tells_all_mistakes_of_a_file() {
    let text = text_of("mini")
        .replace("75_000", "\"lots\"")
        .replace("rate = 500.0", "rates = 500.0")
        .replace("iterations = 3", "iterations = 0")
        .replace("scope = \"every\"", "scope = \"all\"")
        .replace("reserve = 0", "reserve = \"1G\"")
        .replace("most-trials = 24", "most-trials = -1");
    let keys = |text: &str| -> Vec<String> {
        Scenario::read(text).unwrap_err().into_iter().map(|mistake| mistake.key).collect()
    };
    let wrong = ["reserve", "tenant.records", "load.rates", "time.iterations", "level.scope", "limits.most-trials"];
    assert_eq!(keys(&text), wrong);
    // What is missing does not hide the rest.
    let text = text_of("mini").replace("records = 75_000", "").replace("rate = 500.0", "rate = 0");
    assert_eq!(keys(&text), ["tenant.records", "load.rate"]);
}

#[test]
fn what_a_level_needs_is_said_in_figures() {
    let text = text_of("mini").replace("p99 < 1s", "p99.9 < 1s");
    let fault = Scenario::read(&text).unwrap_err().swap_remove(0).fault;
    let figure = |name: &str| fault.data[name].as_f64().unwrap();
    let (needed, measure) = (figure("needed"), figure("measure"));
    assert!(needed > 3000.0, "{fault}");
    // That is enough, and a tenth less is not.
    let with = |seconds: &str| Scenario::read(&text.replace("measure = 2.0", &format!("measure = {seconds}")));
    assert!(with(&format!("{measure:.1}")).is_ok(), "{fault}");
    assert!(with(&format!("{:.1}", measure - 0.1)).is_err(), "{fault}");
}

#[test]
fn one_that_cannot_fit_is_told_unless_a_tier_helps() {
    let text = text_of("mini").replace("75_000", "1_000_000");
    assert!(Scenario::read(&text).is_ok(), "zram may hold it");
    let mistakes = Scenario::read(&text.replace("[\"dram\", \"zram\"]", "[\"dram\"]")).unwrap_err();
    let data = &mistakes[0].fault.data;
    assert_eq!(mistakes[0].fault.code, codes::budget_too_small);
    assert_eq!((data["values"].as_u64(), data["room"].as_u64()), (Some(1_024_000_000), Some(512 << 20)));
}

#[test]
fn virtual_machines_have_memory_for_their_records() {
    let text = text_of("mini").replace("\"process\"", "\"qemu\"");
    let scenario = Scenario::read(&text).unwrap();
    assert_eq!(scenario.vm_memory(), 75_000 * 1638 + (192 << 20));
    let mut small = scenario.clone();
    small.tenant.value = Size(64);
    assert_eq!(small.vm_memory(), 75_000 * 576 + (192 << 20));
    let shaped = |more: &str| Scenario::read(&text.replace("\"off\"", &format!("\"off\"\n{more}")));
    let guest = shaped("vm-cpus = 2\nvm-append = \"nohz=off highres=off\"").unwrap().guest();
    assert_eq!((guest.cpus, guest.append.as_str()), (2, "nohz=off highres=off"));
    let fault = |more: &str| shaped(more).unwrap_err().swap_remove(0).fault.code;
    assert_eq!(fault("vm-cpus = 65"), files::number_out_of_range);
    assert_eq!(fault("vm-append = \"a -- init=/bin/sh\""), codes::vm_append_wrong);
    let given = |size: &str| Scenario::read(&text.replace("\"off\"", &format!("\"off\"\nvm-memory = \"{size}\"")));
    assert_eq!(given("300M").unwrap().vm_memory(), 300 << 20);
    let fault = given("50M").unwrap_err().swap_remove(0).fault;
    assert_eq!((&fault.code, fault.data["values"].as_u64()), (&codes::vm_memory_too_small, Some(76_800_000)));
}

#[test]
fn external_servers_have_addresses() {
    let external = |targets: &str| {
        let own = text_of("mini").replace("\"process\"", "\"external\"").replace("[\"dram\", \"zram\"]", "[\"dram\"]");
        Scenario::read(&own.replace("reserve = 0", &format!("targets = [{targets}]")))
    };
    assert!(external("\"10.0.0.1:6379\", \"[::1]:6380\", \"host\", \"/run/redis.sock\"").is_ok());
    for (wrong, code) in [
        ("\":6379\"", codes::address_wrong),
        ("\"host:0\"", codes::address_wrong),
        ("\"host:70000\"", codes::address_wrong),
        ("\"a\", \"a\"", files::listed_twice),
    ] {
        assert_eq!(external(wrong).unwrap_err()[0].fault.code, code, "{wrong}");
    }
}

proptest! {
    #[test]
    fn any_text_is_a_choice_or_none(text in "(swap|zram|node|brief|normal|zipf|hotspot)?:?[a-z0-9./+,:-]{0,20}") {
        if let Ok(tier) = text.parse::<Tier>() {
            prop_assert_eq!(tier.to_string().parse::<Tier>(), Ok(tier));
        }
        if let Ok(keys) = text.parse::<KeyDist>() {
            prop_assert_eq!(keys.to_string().parse::<KeyDist>(), Ok(keys));
        }
    }
}
