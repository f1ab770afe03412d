//! Notes beside the numbers of findings about caches, translation and the operating system.

use super::rows::messages;
use crate::{Bytes, format_gbs, format_ns};

/// A size that is known to some percent: two digits are enough.
fn measured(bytes: u64) -> String {
    let step = (1u64 << bytes.max(1).ilog2()) / 32;
    Bytes(bytes.div_ceil(step.max(1)) * step.max(1)).to_string()
}

/// The shares of a range that a cache holds after a wait in ns: used again, and used once.
fn holds(cache: &str, range: Bytes, [again, once]: [f64; 2], wait: f64) -> String {
    let (again, once, ms) = (100.0 * again, 100.0 * once, wait / 1e6);
    format!("{cache} holds {again:.0} % of {range} used again and {once:.0} % of {range} used once, after {ms} ms")
}

messages! {
    // Tiers of the curve.

    /// The flat part of a tier.
    Note plateau(from: Bytes, to: Bytes, ns: f64): { format!("flat from {from} to {to} at {} ns", format_ns(ns)) };

    /// A tier without a flat part.
    Note no_plateau_but_rung(ns: f64, at: Bytes): { format!("at most {} ns, at {at}", format_ns(ns)) };

    /// Misses of the TLB within a tier.
    Note tlb_misses_add(ns: f64, knee: Bytes, entries: u64, page: Bytes):
        { format!("TLB misses add {} ns beyond {knee} = {entries} entries x {page}", format_ns(ns)) };

    /// The curve agrees with the declared size.
    Note declared_size_agrees(): "the declared size, with which the curve agrees";

    /// The piece in which memory is translated.
    Note translation_grain(asked: Bytes, piece: Bytes, knee: Bytes, entries: u64, ns: f64):
        {
            let split = if piece.0 < asked.0 { ": the host splits the pages" } else { "" };
            let ns = format_ns(ns);
            format!(
                "pages of {asked} translated in pieces of {piece}{split}; beyond {knee} ({entries} entries) an \
                    access takes {ns} ns more"
            )
        };

    // Operations on registers.

    /// An operation in cycles of the core's clock.
    Note cycles_of_operation(cycles: f64, hz: f64): { format!("{cycles:.1} cycles at {:.2} GHz", hz / 1e9) };

    // Lines and geometry.

    /// The distances of two words that decide the size of a line, and what accesses to the second take.
    Note line_from_words(near: Bytes, near_ns: f64, far: Bytes, far_ns: f64):
        {
            let (near_ns, far_ns) = (format_ns(near_ns), format_ns(far_ns));
            format!("words {near} apart take {near_ns} ns, words {far} apart {far_ns} ns")
        };

    /// A line by the strides of a table, where the smallest pays in full.
    Note line_at_most(stride: Bytes, smallest: bool):
        {
            let below = if smallest { "no smaller stride was measured" } else { "smaller strides are faster, because \
                lines are prefetched or accesses share a line" };
            format!("or less: at a stride of {stride} each access fetches a line of its own, and {below}")
        };

    /// Another declared line.
    Note another_line_declared(declared: u32): "{declared} B declared";

    /// Lines that come with their neighbours.
    Note lines_come_together(bytes: Bytes): "a miss to memory fetches {bytes}: lines are prefetched with their \
        neighbours";

    /// Lines that come alone.
    Note lines_come_alone(): "a miss to memory fetches one line";

    /// Where the curve leaves a level; with `random`, of a cache whose pages lie at random.
    Note tenth_misses(low: Bytes, high: Bytes, random: Option<u64>):
        {
            let random = random.map(|bytes| format!(", as in a cache of {} with pages placed at random", measured(bytes)));
            format!("a tenth of the accesses miss at a footprint between {low} and {high}{}", random.unwrap_or_default())
        };

    /// Ways that say another size.
    Note ways_say(bytes: Bytes): "the ways give a size of {bytes}, but the curve does not end there";

    /// Another declared size, and the possible causes in this direction: limits and neighbours only reduce the size.
    Note another_size_declared(declared: Bytes, measured: Bytes, guest: bool):
        {
            let cause = match (measured < declared, guest) {
                (true, true) => {
                    "a hypervisor that declares more than this guest may use, a cache allocation limit, or other \
                        programs that use it"
                }
                (true, false) => "a cache allocation limit, or other programs that use it",
                (false, true) => {
                    "a hypervisor that declares another cache than there is, or a level behind it nearly as fast, \
                        which hides its end"
                }
                (false, false) => {
                    "the system's tables are wrong, or a level behind it is nearly as fast, which hides its end"
                }
            };
            format!("{declared} declared: {cause}")
        };

    /// Another declared number of ways.
    Note other_ways_declared(declared: u32, more: bool):
        {
            let cause = if more { "cache allocation may limit ways" } else { "the declared number is wrong for this \
                cache" };
            format!("{declared} declared: {cause}")
        };

    /// How sets are counted.
    Note way_in_lines(way: Bytes, line: u64): "a way of {way} in lines of {line} B";

    /// Ways of a sliced level.
    Note ways_hashed(): "not resolved: slices are chosen by a hash, and placement beyond a page is random";

    /// Ways hidden by those of the level above.
    Note ways_hidden(above: u64): "not resolved: the {above} ways of the level above hide an equal or smaller number";

    /// Ways on base pages.
    Note ways_need_huge_pages():
        "not resolved on base pages, whose physical placement is random: use --pages 2M or --pages thp";

    /// Ways that do not show.
    Note ways_do_not_show():
        "not resolved: lines a power of two apart do not fall into one set (hashed sets, or the hypervisor backs \
            huge pages by small ones)";

    /// A declared level that does not show: footprints and ns behind the last that does.
    Note level_not_seen(curve: &[(Bytes, f64)]):
        {
            let steps = curve.iter().map(|(bytes, ns)| format!("{bytes} {}", format_ns(*ns)));
            format!("no plateau; ns by footprint: {}", steps.collect::<Vec<_>>().join(", "))
        };

    /// The sharing of a level: as seen and as declared, and ns beside a small and a full neighbour.
    Note sharing(seen: Option<bool>, declared: Option<bool>, ns: Option<(f64, f64)>):
        {
            let times = ns.map(|(little, full)| format!(" ({little:.2} to {full:.2} ns)")).unwrap_or_default();
            let what = match (seen, declared) {
                (None, _) => "not clear",
                (Some(true), Some(false)) => "shared, though declared private",
                (Some(false), Some(true)) => "apart, though declared shared",
                (Some(true), _) => "shared",
                (Some(false), _) => "apart",
            };
            format!("{what}{times}")
        };

    /// A level whose lines others evict too.
    Note sharing_hidden_by_others(ns: Option<(f64, f64)>):
        {
            let times = ns.map(|(little, full)| format!(" ({little:.2} to {full:.2} ns)")).unwrap_or_default();
            format!("not clear: other programs evict its lines as well{times}")
        };

    // Translation and residency.

    /// A TLB whose end the curve does not reach.
    Note no_step_up_to(pages: u64): "no step up to {pages} pages, the most tried";

    /// The cost of a page walk.
    Note walk_adds(pages: u64): "time that translation adds to an access when nearly all accesses need a page walk, \
        up to {pages} pages";

    /// A hit: `share` of the accesses may hit closer to the core.
    Note hit_edge(bytes: Bytes, share: f64, closer: Bytes):
        {
            let percent = 100.0 * share;
            format!(
                "fast edge of {bytes} at the shortest wait; up to {percent:.0} % of the accesses may hit in the \
                 {closer} closer to the core"
            )
        };

    /// Nothing limits a cache.
    Note all_ranges_held(): "the cache holds every range, after every wait";

    /// A partition limits a cache.
    Note limit_is_partition():
        "the limit is the same at every wait: a partition (cache allocation, or another group of cores)";

    /// Others limit a cache.
    Note limit_is_others(): "the limit shrinks with time since touch: other programs replace the lines";

    /// A cache keeps lines only once they are used again: the shares of a range (used again, used once) that it holds
    /// after a wait in ns.
    Note kept_once_used_again(cache: &str, range: Bytes, held: [f64; 2], wait: f64):
        {
            let found = if held[1] <= 0.1 { "not found there" } else { "mostly not found there" };
            format!(
                "{}: it keeps lines only from their second or third read on; data read once is {found}, whatever \
                    other programs do",
                holds(cache, range, held, wait)
            )
        };

    /// A cache keeps lines that were used once, but fewer, or not as long: the same shares.
    Note kept_less_if_used_once(cache: &str, range: Bytes, held: [f64; 2], wait: f64):
        { format!("{}: data read once is evicted sooner than data read three times in a row", holds(cache, range, held, wait)) };

    /// A cache keeps lines that were used once as well as others: the same shares.
    Note kept_alike(cache: &str, range: Bytes, held: [f64; 2], wait: f64):
        { format!("{}: both are kept alike", holds(cache, range, held, wait)) };

    /// Not even the smallest range stays in the cache.
    Note nothing_held(): "the cache holds no range, even at the shortest wait: the cause (partition or contention) \
        is not known";

    // Channels of the operating system.

    /// Too few points.
    Note too_few_points(): "too few sizes to find a knee";

    /// A knee among block sizes: the size, its rate, the most (with its size), and the rate at the end.
    Note use_blocks_of(block: Bytes, rate: f64, most: (Bytes, f64), end: (Bytes, f64)):
        {
            let beyond = match most.0 {
                best if best == block => "the highest rate of all sizes".to_owned(),
                best => format!("the highest rate is {} GB/s, with {best}", format_gbs(most.1)),
            };
            let end = match end.0 {
                size if size == most.0 || size == block => String::new(),
                size => format!("; the largest size, {size}, gives {} GB/s", format_gbs(end.1)),
            };
            format!("use blocks of {block}: {} GB/s; {beyond}{end}", format_gbs(rate))
        };

    /// How well a knee is resolved.
    Note knee_between(low: Bytes, high: Bytes): "the knee by Kneedle, between {low} and {high}";

    /// A rise without a knee: the size with the most, its rate, and the first size with its rate.
    Note rises_without_knee(block: Bytes, most: f64, first: (Bytes, f64), to_end: bool):
        {
            let end = if to_end { "to its end" } else { "without a marked bend" };
            let (most, from) = (format_gbs(most), format_gbs(first.1));
            format!("use blocks of {block}: {most} GB/s; no knee: rises from {from} GB/s at {}, {end}", first.0)
        };

    /// A fall from the first size on.
    Note smallest_is_best(first: (Bytes, f64), last: (Bytes, f64)):
        {
            let (from, to) = (format_gbs(first.1), format_gbs(last.1));
            format!("use the smallest blocks: the rate only falls, from {from} GB/s at {} to {to} GB/s at {}", first.0, last.0)
        };

    /// Differences within the intervals.
    Note no_size_is_better(low: f64, high: f64, from: Bytes, to: Bytes):
        {
            let (low, high) = (format_gbs(low), format_gbs(high));
            format!("no block size is better beyond the intervals: between {low} and {high} GB/s from {from} to {to}")
        };

    /// A flat curve.
    Note any_size_will_do(low: f64, high: f64, from: Bytes, to: Bytes):
        {
            let (low, high) = (format_gbs(low), format_gbs(high));
            format!("any block size will do: the rate stays between {low} and {high} GB/s from {from} to {to}")
        };

    /// How many sizes a conclusion rests on, and where the other side was.
    Note rests_on_sizes(numbers: usize, untried: usize, invalid: usize, relation: Option<&str>):
        {
            let place = relation.map_or_else(|| "at one place".to_owned(), |place| format!("other side {place}"));
            let asked = numbers + untried + invalid;
            let counted = [(untried, "not tried"), (invalid, "without a valid number")];
            let counted = counted.iter().filter(|(count, _)| *count > 0).map(|(count, why)| format!("{count} {why}"));
            if numbers == asked {
                format!("of {asked} sizes, {place}")
            } else {
                format!("of {numbers} of {asked} sizes ({}), {place}", counted.collect::<Vec<_>>().join(", "))
            }
        };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_of_another_size_fit_the_direction() {
        for guest in [false, true] {
            let cause = |declared, measured| another_size_declared(Bytes(declared), Bytes(measured), guest).text;
            let (smaller, larger) = (cause(2 << 20, 1 << 20), cause(1 << 20, 5 << 20));
            assert!(smaller.contains("allocation limit") && smaller.contains("other programs"), "{smaller}");
            assert!(!larger.contains("limit") && !larger.contains("programs"), "nothing that takes away: {larger}");
            assert_eq!([smaller, larger].map(|text| text.contains("hypervisor")), [guest; 2]);
        }
    }
}
