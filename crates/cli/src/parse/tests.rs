use super::*;

#[test]
fn reads_what_people_type() {
    assert_eq!(size("32K"), Ok(Bytes(32 << 10)));
    assert_eq!(percent("2"), Ok(0.02));
    assert_eq!(percent("0.5%"), Ok(0.005));
    assert_eq!((sample("all"), sample("7")), (Ok(Sample::All), Ok(Sample::Each(7))));
    assert_eq!(ping("one-way"), Ok(PingOp::OneWay));
    assert_eq!(threads("3"), Ok(ThreadCount::Exactly(3)));
    assert_eq!(nanoseconds("150ns"), Ok(150.0));
    assert_eq!(mix("100"), Ok(Mix::READ));
    assert_eq!(traffic("cpus=0-3 mix=read"), Ok(Groups(vec!["mix=read cpus=0-3".parse().unwrap()])));
    assert_eq!((delay("0"), delay("200ns"), delay("100000")), (Ok(0), Ok(200), Ok(100_000)));
    for good in ["0-3,8", "all", "!2", "node:1,!core:5", "0-7:1/2", "99"] {
        assert_eq!(cpus(good).as_deref(), Ok(good));
    }
    for good in ["read", "write", "copy", "triad", "write.nt", "copy/portable"] {
        assert_eq!(operation(good).as_deref(), Ok(good));
    }
}

#[test]
fn whole_numbers_are_of_their_range() {
    assert_eq!((whole("42"), within(1..=32)("32")), (Ok(42u64), Ok(32u8)));
    for bad in ["x", "", "-1", "1.5", "99999999999999999999"] {
        assert!(whole::<u64>(bad).unwrap_err().contains("whole number"), "{bad}");
        assert!(within::<u8>(1..=32)(bad).unwrap_err().contains("from 1 to 32"), "{bad}");
        assert!(within::<u32>(1..=u64::MAX)(bad).unwrap_err().contains("from 1 on"), "{bad}");
    }
    assert!(within::<u8>(1..=32)("0").is_err() && within::<u8>(1..=32)("33").is_err());
    assert!(whole::<u8>("256").is_err());
}

#[test]
fn refuses_with_what_to_type_instead() {
    assert!(size("0").unwrap_err().contains("1K"));
    assert_eq!(chunk("64M"), Ok(Bytes(64 << 20)));
    assert!(chunk("63M").unwrap_err().contains("64 MiB") && chunk("0").is_err());
    assert!(size("1.3").unwrap_err().contains("whole number of bytes"));
    for bad in ["0", "-1", "NaN", "inf", "x", "101"] {
        assert!(percent(bad).unwrap_err().contains("percentage"), "{bad}");
    }
    assert!(sample("0").is_err() && sample("few").unwrap_err().contains("all"));
    assert!(ping("swap").unwrap_err().contains("one-way"));
    assert_eq!(
        (mem_node("3"), mem_node("far")),
        (Ok(NodeChoice::These([3].into_iter().collect())), Ok(NodeChoice::Far))
    );
    assert!(mem_node("each") == Ok(NodeChoice::Each) && mem_node("-1").unwrap_err().contains("far"));
    assert!(threads("0").unwrap_err().contains("cores"));
    for bad in ["0", "-1", "inf", "x", ""] {
        assert!(nanoseconds(bad).unwrap_err().contains("150"), "{bad}");
    }
    assert!(mix("9:1").unwrap_err().contains("2:1"));
    assert!(traffic("no/such/file").unwrap_err().contains("cpus=0-3 mix=2:1"));
    assert!(traffic("cpus=0 mix=9:1").unwrap_err().contains("2:1"));
    for bad in ["-1", "0.5", "100001", "1us", ""] {
        assert!(delay(bad).unwrap_err().contains("such as 200"), "{bad}");
    }
    for bad in ["", ",", "!", "banana", "3-1", "node:x", "rack:0"] {
        assert!(cpus(bad).is_err(), "{bad}");
    }
    assert!(operation("reed").unwrap_err().contains("'read'"));
    assert!(operation("copy/portabel").unwrap_err().contains("'copy/portable'"));
    assert!(!operation("foo").unwrap_err().contains("nearest"));
    assert!(operation("").is_err());
}
