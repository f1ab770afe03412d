use super::*;

#[test]
fn reads_what_people_type() {
    assert_eq!(percent("2"), Ok(0.02));
    assert_eq!(percent("0.5%"), Ok(0.005));
    assert_eq!(traffic("cpus=0-3 mix=read"), Ok(vec!["mix=read cpus=0-3".parse().unwrap()]));
    assert_eq!(setting("load.rate = 2000"), Ok(("load.rate".to_owned(), "2000".to_owned())));
    assert_eq!(setting("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
    for bad in ["load.rate", "=3", "", "load.=3", "a.b.c=3", "\"load\".rate=3"] {
        assert!(setting(bad).unwrap_err().contains("load.rate=2000"), "{bad}");
    }
    for good in ["0-3,8", "all", "!2", "node:1,!core:5", "0-7:1/2", "99"] {
        assert_eq!(cpus(good).as_deref(), Ok(good));
    }
    for good in ["read", "write", "copy", "triad", "write.nt", "copy/portable"] {
        assert_eq!(operation(good).as_deref(), Ok(good));
    }
}

#[test]
fn refuses_with_what_to_type_instead() {
    for bad in ["0", "-1", "NaN", "inf", "x", "101"] {
        assert!(percent(bad).unwrap_err().contains("percentage"), "{bad}");
    }
    assert_eq!(
        (mem_node("3"), mem_node("far")),
        (Ok(NodeChoice::These([3].into_iter().collect())), Ok(NodeChoice::Far))
    );
    assert!(mem_node("each") == Ok(NodeChoice::Each) && mem_node("-1").unwrap_err().contains("far"));
    assert!(traffic("no/such/file").unwrap_err().contains("cpus=0-3 mix=2:1"));
    assert!(traffic("cpus=0 mix=9:1").unwrap_err().contains("2:1"));
    for bad in ["", ",", "!", "banana", "3-1", "node:x", "rack:0"] {
        assert!(cpus(bad).is_err(), "{bad}");
    }
    assert!(operation("reed").unwrap_err().contains("'read'"));
    assert!(operation("copy/portabel").unwrap_err().contains("'copy/portable'"));
    assert!(!operation("foo").unwrap_err().contains("nearest"));
    assert!(operation("").is_err());
}
