//! Which file lies where in this process.

use tiermark_machine::Root;

/// The file that is mapped at an address, as the kernel writes its name (proc_pid_maps(5)); `None` for memory without a
/// file.
pub(super) fn file_at(address: usize) -> Option<String> {
    file_of(&Root::live().text("proc/self/maps")?, address)
}

fn file_of(maps: &str, address: usize) -> Option<String> {
    maps.lines().find_map(|line| {
        // Addresses, rights, offset, device, inode; the name stands in a column of its own.
        let mut fields = line.splitn(6, ' ');
        let (from, to) = fields.next()?.split_once('-')?;
        let number = |text| usize::from_str_radix(text, 16).ok();
        let name = fields.nth(4)?.trim_start();
        ((number(from)?..number(to)?).contains(&address) && name.starts_with('/')).then(|| name.to_owned())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const MAPS: &str = "\
555555554000-555555556000 r--p 00000000 fe:01 1234                       /a program (deleted)
555555556000-555555558000 r-xp 00002000 fe:01 1234                       /a program (deleted)
7ffff7c00000-7ffff7d00000 rw-p 00000000 00:00 0
7ffff7fc1000-7ffff7fc3000 r-xp 00000000 00:00 0                          [vdso]
";

    #[test]
    fn a_file_is_found_by_an_address_within_it() {
        let name = Some("/a program (deleted)".to_owned());
        assert_eq!((file_of(MAPS, 0x5555_5555_4000), file_of(MAPS, 0x5555_5555_7fff)), (name.clone(), name));
        for address in [0, 0x5555_5555_8000, 0x7fff_f7c0_0010, 0x7fff_f7fc_1000] {
            assert_eq!(file_of(MAPS, address), None, "{address:x}");
        }
    }

    #[test]
    fn these_tests_are_in_their_own_file() {
        let own = std::env::current_exe().unwrap();
        assert_eq!(file_at(file_at as fn(usize) -> Option<String> as usize).as_deref(), own.to_str());
        let data = Box::new([1u8; 64]);
        assert_eq!(file_at(data.as_ptr().addr()), None);
    }
}
