//! Costs against arithmetic done by hand.

use proptest::prelude::*;
use tiermark_model::messages::files::codes as files;
use tiermark_model::messages::scenario::codes;

use super::*;

/// A server of 100 and an upgrade of 39.35, nothing else: only ratios of the brief's prices are known.
const BRIEF: &str = r#"
currency = "% of a server"
date = "2018-07-01"
source = "ratios of the brief; its prices were in a chart that is lost"
months = 0

[part]
server = { price = 100 }
upgrade = { price = 39.35 }

[tier.dram]
server = 1
[tier.swap]
server = 1
upgrade = 1
"#;

fn of(total: f64, tenants: u32) -> Configuration {
    Configuration { total, tenants }
}

fn near(found: f64, wanted: f64, within: f64) {
    assert!((found - wanted).abs() <= within, "{found} {wanted}");
}

fn answer(tier: &str, tenants: u32) -> Fitting {
    Fitting { tier: tier.to_owned(), load: "100 % GET".to_owned(), tenants: Ok(tenants) }
}

/// An answer without a number that can be priced.
fn vague(tier: &str) -> Fitting {
    Fitting { tenants: Err(messages::no_tenant_to_price(tier, "100 % GET")), ..answer(tier, 0) }
}

#[test]
fn the_arithmetic_of_the_brief_is_reproduced() {
    let table = read(BRIEF).unwrap().table(&[answer("swap:/dev/nvme0n1", 108), answer("dram", 31)], "2018-08-01");
    assert_eq!(table.rows.len(), 2);
    assert!(table.remarks.is_empty() && table.rows[0].tier == "dram" && table.rows[0].against.is_none());
    let swap = table.rows[1].against.unwrap();
    near(swap.ratio, 3.484, 0.0005);
    near(swap.upgrade, 0.3935, 1e-9);
    near(swap.saving, 0.600, 0.0005);
    // "Additional 350 %" of the brief is 248 %: what a tenant may cost more before it costs the same.
    near(swap.break_even, 2.484, 0.0005);
    near(table.rows[0].per_tenant, 100.0 / 31.0, 1e-12);
    assert_eq!((table.saving_wanted, swap.affordable), (None, None));
    near(against(of(100.0, 31), of(100.0, 126)).unwrap().ratio, 4.06, 0.005);
}

#[test]
fn a_wanted_saving_says_what_may_be_spent() {
    let with = |saving: &str| read(&BRIEF.replace("months = 0", &format!("months = 0\nsaving-wanted = {saving}")));
    let affordable = |saving: &str| {
        let table = with(saving).unwrap().table(&[answer("swap", 108), answer("dram", 31)], "2018-08-01");
        table.rows[1].against.unwrap().affordable.unwrap()
    };
    near(affordable("0.6"), 0.394, 0.0005);
    near(affordable("0"), 2.484, 0.0005);
    assert!(affordable("0.8") < 0.0, "five times the tenants would be needed");
    for wrong in ["1", "-0.1", "60", "nan"] {
        let mistake = with(wrong).unwrap_err().swap_remove(0);
        assert_eq!(
            (mistake.key.as_str(), mistake.fault.code),
            ("saving-wanted", codes::saving_out_of_range),
            "{wrong}"
        );
    }
}

#[test]
fn power_and_space_are_counted_over_the_months() {
    let text = BRIEF
        .replace("months = 0", "months = 36\nspace = 10\npower = { pue = 1.5, kwh = 0.2 }")
        .replace("{ price = 100 }", "{ price = 100, watts = 400 }");
    let prices = read(&text).unwrap();
    // 0.4 kW × 1.5 × 730.5 h × 0.2 = 87.66 a month.
    near(prices.of_server("dram").unwrap(), 100.0 + 36.0 * (87.66 + 10.0), 1e-9);
    near(prices.of_server("swap:/x").unwrap() - prices.of_server("dram").unwrap(), 39.35, 1e-9);
    assert_eq!(prices.of_server("zram:lz4"), None);
}

#[test]
fn a_full_name_goes_before_a_kind() {
    let prices = read(&format!("{BRIEF}[tier.\"swap:/dev/fast\"]\nserver = 2\n")).unwrap();
    near(prices.of_server("swap:/dev/fast").unwrap(), 200.0, 1e-9);
    near(prices.of_server("swap:/dev/slow").unwrap(), 139.35, 1e-9);
    // A mix has a price only if each of its parts has one.
    assert_eq!(prices.of_server("swap:/dev/slow+zram"), None);
    let prices = read(&format!("{BRIEF}[tier.\"swap+zram\"]\nserver = 3\n")).unwrap();
    near(prices.of_server("swap:/dev/slow+zram:lz4").unwrap(), 300.0, 1e-9);
}

#[test]
fn what_has_no_cost_is_remarked_on_and_not_made_up() {
    let prices = read(BRIEF).unwrap();
    let table = prices.table(&[answer("zram:lz4", 40), vague("swap:/x"), answer("dram", 31)], "2026-11-21");
    assert_eq!(table.rows.len(), 1);
    let codes: Vec<&str> = table.remarks.iter().map(|remark| remark.code.as_str()).collect();
    assert_eq!(codes, ["prices_old", "tier_without_prices", "no_tenant_to_price"]);
    assert_eq!(table.remarks[1].data["tier"], "zram:lz4");
    assert_eq!(table.remarks[2].data["load"], "100 % GET");
    // Without a row of DRAM under the same load there is nothing to hold it against.
    assert_eq!(prices.table(&[answer("swap:/x", 9)], "2018-08-01").rows[0].against, None);
}

#[test]
fn nothing_is_compared_with_a_base_without_a_number() {
    let prices = read(BRIEF).unwrap();
    let table = prices.table(&[vague("dram"), answer("swap:/x", 40)], "2018-08-01");
    assert_eq!((table.rows.len(), table.rows[0].against), (1, None));
    assert_eq!(
        table.remarks,
        [messages::no_tenant_to_price("dram", "100 % GET"), messages::base_not_exact("dram", "100 % GET")]
    );
    let of_another_load = Fitting { load: "x".into(), ..vague("dram") };
    let table = prices.table(&[of_another_load, answer("dram", 20), answer("swap:/x", 40)], "2018-08-01");
    assert_eq!((table.rows[1].against.unwrap().ratio, table.remarks.len()), (2.0, 1));
    // Nothing else has a price either.
    let codes = prices.table(&[vague("dram"), vague("swap:/x")], "2018-08-01").remarks;
    assert!(codes.iter().all(|remark| remark.code == messages::codes::no_tenant_to_price), "{codes:?}");
}

#[test]
fn old_prices_are_told() {
    let prices = read(BRIEF).unwrap();
    assert_eq!(prices.aged("2019-07-01"), None);
    let old = prices.aged("2019-07-02").unwrap();
    assert_eq!(old.code, messages::codes::prices_old);
    near(old.data["years"].as_f64().unwrap(), 366.0 / 365.25, 1e-9);
    assert_eq!(prices.aged("2018-06-30").unwrap().code, messages::codes::prices_in_future);
}

#[test]
fn wrong_files_are_refused_with_line_and_key() {
    for (from, to, line, key, code) in [
        ("price = 100", "price = -100", 8, "part.server.price", codes::amount_wrong),
        ("price = 100", "price = nan", 8, "part.server.price", codes::amount_wrong),
        ("price = 100", "prize = 100", 8, "part.server.prize", files::key_unknown),
        ("price = 100", "price = \"100\"", 8, "part.server.price", files::type_wrong),
        ("2018-07-01", "2018-13-01", 3, "date", codes::date_wrong),
        ("date = \"2018-07-01\"\n", "", 0, "date", files::key_missing),
        ("% of a server", " ", 2, "currency", codes::prices_lack),
        ("upgrade = 1", "upgrad = 1", 15, "tier.swap.upgrad", codes::part_unknown),
        ("[tier.dram]", "[tier.ram]", 11, "tier", codes::no_base_prices),
        ("months = 0", "months = 0\npower = { pue = 0.5 }", 6, "power.pue", codes::pue_below_one),
        ("[part]", "[part", 7, "", files::not_toml),
    ] {
        assert!(BRIEF.contains(from), "{from}");
        let found = read(&BRIEF.replacen(from, to, 1)).unwrap_err();
        let expected = |m: &Mistake| (m.line, m.key.as_str(), &m.fault.code) == (line, key, &code);
        assert!(found.iter().any(expected), "{from} → {to}: {found:?}");
    }
}

#[test]
fn nothing_is_divided_by_nothing() {
    assert_eq!(against(of(0.0, 31), of(10.0, 108)), None);
    assert_eq!(against(of(100.0, 0), of(10.0, 108)), None);
}

proptest! {
    /// Whatever replaces a value, the file is read or refused.
    #[test]
    fn any_value_is_read_or_refused(at in 0usize..400, with in "[a-z0-9.\"=\\[\\]{} \\n-]{0,12}") {
        let mut text = BRIEF.to_owned();
        let at = (at % text.len()..).find(|at| text.is_char_boundary(*at)).unwrap_or(0);
        text.insert_str(at, &with);
        if let Ok(prices) = read(&text) {
            let table = prices.table(&[answer("dram", 31), answer("swap", 108)], "2026-11-21");
            prop_assert!(table.rows.iter().all(|row| row.total.is_finite() && row.per_tenant >= 0.0));
        }
    }
}

#[test]
fn the_file_of_the_method_page_is_one() {
    let page = include_str!("../../../../docs/methods/prices.md");
    let (_, after) = page.split_once("A price file:\n\n```toml\n").unwrap();
    let prices = read(after.split_once("```").unwrap().0).unwrap();
    // 0.348 and 0.368 kW × 1.4 × 730.5 h × 0.25, and 20 for its place, for 36 months.
    near(prices.of_server("dram").unwrap(), 7800.0 + 36.0 * (0.348 * 1.4 * 730.5 * 0.25 + 20.0), 1e-6);
    near(prices.of_server("swap:/x").unwrap(), 9600.0 + 36.0 * (0.368 * 1.4 * 730.5 * 0.25 + 20.0), 1e-6);
    assert_eq!(prices.saving_wanted, Some(0.6));
}
