//! Notes beside the numbers of findings about caches, translation and the operating system.

use super::rows::messages;
use crate::{Bytes, Nanoseconds, Rate, Share};

/// A size that is known to some percent: two digits are enough.
fn measured(bytes: u64) -> String {
    let step = (1u64 << bytes.max(1).ilog2()) / 32;
    Bytes(bytes.div_ceil(step.max(1)) * step.max(1)).to_string()
}

/// The shares of a range that a cache holds after a wait in ns: used again, and used once.
fn holds(cache: &str, range: Bytes, [again, once]: [Share; 2], wait: f64) -> String {
    let ms = wait / 1e6;
    format!("{cache} holds {again} of {range} used again and {once} of {range} used once, after {ms} ms")
}

/// Times beside a small and beside a full neighbour.
fn times(ns: Option<(Nanoseconds, Nanoseconds)>) -> String {
    ns.map_or_else(String::new, |(small, full)| format!(" ({small} to {full})"))
}

messages! {
    // Tiers of the curve.

    Note plateau(from: Bytes, to: Bytes, ns: Nanoseconds): "flat from {from} to {to} at {ns}";

    Note no_plateau_but_rung(ns: Nanoseconds, at: Bytes): "at most {ns}, at {at}";

    Note tlb_misses_add(ns: Nanoseconds, knee: Bytes, entries: u64, page: Bytes):
        "TLB misses add {ns} beyond {knee} = {entries} entries x {page}";

    Note declared_size_agrees(): "the declared size, with which the curve agrees";

    Note translation_grain(asked: Bytes, piece: Bytes, knee: Bytes, entries: u64, ns: Nanoseconds):
        {
            let split = if piece.0 < asked.0 { ": the host splits the pages" } else { "" };
            format!(
                "pages of {asked} translated in pieces of {piece}{split}; beyond {knee} ({entries} entries) an \
                    access takes {ns} more"
            )
        };

    // Operations on registers.

    Note cycles_of_operation(cycles: f64, hz: f64): { format!("{cycles:.1} cycles at {:.2} GHz", hz / 1e9) };

    // Lines and geometry.

    Note line_from_words(near: Bytes, near_ns: Nanoseconds, far: Bytes, far_ns: Nanoseconds):
        "words {near} apart take {near_ns}, words {far} apart {far_ns}";

    Note line_at_most(stride: Bytes, smallest: bool):
        {
            let below = if smallest { "no smaller stride was measured" } else { "smaller strides are faster, because \
                lines are prefetched or accesses share a line" };
            format!("or less: at a stride of {stride} each access fetches a line of its own, and {below}")
        };

    Note another_line_declared(declared: u32): "{declared} B declared";

    Note lines_come_together(bytes: Bytes): "a miss to memory fetches {bytes}: lines are prefetched with their \
        neighbours";

    Note lines_come_alone(): "a miss to memory fetches one line";

    /// Where the curve leaves a level; with `random`, of a cache whose pages lie at random.
    Note tenth_misses(low: Bytes, high: Bytes, random: Option<u64>):
        {
            let random = random.map(|bytes| format!(", as in a cache of {} with pages placed at random", measured(bytes)));
            format!("a tenth of the accesses miss at a footprint between {low} and {high}{}", random.unwrap_or_default())
        };

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

    Note other_ways_declared(declared: u32, more: bool):
        {
            let cause = if more { "cache allocation may limit ways" } else { "the declared number is wrong for this \
                cache" };
            format!("{declared} declared: {cause}")
        };

    Note way_in_lines(way: Bytes, line: u64): "a way of {way} in lines of {line} B";

    Note ways_hashed(): "not resolved: slices are chosen by a hash, and placement beyond a page is random";

    Note ways_hidden(above: u64): "not resolved: the {above} ways of the level above hide an equal or smaller number";

    Note ways_need_huge_pages():
        "not resolved on base pages, whose physical placement is random: use --pages 2M or --pages thp";

    Note ways_need_strides(stride: Bytes, least: u64):
        "not resolved: with strides of up to {stride}, only {least} ways or more of a cache of this size would show; \
            `tiermark geometry` has larger strides";

    Note ways_do_not_show():
        "not resolved: lines a power of two apart do not fall into one set (hashed sets, or the hypervisor backs \
            huge pages by small ones)";

    /// A declared level that does not show: footprints and ns behind the last that does.
    Note level_not_seen(curve: &[(Bytes, Nanoseconds)]):
        {
            let steps = curve.iter().map(|(bytes, ns)| format!("{bytes} {ns}"));
            format!("no plateau; time by footprint: {}", steps.collect::<Vec<_>>().join(", "))
        };

    /// The sharing of a level: as seen and as declared, and ns beside a small and a full neighbour.
    Note sharing(seen: Option<bool>, declared: Option<bool>, ns: Option<(Nanoseconds, Nanoseconds)>):
        {
            let what = match (seen, declared) {
                (None, _) => "not clear",
                (Some(true), Some(false)) => "shared, though declared private",
                (Some(false), Some(true)) => "apart, though declared shared",
                (Some(true), _) => "shared",
                (Some(false), _) => "apart",
            };
            format!("{what}{}", times(ns))
        };

    Note sharing_hidden_by_others(ns: Option<(Nanoseconds, Nanoseconds)>):
        { format!("not clear: other programs evict its lines as well{}", times(ns)) };

    // Translation and residency.

    Note no_step_up_to(pages: u64): "no step up to {pages} pages, the most tried";

    Note walk_adds(pages: u64): "time that translation adds to an access when nearly all accesses need a page walk, \
        up to {pages} pages";

    /// A hit: `share` of the accesses may hit closer to the core.
    Note hit_edge(bytes: Bytes, share: Share, closer: Bytes):
        "fast edge of {bytes} at the shortest wait; up to {share} of the accesses may hit in the {closer} closer to the \
            core";

    Note all_ranges_held(): "the cache holds every range, after every wait";

    Note limit_is_partition():
        "the limit is the same at every wait: a partition (cache allocation, or another group of cores)";

    Note limit_is_others(): "the limit shrinks with time since touch: other programs replace the lines";

    /// A cache keeps lines only once they are used again: the shares of a range (used again, used once) that it holds
    /// after a wait in ns.
    Note kept_once_used_again(cache: &str, range: Bytes, held: [Share; 2], wait: f64):
        {
            let found = if held[1].0 <= 0.1 { "not found there" } else { "mostly not found there" };
            format!(
                "{}: it keeps lines only from their second or third read on; data read once is {found}, whatever \
                    other programs do",
                holds(cache, range, held, wait)
            )
        };

    /// A cache keeps lines that were used once, but fewer, or not as long: the same shares.
    Note kept_less_if_used_once(cache: &str, range: Bytes, held: [Share; 2], wait: f64):
        { format!("{}: data read once is evicted sooner than data read three times in a row", holds(cache, range, held, wait)) };

    /// A cache keeps lines that were used once as well as others: the same shares.
    Note kept_alike(cache: &str, range: Bytes, held: [Share; 2], wait: f64):
        { format!("{}: both are kept alike", holds(cache, range, held, wait)) };

    Note nothing_held(): "the cache holds no range, even at the shortest wait: the cause (partition or contention) \
        is not known";

    // Channels of the operating system.

    Note too_few_points(): "too few sizes to find a knee";

    /// A knee among block sizes: the size, its rate, the most (with its size), and the rate at the end.
    Rates use_blocks_of(block: Bytes, rate: Rate, most: (Bytes, Rate), end: (Bytes, Rate)):
        {
            let beyond = match most.0 {
                best if best == block => "the highest rate of all sizes".to_owned(),
                best => format!("the highest rate is {}, with {best}", most.1),
            };
            let end = match end.0 {
                size if size == most.0 || size == block => String::new(),
                size => format!("; the largest size, {size}, gives {}", end.1),
            };
            format!("use blocks of {block}: {rate}; {beyond}{end}")
        };

    Note knee_between(low: Bytes, high: Bytes): "the knee by Kneedle, between {low} and {high}";

    /// A rise without a knee: the size with the most, its rate, and the first size with its rate.
    Rates rises_without_knee(block: Bytes, most: Rate, first: (Bytes, Rate), to_end: bool):
        {
            let end = if to_end { "to its end" } else { "without a marked bend" };
            let (from, low) = first;
            format!("use blocks of {block}: {most}; no knee: rises from {low} at {from}, {end}")
        };

    Rates smallest_is_best(first: (Bytes, Rate), last: (Bytes, Rate)):
        {
            let ((from, high), (to, low)) = (first, last);
            format!("use the smallest blocks: the rate falls, from {high} at {from} to {low} at {to}")
        };

    Rates no_size_is_better(low: Rate, high: Rate, from: Bytes, to: Bytes):
        "no block size is better beyond the intervals: between {low} and {high} from {from} to {to}";

    Rates any_size_will_do(low: Rate, high: Rate, from: Bytes, to: Bytes):
        "any block size will do: the rate stays between {low} and {high} from {from} to {to}";

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
