use super::*;
use proptest::prelude::*;

#[test]
fn reads_the_kernels_list_format() {
    for (text, ids) in [
        ("", vec![]),
        ("0", vec![0]),
        ("0-3,8\n", vec![0, 1, 2, 3, 8]),
        ("0-9:2/4", vec![0, 1, 4, 5, 8, 9]),
        ("5,1,5", vec![1, 5]),
        ("2047", vec![2047]),
    ] {
        let set: IdSet = text.parse().unwrap();
        assert_eq!(set.iter().collect::<Vec<_>>(), ids, "{text}");
    }
}

#[test]
fn refuses_garbage_in_words() {
    for text in ["a", "3-1", "1-", "-1", "0-3:2", "0-3:3/2", "0-3:1/0", "99999999999", "1;2"] {
        let error = text.parse::<IdSet>().expect_err(text);
        assert!(error.to_string().contains("0-3,8"), "{error}");
    }
}

/// A list of a few megabytes that names all ids again and again, and strides that do.
#[test]
fn a_list_that_repeats_itself_costs_what_its_length_says() {
    let all: IdSet = format!("0-{MAX_ID},").repeat(200_000).parse().unwrap();
    assert_eq!((all.len(), all.to_string()), (MAX_ID as usize + 1, format!("0-{MAX_ID}")));
    let error = format!("0-{MAX_ID}:1/2,").repeat(200_000).parse::<IdSet>().unwrap_err();
    assert!(error.why.contains("strides"), "{error}");
    assert_eq!(format!("0-{MAX_ID}:1/2,").repeat(3).parse::<IdSet>().unwrap().len(), MAX_ID as usize / 2 + 1);
}

/// What machines and documents say of each of thousands of cpus.
#[test]
fn a_set_takes_memory_by_its_list_and_not_by_its_ids() {
    for text in ["1048575", "0,1048575", "0-1048575", "0-99,200-1048575"] {
        let set = IdSet::from_plain_list(text).unwrap();
        let bytes = size_of_val(&*set.ranges).max(set.ranges.capacity() * size_of::<(u32, u32)>());
        assert!(bytes <= 8 * text.len(), "{text}: {bytes} bytes");
    }
    let mask = "55555555,".repeat(500);
    assert_eq!(IdSet::from_hex_mask(mask.trim_end_matches(',')).unwrap().ranges(), 16 * 500);
    // A stride of a few bytes would be half a million ranges.
    for text in ["0-1048575:1/2", "0:1/1"] {
        assert!(IdSet::from_plain_list(text).unwrap_err().why.contains("stride"));
        assert!(serde_json::from_str::<IdSet>(&format!("\"{text}\"")).is_err());
    }
}

#[test]
fn reads_hex_masks() {
    assert_eq!(IdSet::from_hex_mask("00000001,80000003").unwrap().to_string(), "0-1,31-32");
    assert!(IdSet::from_hex_mask("xyz").is_err());
}

#[test]
fn removal_keeps_equality_structural() {
    let mut set: IdSet = "1,100".parse().unwrap();
    set.remove(100);
    assert_eq!(set, "1".parse().unwrap());
    set.remove(1);
    assert!(set.is_empty());
}

proptest! {
    /// Ids that are added and removed in any order leave the set that they would make at once.
    #[test]
    fn changes_one_by_one(steps in proptest::collection::vec((0u32..70, proptest::bool::ANY), 0..200)) {
        let (mut set, mut known) = (IdSet::new(), std::collections::BTreeSet::new());
        for (id, adds) in steps {
            if adds {
                set.insert(id);
                known.insert(id);
            } else {
                set.remove(id);
                known.remove(&id);
            }
            prop_assert_eq!(&set, &known.iter().copied().collect());
            prop_assert_eq!(set.contains(id), adds);
        }
    }

    /// Ranges in any order, of which some overlap, are the ids that they name one by one.
    #[test]
    fn ranges_are_their_ids(ranges in proptest::collection::vec((0u32..400, 0u32..200), 0..20)) {
        let text: Vec<String> = ranges.iter().map(|(low, length)| format!("{low}-{}", low + length)).collect();
        let ids: IdSet = ranges.iter().flat_map(|(low, length)| *low..=low + length).collect();
        prop_assert_eq!(text.join(",").parse::<IdSet>().unwrap(), ids);
    }

    #[test]
    fn round_trips(ids in proptest::collection::btree_set(0u32..3000, 0..64)) {
        let set: IdSet = ids.iter().copied().collect();
        prop_assert_eq!(set.iter().collect::<Vec<_>>(), ids.iter().copied().collect::<Vec<_>>());
        prop_assert_eq!(set.to_string().parse::<IdSet>().unwrap(), set.clone());
        prop_assert_eq!(set.len(), ids.len());
    }

    #[test]
    fn set_algebra(a in proptest::collection::btree_set(0u32..200, 0..40), b in proptest::collection::btree_set(0u32..200, 0..40)) {
        let (x, y): (IdSet, IdSet) = (a.iter().copied().collect(), b.iter().copied().collect());
        prop_assert_eq!(x.intersection(&y), a.intersection(&b).copied().collect());
        prop_assert_eq!(x.union(&y), a.union(&b).copied().collect());
        prop_assert_eq!(x.difference(&y), a.difference(&b).copied().collect());
        prop_assert_eq!(x.is_subset(&y), a.is_subset(&b));
        prop_assert!(x.intersection(&y).is_subset(&y));
        prop_assert_eq!(x.first(), a.first().copied());
        prop_assert_eq!(IdSet::from_words(&x.words()), x);
    }
}
