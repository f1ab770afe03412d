//! The cost of tenants, from a dated file of prices.

use std::collections::BTreeMap;
use std::path::Path;

use jiff::civil::Date;
use serde::Deserialize;
use tiermark_history::config::{Mistake, Problem, text_of};
use tiermark_model::Note;
use tiermark_model::capacity::{CostAgainst, CostRow, CostTable};
use tiermark_model::messages::{capacity as messages, scenario as says};

use crate::scenario::Tier;

/// Hours of a month: 365.25 days / 12.
const HOURS_A_MONTH: f64 = 730.5;
/// Prices older than this are worth a remark: memory has halved and doubled within a year.
const OLD_DAYS: i32 = 365;
/// The tier that others are compared with.
pub const BASE: &str = "dram";

/// The tenants of an answer, as they are priced.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fitting {
    /// Name of the tier, as in answers.
    pub tier: String,
    /// The load's mix and keys, as in answers.
    pub load: String,
    /// Tenants that fit, as the server's own limits allow; otherwise why there is no such number.
    pub tenants: Result<u32, Note>,
}

/// A price file: what parts cost, and which parts a server of each tier has.
#[derive(Debug, Clone, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct Prices {
    /// Currency of every amount: `USD`.
    pub currency: String,
    /// Day on which they held, as `2018-04-30`.
    pub date: String,
    /// Source of the prices.
    pub source: String,
    /// Months of operation; 0 counts the parts alone.
    pub months: f64,
    /// Target saving per tenant against DRAM alone, as a share: 0.6 is 60 % less. The report gives the cost of the tier
    /// that reaches it.
    #[serde(default)]
    pub saving_wanted: Option<f64>,
    /// Price of electricity, and overhead of the building.
    #[serde(default)]
    pub power: Power,
    /// Rent of a server's place, a month.
    #[serde(default)]
    pub space: f64,
    /// Parts that can be bought: server, memory modules, devices, licences.
    pub part: BTreeMap<String, PartPrice>,
    /// The parts of a server of each tier: how many of which. The key is the tier (`swap:/dev/nvme0n1`), or its kind
    /// (`swap`) for all of that kind.
    pub tier: BTreeMap<String, BTreeMap<String, f64>>,
}

/// Price of electricity, and overhead of the building.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case", default)]
pub struct Power {
    /// Power of the whole building over that of its servers (power usage effectiveness); at least 1.
    pub pue: f64,
    /// Price of a kWh.
    pub kwh: f64,
}

impl Default for Power {
    fn default() -> Self {
        Self { pue: 1.0, kwh: 0.0 }
    }
}

/// Something that can be bought.
#[derive(Debug, Clone, Copy, PartialEq, Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub struct PartPrice {
    /// Price of one, in the currency of the file.
    pub price: f64,
    /// Mean power of one, in W.
    #[serde(default)]
    pub watts: f64,
}

/// A price file with every key, whose values replace wrong or missing ones while mistakes are collected.
const MODEL: &str = r#"
currency = "USD"
date = "2026-11-21"
source = "a list of prices"
months = 36
saving-wanted = 0.5
space = 50.0
[power]
pue = 1.5
kwh = 0.2
[part.server]
price = 5000.0
watts = 300.0
[tier.dram]
server = 1
"#;

/// Reads a file of prices.
///
/// # Errors
/// Its mistakes, a sentence each that names the file.
pub fn read_file(path: &str) -> Result<Prices, Vec<String>> {
    let text = text_of(Path::new(path))
        .map_err(|error| vec![format!("prices '{path}': {error}; name a readable file: --prices FILE")])?;
    read(&text).map_err(|mistakes| mistakes.iter().map(|mistake| format!("{path}: {mistake}")).collect())
}

/// Reads a file of prices.
///
/// # Errors
/// Every [`Mistake`], with its line and key where it has one.
pub fn read(text: &str) -> Result<Prices, Vec<Mistake>> {
    tiermark_history::config::read(text, MODEL, Prices::problems)
}

/// A tier without what it is made of: `zram:lz4+swap:/dev/sdb` is `zram+swap`. A mix is never priced as one of its
/// parts.
fn kinds(tier: &str) -> String {
    tier.parse().map_or_else(|_| tier.to_owned(), |tier: Tier| tier.kind())
}

impl Prices {
    /// The mistakes in prices that were read.
    pub fn problems(&self) -> Vec<Problem> {
        let mut found = Vec::new();
        let mut amount = |key: String, value: f64| {
            if !value.is_finite() || value < 0.0 {
                found.push(Problem::new(key, says::amount_wrong(value)));
            }
        };
        amount("months".into(), self.months);
        amount("space".into(), self.space);
        amount("power.kwh".into(), self.power.kwh);
        for (name, part) in &self.part {
            amount(format!("part.{name}.price"), part.price);
            amount(format!("part.{name}.watts"), part.watts);
        }
        for (tier, parts) in &self.tier {
            parts.iter().for_each(|(name, count)| amount(format!("tier.{tier}.{name}"), *count));
        }
        if let Some(saving) = self.saving_wanted.filter(|saving| !(0.0..1.0).contains(saving)) {
            found.push(Problem::new("saving-wanted", says::saving_out_of_range(saving)));
        }
        if !self.power.pue.is_finite() || self.power.pue < 1.0 {
            found.push(Problem::new("power.pue", says::pue_below_one(self.power.pue)));
        }
        for (key, text) in [("currency", &self.currency), ("source", &self.source)] {
            if text.trim().is_empty() {
                found.push(Problem::new(key, says::prices_lack()));
            }
        }
        if self.day().is_none() {
            found.push(Problem::new("date", says::date_wrong(&self.date)));
        }
        found.extend(self.unknown_parts());
        if !self.tier.contains_key(BASE) {
            found.push(Problem::new("tier", says::no_base_prices()));
        }
        found
    }

    fn unknown_parts(&self) -> Vec<Problem> {
        let known: Vec<&str> = self.part.keys().map(String::as_str).collect();
        let of_tiers = self.tier.iter().flat_map(|(tier, parts)| parts.keys().map(move |name| (tier, name)));
        let unknown = of_tiers.filter(|(_, name)| !self.part.contains_key(*name));
        let problem = |(tier, name): (&String, &String)| {
            Problem::new(format!("tier.{tier}.{name}"), says::part_unknown(name, &known))
        };
        unknown.map(problem).collect()
    }

    fn day(&self) -> Option<Date> {
        self.date.parse().ok()
    }

    /// A remark where they are old or of a day to come, as seen from a day (`2026-11-21`).
    pub fn aged(&self, today: &str) -> Option<Note> {
        let days = today.parse::<Date>().ok()?.since(self.day()?).ok()?.get_days();
        match days {
            days if days < 0 => Some(messages::prices_in_future(&self.date)),
            days if days > OLD_DAYS => Some(messages::prices_old(&self.date, f64::from(days) / 365.25)),
            _ => None,
        }
    }

    /// Cost of a server of a tier, with power and space over the months; `None` if the file has no such tier.
    pub fn of_server(&self, tier: &str) -> Option<f64> {
        let parts = self.tier.get(tier).or_else(|| self.tier.get(&kinds(tier)))?;
        let sum = |field: fn(&PartPrice) -> f64| -> f64 {
            parts.iter().filter_map(|(name, count)| Some(count * field(self.part.get(name)?))).sum()
        };
        let kilowatts = sum(|part| part.watts) / 1000.0;
        let monthly = kilowatts * self.power.pue * HOURS_A_MONTH * self.power.kwh + self.space;
        Some(sum(|part| part.price) + self.months * monthly)
    }

    /// The cost of the tenants of each answer. Each row is compared with the row of [`BASE`] under the same load, if
    /// there is one. An answer without a single number, and a tier without prices, get a remark instead of a row.
    /// Prices that are old on the day `today` (`2026-11-21`) get a remark too.
    pub fn table(&self, answers: &[Fitting], today: &str) -> CostTable {
        let mut remarks: Vec<Note> = self.aged(today).into_iter().collect();
        let mut rows: Vec<CostRow> = Vec::new();
        let mut ordered: Vec<&Fitting> = answers.iter().collect();
        ordered.sort_by_key(|fitting| fitting.tier != BASE);
        for Fitting { tier, load, tenants } in &ordered {
            match (self.of_server(tier), tenants) {
                (None, _) => remarks.push(messages::tier_without_prices(tier)),
                (_, Err(why)) => remarks.push(why.clone()),
                (Some(total), Ok(tenants)) => {
                    let base = rows.iter().find(|row| row.tier == BASE && row.load == *load && tier != BASE);
                    let against = base.and_then(|base| self.against(base, Configuration { total, tenants: *tenants }));
                    let per_tenant = total / f64::from(*tenants);
                    let (tier, load) = (tier.clone(), load.clone());
                    rows.push(CostRow { tier, load, tenants: *tenants, total, per_tenant, against });
                }
            }
        }
        remarks.dedup();
        let lacks_base = |load: &str| !rows.iter().any(|row| row.tier == BASE && row.load == load);
        let vague = ordered.iter().filter(|base| base.tier == BASE && lacks_base(&base.load));
        let with_others = |base: &&&Fitting| rows.iter().any(|other| other.load == base.load);
        remarks.extend(vague.filter(with_others).map(|base| messages::base_not_exact(BASE, &base.load)));
        let (currency, date, source) = (self.currency.clone(), self.date.clone(), self.source.clone());
        CostTable { currency, date, source, months: self.months, saving_wanted: self.saving_wanted, rows, remarks }
    }

    /// A configuration against the row of [`BASE`], and what it may cost for the wanted saving.
    fn against(&self, base: &CostRow, own: Configuration) -> Option<CostAgainst> {
        let found = against(Configuration { total: base.total, tenants: base.tenants }, own)?;
        Some(CostAgainst { affordable: self.saving_wanted.map(|saving| affordable(found.ratio, saving)), ..found })
    }
}

/// A server of one tier: its cost, and its tenants.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Configuration {
    /// Cost of the server, with power and space over the months.
    pub total: f64,
    /// Tenants that the server holds.
    pub tenants: u32,
}

/// One configuration against another: r = N₂/N₁, u = ΔC/C₁, saving 1 − (1 + u)/r, break-even u = r − 1.
/// `None` where the first costs nothing or holds nothing.
pub fn against(base: Configuration, other: Configuration) -> Option<CostAgainst> {
    let ratio = f64::from(other.tenants) / f64::from(base.tenants);
    let upgrade = other.total / base.total - 1.0;
    let saving = 1.0 - (1.0 + upgrade) / ratio;
    let found = CostAgainst { ratio, upgrade, saving, break_even: ratio - 1.0, affordable: None };
    [ratio, upgrade, saving].iter().all(|x| x.is_finite()).then_some(found)
}

/// The most that an upgrade may cost, as a share of the server, for tenants that cost a share less: (1 − s)·r − 1.
fn affordable(ratio: f64, saving: f64) -> f64 {
    (1.0 - saving) * ratio - 1.0
}

#[cfg(test)]
mod tests;
