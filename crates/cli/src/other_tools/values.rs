//! Values of a command line of another tool, as options here write them.

use std::collections::BTreeMap;

use tiermark_model::parse_size;

/// Values by the names that the table gives them.
pub(super) type Values = BTreeMap<String, String>;

/// Whether a word of the table stands for any value.
pub(super) fn is_name(word: &str) -> bool {
    word.len() > 1 && word.chars().all(|c| c.is_ascii_uppercase())
}

/// The values that a pattern names, if it fits: `DOMAIN:SIZE` fits `S0:1GB`, `SIZE-REST` fits `1GB-0:S1,1:S1`, `TLB*`
/// fits what has `TLB` in it, and `TLB*,` a list whose values all have.
pub(super) fn bound(pattern: &str, value: &str) -> Option<Values> {
    let is_word = |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_graphic());
    let named = |name: &str, part: &str| (name.to_owned(), part.to_owned());
    if is_name(pattern) {
        return is_word(value).then(|| Values::from([named(pattern, value)]));
    }
    if let Some((first, name)) = pattern.split_once('-').filter(|(_, name)| is_name(name)) {
        let (value, rest) = value.split_once('-').filter(|(_, rest)| is_word(rest))?;
        let mut values = bound(first, value)?;
        values.extend([named(name, rest)]);
        return Some(values);
    }
    let (names, parts): (Vec<&str>, Vec<&str>) = (pattern.split(':').collect(), value.split(':').collect());
    if names.len() > 1 && names.iter().all(|name| is_name(name)) {
        let fits = names.len() == parts.len() && parts.iter().all(|part| is_word(part));
        return fits.then(|| names.iter().zip(parts).map(|(name, part)| named(name, part)).collect());
    }
    let fits = match (pattern.strip_suffix("*,"), pattern.strip_suffix('*')) {
        (Some(part), _) => value.split(',').all(|one| one.contains(part)),
        (_, Some(part)) => value.contains(part),
        _ => value == pattern,
    };
    fits.then(Values::new)
}

/// A text of the table with the values in place of `{NAME}`; `None` if one is missing, or is no such value.
pub(super) fn filled(template: &str, values: &Values) -> Option<String> {
    let (mut out, mut rest) = (String::new(), template);
    while let Some((before, behind)) = rest.split_once('{') {
        let (expression, after) = behind.split_once('}')?;
        out = out + before + &calculated(expression, values)?;
        rest = after;
    }
    Some(out + rest)
}

/// A text of the table with its names only.
pub(super) fn named(template: &str) -> String {
    let mut pieces = template.split('{');
    let first = pieces.next().unwrap_or_default().to_owned();
    pieces
        .filter_map(|piece| piece.split_once('}'))
        .fold(first, |text, (expression, after)| text + expression.split(':').next().unwrap_or_default() + after)
}

/// `NAME`, `NAME:kib`, or products and quotients of these and numbers.
fn calculated(expression: &str, values: &Values) -> Option<String> {
    let factor = |text: &str| match text.split_once(':') {
        Some((name, how)) => converted(values.get(name)?, how),
        None => values.get(text).cloned().or_else(|| text.parse::<u64>().ok().map(|number| number.to_string())),
    };
    let operators: Vec<char> = expression.chars().filter(|c| matches!(c, '*' | '/')).collect();
    let mut factors = expression.split(['*', '/']).map(factor);
    let first = factors.next()??;
    if operators.is_empty() {
        return Some(first);
    }
    let is_size = first.ends_with(|c: char| c.is_ascii_alphabetic());
    let mut number = parse_size(&first).ok()?.0;
    for (operator, factor) in operators.iter().zip(factors) {
        let by = parse_size(&factor?).ok()?.0;
        number = if *operator == '*' { number.checked_mul(by)? } else { number.checked_div(by)? };
    }
    Some(if is_size { size(number) } else { number.to_string() })
}

/// A size in its largest whole unit; one that has none is rounded to KiB.
fn size(bytes: u64) -> String {
    let units =
        [(1 << 30, "G"), (1_000_000_000, "GB"), (1 << 20, "M"), (1_000_000, "MB"), (1 << 10, "K"), (1000, "kB")];
    match units.iter().find(|(unit, _)| bytes > 0 && bytes.is_multiple_of(*unit)) {
        Some((unit, name)) => format!("{}{name}", bytes / unit),
        None if bytes < 1 << 20 => bytes.to_string(),
        None => format!("{}K", bytes >> 10),
    }
}

/// Where a curve up to a size begins: smaller sizes lie in L1 too.
const CURVE_BEGINS: u64 = 4 << 10;

/// The sizes of a curve that ends at this one.
fn curve(last: u64) -> String {
    let doubled = std::iter::successors(Some(CURVE_BEGINS), |bytes| bytes.checked_mul(2));
    let sizes = doubled.take_while(|bytes| *bytes < last).chain([last]);
    sizes.map(size).collect::<Vec<_>>().join(",")
}

/// A value, converted as the table says.
fn converted(value: &str, how: &str) -> Option<String> {
    let number = || value.parse::<u64>().ok();
    let unless_unit = |unit: &str| match number() {
        Some(number) => Some(format!("{number}{unit}")),
        None => parse_size(value).ok().map(|_| value.to_owned()),
    };
    match how {
        "kib" => unless_unit("K"),
        "mib" => unless_unit("M"),
        "curve" => Some(curve(parse_size(&unless_unit("M")?).ok()?.0)),
        // `64MB` of tools for which that is a power of 1024.
        "iec" => Some(value.trim_end_matches(['B', 'b']).to_owned()).filter(|size| parse_size(size).is_ok()),
        "bytes" => parse_size(value).ok().map(|size| size.0.to_string()),
        "tenth" => Some((number()? as f64 / 10.0).to_string()),
        "thousandth" => Some((number()? as f64 / 1000.0).to_string()),
        "first" => number()?.checked_sub(1).map(|last| format!("0-{last}")),
        "gets" => {
            let (sets, gets) = value.split_once(':')?;
            let (sets, gets): (f64, f64) = (sets.parse().ok()?, gets.parse().ok()?);
            (sets + gets > 0.0).then(|| (100.0 * gets / (sets + gets)).round().to_string())
        }
        "tests" => {
            let has = |name: &str| value.split(',').any(|test| test.eq_ignore_ascii_case(name));
            match (has("get"), has("set")) {
                (true, true) => Some("50".to_owned()),
                (get, set) => (get || set).then(|| if get { "100" } else { "0" }.to_owned()),
            }
        }
        // Of `USER:WORD` the word.
        "password" => Some(value.rsplit(':').next().unwrap_or(value).to_owned()),
        // sysbench can also time a loop without accesses.
        "rw" => Some(value.to_owned()).filter(|job| ["read", "write"].contains(&job.as_str())),
        // Arrays of the size that bw_mem is given.
        "bwmem" => Some(if ["cp", "fcp", "bcopy"].contains(&value) { "2" } else { "1" }.to_owned()),
        // No number of workers is one for each cpu.
        "workers" => number().map(|count| if count == 0 { "cpus".to_owned() } else { count.to_string() }),
        "mask" => mask(value),
        "domain" => domain(value),
        "likwid" => likwid(value),
        "arrays" => Some(arrays(&likwid(value)?).to_string()),
        "multiload" => multiload(value).map(|(op, _)| op.to_owned()),
        "mix" => multiload(value).map(|(_, mix)| mix.to_owned()),
        "numademo" => numademo(value).map(str::to_owned),
        _ => None,
    }
}

/// The cpus of a mask of bits: `0x17` is `0-2,4`.
fn mask(value: &str) -> Option<String> {
    let bits = u64::from_str_radix(value.strip_prefix("0x").unwrap_or(value), 16).ok()?;
    let is_set = |cpu: u32| cpu < u64::BITS && bits >> cpu & 1 == 1;
    let firsts = (0..u64::BITS).filter(|cpu| is_set(*cpu) && !(*cpu > 0 && is_set(cpu - 1)));
    let run = |first: u32| match (first..).take_while(|cpu| is_set(*cpu)).last() {
        Some(last) if last > first => format!("{first}-{last}"),
        _ => first.to_string(),
    };
    let runs: Vec<String> = firsts.map(run).collect();
    (!runs.is_empty()).then(|| runs.join(","))
}

/// The cpus of likwid's domains.
fn domain(name: &str) -> Option<String> {
    let (kind, number) = name.split_at_checked(1)?;
    let here = match kind {
        "N" if number.is_empty() => return Some("all".to_owned()),
        "S" => "socket",
        "M" => "node",
        "C" => "llc",
        _ => return None,
    };
    number.parse::<u32>().ok().map(|number| format!("{here}:{number}"))
}

/// The operation of a test of likwid-bench: `copy_mem_avx` is `copy.nt/avx2`.
fn likwid(test: &str) -> Option<String> {
    let mut parts = test.split('_');
    let job = match parts.next()? {
        "load" | "clload" | "sum" | "ddot" => "read",
        "store" | "clstore" => "write",
        "copy" | "clcopy" => "copy",
        "stream" | "triad" | "daxpy" => "triad",
        "update" => "update",
        _ => return None,
    };
    let (mut stores, mut kernel) = ("", "");
    for part in parts {
        match part {
            "mem" => stores = ".nt",
            "sse" => kernel = "/sse2",
            "avx" => kernel = "/avx2",
            "avx512" => kernel = "/avx512",
            _ => {}
        }
    }
    Some(format!("{job}{stores}{kernel}"))
}

/// The arrays of an operation.
fn arrays(operation: &str) -> u64 {
    match operation.split(['.', '/']).next() {
        Some("copy") => 2,
        Some("triad") => 3,
        _ => 1,
    }
}

/// The operation and the mix of a load of multiload.
fn multiload(load: &str) -> Option<(&'static str, &'static str)> {
    Some(match load {
        "memcpy-libc" | "stream-copy" => ("copy", "1:1"),
        "memset-libc" | "memsetz-libc" => ("write", "write"),
        "stream-sum" => ("read", "read"),
        "stream-triad" => ("triad", "triad"),
        _ => return None,
    })
}

/// The operation of a test of numademo.
fn numademo(test: &str) -> Option<&'static str> {
    Some(match test {
        "memcpy" => "copy",
        "memset" => "write",
        "forward" | "backward" => "read",
        "stream" => "copy,scale,add,triad",
        "random" | "random2" => "read.random8",
        "ptrchase" => "latency",
        _ => return None,
    })
}

/// A command line as a shell reads it.
pub(super) fn quoted(words: &[String]) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "-_=+.,:/@%!".contains(c);
    let is_bare = |word: &str| word == super::line::INTO || (!word.is_empty() && word.chars().all(is_plain));
    let one = |word: &String| match is_bare(word) && !word.contains('!') {
        true => word.clone(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    };
    words.iter().map(one).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_filled_in() {
        let values = [("SIZE", "2GB"), ("COUNT", "3"), ("TEST", "copy_mem_avx512"), ("BARE", "512"), ("RATIO", "1:10")];
        let values: Values = values.map(|(name, value)| (name.to_owned(), value.to_owned())).into();
        for (template, said) in [
            ("--sizes {SIZE}", Some("--sizes 2GB")),
            ("{BARE:kib} {BARE:mib} {SIZE:iec}", Some("512K 512M 2G")),
            ("{COUNT*BARE}", Some("1536")),
            ("{SIZE/2} {SIZE/COUNT} {SIZE:iec*2}", Some("1GB 651041K 4G")),
            ("{SIZE:bytes/8/TEST:arrays}", Some("125000000")),
            ("{TEST:likwid} {RATIO:gets} {COUNT:first}", Some("copy.nt/avx512 91 0-2")),
            ("{NONE}", None),
            ("{SIZE/0}", None),
            ("{TEST:kib}", None),
        ] {
            assert_eq!(filled(template, &values).as_deref(), said, "{template}");
        }
    }

    #[test]
    fn a_pattern_binds_all_its_names_or_does_not_fit() {
        for (pattern, value, count) in [
            ("SIZE", "64:80,1024:20", Some(1)),
            ("DOMAIN:SIZE", "S0:1GB", Some(2)),
            ("DOMAIN:SIZE", "S0:1GB:4", None),
            ("S:S", "S:S", Some(0)),
            ("S:S", "G:G", None),
            ("DOMAIN:SIZE-STREAMS", "S0:1GB-0:S1,1:S1", Some(3)),
            ("DOMAIN:SIZE-STREAMS", "S0:1GB", None),
            ("x86-64-movsq", "x86-64-movsq", Some(0)),
            ("TLB*", "dTLB-loads", Some(0)),
            ("TLB*,", "dTLB-loads,iTLB-loads", Some(0)),
            ("TLB*,", "LLC-loads,dTLB-loads", None),
            ("SIZE", "", None),
            ("SIZE", "a b", None),
            ("SIZE", "\u{1b}[2J", None),
        ] {
            assert_eq!(bound(pattern, value).map(|values| values.len()), count, "{pattern} {value}");
        }
        for (value, how, said) in [
            ("S1", "domain", Some("socket:1")),
            ("N", "domain", Some("all")),
            ("D", "domain", None),
            ("stream_sp_avx", "likwid", Some("triad/avx2")),
            ("peakflops", "likwid", None),
            ("set,lpush", "tests", Some("0")),
            ("lpush", "tests", None),
            ("500", "thousandth", Some("0.5")),
            ("1", "curve", Some("4K,8K,16K,32K,64K,128K,256K,512K,1M")),
            ("3K", "curve", Some("3K")),
            ("0x17", "mask", Some("0-2,4")),
            ("8000000000000001", "mask", Some("0,63")),
            ("0", "mask", None),
            ("none", "rw", None),
            ("fcp", "bwmem", Some("2")),
            ("frd", "bwmem", Some("1")),
            ("0", "workers", Some("cpus")),
            ("4", "workers", Some("4")),
            ("user:word", "password", Some("word")),
        ] {
            assert_eq!(converted(value, how).as_deref(), said, "{value} {how}");
        }
        assert_eq!(quoted(&["a b".into(), "it's".into(), "--x=1".into(), String::new()]), "'a b' 'it'\\''s' --x=1 ''");
    }
}
