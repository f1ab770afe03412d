//! `/proc/swaps`: what a system swaps to.

use tiermark_model::Swap;

use crate::reader::unescape;

/// Paths of the areas in the text of `/proc/swaps`, whatever else their lines say.
pub fn swap_names(text: &str) -> impl Iterator<Item = String> {
    lines(text).filter_map(|line| line.split_ascii_whitespace().next()).map(unescape)
}

/// The areas in the text of `/proc/swaps`; a line that cannot be parsed is returned as it is.
pub fn swap_areas(text: &str) -> impl Iterator<Item = Result<Swap, &str>> {
    lines(text).map(|line| area(line).ok_or(line))
}

/// All but the head.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    text.lines().skip(1).filter(|line| !line.trim().is_empty())
}

/// `Filename Type Size Used Priority`, sizes in KiB.
fn area(line: &str) -> Option<Swap> {
    let mut fields = line.split_ascii_whitespace();
    let (path, kind) = (unescape(fields.next()?), fields.next()?.to_owned());
    let mut kib = || fields.next()?.parse::<u64>().ok()?.checked_mul(1024);
    let (bytes, used_bytes) = (kib()?, kib()?);
    Some(Swap { path, kind, bytes, used_bytes, priority: fields.next()?.parse().ok()?, compressed: None })
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const TEXT: &str = "Filename\t\t\tType\t\tSize\t\tUsed\t\tPriority\n\
        /a\\040b\\134c/tiermark.swap           file\t\t1048572\t\t4\t\t-2\n\
        /dev/zram1                              partition\t8\t\t0\t\t100\n";

    #[test]
    fn areas_have_the_names_that_people_know() {
        let found: Vec<Swap> = swap_areas(TEXT).map(Result::unwrap).collect();
        let names: Vec<&str> = found.iter().map(|area| area.path.as_str()).collect();
        assert_eq!(names, ["/a b\\c/tiermark.swap", "/dev/zram1"]);
        assert_eq!((found[0].bytes, found[0].used_bytes, found[0].priority), (1_048_572 << 10, 4 << 10, -2));
        assert_eq!((found[1].kind.as_str(), found[1].priority), ("partition", 100));
        assert_eq!(swap_names(TEXT).collect::<Vec<_>>(), names);
        assert_eq!(unescape("a\\b\\04"), "a\\b\\04", "what is no such number stays");
    }

    #[test]
    fn a_line_that_is_none_is_told_and_its_name_counts() {
        let text = "head\n/dev/x partition 1\n\n/dev/y partition 1 0 5\n";
        let found: Vec<_> = swap_areas(text).map(|area| area.map(|area| area.path)).collect();
        assert_eq!(found, [Err("/dev/x partition 1"), Ok("/dev/y".to_owned())]);
        assert_eq!(swap_names(text).collect::<Vec<_>>(), ["/dev/x", "/dev/y"]);
        assert_eq!((swap_names("").count(), swap_areas("head").count()), (0, 0));
    }

    proptest! {
        #[test]
        fn any_text(text in any::<String>()) {
            prop_assert_eq!(swap_names(&text).count(), swap_areas(&text).count());
        }
    }
}
