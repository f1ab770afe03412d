//! The files of `kernels/`: what a new one becomes, and what is said about a mistake in one.

use crate::declared::{Kernel, Mistake, Set};
use crate::{emit, expand, parse};
use std::{fs, path::Path};

fn folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/kernels"))
}

fn sets() -> Vec<Set> {
    let names = ["sse2", "avx2", "avx512", "x86", "neon", "sve", "arm64", "portable"];
    names
        .map(|name| {
            let text = fs::read_to_string(folder().join(format!("sets/{name}.set"))).unwrap();
            parse::set(&format!("sets/{name}.set"), &text).unwrap()
        })
        .into()
}

fn kernel(text: &str) -> Kernel {
    parse::kernel("new.kernel", text).unwrap()
}

/// What is said about kernels, those that others have to stand beside first.
fn mistakes(texts: &[&str]) -> Vec<Mistake> {
    let parsed: Result<Vec<_>, _> = texts.iter().map(|text| parse::kernel("new.kernel", text)).collect();
    match parsed {
        Ok(kernels) => emit::build(&kernels, &sets()).err().unwrap_or_default(),
        Err(mistake) => vec![mistake],
    }
}

const READ: &str = "kernel read\nabout a\nsets avx2 sse2 neon sve portable\nloop\n  sum src\n";

#[test]
fn the_example_of_the_readme_becomes_a_kernel_of_every_set() {
    let readme = fs::read_to_string(folder().join("README.md")).unwrap();
    let (_, example) = readme.split_once("```text\n").unwrap();
    let (example, _) = example.split_once("```").unwrap();
    let kernels = [kernel(example)];
    let sets = sets();
    let built = emit::build(&kernels, &sets).map_err(|all| all[0].to_string()).unwrap();
    let x86 = emit::rust(&built, "x86_64");
    for name in ["tiermark_daxpy_sse2", "tiermark_daxpy_avx2", "tiermark_daxpy_avx512", "tiermark_daxpy_portable"] {
        assert!(x86.contains(name), "{name} in {x86}");
    }
    assert!(x86.contains("Op::new(\"daxpy\", Pattern::Sequential, 2, 128, 64)"), "{x86}");
    assert!(x86.contains("TABLE: [StreamSpec; 4]") && !x86.contains("neon"), "{x86}");
    assert!(emit::rust(&built, "aarch64").contains("tiermark_daxpy_sve"));
}

#[test]
fn loops_become_the_instructions_of_a_set() {
    let sets = sets();
    let find = |name: &str| sets.iter().find(|set| set.name == name).unwrap();
    let add = kernel("kernel add\nabout a\nsets avx2\nloop\n  load src\n  plus src2\n  store dst\n");
    let avx2 = expand::expand(&add, find("avx2")).unwrap();
    // Vector by vector.
    let first = ["vmovdqa ymm0, [r9 + 0]", "vaddpd ymm0, ymm0, [r10 + 0]", "vmovdqa [r8 + 0], ymm0"];
    assert_eq!(avx2.body[..3], first);
    assert_eq!(avx2.body[3], "vmovdqa ymm1, [r9 + 32]");
    assert_eq!((avx2.loads, avx2.stores, avx2.bytes), (32, 16, 512));
    assert_eq!(avx2.tail.len(), 2 * 3);
    assert_eq!((avx2.init.len(), avx2.done), (0, vec!["vzeroupper".to_owned(), "xor eax, eax".to_owned()]));
    // Word by word, by pairs, results in turn: what is loaded second must not overwrite what was loaded first.
    let neon = expand::expand(&add, find("neon")).unwrap();
    let group = 4 + 4 + 8 + 4;
    assert_eq!(neon.body.len(), 2 * group);
    assert_eq!(neon.body[0], "ldp q20, q21, [x2, #0]");
    assert_eq!(neon.body[4], "ldp q0, q1, [x3, #0]");
    assert_eq!(neon.body[8], "fadd v0.2d, v0.2d, v20.2d");
    assert_eq!(neon.body[group - 1], "stp q6, q7, [x1, #96]");
    assert_eq!(neon.body[group], "ldp q20, q21, [x2, #128]");
    assert_eq!((neon.loads, neon.stores), (16, 8));
    // The last, partial vector of a scalable set has its own predicate.
    let sve = expand::expand(&add, find("sve")).unwrap();
    assert_eq!(sve.body[7], "ld1d {z27.d}, p0/z, [x2, #7, mul vl]");
    assert_eq!(sve.tail.last().unwrap(), "st1d {z0.d}, p1, [x1, x8, lsl #3]");
    // Prefetches come once per line, at the head of the loop, and not in the tail.
    let pf = kernel("kernel read-pf\nabout a\nsets avx2\nloop\n  sum src\n  prefetch src 2048\n");
    let pf = expand::expand(&pf, find("avx2")).unwrap();
    assert_eq!(pf.body[..2], ["prefetcht0 [r9 + 2048]", "prefetcht0 [r9 + 2112]"]);
    assert_eq!(pf.body[8], "vpaddq ymm0, ymm0, [r9 + 0]");
    assert_eq!((pf.loads, pf.init.len(), pf.tail.len()), (16, 8, 2));
}

#[test]
fn a_mistake_in_a_kernel_is_told_with_its_line() {
    let head = "kernel read-new\nabout a\nsets avx2\n";
    let cases = [
        ("kernel Read\n", 1, "'Read' is no name"),
        ("kernel read-\n", 1, "'read-' is no name"),
        ("kernel\n", 1, "'kernel' has no value"),
        ("kernel read\n\n# said twice\nkernel copy\n", 4, "'kernel' stands in line 1 already"),
        ("speed 3\n", 1, "unknown key 'speed'"),
        ("about a\n", 0, "there is no 'kernel'"),
        ("kernel read\nsets avx2\nloop\n  sum src\n", 0, "there is no 'about'"),
        ("kernel read\nabout a\nloop\n  sum src\n", 0, "there is no 'sets'"),
        ("HEAD", 0, "there is no 'loop'"),
        ("HEADloop\nsum src\n", 5, "lines of the loop are indented"),
        ("HEAD  sum src\n", 4, "which come after 'loop'"),
        ("HEADloop\n  sum\n", 5, "a word and a stream"),
        ("HEADloop\n  sum source\n", 5, "'source' is no stream; use dst, src, src2"),
        ("HEADloop\n  prefetch src far\n", 5, "'far' is not a number"),
        ("HEADwalk back\nloop\n  sum src\n", 4, "'back' is no walk"),
        ("HEADvisits 16\nloop\n  sum src\n", 4, "8 or 64 bytes"),
        ("HEADvisits 8\nloop\n  sum src\n", 4, "only walks of lines and random walks"),
        ("HEADwalk random\nvisits 8\nloop\n  sum src\n", 5, "avx2 loads 32 bytes at once"),
        ("HEADbytes 128\nloop\n  sum src\n", 4, "bytes neon 128"),
        ("HEADbytes neon 128\nloop\n  sum src\n", 4, "'neon' is not among its sets"),
        ("HEADbytes avx2 96\nloop\n  sum src\n", 4, "no multiple of 256"),
        ("HEADreads mine\nloop\n  mine src\n", 4, "then its instructions"),
        ("HEADreads mine vpor ymm0, ymm0\nloop\n  mine src\n", 4, "has the memory operand"),
        ("HEADreads mine vpor <y>, <m>\nloop\n  mine src\n  store dst\n", 4, "there is no <y>; use <m>, <x>"),
        ("HEADchecked-by read\nreads mine vpor <m>, <x\nloop\n  mine src\n", 5, "'<' without '>'"),
        ("HEADloop\n  lod src\n", 5, "avx2 has no word 'lod'; it has load, sum"),
        ("HEADloop\n  plus src\n", 5, "nothing was loaded that 'plus' could take"),
        ("HEADloop\n  sum src 64\n", 5, "'sum' is no hint"),
        ("HEADloop\n  sum src\n  prefetch src2 64\n", 6, "nothing loads or stores src2"),
        ("HEADloop\n  sum src\n  prefetch src\n", 6, "how many bytes ahead: prefetch src 512"),
        ("HEADloop\n  load src\n  plus src\n  store dst\n", 6, "loads each stream once"),
        ("HEADloop\n  load src\n  store dst\n  store dst\n", 7, "stores it once: 'dst' again"),
        ("kernel read\nneeds fma\nabout a\nsets portable\nloop\n  sum src\n", 1, "portable has no cpu features"),
        ("HEADloop\n  load src\n", 5, "keeps nothing of what it loads"),
        ("HEADloop\n  sum src\n  fill dst\n", 5, "returns no sum"),
        ("HEADloop\n  load src\n  sum src2\n", 5, "in the registers of 'load'"),
        ("HEADloop\n  sum dst\n  sum src2\n", 5, "walks src and one other"),
        ("HEADwalk two-halves\nloop\n  sum dst\n", 6, "reads src alone"),
    ];
    for (text, line, says) in cases {
        let all = mistakes(&[READ, &text.replace("HEAD", head)]);
        let first = all.first().unwrap_or_else(|| panic!("nothing is wrong with {text:?}"));
        assert!(first.what.contains(says), "{first} about {text:?}");
        assert_eq!(first.line, line, "{first}");
    }
}

#[test]
fn a_mistake_beside_other_kernels_is_told() {
    let cases: [(&str, usize, &str); 8] = [
        ("kernel read\nabout a\nsets avx2\nloop\n  sum src\n", 1, "read/avx2 is in new.kernel already"),
        ("kernel scale\nabout a\nsets avx2\nloop\n  mul src\n  store dst\n", 1, "'kernel scale' and portable"),
        ("kernel read-x\nabout a\nsets avx512\nloop\n  sum src\n", 3, "there is no read/avx512"),
        ("kernel read-x\nabout a\nsets avx9\nloop\n  sum src\n", 3, "there is no instruction set 'avx9'; use sse2"),
        ("kernel read-x\nabout a\nsets avx2\nloop\n  sum src\n  sum src2\n", 5, "those of new.kernel are"),
        ("kernel read-x\nabout a\nsets avx2\nchecked-by copy\nloop\n  load src\n", 4, "there is no copy/avx2"),
        ("kernel read-x\nabout a\nsets sve\nwalk two-pages\nloop\n  sum src\n", 4, "sve has no walk 'two-pages'"),
        ("kernel read-x\nabout a\nsets avx2 sse2\nreads r a <sum>, <m>\nloop\n  r src\n", 3, "for one instruction set"),
    ];
    for (text, line, says) in cases {
        let all = mistakes(&[READ, text]);
        assert!(all.first().is_some_and(|first| first.what.contains(says)), "{all:?} about {text:?}");
        assert_eq!(all[0].line, line, "{}", all[0]);
    }
    // Every kernel's mistakes at once, each as an editor understands it.
    let all = mistakes(&[READ, cases[3].0, cases[6].0]);
    assert_eq!(all.len(), 2);
    assert!(all[1].to_string().starts_with("new.kernel:4: "), "{}", all[1]);
}

#[test]
fn a_mistake_in_a_set_is_told_with_its_line() {
    let good = fs::read_to_string(folder().join("sets/sse2.set")).unwrap();
    let cases = [
        ("order      vector", "order      both", "'both' is no order; use vector, word"),
        ("width      16", "width      12", "'12' is no width"),
        ("needs      sse2", "wants      sse2", "unknown key 'wants'"),
        ("sum        0", "value      0", "'value' stands in line"),
        ("stream_fn     256", "stream_fn", "bytes an iteration"),
        ("two_pages_fn  128", "two_pages_fn  many", "'many' is not a number"),
        ("reads      add ", "reads      sum ", "there is a word 'sum' already"),
    ];
    for (from, to, says) in cases {
        assert!(good.contains(from), "{from}");
        let said = parse::set("sse2.set", &good.replacen(from, to, 1)).unwrap_err();
        assert!(said.what.contains(says) && said.line > 0, "{said}");
    }
    let without = good.replacen("streams    r8 r9 r10\n", "", 1);
    assert_eq!(parse::set("sse2.set", &without).unwrap_err().to_string(), "sse2.set: there is no 'streams'");
    // A placeholder that nobody fills is found where it is used, in the set's own file.
    let set = parse::set("sse2.set", &good.replacen("paddq xmm<sum>, <m>", "paddq xmm<sun>, <m>", 1)).unwrap();
    let said =
        expand::expand(&kernel("kernel r\nabout a\nsets sse2\nchecked-by r\nloop\n  sum src\n"), &set).unwrap_err();
    assert_eq!(said.file, "sse2.set");
    assert!(said.what.contains("there is no <sun>") && said.line > 0, "{said}");
}
