//! Functions of the C library on memory, whichever library this binary uses.

use std::collections::BTreeMap;
use std::io;

use tiermark_model::{KIB, MIB, Machine, OsGroup, PageKind, Refusal, Sweep};
use tiermark_system::os::{Buffer, Library, library, library_place};

use super::mapped;
use crate::body::{Body, Make, Order, Prepared, Primitive, beyond_caches, repeat};
use crate::failure::{Failure, refused_by};

/// Distance of the places in a page at which source and target begin: loads that follow stores with the same low 12
/// address bits are held back.
const SKEW: usize = 22 * 64;
/// A line of any cache.
const LINE: usize = 64;
/// The page in which addresses may alias.
const PAGE: usize = 4096;

const fn row(id: &'static str, text: &'static str, make: Make) -> Primitive {
    Primitive::new(OsGroup::Libc, id, text, make)
}

/// The rows of this group.
pub(super) static PRIMITIVES: &[Primitive] = &[
    row(
        "memcpy",
        "copies the same bytes again and again, so they come from the caches if they fit. Each byte counts once. \
         Source and destination begin at cache lines of base pages. The C library chooses the method for this \
         processor and size, such as streaming stores for large sizes. The largest size is four times the largest \
         cache (64 to 256 MiB)",
        copying,
    )
    .bandwidth()
    .over(sizes),
    row("memset", "sets the same bytes again and again, on base pages; sizes as for memcpy", setting)
        .bandwidth()
        .over(sizes),
    row(
        "malloc+free",
        "allocates this many bytes and frees them at once, without touching them, so malloc returns the same block \
         each time. glibc gives a large block a mapping of its own until the first such block is freed. Then its \
         threshold rises to that size, up to 32 MiB; larger blocks are mapped each time",
        allocating,
    )
    .over(|_| vec![Sweep::Bytes(vec![64, 4 * KIB, MIB, 64 * MIB])]),
];

fn sizes(machine: &Machine) -> Vec<Sweep> {
    vec![Sweep::Bytes(vec![4 * KIB, 64, 256 * KIB, 32 * MIB, beyond_caches(machine, 64 * MIB, 256 * MIB)])]
}

/// The library whose functions these are.
pub(super) fn measured_library() -> String {
    let functions = Library::find().places().map(|(name, place)| (name, mapped::file_at(place)));
    library() + &in_its_place(mapped::file_at(library_place()).as_ref(), &functions)
}

/// Functions that come from another library, loaded first (LD_PRELOAD) or linked into this program.
fn in_its_place(own: Option<&String>, functions: &[(&str, Option<String>)]) -> String {
    let mut others: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (name, file) in functions {
        // Where the kernel does not say, it is believed to be its own.
        if let (Some(own), Some(file)) = (own, file)
            && own != file
        {
            others.entry(file).or_default().push(name);
        }
    }
    others.iter().map(|(file, names)| format!("; but {} of {file}", names.join(" and "))).collect()
}

fn bytes(order: &Order<'_>) -> usize {
    order.call.bytes.unwrap_or(4 * KIB) as usize
}

/// Memory of which two parts are taken that begin at lines, and apart by the skew within a page.
struct Sides {
    all: Buffer,
    first: usize,
    second: usize,
    bytes: usize,
}

impl Sides {
    /// On base pages, unless huge ones are requested: never on either by chance.
    fn new(bytes: usize, page: Option<PageKind>) -> io::Result<Self> {
        let all = 2 * bytes + LINE + PAGE + SKEW;
        let mut all = if page == Some(PageKind::Thp) { Buffer::huge(all) } else { Buffer::map(all) }?;
        // Written, so that every page is there: pages of zeros that are only read would all be one.
        all.fill(0x5a);
        let first = all.as_ptr().addr().next_multiple_of(LINE) - all.as_ptr().addr();
        let end = (first + bytes).next_multiple_of(LINE);
        let apart = (end - first) % PAGE;
        let second = end + (PAGE + SKEW - apart) % PAGE;
        Ok(Self { all, first, second, bytes })
    }

    /// Source and destination of the copy.
    fn both(&mut self) -> (&[u8], &mut [u8]) {
        let (low, high) = self.all.split_at_mut(self.second);
        (&low[self.first..self.first + self.bytes], &mut high[..self.bytes])
    }
}

/// The copy or the fill: the addresses are read once a block, not once a call.
struct Block<F> {
    sides: Sides,
    call: F,
}

impl<F: Fn(&[u8], &mut [u8]) + Send> Body for Block<F> {
    fn run(&mut self, times: u64) -> Result<u64, Failure> {
        let (from, to) = self.sides.both();
        for _ in 0..times {
            (self.call)(from, to);
        }
        Ok(0)
    }
}

fn sides(order: &Order<'_>) -> Result<Sides, Refusal> {
    let sides = Sides::new(bytes(order), order.call.page);
    sides.map_err(|error| refused_by(&order.call.primitive.0, &error, "allow more memory (ulimit -v)"))
}

fn copying(order: &Order<'_>) -> Prepared {
    let library = Library::find();
    let call = move |from: &[u8], to: &mut [u8]| library.memcpy(to, from);
    Ok(Box::new(Block { sides: sides(order)?, call }))
}

fn setting(order: &Order<'_>) -> Prepared {
    let library = Library::find();
    let call = move |_: &[u8], to: &mut [u8]| library.memset(to, 0xa5);
    Ok(Box::new(Block { sides: sides(order)?, call }))
}

fn allocating(order: &Order<'_>) -> Prepared {
    let (bytes, library) = (bytes(order), Library::find());
    let none = move || Failure::from(format!("malloc of {bytes} bytes: no memory"));
    repeat(move || if library.malloc_free(bytes) { Ok(()) } else { Err(none()) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tiermark_model::{CpuModel, OsCall, System};
    use tiermark_system::Clock;
    use tiermark_system::testing::{gives_back, in_own_process};

    #[test]
    fn sides_begin_at_lines_do_not_overlap_and_do_not_alias() {
        for bytes in [1, 63, 64, 1_000, 4096, 5_000, 1 << 20] {
            let mut sides = Sides::new(bytes, None).unwrap();
            let (from, to) = sides.both();
            let (from, to) = (from.as_ptr_range(), to.as_ptr_range());
            assert_eq!((from.start.addr() % LINE, to.start.addr() % LINE), (0, 0), "{bytes}");
            assert!(from.end <= to.start);
            assert_eq!((to.start.addr() - from.start.addr()) % PAGE, SKEW, "{bytes}");
        }
    }

    #[test]
    fn what_is_copied_lies_on_base_pages_or_on_huge_ones_as_asked() {
        // The kernel's flags of the mapping: "nh" for base pages, "hg" for huge ones (proc(5), VmFlags).
        let told = |sides: &Sides| {
            let smaps = std::fs::read_to_string("/proc/self/smaps").unwrap();
            let holds = |line: &str| {
                let (from, to) = line.split_once(' ')?.0.split_once('-')?;
                let number = |text| usize::from_str_radix(text, 16).ok();
                Some((number(from)?..number(to)?).contains(&sides.all.as_ptr().addr()))
            };
            let from = smaps.lines().position(|line| holds(line) == Some(true)).unwrap();
            smaps.lines().skip(from).find(|line| line.starts_with("VmFlags:")).unwrap().to_owned()
        };
        let base = told(&Sides::new(4096, None).unwrap());
        // A kernel without huge pages knows neither.
        if let Ok(huge) = Sides::new(4096, Some(PageKind::Thp)) {
            assert!(base.contains(" nh"), "{base}");
            let huge = told(&huge);
            assert!(huge.contains(" hg"), "{huge}");
        }
    }

    #[test]
    fn the_library_copies_and_sets_every_byte_and_no_other() {
        let mut sides = Sides::new(1_000, None).unwrap();
        let first = sides.first;
        for (index, byte) in sides.all[first..first + 1_000].iter_mut().enumerate() {
            *byte = (index % 251) as u8;
        }
        let library = Library::find();
        let (from, to) = sides.both();
        library.memcpy(to, from);
        assert_eq!(from, to);
        library.memset(&mut to[1..999], 7);
        assert_eq!((to[0], to[999]), (from[0], from[999]));
        assert!(to[1..999].iter().all(|byte| *byte == 7));
        assert!(library.malloc_free(1 << 20));
        assert!(!library.malloc_free(usize::MAX / 2), "more than there are addresses");
    }

    #[test]
    fn the_library_is_named_with_its_version() {
        let text = measured_library();
        if cfg!(target_env = "gnu") {
            let version = text.trim_end_matches(')').rsplit(' ').next().unwrap_or_default();
            assert!(text.contains("glibc") && version.starts_with("2."), "{text}");
        } else {
            assert!(text.contains("musl"), "{text}");
        }
    }

    #[test]
    fn functions_of_another_library_are_named_with_it() {
        let named = |malloc: &str| {
            let file = |name: &str| Some(name.to_owned());
            let functions = [("memcpy", file("/libc")), ("malloc", file(malloc)), ("free", file(malloc)), ("x", None)];
            in_its_place(file("/libc").as_ref(), &functions)
        };
        assert_eq!(named("/libc"), "");
        assert_eq!(named("/lib/libjemalloc.so.2"), "; but malloc and free of /lib/libjemalloc.so.2");
        assert_eq!(in_its_place(None, &[("malloc", Some("/x".to_owned()))]), "");
    }

    #[test]
    fn a_preloaded_malloc_is_not_taken_for_the_librarys() {
        const PRELOADED: &str = "TIERMARK_TEST_PRELOADED";
        // Comes with glibc since 2.34.
        const OTHER: &str = "libc_malloc_debug.so.0";
        if std::env::var_os(PRELOADED).is_some() {
            let there = std::fs::read_to_string("/proc/self/maps").unwrap().contains(OTHER);
            let text = measured_library();
            assert_eq!(text.contains("; but malloc and free of /") && text.contains(OTHER), there, "{text}");
            assert!(!text.contains("memcpy"), "{text}");
            return;
        }
        assert!(!measured_library().contains("but"), "{}", measured_library());
        let test = "libc::tests::a_preloaded_malloc_is_not_taken_for_the_librarys";
        let mut again = std::process::Command::new(std::env::current_exe().unwrap());
        again.args(["--exact", test, "--nocapture"]).env(PRELOADED, "1").env("LD_PRELOAD", OTHER);
        let output = again.output().unwrap();
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{text}{output:?}");
    }

    #[test]
    fn bodies_run_and_give_their_memory_back() {
        if !in_own_process("libc::tests::bodies_run_and_give_their_memory_back") {
            return;
        }
        let (clock, _) = Clock::choose(&CpuModel::default(), &System::default());
        for primitive in PRIMITIVES {
            for bytes in [64, 32 * MIB] {
                let call = OsCall { bytes: Some(bytes), ..OsCall::new(primitive.id.into()) };
                let order = Order { call: &call, cpu: 0, clock: &clock };
                gives_back(primitive.id, || {
                    (primitive.make)(&order).unwrap().run(3).unwrap();
                });
            }
        }
    }
}
